"""The files that Ringside keeps for a person."""

from __future__ import annotations

import os
from pathlib import Path

from engine.user_dirs import home


def settings_file() -> Path:
    return home() / "window.json"


def sample_league() -> Path:
    return Path(os.path.realpath(home() / "Sample.league"))  # as an open league calls itself
