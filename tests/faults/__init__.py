"""Tests with players that fail in every known way; they are a plug-in package, whose folder `site` is on the path."""
