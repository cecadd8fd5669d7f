"""Connections for reading: one for each thread, closed with their threads and with the league."""

from __future__ import annotations

import _thread
import os
import sqlite3
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.errors import LeagueError
from engine.league.storage.league import League


@pytest.fixture
def league(tmp_path: Path) -> Iterator[League]:
    with League.new(tmp_path / "one.league") as league:
        yield league


def read_in_threads(league: League, count: int) -> None:
    """One thread after the other reads the file."""
    for _ in range(count):
        thread = threading.Thread(target=league.file.read, args=("SELECT 1",))
        thread.start()
        thread.join()


def open_files(league: League) -> int:
    names = [Path("/proc/self/fd") / name for name in os.listdir("/proc/self/fd")]
    return sum(os.path.lexists(name) and os.readlink(name).startswith(str(league.path)) for name in names)


def test_a_thread_reads_with_one_connection(league: League) -> None:
    connections = {league.file.reader() for _ in range(3)}
    assert len(connections) == len(league.file._readers) == 1


def test_connections_of_ended_threads_are_closed(league: League) -> None:
    league.file.read("SELECT 1")
    read_in_threads(league, 20)
    assert len(league.file._readers) <= 2, "this thread and the latest one"


@pytest.mark.skipif(sys.platform != "linux", reason="the end of such a thread is visible in /proc only")
def test_connections_of_threads_unknown_to_python_are_closed(league: League) -> None:
    """`threading` never notices the end of a thread that it has not started, such as one of Qt."""
    ended = threading.Semaphore(0)
    tasks: list[int] = []

    def read() -> None:
        league.file.read("SELECT 1")
        tasks.append(threading.get_native_id())
        ended.release()

    for count in range(1, 11):
        _thread.start_new_thread(read, ())
        ended.acquire()
        while os.path.exists(f"/proc/self/task/{tasks[-1]}"):
            os.sched_yield()
        assert len(tasks) == count
    league.file.read("SELECT 1")
    assert len(league.file._readers) <= 2


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="open files are listed in /proc")
def test_a_closed_league_leaves_no_file_open(league: League) -> None:
    read_in_threads(league, 3)
    league.file.read("SELECT 1")
    assert open_files(league) > 0
    league.close()
    assert open_files(league) == 0


def test_a_connection_that_is_opened_while_the_league_is_closed_is_closed_too(
    league: League, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[sqlite3.Connection] = []
    connect = league.file._connect_reader

    def connect_late() -> sqlite3.Connection:
        made.append(connect())
        league.close()
        return made[-1]

    monkeypatch.setattr(league.file, "_connect_reader", connect_late)
    with pytest.raises(LeagueError, match="has been closed"):
        league.file.read("SELECT 1")
    with pytest.raises(sqlite3.ProgrammingError):
        made[0].execute("SELECT 1")
