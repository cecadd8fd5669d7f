"""Matches as pictures, drawn by pygame, which is told here to open neither a display nor a loudspeaker."""

from engine.quiet import hush

hush()
