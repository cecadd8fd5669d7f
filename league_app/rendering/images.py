"""Scenes as pixel arrays or in a pygame window, for training code such as PettingZoo's `render()`."""

from __future__ import annotations

import os

import numpy as np
import pygame
from numpy.typing import NDArray

from engine.errors import RingsideError
from engine.pygame_headless import HEADLESS, user_environment
from engine.scene import Scene
from league_app.rendering.painter import paint, picture

DRIVER = "SDL_VIDEODRIVER"
HEIGHT = 600


class PygamePainter:
    """Draws one scene at a time; its window opens with the first call of `show`."""

    def __init__(self) -> None:
        self._window: pygame.Surface | None = None
        self._clock = pygame.time.Clock()

    def picture(self, scene: Scene, height: int) -> NDArray[np.uint8]:
        drawn = picture(scene, height)
        columns, rows = drawn.get_size()
        pixels = np.frombuffer(pygame.image.tobytes(drawn, "RGB"), np.uint8)
        return pixels.reshape(rows, columns, 3).copy()

    def show(self, scene: Scene, title: str, pace: float) -> None:
        if self._window is None or not pygame.display.get_init():
            self._window = _open(title, (round(HEIGHT * scene.aspect), HEIGHT))
        pygame.event.pump()
        paint(scene, self._window)
        pygame.display.flip()
        self._clock.tick(pace)

    def close(self) -> None:
        if self._window is not None:
            self._window = None
            pygame.display.quit()  # not pygame.quit(): fonts may be in use elsewhere


def _open(title: str, size: tuple[int, int]) -> pygame.Surface:
    """Opens a real window, or uses the SDL driver that the user had set."""
    with HEADLESS:
        ours = os.environ.pop(DRIVER)
        try:
            if user_environment[DRIVER] is not None:
                os.environ[DRIVER] = ours
            pygame.display.init()
            pygame.display.set_caption(title)
            return pygame.display.set_mode(size)
        except pygame.error as error:
            raise RingsideError(f"no window can be opened here ({error}): use render_mode = 'rgb_array'") from None
        finally:
            os.environ[DRIVER] = ours
