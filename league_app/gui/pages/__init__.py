"""The pages of the window. A new one is a module here with a `Page`, and a line in `league_app.gui.main_window.PAGES`."""
