"""What stands at the sides of the window while any page is shown."""
