"""The guide in the window: contents, search, and pages of Markdown."""
