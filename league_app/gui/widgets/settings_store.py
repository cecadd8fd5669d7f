"""What widgets need of a store for settings; the application's Preferences fit."""

from __future__ import annotations

from typing import Any, Protocol


class SettingsStore(Protocol):
    def get(self, name: str, default: Any = None) -> Any: ...

    def set(self, name: str, value: Any) -> None: ...

    def remove_prefix(self, start: str) -> None:
        """Removes every setting whose name begins with this."""
