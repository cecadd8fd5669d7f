"""The dock widgets around the pages: agents, run and log. A new dock is a line in main_window.DOCKS."""
