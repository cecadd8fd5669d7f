"""The window: offscreen with pytest-qt, and once for real on a virtual screen."""
