"""The visual toggle in every state: it affects tournaments only, and never pauses, resumes or discards anything."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.errors import NotNow
from engine.league import played_matches
from engine.league.records import RunState
from engine.league.storage.tournaments import TournamentStore
from engine.play.executors import SequentialMatchExecutor
from engine.play.live import LiveMatch
from engine.play.match import run_digest
from engine.registry import new_game
from league_app.cli.main import main
from league_app.core.state import LeagueState
from tests.faults.league import within
from tests.waiting import until

QUICK = new_game("pong", points=1, step_limit=300).spec
ENDLESS = new_game("pong", step_limit=2_000_000_000, paddle_height=300.0, top_speed=7.0).spec
HOUR = new_game("pong", points=1, step_limit=200_000, paddle_height=300.0, top_speed=7.0).spec  # at normal pace
BOTS = ("Lazy", "Tracker", "Shaky", "Predictor")
PLAN = {"game": QUICK, "agents": BOTS, "options": {"rounds": 1000}}  # 12,000 matches, which take some seconds
SHOWN = {"game": HOUR, "agents": ("Predictor", "Tracker")}


def opened(folder: Path) -> LeagueState:
    """Small batches on two workers, and a person among the agents."""
    state = LeagueState.new(folder / "one.league", lanes=1, plugins=["tests.plugins.everyone"])
    state.add_samples("pong", (*BOTS, "Still"))
    state.add_agent("You", "pong", "human", b"")
    state.budget.cores, state.batch_size = 2, 1
    return state


@pytest.fixture
def state(tmp_path: Path) -> Iterator[LeagueState]:
    with within(40), opened(tmp_path) as state:
        yield state


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The digest of the whole tournament, played at once by the reference executor."""
    with opened(tmp_path_factory.mktemp("expected")) as state, SequentialMatchExecutor(16) as executor:
        specs = [
            planned.spec for planned in TournamentStore(state.league, state.plan_tournament(**PLAN).number).missing()
        ]
        return run_digest(executor.execute_matches(specs))


def shown(state: LeagueState) -> LiveMatch:
    until(lambda: state.live)
    live = state.live
    assert live is not None
    return live


def sent_commands(live: LiveMatch) -> list[list[object]]:
    """A list that grows with the commands that the worker of a live match receives."""
    commands, send = [], live._send
    live._send = lambda match, command: commands.append(command) or send(match, command)  # type: ignore[func-returns-value]
    return commands


def playing(state: LeagueState) -> int:
    status = state.status()
    return sum(worker.state == "playing" for worker in status.workers) if status else 0


def started(state: LeagueState) -> int:
    """Workers that have started a match. One that is "playing" holds matches, but may not have read the message yet;
    after its first steps it reports how many it can hold, which is less than is assumed before."""
    scheduler = state.playing_on(2)._dispatcher._scheduler
    return sum(worker.capacity < 2 * state.batch_size for worker in scheduler.pool.players)


def plays_the_endless_match(state: LeagueState) -> bool:
    return any("Predictor - Tracker" in worker.playing for worker in state.status().workers)


# Idle


def test_idle_and_turned_on_the_next_tournament_will_be_shown(state: LeagueState) -> None:
    state.show_visuals = True
    assert state.toggle_text == "the next tournament will be shown"
    state.start_tournament(**SHOWN)
    shown(state)
    assert state.toggle_text == "live"


def test_idle_and_turned_off_the_next_tournament_runs_on_workers(state: LeagueState) -> None:
    state.show_visuals = True
    state.show_visuals = False
    assert state.toggle_text == "the next tournament runs on 2 workers"
    job = state.start_tournament(**PLAN)
    job.wait()
    assert not job.run.watched
    assert {match.result.worker for match in played_matches.every_match(state.league)} <= {0, 1}


# Running visually


def test_turned_off_the_live_match_finishes_at_full_speed_and_batches_follow(state: LeagueState, expected: str) -> None:
    state.show_visuals = True
    job = state.start_tournament(**PLAN)
    live = shown(state)
    until(lambda: live.actions_since(0))
    state.show_visuals = False
    assert state.toggle_text in ("finishing the live match, then batches", "playing")
    result = live.wait()
    assert job.wait().state is RunState.FINISHED
    found = list(played_matches.every_match(state.league, job.number))
    assert found[0].result.digest() == result.digest(), "it is the first match, and was not cancelled"
    assert result.worker < 0 <= min(match.result.worker for match in found[1:]), "the first live, the others in batches"
    assert played_matches.digest(state.league, job.number) == (expected, 0)


