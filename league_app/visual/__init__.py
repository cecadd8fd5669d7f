"""Scenes drawn by pygame."""
