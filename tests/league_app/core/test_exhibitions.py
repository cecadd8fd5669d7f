"""Exhibitions: unrated matches that are not recorded, beside other jobs; and taking over a seat of a match."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from agents.human import person
from agents.training.events import Player
from engine.errors import BadSpec, BadValue, NotNow, UnknownName
from engine.league import played_matches
from engine.league.records import RunState
from engine.play.executors import SequentialMatchExecutor
from engine.play.match import EndingKind, MatchSpec
from engine.play.replay import Playback, verified
from engine.registry import KINDS, new_game
from league_app.core.state import LeagueState
from league_app.core.tournament_draft import TournamentDraft, create_tournament
from tests.faults.league import within

QUICK = new_game("pong", points=1, step_limit=300).spec
LONG = new_game("pong", step_limit=1000, paddle_height=300.0, top_speed=7.0).spec
CROSSES = new_game("tictactoe").spec
BOTS = {agent.id: agent for agent in KINDS.get("pong-bot").samples(new_game("pong"))}


@pytest.fixture
def state(tmp_path: Path) -> Iterator[LeagueState]:
    with (
        within(30),
        LeagueState.new(tmp_path / "one.league", lanes=4, plugins=["tests.plugins.everyone"]) as state,
    ):
        state.add_samples("pong", ("Lazy", "Tracker", "Shaky"))
        state.budget.cores = 1
        yield state


def until(true: Callable[[], object]) -> None:
    while not true():
        time.sleep(0.002)


def test_an_exhibition_is_played_beside_a_tournament_and_not_recorded(state: LeagueState) -> None:
    job = state.start_tournament(game=QUICK, options={"rounds": 20})
    state.speed = 0.0
    with state.exhibit(("Tracker", "Shaky"), QUICK, seed=5) as live:
        result = live.wait()
        assert job.wait().state is RunState.FINISHED
    assert state.live is None, "it is not the live match of the tournament"
    with SequentialMatchExecutor(1) as executor:
        assert result.digest() == executor.execute_match(live.spec).digest()
    assert live.spec.seed == 5
    found = list(played_matches.every_match(state.league))
    assert len(found) == 120
    assert live.spec.id not in {match.spec.id for match in found}


def test_an_exhibition_works_without_a_tournament_and_read_only(state: LeagueState) -> None:
    state.close()
    before = state.league.path.read_bytes()
    with LeagueState(state.league.path, read_only=True) as looking:
        with looking.exhibit([looking.league.agent("Lazy").id, "Tracker"]) as live:
            assert live.spec.game == new_game("pong").spec, "the game of the players"
            until(lambda: live.actions_since(0))
        assert live.result.ending.kind is EndingKind.CANCELLED
        with pytest.raises(UnknownName, match="Missing"):
            looking.exhibit(("Lazy", "Missing"))
        with pytest.raises(BadSpec, match="needs 2 players, not 3"):
            looking.exhibit(("Lazy", "Tracker", "Shaky"))
    assert state.league.path.read_bytes() == before


def test_an_exhibition_has_the_pace_of_its_game_and_may_skip_the_beginning(
    state: LeagueState, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[float, int]] = []
    executor = state.playing_on(1)
    watch = executor.watch
    monkeypatch.setattr(
        executor, "watch", lambda spec, pace, skip: asked.append((pace, skip)) or watch(spec, pace, skip)
    )
    with state.exhibit(("Tracker", "Shaky"), LONG, skip=200) as live:
        playback = Playback(live.spec)
        until(lambda: playback.feed(live.actions_since(playback.received)) is not None and playback.steps >= 260)
    assert asked == [(60.0, 200)], "60 steps per second after the first 200"


def test_a_tournament_on_another_executor_is_not_created_during_an_exhibition(state: LeagueState) -> None:
    draft = TournamentDraft("pong", {"points": 1}, ("Lazy", "Tracker"), executor="sequential")
    with state.exhibit(("Tracker", "Shaky"), LONG), pytest.raises(NotNow, match="executor cannot change during"):
        create_tournament(state, draft, True)
    assert state.league.tournaments() == []
    number = create_tournament(state, draft, True)
    assert state.latest_job.wait().number == number


def test_a_player_outside_the_league_may_have_the_name_of_an_agent(state: LeagueState) -> None:
    guest = replace(BOTS["Still"], id=state.league.agent("Tracker").id)
    state.speed = 0.0
    with state.exhibit(("Tracker", guest), QUICK) as live:
        first, second = live.spec.players
        assert (first.id, second.id) == (guest.id, f"{guest.id} (2)")
        assert (second.kind, second.payload) == (guest.kind, guest.payload)
        assert live.wait().ending.kind is EndingKind.FINISHED
    with state.exhibit(("Tracker", "Tracker"), QUICK) as live:
        assert live.spec.players[0] == live.spec.players[1], "one agent may play both sides"


def test_the_best_player_of_a_checkpoint_is_shown_without_joining_the_league(state: LeagueState) -> None:
    sessions = state.training.sessions
    number = sessions.add("climb", "neat", QUICK, []).number
    lazy, still = (BOTS[name] for name in ("Lazy", "Still"))
    for step, bot in ((3, lazy), (7, still)):
        sessions.add_checkpoint(number, step, b"state", [Player(bot.kind, bot.version, bot.payload, "so far")])
    sessions.add_checkpoint(number, 9, b"state")
    agents = state.agents()
    newest, older = state.training.player(number), state.training.player("climb", step=3)
    assert (newest.payload, older.payload) == (still.payload, lazy.payload)
    assert (newest.id, newest.kind, newest.version) == ("climb, generation 7", still.kind, still.version)
    with pytest.raises(BadValue, match="step = 9"):
        state.training.player(number, step=9)
    state.speed = 0.0
    with state.exhibit((newest, "Tracker"), QUICK) as live:
        assert live.wait().ranks == (2, 1)
    assert state.agents() == agents


def test_worker_settings_cannot_change_during_an_exhibition(state: LeagueState) -> None:
    live = state.exhibit(("Tracker", "Lazy"), LONG)
    with pytest.raises(NotNow, match="batch_size cannot change during an exhibition"):
        state.batch_size = 3
    assert live.result is None
    live.close()
    state.batch_size = 3
    state.speed = 0.0
    with state.exhibit(("Tracker", "Lazy"), QUICK) as live:
        assert live.wait().ending.kind is EndingKind.FINISHED


# Taking over


def test_taking_over_a_seat_continues_from_the_same_position(state: LeagueState) -> None:
    spec = MatchSpec("original", LONG, (BOTS["Tracker"], BOTS["Shaky"]), 11, "left")
    with SequentialMatchExecutor(1) as executor:
        before = verified(spec, executor.execute_match(spec))
    before.seek(400)
    done = before.actions_of(1)
    assert len(done) == 400
    with state.take_over(spec, 1, done, 400) as live:
        assert (live.spec.players[0], live.spec.seed, live.spec.start) == (BOTS["Tracker"], 11, "left")
        after = Playback(live.spec)
        until(lambda: after.feed(live.actions_since(after.received)) is not None and after.steps >= 400)
        after.seek(400)
        assert after.scene() == before.scene()
        live.act(1, 2)

        def done_by_then() -> list[int]:
            after.feed(live.actions_since(after.received))
            after.seek(after.steps)
            return after.actions_of(1)

        until(lambda: 2 in done_by_then()[400:])
        assert after.actions_of(1)[400] == 0, "from here on the person plays, and has not pressed a key"
        assert after.actions_of(1)[:400] == done


def test_a_seat_of_a_turn_based_game_can_be_taken_over(state: LeagueState) -> None:
    bots = {agent.id: agent for agent in KINDS.get("tictactoe-bot").samples(new_game("tictactoe"))}
    spec = MatchSpec("original", CROSSES, (bots["Perfect"], bots["Anyhow"]), 2)
    with SequentialMatchExecutor(1) as executor:
        before = verified(spec, executor.execute_match(spec))
    before.seek(3)
    with state.take_over(spec, 1, before.actions_of(1), 3) as live:
        after = Playback(live.spec)
        until(lambda: after.feed(live.actions_since(after.received)) is not None and after.steps >= 3)
        after.seek(3)
        assert after.scene() == before.scene()
        assert (live.actions_since(after.received), live.result) == ([], None), "it is the person's turn"
        free = next(cell for cell in range(9) if after.boards.position(0, 1).cells[cell] is None)
        live.act(1, free)
        until(lambda: after.feed(live.actions_since(after.received)) is not None and after.steps >= 4)
        after.seek(4)
        assert after.actions_of(1)[-1] == free


def test_taking_over_is_refused_if_another_player_is_not_repeatable(state: LeagueState) -> None:
    spec = MatchSpec("original", QUICK, (person("Her"), BOTS["Shaky"]), 1)
    with pytest.raises(BadSpec, match="'Her' is not deterministic"):
        state.take_over(spec, 1, [], 0)
    with state.take_over(spec, 0, [1, 1], 2) as live:
        assert live.spec.players[0].id == "You", "but the seat of a person can be taken over"
    for seat in (2, -1, True, "0"):
        with pytest.raises(BadValue, match="seat"):
            state.take_over(spec, seat, [], 0)
