"""Leagues and folders without permission, as a user sees them: root gives up its privileges for these commands."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.league.storage.league import League
from league_app.cli.main import main

WITHOUT_PRIVILEGES = ["setpriv", "--bounding-set=-all", "--inh-caps=-all"]


SEVERAL = """
import contextlib, io, json, sys
from league_app.cli.main import main

for arguments in json.load(sys.stdin):
    with contextlib.redirect_stderr(io.StringIO()) as errors, contextlib.redirect_stdout(io.StringIO()):
        try:
            main(arguments)
            status = 0
        except SystemExit as stopped:
            status = stopped.code
    print(json.dumps([status, errors.getvalue()]))
"""


def run_python(*arguments: str, given: str = "") -> subprocess.CompletedProcess[str]:
    privileged = WITHOUT_PRIVILEGES if os.geteuid() == 0 else []
    command = [*privileged, sys.executable, *arguments]
    return subprocess.run(command, input=given, capture_output=True, text=True, check=False)


def run(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return run_python("-m", "league_app", *map(str, arguments))


def run_several(commands: list[list[str]]) -> list[tuple[int, str]]:
    """The exit status and the errors of each command, all run by one process."""
    done = run_python("-c", SEVERAL, given=json.dumps(commands))
    assert done.returncode == 0, done.stderr
    return [tuple(json.loads(line)) for line in done.stdout.splitlines()]


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


READER = """
import sys
from engine.league.storage.league import League

with League(sys.argv[1], read_only=True) as league:
    for _ in sys.stdin:
        print([agent.notes for agent in league.agents() if agent.name == "Shaky"], flush=True)
"""


def test_a_reader_without_permission_follows_the_owner(league: Path) -> None:
    """The folder cannot be written either, so that SQLite could not create its log there. The owner is root here, whom
    permissions do not stop."""
    if os.geteuid() != 0:
        pytest.skip("two users are needed: run it as root")
    league.chmod(0o444)
    league.parent.chmod(0o555)
    command = [*WITHOUT_PRIVILEGES, sys.executable, "-c", READER, str(league)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as reader:
        assert reader.stdin is not None
        assert reader.stdout is not None

        def read() -> str:
            print(file=reader.stdin, flush=True)
            return reader.stdout.readline().strip()

        assert read() == "['']"
        for notes in ("one", "two"):
            main(["agents", "edit", str(league), "Shaky", "--notes", notes])
            assert read() == f"['{notes}']"
        with League(league) as owner:
            for notes in ("three", "four"):
                owner.change_agent("Shaky", notes=notes)
                assert read() == f"['{notes}']"
        reader.stdin.close()
    assert reader.returncode == 0


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
        commands = [
            ["new", f"{locked}/b.league"],
            ["backup", str(league), f"{locked}/b.league"],
            ["agents", "export", str(league), "Shaky", f"{locked}/b.agent"],
            ["match", "pong", "Dice", "Dice", "--save", f"{locked}/b.replay"],
            ["demo", "--keep", f"{locked}/b.league"],
            ["agents", "import", str(league), f"{locked}/b.agent"],
            ["replay", f"{locked}/b.replay"],
            ["standings", f"{locked}/b.league"],
        ]
        for command, (status, errors) in zip(commands, run_several(commands), strict=True):
            assert status == 2, command
            assert str(locked) in errors, errors
            assert "Traceback" not in errors
            assert "standard output" not in errors
    finally:
        locked.chmod(0o755)
