"""Checkpoints of training in a league file: states to resume from, and players that join the league."""

from __future__ import annotations

import dataclasses
import threading
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from agents.training.events import Player
from engine.errors import BadValue, NotNow, UnknownName
from engine.league.records import RunState, content_hash
from engine.league.storage import session_rows
from engine.league.storage.league import League
from engine.league.storage.session_rows import SavedPlayer
from engine.league.storage.sessions import KEPT, SessionStore
from engine.play.match import AgentSpec
from engine.registry import new_game

GAME = new_game("tictactoe").spec
RANDOM = np.random.default_rng(1).bytes(50_000)


def player(payload: bytes = b"genome", kind: str = "fast") -> AgentSpec:
    return AgentSpec("best", kind, payload)


def best(payload: bytes = b"genome", about: str = "", kind: str = "fast", role: str = "") -> list[Player]:
    """The only player of a checkpoint."""
    return [Player(kind, 1, payload, about, role)]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "x.league"


@pytest.fixture
def sessions(path: Path) -> Iterator[SessionStore]:
    """A store with one session, number 1."""
    with League.new(path) as league:
        store = SessionStore(league)
        store.add("First", "neat", GAME, ())
        yield store


def stored(league: League) -> set[str]:
    return {row[0] for row in league.file.read("SELECT hash FROM payloads")}


def states(sessions: SessionStore, number: int = 1) -> list[int]:
    return [checkpoint.step for checkpoint in sessions.checkpoints(number) if checkpoint.resumable]


def test_a_checkpoint_is_read_back_as_saved(sessions: SessionStore, path: Path) -> None:
    assert sessions.state(1) is None
    saved = sessions.add_checkpoint(1, 12, RANDOM, best(b"genome", "best of generation 12"))
    assert (saved.number, saved.session, saved.step) == (1, 1, 12)
    assert saved.players == (SavedPlayer("", "fast", 1, content_hash(b"genome"), "best of generation 12"),)
    assert saved.resumable
    sessions.add_checkpoint(1, 9, b"")  # an empty state is valid
    sessions.league.close()
    with League(path) as again:
        own = SessionStore(again)
        first, second = own.checkpoints(1)
        assert second == saved
        assert (first.step, first.players, first.resumable) == (9, (), True)
        assert own.state(1) == (12, RANDOM)
        assert own.state(1, 9) == (9, b"")
        assert own.state(1, 10) is None
        assert again.payload(saved.players[0].payload) == b"genome"


def test_states_are_stored_compressed(sessions: SessionStore) -> None:
    state = b'{"genomes": []}' * 100_000
    saved = sessions.add_checkpoint(1, 1, state)
    [(size,)] = sessions.league.file.read("SELECT length(data) FROM payloads WHERE hash = ?", saved.state)
    assert saved.size == len(state) > 100 * size
    assert sessions.state(1) == (1, state)


def test_only_the_newest_states_are_kept_but_every_player(sessions: SessionStore) -> None:
    sessions.add("Second", "neat", GAME, ())
    sessions.add_checkpoint(2, 1, b"another session's")
    for step in range(1, 8):
        sessions.add_checkpoint(1, step, b"state %d" % step, best(b"player %d" % step))
        assert states(sessions) == list(range(1, step + 1))[-KEPT:]
    every = sessions.checkpoints(1)
    assert [checkpoint.step for checkpoint in every] == list(range(1, 8))
    assert sessions.state(1) == (7, b"state 7")
    assert sessions.state(1, 5) == (5, b"state 5")
    assert sessions.state(1, 4) is None
    assert states(sessions, 2) == [1]
    kept = {checkpoint.state for checkpoint in (*every, *sessions.checkpoints(2)) if checkpoint.resumable}
    assert stored(sessions.league) == {checkpoint.players[0].payload for checkpoint in every} | kept, (
        "nothing else is stored"
    )
    assert len(kept) == KEPT + 1
    assert sessions.audit() == []


