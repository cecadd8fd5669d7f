"""The Training page. A new view of a session is a module here and a tab in `page.py`."""
