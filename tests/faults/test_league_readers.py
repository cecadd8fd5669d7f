"""A league file that is closed or replaced while other threads read it."""

from __future__ import annotations

import os
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from engine.errors import LeagueError, LeagueGone
from engine.league.storage.league import League


def test_closing_a_league_file_raises_an_error_in_its_readers(tmp_path: Path) -> None:
    """Closing a connection during a query would crash the process in SQLite."""
    League.new(tmp_path / "one.league").close()
    numbers = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3000000) SELECT sum(i) FROM n"
    for _ in range(5):
        league = League(tmp_path / "one.league")
        reading, errors = threading.Event(), list[BaseException]()

        def read(league: League = league, reading: threading.Event = reading, errors: list[Any] = errors) -> None:
            try:
                while True:
                    league.file.read("SELECT 1")
                    reading.set()
                    league.file.read(numbers)
                    list(league.file.stream("SELECT * FROM settings"))
            except BaseException as error:
                errors.append(error)

        threads = [threading.Thread(target=read) for _ in range(3)]
        for thread in threads:
            thread.start()
        assert reading.wait(120)
        league.close()
        for thread in threads:
            thread.join(120)
        assert [type(caught) for caught in errors] == [LeagueError] * 3
        assert all("has been closed" in str(caught) for caught in errors)


@pytest.mark.parametrize("read_only", [False, True])
def test_a_new_thread_does_not_read_another_league_at_the_same_path(tmp_path: Path, read_only: bool) -> None:
    path, other = tmp_path / "one.league", tmp_path / "other.league"
    League.new(path).close()
    League.new(other).close()
    with League(path, read_only=read_only) as league, ThreadPoolExecutor(1) as thread:
        assert league.file.read("SELECT count(*) FROM matches") == [(0,)]
        os.replace(other, path)
        with pytest.raises(LeagueGone, match="was deleted, moved or replaced"):
            thread.submit(league.file.read, "SELECT count(*) FROM matches").result()
