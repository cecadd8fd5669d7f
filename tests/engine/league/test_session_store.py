"""Training sessions in a league file: everything is read back as saved, and invalid input is refused."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from agents.training.events import Player
from engine.errors import BadValue, NotNow, ReadOnly, RingsideError, UnknownName
from engine.league.records import NOTES_LENGTH, RunState
from engine.league.storage import spans
from engine.league.storage.checksums import checksum
from engine.league.storage.league import League
from engine.league.storage.session_rows import SESSION, Measured, origin_of
from engine.league.storage.sessions import SessionStore
from engine.league.storage.spans import SavedSpan
from engine.play.match import AgentSpec, GameSpec
from engine.registry import new_game

GAME = new_game("tictactoe").spec
CONFIG = (("population", 150), ("rate", 0.25), ("elitism", True), ("start", "from scratch"))
RANDOM = np.random.default_rng(1).bytes(50_000)


def best(payload: bytes = b"genome", kind: str = "fast") -> list[Player]:
    """The only player of a checkpoint."""
    return [Player(kind, 1, payload, "")]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "x.league"


@pytest.fixture
def league(path: Path) -> Iterator[League]:
    with League.new(path) as league:
        yield league


@pytest.fixture
def sessions(league: League) -> SessionStore:
    """A store with one session, number 1."""
    store = SessionStore(league)
    store.add("First", "neat", GAME, CONFIG)
    return store


# Sessions


def test_a_session_is_read_back_as_given(league: League, path: Path) -> None:
    session = SessionStore(league).add("Erste Züge", "neat", GAME, CONFIG)
    assert (session.number, session.state, session.finished, session.note) == (1, RunState.RUNNING, None, "")
    assert (session.name, session.trainer, session.game, session.config) == ("Erste Züge", "neat", GAME, CONFIG)
    assert SessionStore(league).all() == [session]
    done = SessionStore(league).update(1, RunState.FINISHED, "it had what it was after")
    league.close()
    with League(path) as again:
        assert SessionStore(again).session(1) == done
        assert done == dataclasses.replace(
            session, state=RunState.FINISHED, note="it had what it was after", finished=done.finished
        )
        assert done.finished is not None
        assert SessionStore(again).update(1, RunState.RUNNING).finished is None
        assert SessionStore(again).session(1).note == "it had what it was after", "the note was not changed"


def test_a_session_is_found_by_number_by_name_or_as_the_latest(sessions: SessionStore) -> None:
    sessions.add("Second", "neat", GAME, ())
    sessions.add("Second", "ppo", GAME, ())
    sessions.add("Caf\u00e9", "ppo", GAME, ())
    assert [session.number for session in sessions.all()] == [1, 2, 3, 4]
    assert sessions.session().number == 4
    assert sessions.session("First").number == sessions.session("1").number == sessions.session(1).number == 1
    assert sessions.session("Cafe\u0301").number == 4, "one name in two encodings"
    with pytest.raises(BadValue, match="one of the numbers 2 and 3: these share the name"):
        sessions.session("Second")


def test_the_error_for_an_unknown_session_lists_the_known_ones(sessions: SessionStore) -> None:
    calls: list[Any] = [
        lambda: sessions.session(7),
        lambda: sessions.session("Fist"),
        lambda: sessions.update(7, RunState.STOPPED),
        lambda: sessions.record(7, 1, [("fitness/best", 1.0)]),
        lambda: sessions.metrics(7),
        lambda: sessions.forget_after(7, 1),
        lambda: sessions.add_checkpoint(7, 1, b"state"),
        lambda: sessions.checkpoints(7),
        lambda: sessions.state(7),
    ]
    for call in calls:
        with pytest.raises(UnknownName, match=r"training session of x\.league .*1 \(First\)"):
            call()
    with pytest.raises(UnknownName, match="checkpoint"):
        sessions.enter(1, "Champion")


def test_a_league_without_sessions_says_so(league: League) -> None:
    assert SessionStore(league).all() == []
    with pytest.raises(NotNow, match=r"x\.league has no training session yet"):
        SessionStore(league).session()


HOSTILE = ["", "  ", "x" * 121, "one\ntwo", "a\x1b[2Jb", "\u202egnp.exe", "\ud800", " led", None, 7]


@pytest.mark.parametrize("name", HOSTILE, ids=range(len(HOSTILE)))
def test_a_hostile_name_is_refused_everywhere(sessions: SessionStore, name: Any) -> None:
    saved = sessions.add_checkpoint(1, 1, b"state", best())
    calls: list[Any] = [
        lambda: sessions.add(name, "neat", GAME, ()),
        lambda: sessions.add("Second", name, GAME, ()),
        lambda: sessions.add("Second", "neat", GAME, ((name, 1),)),
        lambda: sessions.record(1, 1, [(name, 1.0)]),
        lambda: sessions.metrics(1, [name]),
        lambda: sessions.add_checkpoint(1, 1, b"state", best(kind=name)),
        lambda: sessions.enter(saved.number, name),
        lambda: sessions.enter(saved.number, "Champion", parents=[name]),
    ]
    for call in calls:
        with pytest.raises(BadValue):
            call()
    assert len(sessions.all()) == 1
    assert sessions.metrics(1) == {}
    assert sessions.checkpoints(1) == [saved]
    assert sessions.league.agents() == []


UNREADABLE = (math.nan, math.inf, None, [1], b"x", "\ud800", 10**5000, object())


@pytest.mark.parametrize("value", UNREADABLE, ids=range(len(UNREADABLE)))
def test_settings_that_could_not_be_read_again_are_refused(sessions: SessionStore, value: Any) -> None:
    with pytest.raises(BadValue, match="rate"):
        sessions.add("Second", "neat", GAME, (("rate", value),))
    assert len(sessions.all()) == 1


def test_a_session_of_a_game_that_is_not_installed_is_refused(sessions: SessionStore) -> None:
    for game in (GameSpec("chess", 1), GameSpec("pong", 1, (("points", 3),)), dataclasses.replace(GAME, version=99)):
        with pytest.raises(RingsideError, match=game.name):
            sessions.add("Second", "neat", game, ())
    assert len(sessions.all()) == 1


@pytest.mark.parametrize("state", [RunState.CANCELLED, RunState.PLANNED, "running"])
def test_a_session_refuses_states_of_tournaments(sessions: SessionStore, state: Any) -> None:
    with pytest.raises(BadValue, match="state"):
        sessions.update(1, state)
    assert sessions.session(1).state is RunState.RUNNING


def test_characters_of_a_note_that_a_file_cannot_hold_are_replaced(sessions: SessionStore) -> None:
    sessions.update(1, RunState.STOPPED, "it said:\n\x1b[31mno\ud800\x00" + "x" * 2 * NOTES_LENGTH)
    note = sessions.session(1).note
    assert note.startswith("it said:\n\ufffd[31mno\ufffd\ufffdxxx")
    assert len(note) == NOTES_LENGTH


# After a crash, and read-only


def test_sessions_running_when_the_program_died_are_stopped_with_a_note(sessions: SessionStore, path: Path) -> None:
    for state in (RunState.PAUSED, RunState.FINISHED, RunState.STOPPED):
        sessions.update(sessions.add(state.value, "neat", GAME, CONFIG).number, state, "as it was")
    with League(path, read_only=True) as looking:
        seen = [session.state for session in SessionStore(looking).all()]
        assert seen == [RunState.RUNNING, RunState.PAUSED, RunState.FINISHED, RunState.STOPPED], (
            "another process holds the file"
        )
    sessions.league.close()
    with League(path, read_only=True) as looking:
        seen = [session.state for session in SessionStore(looking).all()]
        assert seen == [RunState.STOPPED, RunState.STOPPED, RunState.FINISHED, RunState.STOPPED]
    with League(path) as again:
        first, paused, finished, stopped = SessionStore(again).all()
    assert first.state is paused.state is RunState.STOPPED
    assert first.note == paused.note == "interrupted: the program ended"
    assert (finished.state, finished.note, stopped.note) == (RunState.FINISHED, "as it was", "as it was")
    assert first.config == CONFIG


def test_a_read_only_league_can_be_read_but_not_changed(sessions: SessionStore, path: Path) -> None:
    sessions.record(1, 1, [("fitness/best", 2.0)])
    saved = sessions.add_checkpoint(1, 1, RANDOM, best())
    with League(path, read_only=True) as looking:
        own = SessionStore(looking)
        assert own.state(1) == (1, RANDOM)
        assert own.checkpoints(1) == [saved]
        assert own.metrics(1)["fitness/best"].values.tolist() == [2.0]
        assert own.audit() == []
        calls: list[Any] = [
            lambda: own.add("Second", "neat", GAME, ()),
            lambda: own.update(1, RunState.STOPPED),
            lambda: own.record(1, 2, [("fitness/best", 1.0)]),
            lambda: own.forget_after(1, 0),
            lambda: own.add_checkpoint(1, 2, b"state"),
            lambda: own.enter(saved.number, "Champion"),
        ]
        for call in calls:
            with pytest.raises(ReadOnly):
                call()
    assert sessions.metrics(1)["fitness/best"].steps.tolist() == [1]


# Metrics


def test_metrics_are_read_by_name_in_the_order_of_steps(sessions: SessionStore) -> None:
    sessions.record(1, 20, [("fitness/best", 3), ("species/count", np.float32(2.5))], at=120)
    sessions.record(1, np.int64(3), [("fitness/best", 1.5)], at=103.25)  # type: ignore[arg-type]
    found = sessions.metrics(1)
    assert list(found) == ["fitness/best", "species/count"]
    best = found["fitness/best"]
    assert (best.steps.tolist(), best.at.tolist(), best.values.tolist()) == ([3, 20], [103.25, 120.0], [1.5, 3.0])
    assert (best.steps.dtype, best.at.dtype, best.values.dtype) == (np.int64, np.float64, np.float64)
    assert found["species/count"].values.tolist() == [2.5]
    chosen = sessions.metrics(1, ["species/count", "never/measured", "species/count"])
    assert list(chosen) == ["species/count"]


def test_numbers_of_every_kind_survive(sessions: SessionStore) -> None:
    values = [math.nan, math.inf, -math.inf, -0.0, 5e-324, 1.7976931348623157e308, 0.1]
    sessions.record_many(1, [Measured(step, [("loss/value", value)]) for step, value in enumerate(values)])
    found = sessions.metrics(1)["loss/value"].values
    assert found.tobytes() == np.array(values).tobytes()


def test_measuring_a_step_again_replaces_its_values(sessions: SessionStore) -> None:
    sessions.add("Second", "neat", GAME, ())
    for number in (1, 2):
        sessions.record(number, 5, [("fitness/best", 1.0), ("fitness/mean", 0.5)])
    again = [Measured(5, [("fitness/best", 2.0)]), Measured(6, [("fitness/best", 3.0)], 7.0)]
    sessions.record_many(1, [*again, Measured(6, [("fitness/best", 4.0)], 8.0)])
    found = sessions.metrics(1)
    assert found["fitness/best"].values.tolist() == [2.0, 4.0], "the last value counts, also within a batch"
    assert found["fitness/best"].at[1] == 8.0
    assert found["fitness/mean"].values.tolist() == [0.5], "other metrics stay"
    assert sessions.metrics(2)["fitness/best"].values.tolist() == [1.0], "other sessions do not change"


def test_a_batch_larger_than_one_statement_is_whole(sessions: SessionStore) -> None:
    names = [f"group/{n}" for n in range(7)]
    sessions.record_many(1, [Measured(step, [(name, step + 0.5) for name in names]) for step in range(400)])
    found = sessions.metrics(1)
    assert list(found) == names
    for series in found.values():
        assert series.steps.tolist() == list(range(400))
        assert np.array_equal(series.values, series.steps + 0.5)


def test_a_batch_with_an_invalid_value_is_not_saved(sessions: SessionStore) -> None:
    wrong: list[Any] = [
        (2, [("best", 1.0)], None),
        (2, [("fitness/", 1.0)], None),
        (2, [("/best", 1.0)], None),
        (2, [("fitness/" + "x" * 113, 1.0)], None),
        (2, [("fitness/best", "1.0")], None),
        (2, [("fitness/best", None)], None),
        (2, [("fitness/best", 10**400)], None),
        (2, [("fitness/best", np.zeros(3))], None),
        (-1, [("fitness/best", 1.0)], None),
        (2**53, [("fitness/best", 1.0)], None),
        (True, [("fitness/best", 1.0)], None),
        (1.0, [("fitness/best", 1.0)], None),
        (2, [("fitness/best", 1.0)], math.nan),
        (2, [("fitness/best", 1.0)], math.inf),
        (2, [("fitness/best", 1.0)], "now"),
    ]
    for values in wrong:
        with pytest.raises(BadValue):
            sessions.record_many(1, [Measured(1, [("fitness/best", 1.0)]), Measured(*values)])
    assert sessions.metrics(1) == {}
    sessions.record_many(1, [])
    sessions.record(1, 1, [])
    assert sessions.metrics(1) == {}


def test_a_resumed_session_deletes_what_came_after_its_step(sessions: SessionStore) -> None:
    sessions.add("Second", "neat", GAME, ())
    for number in (1, 2):
        sessions.record_many(number, [Measured(step, [("a/b", step), ("c/d", -step)]) for step in range(10)])
    sessions.add_checkpoint(1, 4, b"four", best(b"4"))
    sessions.add_checkpoint(1, 6, b"six", best(b"6"))
    sessions.add_checkpoint(1, 8, b"eight")
    sessions.forget_after(1, 4)
    assert [series.steps.tolist() for series in sessions.metrics(1).values()] == [[0, 1, 2, 3, 4]] * 2
    assert [len(series.steps) for series in sessions.metrics(2).values()] == [10, 10]
    assert sessions.state(1) == (4, b"four"), "later states are deleted"
    assert [(checkpoint.step, checkpoint.resumable) for checkpoint in sessions.checkpoints(1)] == [
        (4, True),
        (6, False),
    ], "players stay"
    assert sessions.audit() == []
    with pytest.raises(BadValue, match="step"):
        sessions.forget_after(1, -1)


# Failures and lineage


def test_a_failure_is_a_field_and_older_notes_are_read_as_one(league: League, sessions: SessionStore) -> None:
    failed = sessions.update(1, RunState.STOPPED, "no memory", failed=True)
    assert (failed.failed, failed.note, failed.ending) == (True, "no memory", "failed: no memory")
    assert sessions.session(1) == failed
    [(note,)] = league.file.read("SELECT note FROM sessions")
    assert note == "no memory", "the field says that it failed"
    resumed = sessions.update(1, RunState.RUNNING, "")
    assert (resumed.failed, resumed.note) == (False, "")
    stopped = sessions.update(1, RunState.STOPPED, "failed attempts: none")
    assert (stopped.failed, sessions.session(1).note) == (False, "failed attempts: none")
    stopped = sessions.update(1, RunState.STOPPED, "failed: is how this note begins")
    assert sessions.session(1) == stopped
    assert not stopped.failed
    write_as_older_versions(league, "failed: no memory")
    assert (sessions.session(1).failed, sessions.session(1).note) == (True, "no memory")
    write_as_older_versions(league, "stopped on request")
    assert (sessions.session(1).failed, sessions.session(1).note) == (False, "stopped on request")


def write_as_older_versions(league: League, note: str) -> None:
    """Without the field."""
    with league.file.transaction() as db:
        [[*row, _]] = db.execute(f"SELECT {SESSION} FROM sessions").fetchall()
        config = json.loads(row[4])
        config.pop("failed", None)
        row[4], row[8] = json.dumps(config), note
        db.execute("UPDATE sessions SET config = ?, note = ?, seal = ?", (row[4], note, checksum(*row)))


def test_the_agents_of_a_session_are_linked_by_fields_and_in_older_files_by_their_origin(
    league: League, sessions: SessionStore
) -> None:
    league.add_agent(
        "Stranger", GAME.name, AgentSpec("other", "fast", b"other"), origin="step 1 of training session 2 (First)"
    )
    checkpoint = sessions.add_checkpoint(1, 4, b"state", best(b"one"))
    linked = sessions.enter(checkpoint.number, "Linked")
    named = league.add_agent(
        "Named", GAME.name, AgentSpec("two", "fast", b"two"), origin=origin_of(sessions.session(1), 7)
    )
    by_field = league.add_agent("Field", GAME.name, AgentSpec("three", "fast", b"three"), session=1)
    league.add_agent(  # its field counts, not what its origin says
        "Other", GAME.name, AgentSpec("four", "fast", b"four"), origin=origin_of(sessions.session(1), 7), session=2
    )
    league.archive(linked.id)
    assert linked.session == 1
    assert [agent.name for agent in sessions.agents(1)] == [linked.name, named.name, by_field.name]


# Spans of time


def test_spans_are_read_back_by_start(sessions: SessionStore, path: Path) -> None:
    late, early = SavedSpan("learner", "learn", 1e9 + 2, 0.25), SavedSpan("actor", "collect", 1e9, 1.5)
    sessions.record_spans(1, [late])
    sessions.record_spans(1, [early])
    sessions.record_spans(1, [])
    sessions.league.close()
    with League(path, read_only=True) as again:
        assert SessionStore(again).spans(1) == [early, late]


def test_new_spans_are_read_without_those_before(sessions: SessionStore) -> None:
    assert not sessions.has_spans(1)
    batches = [[SavedSpan("actor", f"step {n}", 10.0 * batch + n, 0.5) for n in range(3)] for batch in range(3)]
    for batch in batches:
        sessions.record_spans(1, batch)
    assert sessions.has_spans(1)
    assert not sessions.has_spans(2)
    assert sessions.new_spans(1) == ([*batches[0], *batches[1], *batches[2]], 3)
    assert sessions.new_spans(1, 1, most=1) == (batches[1], 2), "a part, and where the next one begins"
    assert sessions.new_spans(1, 3) == ([], 3)


def test_only_the_latest_spans_are_kept(sessions: SessionStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spans, "MOST_SPANS", 25)
    monkeypatch.setattr(spans, "BATCH", 10)
    every = [SavedSpan("actor", f"step {n}", float(n), 0.5) for n in range(47)]
    sessions.record_spans(1, every[:12])
    sessions.record_spans(1, every[12:])
    kept = sessions.spans(1)
    assert kept == every[-len(kept) :]
    assert 15 <= len(kept) <= 25
    assert sessions.audit() == []


@pytest.mark.parametrize(
    "wrong",
    [
        SavedSpan("", "learn", 1.0, 1.0),
        SavedSpan("actor", "a\x1b[2Jb", 1.0, 1.0),
        SavedSpan("actor", "learn", float("nan"), 1.0),
        SavedSpan("actor", "learn", 1.0, -0.1),
        SavedSpan("actor", "learn", 1.0, float("inf")),
    ],
)
def test_an_invalid_span_is_refused_and_none_is_saved(sessions: SessionStore, wrong: SavedSpan) -> None:
    with pytest.raises(BadValue):
        sessions.record_spans(1, [SavedSpan("actor", "learn", 1.0, 1.0), wrong])
    assert sessions.spans(1) == []
