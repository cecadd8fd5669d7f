"""Recorded matches that trainers ask for: which ones are chosen, what the session keeps, and errors."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agents.training.records import MatchRecord, RecordQuery
from engine.errors import BadValue, UnknownName
from engine.game import Game
from engine.games.pong.game import Pong
from engine.league import played_matches, selected_matches
from engine.league.selected_matches import select_matches, strongest
from engine.league.storage.league import League
from engine.league.storage.result_columns import PlayedEntry
from engine.league.storage.tournaments import TournamentStore
from engine.play.failures import unplayed_result
from engine.play.match import AgentSpec, Ending, EndingKind
from engine.registry import TRAINERS, new_game
from league_app.core import training_records
from league_app.core.state import LeagueState
from league_app.core.training_job import TrainingJob
from league_app.core.training_records import find_records
from league_app.core.validation import make_settings
from tests.agents.training.hybrid.lesson_leagues import bots, play_tournament, records_of
from tests.faults.league import within
from tests.plugins.studying import Studying

PLUGINS = ("tests.plugins.studying",)
PONG = new_game("pong", points=1, step_limit=200)
NAMES = ("Still", "Lazy", "Tracker", "Predictor")
EVERY = RecordQuery("source", strongest=0)

TRAINERS.remove("studying")  # it is there for these tests alone


@pytest.fixture(autouse=True)
def trainer() -> Iterator[None]:
    TRAINERS.add("studying", Studying)
    with within(120):
        yield
    TRAINERS.remove("studying")


@pytest.fixture(name="path")
def league_path(tmp_path: Path) -> Path:
    path = tmp_path / "one.league"
    play_tournament(path, PONG, bots(PONG, *NAMES), rounds=6)
    return path


def studied(state: LeagueState, game: Game = PONG, **settings: Any) -> tuple[TrainingJob, list[str]]:
    """The session after its end, and its log."""
    job = state.training.start("studying", settings, game=game.spec)
    job.wait()
    return job, [log.text for log in job.logs]


def refused(path: Path, needed: str, game: Game = PONG, error: type[Exception] = BadValue, **settings: Any) -> None:
    with LeagueState(path, plugins=PLUGINS) as state:
        before = state.training.sessions.all()
        with pytest.raises(error, match=needed):
            state.training.start("studying", settings, game=game.spec)
        assert state.training.sessions.all() == before, "nothing was saved"


def players(records: tuple[MatchRecord, ...]) -> Counter[tuple[str, ...]]:
    return Counter(tuple(sorted(record.players)) for record in records)


# A session


def test_the_trainer_gets_the_matches_of_the_strongest_agent_and_the_session_keeps_its_name(path: Path) -> None:
    with LeagueState(path, plugins=PLUGINS) as state:
        [best] = strongest(state.league, PONG.spec, 1)
        job, log = studied(state, players=True)
        count = 6 * 2 * 3
        size = sum(len(record.actions) for record in records_of(path, PONG, best))
        assert log == [
            f"{count} of {count} recorded matches of {best} to learn from",
            f"{count} records of ['{best}'] with {size} bytes",
            f"agents ['{best}']",
        ]
        assert dict(job.session.config)["source"] == best
        resumed = state.training.resume(job.number)
        resumed.wait()
        assert [entry.text for entry in resumed.logs] == ["0 records of [] with 0 bytes", "agents []"]


def test_a_session_without_a_checkpoint_asks_for_the_same_agents_again(path: Path) -> None:
    with LeagueState(path, plugins=PLUGINS) as state:
        job, before = studied(state, saves=False, strongest=2)
        chosen = str(dict(job.session.config)["source"])
        assert chosen.count(",") == 1
        best = chosen.split(",")[0]
        state.league.archive(state.league.agent(best).id)
        assert strongest(state.league, PONG.spec, 1) != [best]
        resumed = state.training.resume(job.number)
        resumed.wait()
        assert [entry.text for entry in resumed.logs] == before


def test_a_teacher_may_be_a_ready_made_agent_but_one_of_the_league_comes_first(path: Path) -> None:
    with LeagueState(path, plugins=PLUGINS) as state:
        _, log = studied(state, teacher="Shaky", source="Lazy", players=True)
        assert log[-1] == "agents ['Shaky', 'Lazy']"
        state.league.change_agent(state.league.agent("Lazy").id, name="Shaky")
        job = state.training.start("studying", {"teacher": "Shaky", "source": "Still"}, game=PONG.spec)
        job.wait()
        [teacher] = job._live._agents
        assert teacher.payload == bots(PONG, "Lazy")[0].payload
    refused(path, "unknown agent of one.league or ready-made agent 'Nobody'", error=UnknownName, teacher="Nobody")
    refused(path, "unknown agent of one.league for pong 'Random'", error=UnknownName, rivals="Random")


def test_what_is_left_out_because_of_its_size_is_said(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = [len(record.actions) for record in records_of(path, PONG)]
    monkeypatch.setattr(training_records, "MOST_BYTES", 4 * max(sizes))
    with LeagueState(path, plugins=PLUGINS) as state:
        job, log = studied(state, strongest=0)
        assert log[0].startswith(f"{int(log[2].split()[0])} of {len(sizes)} recorded matches to learn from")
        assert "matches are left out: the actions of all matches may take at most 0 MiB" in log[1]
        assert 4 <= int(log[2].split()[0]) < len(sizes)
        assert dict(job.session.config)["source"] == "", "no agents were chosen"


# Errors


def test_without_recorded_matches_it_says_what_to_do(path: Path, tmp_path: Path) -> None:
    other = new_game("pong", points=2)
    needed = (
        r"source = '': must be for a game with recorded matches: one.league has none of pong, version 1, with these "
        r"options, only of pong with points=1, step_limit=200. Play a tournament first, or name a teacher"
    )
    refused(path, needed, other)
    refused(path, "one.league has none of treasure-hunt, .* Play a tournament first", new_game("treasure-hunt"))
    with LeagueState(path, plugins=PLUGINS) as state:
        _, log = studied(state, other, required=False)
        assert log[0] == "0 of 0 recorded matches to learn from"
        assert log[1] == "0 records of [] with 0 bytes"


def test_agents_that_are_unknown_or_have_not_played_are_named(path: Path) -> None:
    refused(
        path,
        "unknown agent of one.league for pong 'Trakcer': did you mean 'Tracker'",
        error=UnknownName,
        source="Trakcer",
    )
    with League(path) as league:
        league.add_agent("New", "pong", AgentSpec("New", "dice"))
    refused(path, "source = 'New': .* with these options by New. Play a tournament first", source="New")


@pytest.mark.parametrize("required", [True, False])
def test_the_strongest_agents_are_never_all_agents_because_all_are_archived(path: Path, required: bool) -> None:
    with League(path) as league:
        for name in NAMES:
            league.archive(league.agent(name).id)
    needed = "source = '': must be names of agents: all agents of one.league with rated matches of pong are archived"
    refused(path, f"{needed}. Name some of them, or restore one", required=required)
    assert len(records_of(path, PONG, *NAMES)) == len(records_of(path, PONG)) == 6 * 2 * 6
    with LeagueState(path, plugins=PLUGINS) as state:
        state.league.archive(state.league.agent("Lazy").id, undo=True)
        assert studied(state)[1][0] == "36 of 36 recorded matches of Lazy to learn from"


def test_matches_of_other_rules_are_not_used(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Pong, "version", 2)
    game = new_game("pong", points=1, step_limit=200)
    refused(path, "has none of pong, version 2, with these options, only of version 1 of its rules", game)


# Which matches


def test_line_ups_take_turns_with_their_newest_matches(path: Path) -> None:
    play_tournament(path, PONG, bots(PONG, "Still", "Lazy"), rounds=50, seed=9)
    found = records_of(path, PONG, matches=30)
    assert set(players(found).values()) == {5}, "six line-ups, whatever their numbers of matches"
    newest = [record.name for record in found if set(record.players) == {"Still", "Lazy"}]
    assert newest == [f"2.{place}" for place in range(100, 95, -1)]
    assert [record.name for record in found] == sorted(
        (record.name for record in found), key=lambda name: [int(part) for part in name.split(".")], reverse=True
    )


def test_only_matches_of_the_chosen_agents_are_used_and_their_seats_are_marked(path: Path) -> None:
    found = records_of(path, PONG, "Lazy", "Still")
    assert set(players(found)) == {("Lazy", other) for other in NAMES[2:]} | {
        tuple(sorted(pair)) for pair in (("Lazy", "Still"), ("Still", "Tracker"), ("Still", "Predictor"))
    }
    for record in found:
        assert {record.players[seat] for seat in record.chosen} == {"Lazy", "Still"} & set(record.players)
    assert len(records_of(path, PONG)) == 6 * 2 * 6


def test_records_have_what_a_replay_needs(path: Path) -> None:
    with League(path, read_only=True) as league:
        for record in records_of(path, PONG)[:8]:
            match = played_matches.match(league, record.name)
            assert (record.seed, record.start) == (match.spec.seed, match.spec.start)
            assert (record.steps, record.ranks, record.actions) == (
                match.result.steps,
                match.result.ranks,
                match.result.actions,
            )
            assert record.failed == ()


def test_archived_agents_are_not_the_strongest_but_can_be_named(path: Path) -> None:
    with League(path) as league:
        [best, second] = strongest(league, PONG.spec, 2)
        league.archive(league.agent(best).id)
        assert strongest(league, PONG.spec, 1) == [second]
    assert {name for record in records_of(path, PONG, best) for name in record.players if name == best} == {best}


def test_an_agent_with_few_matches_is_not_among_the_strongest(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    play_tournament(
        path, PONG, [*bots(PONG, "Still"), AgentSpec("New", "pong-bot", bots(PONG, "Predictor")[0].payload)]
    )
    with League(path, read_only=True) as league:
        assert "New" not in strongest(league, PONG.spec, 10)
        monkeypatch.setattr(selected_matches, "FEWEST", 1)
        assert "New" in strongest(league, PONG.spec, 10)


def test_matches_that_were_not_played_are_left_out_and_failures_are_marked(tmp_path: Path) -> None:
    path = tmp_path / "failures.league"
    play_tournament(path, PONG, bots(PONG, "Still", "Lazy"), rounds=3)
    with League(path) as league:
        plan = make_settings(PONG.spec, "round-robin", {"rounds": 3}, seed=5)
        ids = [league.agent(name).id for name in ("Still", "Lazy")]
        store = TournamentStore(league, league.add_tournament("failures", plan, ids).number)
        planned = list(store.missing())
        kinds = (EndingKind.VOID, EndingKind.EXCEPTION, EndingKind.RESIGNED, EndingKind.ILLEGAL_ACTION)
        entries = []
        for match, kind in zip(planned, kinds, strict=False):
            result = unplayed_result(match.spec, kind, "why", ())
            if kind.rated:
                ids_by_seat = tuple(player.id for player in match.spec.players)
                example = played_matches.match(league, f"1.{match.place}").result
                result = replace(example, id=match.spec.id, players=ids_by_seat, ending=Ending(kind, (1,), "why"))
            entries.append(PlayedEntry(match.place, match.spec, result))
        store.record(entries)
    found = {record.name: record.failed for record in records_of(path, PONG) if record.name.startswith("2.")}
    assert found == {"2.2": (1,), "2.3": (), "2.4": (1,)}, "who resigns has not failed"


def test_of_identical_games_one_is_enough(tmp_path: Path) -> None:
    game = new_game("shogi", move_limit=6, opening="none")
    path = tmp_path / "same.league"
    fixed = [AgentSpec(name, "shogi-bot", b'{"style": "search", "depth": 1}') for name in ("A", "B")]
    play_tournament(path, game, fixed, rounds=8)
    with League(path, read_only=True) as league:
        different = 16 - played_matches.identical_games(league, 1)
        found = select_matches(league, game.spec, None, 100, 1 << 20)
        assert found.available == len(found.matches) == different
        assert all(player.payload == b"" for match in found.matches for player in match.spec.players)


def test_names_follow_a_renamed_agent(path: Path) -> None:
    with League(path) as league:
        league.change_agent(league.agent("Lazy").id, name="Quick")
        found = find_records(league, replace(EVERY, agents=("Quick",), players=True), PONG.spec, "Quick")
    assert [player.id for player in found.players] == ["Quick"]
    assert all("Quick" in record.players for record in found.records)
    assert found.note == "36 of 36 recorded matches of Quick to learn from"
