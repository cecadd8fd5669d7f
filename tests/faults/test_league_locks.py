"""Locks of a league: links in their place, several names of one file, and locks that were deleted."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from engine.errors import BadValue, LeagueError, LeagueHeld
from engine.files import check_writable, read_file
from engine.league.storage.league import League
from engine.play.match import AgentSpec
from league_app.cli.main import main

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="links and pipes of POSIX")
only_linux = pytest.mark.skipif(sys.platform != "linux", reason="the file itself is locked on Linux only")
UNNAMED = "is open for writing already, by another name of the file or without its lock"

HOLDER = """
import sys
from engine.league.storage.league import League
with League(sys.argv[1]):
    print("open", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    League.new(tmp_path / "x.league").close()
    return tmp_path / "x.league"


@contextmanager
def held_elsewhere(path: Path) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-c", HOLDER, str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "open\n"
        yield process
        process.communicate()
    assert process.returncode == 0


def lock_of(path: Path) -> Path:
    return path.with_name(path.name + "-lock")


def descriptors() -> set[str]:
    return set(os.listdir("/proc/self/fd"))


def add(league: League, name: str) -> None:
    league.add_agent(name, "pong", AgentSpec("x", "dice", b"", 1))


# Links and pipes in the place of the lock


@pytest.mark.parametrize("exists", [True, False])
def test_a_lock_that_is_a_link_is_refused_and_nothing_is_written_through_it(path: Path, exists: bool) -> None:
    other = path.with_name("diary")
    if exists:
        other.write_text("precious")
    lock_of(path).symlink_to(other)
    with pytest.raises(LeagueError, match=r"x\.league-lock is a symbolic link.*: remove it"):
        League(path)
    assert other.exists() == exists
    assert not exists or other.read_text() == "precious"
    with League(path, read_only=True) as league:
        assert league.no_writer
    lock_of(path).unlink()
    League(path).close()


def test_a_file_that_is_linked_in_the_place_of_the_lock_is_not_written_to(path: Path) -> None:
    other = path.with_name("diary")
    other.write_text("precious")
    os.link(other, lock_of(path))
    with League(path) as league:
        assert not league.no_writer
        with pytest.raises(LeagueHeld, match=f"process {os.getpid()} on"):
            League(path)
    assert other.read_text() == "precious"
    assert not lock_of(path).exists()


@pytest.mark.parametrize("make", [os.mkdir, os.mkfifo])
def test_a_lock_that_is_no_file_is_refused_at_once(path: Path, make: object) -> None:
    make(lock_of(path))  # type: ignore[operator]
    with pytest.raises(LeagueError, match=r"x\.league-lock is not a regular file.*: remove it"):
        League(path)
    with League(path, read_only=True) as league:
        assert league.no_writer


def test_a_lock_that_another_program_made_is_not_deleted(path: Path) -> None:
    with League(path):
        lock_of(path).unlink()
        lock_of(path).write_text("of another program")
    assert lock_of(path).read_text() == "of another program"


# Several names of one file, and deleted locks


@only_linux
def test_a_file_with_two_names_has_one_writer(path: Path) -> None:
    other = path.with_name("y.league")
    os.link(path, other)
    with held_elsewhere(path):
        for read_only in (False, True):
            with pytest.raises(LeagueHeld, match=rf"y\.league {UNNAMED}: close it there"):
                League(other, read_only)
        with League(path, read_only=True) as league:
            assert league.names() == {}
        assert not lock_of(other).exists()
    with League(path) as league:
        add(league, "First")
        with pytest.raises(LeagueHeld, match=UNNAMED):
            League(other)
    with League(other) as league:
        add(league, "Second")
    with League(path) as league:
        assert list(league.names()) == ["First", "Second"]
    main(["doctor", str(path)])


@only_linux
def test_a_deleted_lock_does_not_admit_a_second_writer(path: Path) -> None:
    with held_elsewhere(path):
        lock_of(path).unlink()
        with pytest.raises(LeagueHeld, match=UNNAMED):
            League(path)
        assert not lock_of(path).exists()
        with League(path, read_only=True) as league:
            assert league.names() == {}
    with League(path) as league:
        lock_of(path).unlink()
        with pytest.raises(SystemExit):
            main(["agents", "add", str(path), "Dice", "--game", "pong"])
        add(league, "Only one")
    with League(path) as league:
        assert list(league.names()) == ["Only one"]


# Descriptors

LOCKED_BY_SQLITE = """
import fcntl, sys
with open(sys.argv[1], "r+b") as file:
    try:
        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 510, (1 << 30) + 2)  # the bytes that readers share
    except BlockingIOError:
        print("locked")
"""


@only_linux
def test_sqlite_keeps_its_locks_while_other_uses_of_the_file_end(path: Path) -> None:
    """POSIX drops a process's locks on a file when it closes any descriptor of it."""

    def locked() -> bool:
        done = subprocess.run([sys.executable, "-c", LOCKED_BY_SQLITE, path], capture_output=True, text=True)
        assert not done.stderr
        return done.stdout == "locked\n"

    renamed = path.with_name("league.txt")
    os.link(path, renamed)
    before = descriptors()
    with League(path, read_only=True) as reader:
        for _ in range(3):
            with League(path) as league:
                with pytest.raises(LeagueHeld):
                    League(renamed)
                with pytest.raises(BadValue, match="a league that is open"):
                    read_file(renamed, 10**9)
                with pytest.raises(BadValue, match="a league is never overwritten"):
                    check_writable(renamed, overwrite=True)
                add(league, f"Agent {len(league.names())}")
            assert locked()
        assert len(reader.names()) == 3
    assert not locked()
    assert descriptors() == before
