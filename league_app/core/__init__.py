"""The application without a user interface: the open league, its jobs, validation, import, export and text.

It must not import Qt, pygame, `league_app.gui` or `league_app.cli`; both front ends are built on it.
"""
