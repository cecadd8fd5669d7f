"""Imports of plug-ins that fail or never return."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from engine import plugin_imports
from engine.errors import BrokenPlugin, UnknownName
from engine.foreign_code import call_within
from engine.plugin_imports import LateModules
from engine.registry import Registry

ENTRIES = """
[ringside.games]
endless = endless_import:Game
endless-too = endless_import:Other
counted = counted_import:Game
sound = sound_import:Game
"""


@pytest.fixture
def controls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """An installed distribution, and a module that its modules use: `gate` is awaited by an import, `count` counts."""
    (info := tmp_path / "a_plugin-1.0.dist-info").mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: a-plugin\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(ENTRIES)
    (tmp_path / "endless_import.py").write_text("import import_controls\nimport_controls.gate.wait()\n")
    (tmp_path / "counted_import.py").write_text("import import_controls\nimport_controls.count += 1\n1 / 0\n")
    (tmp_path / "sound_import.py").write_text("class Game:\n    pass\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(plugin_imports, "_hanging", set())
    controls = sys.modules["import_controls"] = ModuleType("import_controls")
    controls.gate, controls.count = threading.Event(), 0  # type: ignore[attr-defined]
    yield controls
    controls.gate.set()
    for thread in threading.enumerate():
        if thread.name == "foreign-code":
            thread.join()
    for name in ("import_controls", "endless_import", "counted_import", "sound_import"):
        sys.modules.pop(name, None)


def test_an_import_that_does_not_return_is_given_up_once(controls: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plugin_imports, "IMPORT_LIMIT", 0.05)
    games: Registry[object] = Registry("game", "ringside.games")
    with pytest.raises(BrokenPlugin, match="'endless' of a-plugin cannot be loaded: TimeoutError: it did not return"):
        games.get("endless")
    monkeypatch.setattr(plugin_imports, "IMPORT_LIMIT", 3600.0)
    with pytest.raises(BrokenPlugin, match=r"'endless-too' .* the import of endless_import did not return"):
        games.get("endless-too")
    with pytest.raises(BrokenPlugin, match="'endless' of a-plugin cannot be loaded"):
        games.get("endless")
    assert games.get("sound").__name__ == "Game", "others can be imported"  # type: ignore[attr-defined]


def test_an_import_that_has_failed_is_not_repeated_before_the_next_scan(controls: ModuleType) -> None:
    games: Registry[object] = Registry("game", "ringside.games")
    for _ in range(3):
        with pytest.raises(BrokenPlugin, match=r"'counted' .*: ZeroDivisionError: division by zero"):
            games.get("counted")
    assert controls.count == 1
    games.rescan()
    with pytest.raises(BrokenPlugin):
        games.get("counted")
    assert controls.count == 2


def test_modules_that_register_names_are_imported_when_a_name_is_not_found(
    controls: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    games: Registry[str] = Registry("game", "no.such.group")
    (tmp_path / "late_import.py").write_text("import import_controls\nimport_controls.games.add('late', 'found')\n")
    controls.games = games  # type: ignore[attr-defined]
    games.add("known", "at once")
    modules = LateModules()
    monkeypatch.setattr("engine.registry.LATE_MODULES", modules)
    modules.add(["late_import", "counted_import"])
    assert games.get("known") == "at once"
    assert "late_import" not in sys.modules
    assert games.get("late") == "found"
    with pytest.raises(BrokenPlugin, match="unknown game 'later', and the plug-in 'counted_import' cannot be imported"):
        games.get("later")
    modules.problems.clear()
    with pytest.raises(UnknownName, match="unknown game 'later'"):
        games.get("later")


def test_a_call_returns_and_raises_as_usual_if_it_ends_in_time() -> None:
    assert call_within(60.0, lambda: 5) == 5
    with pytest.raises(ZeroDivisionError):
        call_within(60.0, lambda: 1 // 0)
    gate = threading.Event()
    with pytest.raises(TimeoutError, match=r"it did not return within 0\.01 s"):
        call_within(0.01, gate.wait)
    gate.set()
