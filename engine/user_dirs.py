"""The folder for data that belongs to the user of this machine rather than to a league."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def data_dir() -> Path:
    """The folder of settings, confirmed engines and the sample league; RINGSIDE_HOME overrides it."""
    if path := os.environ.get("RINGSIDE_HOME"):
        return Path(path).expanduser().absolute()
    if sys.platform == "win32":
        return Path(os.environ.get("APPDATA") or Path.home() / "AppData" / "Roaming") / "Ringside"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support" / "Ringside"
    return Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share") / "ringside"
