"""Leagues and folders without permission, as a user sees them: root gives up its privileges for these commands."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from league_app.cli.main import main

WITHOUT_PRIVILEGES = ["setpriv", "--bounding-set=-all", "--inh-caps=-all"]


def run(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "league_app", *map(str, arguments)]
    privileged = WITHOUT_PRIVILEGES if os.geteuid() == 0 else []
    return subprocess.run([*privileged, *command], capture_output=True, text=True, check=False)


def obeys_permissions(folder: Path) -> bool:
    """Whether commands run here are refused what permissions refuse."""
    probe = folder / "probe"
    probe.touch(0o400)
    command = ["sh", "-c", f"test -w '{probe}'"]
    if os.geteuid() == 0 and not shutil.which("setpriv"):
        return False
    privileged = WITHOUT_PRIVILEGES if os.geteuid() == 0 else []
    return subprocess.run([*privileged, *command], check=False).returncode == 1


@pytest.fixture
def league(tmp_path: Path) -> Iterator[Path]:
    if os.name != "posix" or not obeys_permissions(tmp_path):
        pytest.skip("this user may read and write everything, and setpriv cannot change that")
    folder = tmp_path / "leagues"
    folder.mkdir()
    main(["new", str(folder / "a.league"), "--game", "pong"])
    yield folder / "a.league"
    folder.chmod(0o755)


def test_reading_a_read_only_league_leaves_nothing_that_blocks_a_writer(league: Path) -> None:
    league.chmod(0o444)
    shown = run("standings", league)
    assert (shown.returncode, "Shaky" in shown.stdout) == (0, True), shown.stderr
    assert [path.name for path in league.parent.iterdir()] == ["a.league"]
    refused = run("agents", "edit", league, "Shaky", "--notes", "new")
    assert refused.returncode == 2
    assert "cannot be written: open it read-only" in refused.stderr
    league.chmod(0o644)
    assert run("agents", "edit", league, "Shaky", "--notes", "new").returncode == 0


def test_side_files_that_were_left_read_only_do_not_block_a_writer(league: Path) -> None:
    for suffix in ("-wal", "-shm"):
        league.with_name(league.name + suffix).touch(0o444)
    changed = run("agents", "edit", league, "Shaky", "--notes", "new")
    assert changed.returncode == 0, changed.stderr


def test_an_unreadable_league_is_a_matter_of_permissions(league: Path) -> None:
    league.chmod(0o000)
    for command in (["standings", league], ["agents", "edit", league, "Shaky", "--notes", "new"]):
        done = run(*command)
        assert done.returncode == 2
        assert f"{league} cannot be read (Permission denied): change its permissions" in done.stderr
        assert "disk" not in done.stderr


@pytest.mark.parametrize("mode", [0o555, 0o000])
def test_a_folder_without_permission_is_named(league: Path, mode: int) -> None:
    locked = league.parent.parent / "locked"
    locked.mkdir()
    (locked / "there.replay").touch()
    locked.chmod(mode)
    try:
        for command in (
            ["new", locked / "b.league"],
            ["backup", league, locked / "b.league"],
            ["agents", "export", league, "Shaky", locked / "b.agent"],
            ["match", "pong", "Dice", "Dice", "--save", locked / "b.replay"],
            ["demo", "--keep", locked / "b.league"],
            ["agents", "import", league, locked / "b.agent"],
            ["replay", locked / "b.replay"],
            ["standings", locked / "b.league"],
        ):
            done = run(*command)
            assert done.returncode == 2, command
            assert str(locked) in done.stderr, done.stderr
            assert "Traceback" not in done.stderr
            assert "standard output" not in done.stderr
    finally:
        locked.chmod(0o755)
