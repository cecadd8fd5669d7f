"""Installs the plug-in of broken players for these tests only."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.registry import GAMES, KINDS

SITE = str(Path(__file__).parent / "site")


@pytest.fixture(autouse=True, scope="package")
def faults_installed() -> Iterator[None]:
    sys.path.append(SITE)
    for registry in (GAMES, KINDS):
        registry.rescan()
    yield
    sys.path.remove(SITE)
    GAMES.remove("broken-rules")
    for name in ("fault", "harm", "import-fault", "shared-fault", "shared-harm"):
        KINDS.remove(name)
    for registry in (GAMES, KINDS):
        registry.rescan()