def test_a_checkpoint_without_state_and_player_is_deleted(sessions: SessionStore) -> None:
    for step in range(6):
        sessions.add_checkpoint(1, step, b"state %d" % step)
    assert [checkpoint.step for checkpoint in sessions.checkpoints(1)] == [3, 4, 5]
    assert len(stored(sessions.league)) == KEPT
    assert sessions.audit() == []


def test_a_state_shared_with_others_is_not_deleted(sessions: SessionStore) -> None:
    sessions.add("Second", "neat", GAME, ())
    shared = zlib.compress(b"shared")
    sessions.add_checkpoint(2, 1, b"shared", best(b"2"))
    sessions.add_checkpoint(1, 1, b"shared", best(b"1"))
    sessions.league.add_agent("Odd", "tictactoe", player(zlib.compress(b"odd")))
    sessions.add_checkpoint(1, 2, b"odd", best(b"1"))
    sessions.add_checkpoint(1, 3, b"best", best(b"1"))
    sessions.add_checkpoint(2, 2, b"other", best(zlib.compress(b"best")))
    for step in range(4, 9):
        sessions.add_checkpoint(1, step, b"state %d" % step, best(b"1"))
    assert states(sessions) == [6, 7, 8]
    assert sessions.state(2, 1) == (1, b"shared"), "the state of another checkpoint"
    assert sessions.league.spec("Odd").payload == zlib.compress(b"odd"), "the payload of an agent"
    assert content_hash(zlib.compress(b"best")) in stored(sessions.league), "the player of another checkpoint"
    assert sessions.audit() == []
    sessions.forget_after(2, 0)
    assert content_hash(shared) not in stored(sessions.league), "it is no longer used"
    assert sessions.audit() == []


def test_a_checkpoint_of_the_same_step_replaces_the_old_one(sessions: SessionStore) -> None:
    old = sessions.add_checkpoint(1, 5, b"old", best(b"old player"))
    new = sessions.add_checkpoint(1, 5, b"new", best(b"new player", "again"))
    assert sessions.checkpoints(1) == [new]
    assert new.number == old.number
    assert sessions.state(1) == (5, b"new")
    assert stored(sessions.league) == {new.players[0].payload, new.state}, "the old checkpoint is deleted"
    sessions.add_checkpoint(1, 5, b"new")
    assert stored(sessions.league) == {new.state}
    assert sessions.audit() == []


def test_saving_a_step_again_deletes_no_other_state(sessions: SessionStore) -> None:
    for step in (10, 20, 30):
        sessions.add_checkpoint(1, step, b"state %d" % step)
    for step in (10, 30, 20):
        sessions.add_checkpoint(1, step, b"again %d" % step)
    assert [sessions.state(1, step) for step in (10, 20, 30)] == [(n, b"again %d" % n) for n in (10, 20, 30)]


def test_the_newest_checkpoint_keeps_its_state(sessions: SessionStore) -> None:
    for step in (10, 20, 30):
        sessions.add_checkpoint(1, step, b"state %d" % step)
    saved = sessions.add_checkpoint(1, 5, b"state 5")
    assert states(sessions) == [5, 20, 30]
    assert sessions.checkpoints(1)[0] == saved


def test_a_hostile_checkpoint_is_refused(sessions: SessionStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session_rows, "LARGEST_STATE", 1000)
    monkeypatch.setattr(session_rows, "LARGEST_PAYLOAD", 1000)
    wrong: list[tuple[Any, ...]] = [
        (1, b"x" * 1001),
        (1, "text"),
        (-1, b""),
        (1, b"", best(b"x" * 1001)),
        (1, b"", [dataclasses.replace(best()[0], payload="text")]),
        (1, b"", [dataclasses.replace(best()[0], version="1")]),
        (1, b"", best(about="x" * 1001)),
        (1, b"", best(about="a\x1b[2Jb")),
        (1, b"", best(role="a\x1b[2Jb")),
        (1, b"", [*best(b"a"), *best(b"b")]),
        (1, b"", [*best(b"a", role="prey"), *best(b"b", role="prey")]),
    ]
    for arguments in wrong:
        with pytest.raises(BadValue):
            sessions.add_checkpoint(1, *arguments)
    assert sessions.checkpoints(1) == []
    assert stored(sessions.league) == set()


