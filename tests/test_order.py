"""The order of the test files."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.conftest import pytest_collection_modifyitems


@dataclass(eq=False)
class Item:
    """A test of this file."""

    path: Path

    def get_closest_marker(self, name: str) -> object:
        return name if self.path.name == "s" else None


def _order(plugins: set[str]) -> str:
    """The order in which the tests of three files are run: `s` has a slow one, `m` has more than `f`."""
    config: Any = SimpleNamespace(
        args=["tests"],
        getoption=lambda name: name == "--all",
        pluginmanager=SimpleNamespace(hasplugin=plugins.__contains__),
    )
    items: list[Any] = [Item(Path(name)) for name in "fmms"]
    pytest_collection_modifyitems(config, items)
    return "".join(item.path.name for item in items)


@pytest.mark.parametrize(("plugins", "order"), [(set(), "smmf"), ({"randomly"}, "fmms")])
def test_long_files_are_first_unless_pytest_randomly_has_shuffled_them(plugins: set[str], order: str) -> None:
    assert _order(plugins) == order
