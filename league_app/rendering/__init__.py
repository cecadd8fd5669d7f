"""Rendering of matches with pygame, which opens neither a display nor sound here, and prints nothing.

Other packages import pygame from here: the first import decides about display, sound and its greeting.
"""

from engine.pygame_headless import HEADLESS

with HEADLESS:
    import pygame as pygame
