"""What the window remembers from one time to the next, as a small JSON file of a person's own.

A file that cannot be read or written costs what was remembered, and never a start.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from engine.files import write_whole

RECENT = 8  # leagues
LARGEST = 1 << 20


class Settings:
    """By name; whatever JSON can hold."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.trouble = ""  # why nothing can be kept
        self._values: dict[str, Any] = {}
        try:
            if path.stat().st_size <= LARGEST:
                found = json.loads(path.read_bytes())
                self._values = found if isinstance(found, dict) else {}
        except (OSError, ValueError):
            pass

    def get(self, name: str, default: Any = None) -> Any:
        """Of the type of the default, or the default: a person may have edited the file."""
        found = self._values.get(name, default)
        return found if default is None or isinstance(found, type(default)) else default

    def set(self, name: str, value: Any) -> None:
        if self._values.get(name) != value or name not in self._values:
            self._values[name] = value
            self.save()

    def forget(self, start: str) -> None:
        """Everything whose name begins like this."""
        self._values = {name: value for name, value in self._values.items() if not name.startswith(start)}
        self.save()

    def save(self) -> None:
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            write_whole(self._path, json.dumps(self._values, indent=1).encode())
            self.trouble = ""
        except OSError as error:
            self.trouble = f"settings cannot be kept in {self._path}: {error.strerror or error}"

    @property
    def recent(self) -> list[Path]:
        """Leagues that were open, newest first, as far as they are still there."""
        given = [Path(one) for one in self.get("recent", []) if isinstance(one, str)]
        return [one for one in given if one.is_file()]

    def opened(self, path: Path) -> None:
        others = [one for one in self.recent if one != path]
        self.set("recent", [str(one) for one in [path, *others]][:RECENT])
