"""Matches as pictures, drawn by pygame, which opens neither a display nor a loudspeaker here, and says nothing."""

from engine.pygame_headless import SILENCE

with SILENCE:
    import pygame  # noqa: F401 - before anybody else does
