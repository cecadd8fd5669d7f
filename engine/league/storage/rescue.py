"""Saves what a league contained whose file was deleted, moved or replaced while it was open."""

from __future__ import annotations

import itertools
import os
from pathlib import Path

from engine.errors import StorageFailed
from engine.league.storage.database import SUFFIX, Database
from engine.user_dirs import data_dir


def rescue(file: Database) -> Path:
    """Copies everything that was saved to a new file, beside the place of the old one or, if that is not possible, in
    the user's folder; returns its path. The open connection can still read the old file."""
    try:
        return _copy(file, file.path.parent)
    except StorageFailed:  # the folder was deleted as well, or moved
        folder = data_dir()
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return _copy(file, folder)


def _copy(file: Database, folder: Path) -> Path:
    target = folder / rescue_name(file.path, folder)
    file.backup(target)
    return target


def rescue_name(league: Path, folder: Path) -> str:
    """A free name in this folder."""
    names = (f"{league.stem}.rescued{number}{SUFFIX}" for number in itertools.chain([""], itertools.count(2)))
    return next(name for name in names if not os.path.lexists(folder / name))
