"""The folder for data that belongs to the user of this machine rather than to a league."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from engine.files import make_private


def private_file(name: str) -> Path:
    """The path of a file that only this user may read, also if it had other permissions. So may the folder, but one
    that RINGSIDE_HOME names keeps its permissions."""
    folder = data_dir()
    if not os.environ.get("RINGSIDE_HOME"):
        make_private(folder)
    make_private(folder / name)
    return folder / name


def data_dir() -> Path:
    """The folder of settings, confirmed engines and the sample league; RINGSIDE_HOME overrides it."""
    if path := os.environ.get("RINGSIDE_HOME"):
        return Path(path).expanduser().absolute()
    if sys.platform == "win32":
        return Path(os.environ.get("APPDATA") or Path.home() / "AppData" / "Roaming") / "Ringside"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support" / "Ringside"
    return Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share") / "ringside"
