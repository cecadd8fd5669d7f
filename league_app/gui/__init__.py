"""The PySide6 window: one folder per feature. A new page is a line in `main_window.PAGES`."""
