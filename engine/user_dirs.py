"""Where Ringside keeps what belongs to a person on this machine, rather than to a league."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def home() -> Path:
    """Settings, confirmed engines and the sample league; RINGSIDE_HOME names another folder."""
    if given := os.environ.get("RINGSIDE_HOME"):
        return Path(given).expanduser().absolute()
    if sys.platform == "win32":
        return Path(os.environ.get("APPDATA") or Path.home() / "AppData" / "Roaming") / "Ringside"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support" / "Ringside"
    return Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share") / "ringside"
