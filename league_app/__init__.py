"""The application: core (no user interface), cli, gui and rendering."""
