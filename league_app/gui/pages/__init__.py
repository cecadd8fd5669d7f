"""The small pages of the window. To add one, write a module with a `Page`, and list it in `gui.main_window.PAGES`."""