def test_a_pace_applies_only_while_the_toggle_is_on(state: LeagueState) -> None:
    state.show_visuals = True
    state.start_tournament(**SHOWN)
    live = shown(state)
    until(lambda: live.actions_since(0))
    commands = sent_commands(live)
    state.show_visuals = False
    live.pace(30)
    before = len(live.actions_since(0))
    until(lambda: len(live.actions_since(before)) > 200)
    state.show_visuals = True
    assert state.toggle_text == "live"
    assert commands == [["pace", 0.0], ["resume"], ["pace", 30.0]], "full speed, then the pace set meanwhile"
    assert state.live is live


# Running headless


def test_turned_on_dispatch_stops_and_running_matches_finish(state: LeagueState) -> None:
    state.batch_size = 3
    job = state.start_tournament(game=ENDLESS, agents=("Predictor", "Tracker"), games=5)
    until(lambda: started(state) == 2)
    state.show_visuals = True
    until(lambda: state.toggle_text == "2 finishing, then live")  # workers return matches that they have not started
    assert (playing(state), state.live, job.progress().played) == (2, None, 0), "nothing is cancelled"


def test_turned_on_idle_workers_show_why_until_it_is_live(state: LeagueState, expected: str) -> None:
    state.speed = 0.02
    job = state.start_tournament(**PLAN)
    until(lambda: job.progress().played > 5)
    state.show_visuals = True
    shown(state)
    assert state.toggle_text == "live"
    until(lambda: [worker for worker in state.status().workers if worker.id >= 0])
    assert {worker.state for worker in state.status().workers if worker.id >= 0} == {"idle: visual mode"}
    state.show_visuals = False
    job.wait()
    assert played_matches.digest(state.league, job.number) == (expected, 0)


def test_flipping_back_resumes_dispatch_at_once(state: LeagueState) -> None:
    """One match of the first round never ends, so nothing may wait for it."""
    still = state.league.spec(state.league.agent("Still").id)
    crowd = [state.add_agent(f"Still {n}", "pong", still.kind, still.payload).name for n in range(110)]
    state.batch_size = 3
    job = state.start_tournament(game=ENDLESS, agents=("Predictor", *crowd, "Tracker"), swap=False)
    until(lambda: job.progress().played > 3 and plays_the_endless_match(state))
    state.show_visuals = True
    until(lambda: state.toggle_text == "1 finishing, then live")
    before = job.progress().played
    state.show_visuals = False
    assert state.toggle_text == "playing"
    until(lambda: job.progress().played > before + 3)
    assert plays_the_endless_match(state), "and that match continues"


# Paused


@pytest.mark.parametrize("on", [True, False])
def test_a_paused_match_stays_paused_and_the_toggle_applies_on_resume(state: LeagueState, on: bool) -> None:
    state.show_visuals = True
    job = state.start_tournament(**SHOWN)
    live = shown(state)
    until(lambda: live.actions_since(0))
    job.pause()
    commands = sent_commands(live)
    for visible in (False, True) if on else (False,):
        state.show_visuals = visible
        assert (state.toggle_text, live.paused) == ("paused", True)
    assert ["resume"] not in commands, "it is paused"
    job.resume()
    assert state.toggle_text == ("live" if on else "finishing the live match, then batches")
    assert ["resume"] in commands
    paces = [command[1] for command in commands if command[0] == "pace"]
    assert paces[-1:] in ([], [60.0]) if on else paces[-1:] == [0.0], "60 steps per second, or full speed"
    assert state.live is live, "the same match continues"


def test_paused_between_batches_it_stays_paused_and_resumes_live(state: LeagueState, expected: str) -> None:
    job = state.start_tournament(**PLAN)
    until(lambda: job.progress().played > 5)
    job.pause()
    until(lambda: state.toggle_text == "paused")
    before = job.progress().played
    state.show_visuals = True
    assert (state.toggle_text, state.live, job.progress().played) == ("paused", None, before)
    job.resume()
    shown(state)
    state.show_visuals = False
    job.wait()
    assert played_matches.digest(state.league, job.number) == (expected, 0)


