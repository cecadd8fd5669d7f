"""Paths of the files that Ringside keeps for each user."""

from __future__ import annotations

import os
from pathlib import Path

from engine.user_dirs import data_dir, private_file


def settings_file() -> Path:
    return private_file("window.json")


def sample_league() -> Path:
    return Path(os.path.realpath(data_dir() / "Sample.league"))  # resolved, like the path of an open league