def test_states_can_be_read_while_others_are_being_saved(sessions: SessionStore) -> None:
    sessions.add_checkpoint(1, 0, b"0" * 1000)
    done = threading.Event()

    def save() -> None:
        try:
            for step in range(1, 60):
                sessions.add_checkpoint(1, step, b"%d" % step * 1000, best(b"%d" % step))
        finally:
            done.set()

    saving = threading.Thread(target=save)
    saving.start()
    seen = []
    while not done.is_set():
        found = sessions.state(1)
        assert found is not None
        assert found[1] == b"%d" % found[0] * 1000
        seen.append(found[0])
        assert sessions.audit() == []
    saving.join()
    assert seen == sorted(seen)
    assert sessions.state(1) == (59, b"59" * 1000)


def test_everything_can_be_part_of_a_larger_transaction(sessions: SessionStore) -> None:
    def all_of_it() -> None:
        session = sessions.add("Second", "neat", GAME, ())
        sessions.record(session.number, 1, [("fitness/best", 1.0)])
        saved = sessions.add_checkpoint(session.number, 1, b"state", best())
        sessions.enter(saved.number, "Champion")
        assert sessions.add_checkpoint(session.number, 1, b"state", best()).players[0].agent == "Champion"
        with pytest.raises(NotNow, match="Champion"):
            sessions.enter(saved.number, "Another")
        sessions.update(session.number, RunState.FINISHED)

    def broken_off() -> None:
        with sessions.league.file.transaction():
            all_of_it()
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        broken_off()
    assert (len(sessions.all()), sessions.league.agents(), stored(sessions.league)) == (1, [], set())
    with sessions.league.file.transaction():
        all_of_it()
    assert sessions.session().state is RunState.FINISHED
    assert [checkpoint.players[0].agent for checkpoint in sessions.checkpoints(2)] == ["Champion"]
    assert sessions.audit() == []


# Joining the league


def test_the_best_player_of_a_checkpoint_joins_the_league_with_its_parents(sessions: SessionStore) -> None:
    sessions.league.add_agent("Ancestor", "tictactoe", player(b"ancestor"))
    saved = sessions.add_checkpoint(1, 40, b"state", best(b"champion", "fitness 0.97 in generation 40"))
    agent = sessions.enter(saved.number, "Champion", parents=["Ancestor"], tags=["trained"], colour="4A9BFF")
    assert (agent.name, agent.game, agent.kind, agent.version) == ("Champion", "tictactoe", "fast", 1)
    assert (agent.parents, agent.tags, agent.colour) == (("Ancestor",), ("trained",), "4A9BFF")
    assert agent.notes == "fitness 0.97 in generation 40"
    assert agent.origin == "trained by neat, step 40 of training session 1 (First)"
    assert sessions.league.agent("Champion") == agent
    assert sessions.league.spec(agent.id).payload == b"champion"
    joined = dataclasses.replace(saved.players[0], agent=agent.id)
    assert sessions.checkpoints(1) == [dataclasses.replace(saved, players=(joined,))]
    other = sessions.add_checkpoint(1, 50, b"state", best(b"other", "about"))
    assert sessions.enter(other.number, "Other", notes="my own words").notes == "my own words"
    assert sessions.audit() == []


def test_a_player_joins_the_league_only_once(sessions: SessionStore) -> None:
    saved = sessions.add_checkpoint(1, 40, b"state", best(b"champion"))
    agent = sessions.enter(saved.number, "Champion")
    sessions.league.change_agent(agent.id, name="Renamed")
    with pytest.raises(NotNow, match=r"step 40 of training session 1 \(First\) has joined .* as Renamed"):
        sessions.enter(saved.number, "Twice")
    sessions.add_checkpoint(1, 40, b"state", best(b"champion"))
    assert sessions.checkpoints(1)[0].players[0].agent == agent.id, "a repeated step gives the same player"
    sessions.add_checkpoint(1, 40, b"state", best(b"another player"))
    assert sessions.checkpoints(1)[0].players[0].agent is None
    assert sessions.enter(saved.number, "Another player").payload == content_hash(b"another player")
    assert sessions.league.spec(agent.id).payload == b"champion", "the agent keeps its payload"