# With a person


def test_while_a_person_has_matches_to_play_it_is_locked_on(state: LeagueState) -> None:
    state.person = True
    job = state.start_tournament(game=QUICK, agents=("Lazy", "Still", "You"), swap=False)
    live = shown(state)
    assert (state.show_visuals, job.run.visual) == (True, True), "it starts in visual mode, whatever was set"
    for left in ("2 remaining matches", "1 remaining match"):
        until(lambda left=left: job.run.with_people == int(left[0]))
        with pytest.raises(NotNow, match=f"you play in {left}: play them, or stop the tournament$"):
            state.show_visuals = False
        assert (state.show_visuals, job.run.visual) == (True, True), "nothing has changed"
        live = shown(state)
        live.finish()
        live.wait()
    until(lambda: job.run.with_people == 0)
    assert state.running, "the last match is between bots"
    state.show_visuals = False
    assert job.wait().state is RunState.FINISHED
    assert not state.show_visuals
    assert state.start_tournament(**PLAN).wait().state is RunState.FINISHED


def test_matches_of_a_person_are_shown_even_if_the_toggle_is_off(state: LeagueState) -> None:
    state.person, state.speed = True, 0.0
    job = state.start_tournament(game=QUICK, agents=("Lazy", "You", "Still"))
    job.run._visual = False  # as when an adaptive format adds matches with a person later
    job.wait()
    workers = {
        match.result.players: match.result.worker for match in played_matches.every_match(state.league, job.number)
    }
    assert len(workers) == 6
    assert all(worker < 0 for players, worker in workers.items() if "You" in players)


def test_without_a_person_such_a_tournament_is_refused_before_anything_changes(state: LeagueState) -> None:
    plan = {"game": QUICK, "agents": ("You", "Lazy")}
    with pytest.raises(NotNow, match=r"'You'.* is a human player: play it in the window"):
        state.start_tournament(**plan)
    assert state.league.tournaments() == []
    planned = state.plan_tournament(**plan)
    before = state.league.path.read_bytes()
    for refused in (
        lambda: state.start_tournament(planned.number),
        state.resume_tournament,
        lambda: state.resume_tournament(planned.number, lift_quarantine=True),
    ):
        with pytest.raises(NotNow, match=r"a human player plays in 2 remaining matches of .*: play it in the window"):
            refused()
    assert (state.running, state.show_visuals, state.league.path.read_bytes() == before) == (False, False, True)
    assert state.league.tournament(planned.number).state is planned.state


def test_the_command_line_refuses_it_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with opened(tmp_path) as state:
        path = str(state.league.path)
        planned = state.plan_tournament(game=QUICK, agents=("You", "Lazy"))
    for words in (
        ["tournament", "run", path, "--agents", "You", "Tracker"],
        ["tournament", "resume", path],
        ["match", path, "You", "Tracker", "--pairs", "2", "--record"],
        ["sprt", path, "You", "Tracker"],
    ):
        with pytest.raises(SystemExit) as stopped:
            main(words)
        errors = capsys.readouterr().err
        assert stopped.value.code == 2, words
        assert "play it in the window" in " ".join(errors.split()), words
    main(["tournament", "plan", path, "--agents", "You", "Lazy"])
    assert "2 matches with human players, always shown." in " ".join(capsys.readouterr().out.split())
    with LeagueState(path, read_only=True) as looking:
        assert [tournament.number for tournament in looking.league.tournaments()] == [planned.number]


# Requests at any time


def test_toggling_twenty_times_gives_the_digest_of_a_headless_run(state: LeagueState, expected: str) -> None:
    state.speed = 5.0
    job, dice = state.start_tournament(**PLAN), random.Random(1)
    until(lambda: job.progress().played)
    for press in range(20):
        state.show_visuals = on = press % 2 == 0
        if dice.random() < 0.5:  # else the next press follows at once
            until(lambda on=on: state.toggle_text == ("live" if on else "playing") or not state.running)
    assert not state.show_visuals
    assert job.wait().state is RunState.FINISHED
    assert played_matches.digest(state.league, job.number) == (expected, 0)
