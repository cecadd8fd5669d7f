"""A plug-in that cannot be imported."""

raise ImportError("not on this machine")
