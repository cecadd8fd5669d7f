"""A league file that others read while it is let go of."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

from engine.errors import LeagueError
from engine.league.storage.league import League


def test_a_file_that_is_closed_while_others_read_it_tells_them_so(tmp_path: Path) -> None:
    """SQLite would crash the whole program, were a connection closed in the middle of a query."""
    League.new(tmp_path / "one.league").close()
    numbers = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3000000) SELECT sum(i) FROM n"
    for _ in range(5):
        league = League(tmp_path / "one.league")
        reading, told = threading.Event(), list[BaseException]()

        def read(league: League = league, reading: threading.Event = reading, told: list[Any] = told) -> None:
            try:
                while True:
                    league.file.read("SELECT 1")
                    reading.set()
                    league.file.read(numbers)
                    list(league.file.stream("SELECT * FROM settings"))
            except BaseException as error:
                told.append(error)

        threads = [threading.Thread(target=read) for _ in range(3)]
        for thread in threads:
            thread.start()
        assert reading.wait(30)
        league.close()
        for thread in threads:
            thread.join(30)
        assert [type(one) for one in told] == [LeagueError] * 3
        assert all("has been closed" in str(one) for one in told)
