"""Preferences of the window, in a small JSON file of the user.

If the file cannot be read or written, preferences are lost, but the program starts.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from engine.files import write_private

RECENT = 8  # leagues
LARGEST = 1 << 20


class Preferences:
    """JSON values by name."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.trouble = ""  # why preferences cannot be saved
        self._values: dict[str, Any] = {}
        try:
            if path.stat().st_size <= LARGEST:
                found = json.loads(path.read_bytes())
                self._values = found if isinstance(found, dict) else {}
        except (OSError, ValueError):
            pass

    def get(self, name: str, default: Any = None) -> Any:
        """The value, or the default if it has another type: the user may have edited the file."""
        found = self._values.get(name, default)
        return found if default is None or isinstance(found, type(default)) else default

    def set(self, name: str, value: Any) -> None:
        if self._values.get(name) != value or name not in self._values:
            self._values[name] = value
            self.save()

    def remove_prefix(self, prefix: str) -> None:
        """Removes all values whose names start with this prefix."""
        self._values = {name: value for name, value in self._values.items() if not name.startswith(prefix)}
        self.save()

    def save(self) -> None:
        try:
            write_private(self._path, json.dumps(self._values, indent=1).encode())
            self.trouble = ""
        except OSError as error:
            self.trouble = f"preferences cannot be saved in {self._path}: {error.strerror or error}"

    @property
    def recent(self) -> list[Path]:
        """Recently opened leagues that still exist, newest first."""
        paths = [Path(path) for path in self.get("recent", []) if isinstance(path, str)]
        return [file for file in paths if file.is_file()]

    def add_recent(self, path: Path) -> None:
        others = [file for file in self.recent if file != path]
        self.set("recent", [str(file) for file in [path, *others]][:RECENT])