def test_an_agent_stays_when_the_state_of_its_checkpoint_is_deleted(sessions: SessionStore) -> None:
    saved = sessions.add_checkpoint(1, 0, b"state 0", best(b"champion"))
    sessions.enter(saved.number, "Champion")
    for step in range(1, 6):
        sessions.add_checkpoint(1, step, b"state %d" % step)
    first = sessions.checkpoints(1)[0]
    assert (first.step, first.players[0].agent, first.resumable) == (0, "Champion", False)
    assert sessions.league.payload(first.players[0].payload) == b"champion"


def test_a_refused_player_changes_nothing(sessions: SessionStore) -> None:
    without_player = sessions.add_checkpoint(1, 1, b"state")
    with pytest.raises(NotNow, match="there is no player to add"):
        sessions.enter(without_player.number, "Champion")
    strange = sessions.add_checkpoint(1, 2, b"state", best(kind="not-installed"))
    with pytest.raises(UnknownName, match="not-installed"):
        sessions.enter(strange.number, "Champion")
    taken = sessions.add_checkpoint(1, 3, b"state", best())
    sessions.league.add_agent("Champion", "tictactoe", player(b"x"))
    with pytest.raises(BadValue, match="taken"):
        sessions.enter(taken.number, "Champion")
    assert [player.agent for checkpoint in sessions.checkpoints(1) for player in checkpoint.players] == [None] * 2
    assert [agent.name for agent in sessions.league.agents()] == ["Champion"]


# Several players


def test_each_player_of_a_checkpoint_can_join_the_league(sessions: SessionStore, path: Path) -> None:
    pair = [*best(b"one", "the first", role="hunter"), *best(b"two", "the second", role="prey")]
    saved = sessions.add_checkpoint(1, 5, b"state", pair)
    assert [(player.role, player.about) for player in saved.players] == [
        ("hunter", "the first"),
        ("prey", "the second"),
    ]
    with pytest.raises(BadValue, match="role = None: must be one of 'hunter', 'prey', at step 5"):
        sessions.enter(saved.number, "Either")
    with pytest.raises(BadValue, match="role = 'pray': must be one of 'hunter', 'prey'"):
        sessions.enter(saved.number, "Either", role="pray")
    agent = sessions.enter(saved.number, "Prey", role="prey")
    assert sessions.league.spec(agent.id).payload == b"two"
    assert (agent.notes, agent.origin) == (
        "the second",
        "trained by neat as prey, step 5 of training session 1 (First)",
    )
    with pytest.raises(NotNow, match=r"the player prey at step 5 .* has joined the league already, as Prey"):
        sessions.enter(saved.number, "Again", role="prey")
    sessions.enter(saved.number, "Hunter", role="hunter")
    sessions.league.close()
    with League(path) as again:
        own = SessionStore(again)
        [found] = own.checkpoints(1)
        assert [player.agent for player in found.players] == ["Hunter", "Prey"]
        assert own.audit() == []
        repeated = own.add_checkpoint(1, 5, b"state", [pair[0], *best(b"three", role="prey")])
        assert [player.agent for player in repeated.players] == ["Hunter", None], "only the same player stays an agent"


def test_every_player_stays_when_states_are_deleted(sessions: SessionStore) -> None:
    for step in range(6):
        pair = [*best(b"one %d" % step, role="a"), *best(b"shared", role="b")]
        sessions.add_checkpoint(1, step, b"state %d" % step, pair)
    assert [len(checkpoint.players) for checkpoint in sessions.checkpoints(1)] == [2] * 6
    contents = {content_hash(b"shared"), *(content_hash(b"one %d" % step) for step in range(6))}
    assert stored(sessions.league) == contents | {
        checkpoint.state for checkpoint in sessions.checkpoints(1) if checkpoint.resumable
    }
    assert sessions.audit() == []
