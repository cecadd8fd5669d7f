"""Players that break in every way we know of, as a plug-in package of their own: `site` is put on the path."""
