"""Exports are read back by pandas: every match, every column, and every value of every game."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pandas
import pytest

from engine.league.storage.league import League
from engine.play.match import Limits
from engine.registry import GAMES, KINDS, game_of, new_game
from league_app.cli.main import main
from league_app.core.export import csv_lines, match_columns, match_lines, match_rows
from league_app.core.state import LeagueState
from tests.league_app.cli.commands import Capture


@pytest.fixture(scope="module")
def everything(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A league in which all installed games were played, those with the fewest seats first."""
    path = tmp_path_factory.mktemp("export") / "all.league"
    with LeagueState.new(path, lanes=4) as state:
        state.budget.cores = 1
        games = [(name, new_game(name)) for name in GAMES.own()]
        for name, game in sorted(games, key=lambda item: item[1].info.seats):
            own = [agent.name for agent in state.add_samples(name) if agent.kind in KINDS.own()]
            rounds = {"rounds": 3 if game.info.seats == 2 else 1}
            plan: dict[str, Any] = {
                "game": name,
                "agents": own[: game.info.seats + 1],
                "options": rounds,
                "limits": Limits(30),
            }
            state.start_tournament(state.plan_tournament(None, **plan).number).wait()
    return path


def test_pandas_reads_every_match_of_all_games_as_it_was_played(everything: Path, tmp_path: Path) -> None:
    main(["export", "csv", str(everything), "--to", str(tmp_path / "matches.csv")])
    table = pandas.read_csv(tmp_path / "matches.csv", dtype={"start": "string", "blamed": "string"})
    with League(everything, read_only=True) as league:
        rows = list(match_rows(league, None))
        columns = match_columns(league, None)
        seats = {game_of(spec).info.seats for spec in league.pools().values()}
    assert len(seats) > 1  # so the first match has not all of the columns
    assert len(table) == len(rows) > 10
    assert list(table.columns) == columns
    for read, row in zip(table.to_dict("records"), rows, strict=True):
        assert f"{read['tournament']}.{read['number']}" == row.pop("match")
        for name in columns:
            expected = row.pop(name, None)
            if expected in (None, ""):
                assert pandas.isna(read[name]), name
            elif isinstance(expected, float):
                assert read[name] == pytest.approx(expected, rel=1e-12), name
            else:
                assert str(read[name]).removesuffix(".0") == str(expected), name
        assert not row  # nothing was left out


def test_names_of_matches_stay_different_in_pandas(everything: Path, tmp_path: Path) -> None:
    main(["export", "csv", str(everything), "--to", str(tmp_path / "matches.csv"), "--tournament", "1"])
    table = pandas.read_csv(tmp_path / "matches.csv")
    assert {1, 10} <= set(table["number"])  # as 1.1 and 1.10 these would be one number
    assert len(table.drop_duplicates(["tournament", "number"])) == len(table)


def test_json_and_csv_have_the_same_matches(everything: Path, capsys: Capture) -> None:
    main(["export", "json", str(everything)])
    rows = json.loads(capsys.readouterr().out)
    with League(everything, read_only=True) as league:
        assert {name for row in rows for name in row} == {"match", *match_columns(league, None)}
        assert len(rows) == sum(tournament.played for tournament in league.tournaments())


def test_an_empty_league_gives_a_table_without_rows(tmp_path: Path) -> None:
    main(["new", str(tmp_path / "empty.league")])
    for what in ("matches", "agents"):  # standings need a game
        target = tmp_path / f"{what}.csv"
        main(["export", "csv", str(tmp_path / "empty.league"), "--what", what, "--to", str(target)])
        table = pandas.read_csv(target)
        assert len(table) == 0
        assert len(table.columns) > 5


@pytest.mark.parametrize("format", ["csv", "json"])
def test_an_export_is_of_one_state_although_another_game_is_played_meanwhile(tmp_path: Path, format: str) -> None:
    with LeagueState.new(tmp_path / "x.league") as state:
        plan: dict[str, Any] = {"limits": Limits(30), "options": {"rounds": 1}}
        for game in ("pong", "treasure-hunt"):
            state.add_samples(game)
        own = [agent for agent in state.agents() if agent.kind in KINDS.own()]
        names = [agent.name for agent in own if agent.game == "pong"][:2]
        state.start_tournament(game="pong", agents=names, **plan).wait()
        before = list(match_lines(state.league, None, format))
        lines = match_lines(state.league, None, format)
        started = [next(lines)]
        hunters = [agent.name for agent in own if agent.game == "treasure-hunt"][:4]
        with ThreadPoolExecutor() as other:  # a thread that exports reads its state only
            other.submit(lambda: state.start_tournament(game="treasure-hunt", agents=hunters, **plan).wait()).result()
        assert [*started, *lines] == before
        after = list(match_lines(state.league, None, format))
        assert len(after) > len(before)
        if format == "csv":
            assert len(after[0]) > len(before[0]), "columns of the other game"


def test_a_value_without_a_column_is_an_error() -> None:
    with pytest.raises(ValueError, match="b"):
        list(csv_lines(["a"], [{"a": 1}, {"a": 2, "b": 3}]))
    assert list(csv_lines(["a", "b"], [{"b": 3}])) == ["a,b\n", ",3\n"]
