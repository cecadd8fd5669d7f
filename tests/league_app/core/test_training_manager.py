"""Training in a league, through LeagueState: whatever happens to a session, the file has its true state."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from pathlib import Path

import pytest

from agents.training.events import Champion, Event
from agents.training.session import TrainingSession
from engine.errors import BadValue, NotNow, RingsideError, UnknownName
from engine.league.records import RunState
from engine.league.storage.league import League
from engine.league.storage.session_rows import SavedPlayer
from engine.league.storage.sessions import SessionStore
from engine.registry import agents_for, game_of, new_game
from league_app.core.state import LeagueState
from league_app.core.training_job import TrainingJob
from tests.agents.training.session_helpers import FOREVER, GAME, PLUGINS, registered_trainers
from tests.faults.league import within, worker_pids
from tests.waiting import until

Patch = pytest.MonkeyPatch
Curves = dict[str, list[tuple[int, float]]]
NEAT = {"population": 20, "steps": 300, "validate_pairs": 1, "generations": 3, "checkpoint_every": 1}
SLOW = {"steps": FOREVER, "nap": 0.01, "every": 50}
EASY = new_game("pong", points=1, step_limit=200).spec


@pytest.fixture(autouse=True)
def trainers() -> Iterator[None]:
    with registered_trainers(), within(120):
        yield


@pytest.fixture(name="path")
def league_path(tmp_path: Path) -> Path:
    return tmp_path / "one.league"


@pytest.fixture(name="state")
def league_state(path: Path) -> Iterator[LeagueState]:
    with LeagueState.new(path, plugins=PLUGINS, lanes=4) as state:
        state.budget.cores = 2
        state.add_samples("pong", ("Lazy", "Tracker", "Evolved"))
        yield state
    assert not worker_pids(), "no worker process is left"
    assert [place.name for place in path.parent.iterdir()] == [path.name], "no lock, no log"


def count(state: LeagueState, **settings: object) -> TrainingJob:
    return state.training.start("counting", settings, game=GAME)


def counting(job: TrainingJob, beyond: float = 0) -> None:
    until(lambda: job.latest.get("count/value", 0) > beyond)


def curves(league: League, number: int) -> Curves:
    """The metrics, without those of speed and workers."""
    return {
        name: list(zip(series.steps.tolist(), series.values.tolist(), strict=True))
        for name, series in SessionStore(league).metrics(number).items()
        if not name.startswith("speed/") and name != "count/workers"
    }


def entered(state: LeagueState) -> list[tuple[int, SavedPlayer]]:
    """Steps and players of the first session's checkpoints that joined the league."""
    checkpoints = state.training.sessions.checkpoints(1)
    return [(checkpoint.step, player) for checkpoint in checkpoints for player in checkpoint.players if player.agent]


def on_disk(path: Path, number: int = 1) -> tuple[RunState, str]:
    """The session as another reader of the file sees it."""
    with League(path, read_only=True) as league:
        session = SessionStore(league).session(number)
        return session.state, session.note


# Complete sessions


def test_a_session_runs_to_its_end_and_its_events_are_saved(state: LeagueState, path: Path) -> None:
    job = state.training.start("counting", {"steps": 5}, game=GAME, ancestor="Lazy", name="First")
    assert (job.number, job.name) == (1, "First")
    ended = job.wait()
    assert (ended.state, ended.note, ended.trainer, ended.game) == (RunState.FINISHED, "at 5", "counting", GAME)
    assert ended.finished is not None
    assert dict(ended.config) | {"steps": 5, "ancestor": "Lazy", "every": 1} == dict(ended.config)
    assert [log.text for log in job.logs][1:] == ["after Lazy"]
    assert (job.latest["count/value"], job.trouble, job.paused, state.training.jobs) == (5.0, "", False, [])
    with League(path, read_only=True) as league:
        sessions = SessionStore(league)
        assert sessions.session(1) == ended
        assert curves(league, 1) == {"count/value": [(step, float(step)) for step in range(1, 6)]}
        saved = sessions.checkpoints(1)
        assert [(checkpoint.step, checkpoint.resumable) for checkpoint in saved] == [
            (1, False),
            (3, True),
            (4, True),
            (5, True),
        ]
        assert [[player.about for player in checkpoint.players] for checkpoint in saved] == [
            ["so far"],
            ["so far"],
            [],
            ["so far"],
        ]
        assert sessions.state(1) == (5, b"5|" + bytes(8))
        assert sessions.audit() == []
        champion = league.agent("First")
    assert champion == job.champions[0]
    assert (champion.game, champion.kind, champion.notes) == ("pong", "dice", "it has counted to the end")
    assert champion.parents == ("Lazy",)
    assert champion.origin == "trained by counting, step 5 of training session 1 (First)"


def test_a_league_that_plays_in_one_process_trains_in_one_and_says_so(state: LeagueState) -> None:
    """The choice of the executor holds for everything that the league plays."""
    state.use_executor("sequential")
    job = state.training.start("counting", {"steps": 5, "does": "where"}, game=GAME)
    job.wait()
    texts = [log.text for log in job.logs]
    assert "on sequential" in texts
    warning = "this league plays on 'sequential', so that training uses 1 of 2 cores: `local` uses all"
    assert texts[0] == warning
    state.use_executor("local")
    job = state.training.start("counting", {"steps": 5, "does": "where"}, game=GAME)
    job.wait()
    texts = [log.text for log in job.logs]
    assert "on local" in texts
    assert warning not in texts


def test_a_finished_session_resumes_with_other_settings_without_duplicate_agents(state: LeagueState) -> None:
    count(state, steps=3).wait()
    with pytest.raises(NotNow, match="no training session to resume"):
        state.training.resume()
    again, other = state.training.resume(changes={"steps": 4}), count(state, steps=3)
    ended = again.wait()
    assert (ended.number, ended.state, ended.note, dict(ended.config)["steps"]) == (1, RunState.FINISHED, "at 4", 4)
    assert again.logs[0].text.startswith("from 3 in ")
    assert len(curves(state.league, 1)["count/value"]) == 4
    assert other.wait().state is RunState.FINISHED
    assert (again.champions, other.champions) == ([], [])
    assert [agent.name for agent in state.agents() if agent.kind == "dice"] == ["counting 1"]
    assert "the best player is identical to counting 1" in again.logs[-1].text


def champions(monkeypatch: Patch, *payloads: bytes) -> None:
    """Replaces the trainer's champion by these, in one batch."""
    wait = TrainingSession.wait

    def more(session: TrainingSession, timeout: float | None = None) -> list[Event]:
        events: list[Event] = []
        for event in wait(session, timeout):
            replaced = payloads if isinstance(event, Champion) else ()
            players = [dataclasses.replace(event.player, payload=payload) for payload in replaced]
            events += [dataclasses.replace(event, player=player) for player in players] or [event]
        return events

    monkeypatch.setattr(TrainingSession, "wait", more)


def test_two_champions_in_one_batch_get_two_names(state: LeagueState, monkeypatch: Patch) -> None:
    champions(monkeypatch, b"one", b"two", b"best of 3", b"one")
    job = state.training.start("counting", {"steps": 3}, game=GAME, name="n" * 120)
    assert job.wait().state is RunState.FINISHED
    short = "n" * 110
    assert [agent.name for agent in job.champions] == [short, f"{short} (2)", f"{short} (3)"]
    assert [state.league.spec(agent.id).payload for agent in job.champions] == [b"one", b"two", b"best of 3"]
    [(step, through)] = entered(state)
    assert (step, through.agent) == (3, job.champions[2].id)
    assert state.training.sessions.audit() == []


@pytest.mark.parametrize("payloads", [(b"best of 3", b"best of 4"), (b"early", b"late")])
def test_after_a_resume_the_champion_before_is_the_parent(
    state: LeagueState, payloads: tuple[bytes, bytes], monkeypatch: Patch
) -> None:
    champions(monkeypatch, payloads[0])
    first = state.training.start("counting", {"steps": 3}, game=GAME, ancestor="Tracker")
    first.wait()
    assert first.champions[0].parents == ("Tracker",)
    champions(monkeypatch, payloads[1])
    second = state.training.resume(1, {"steps": 4})
    second.wait()
    assert [(agent.name, agent.parents) for agent in second.champions] == [("counting 1 (2)", ("counting 1",))]


# Control


def test_pausing_resuming_and_stopping_are_saved_at_once(state: LeagueState, path: Path) -> None:
    job = count(state, **SLOW)
    counting(job)
    assert (on_disk(path), job.session.state) == ((RunState.RUNNING, ""), RunState.RUNNING)
    job.pause()
    assert (job.paused, job.session.state, on_disk(path)) == (True, RunState.PAUSED, (RunState.PAUSED, ""))
    before = job.latest["count/value"]
    assert job.wait(0) is None
    job.resume()
    assert (job.paused, on_disk(path)) == (False, (RunState.RUNNING, ""))
    counting(job, before + 2)
    job.pause()
    job.stop()
    ended = job.wait()
    reached = int(job.latest["count/value"])
    assert (ended.state, ended.note, ended.finished) == (RunState.STOPPED, f"at {reached}", None)
    assert on_disk(path) == (RunState.STOPPED, f"at {reached}")
    assert state.training.sessions.state(1)[0] == reached, "with a last checkpoint"
    assert job.champions == []
    job.pause(), job.resume(), job.stop(), job.kill()
    assert [job.session] == state.training.unfinished() == [ended], "control of an ended session has no effect"


def test_a_killed_session_resumes_from_its_newest_checkpoint(state: LeagueState) -> None:
    job = count(state, steps=FOREVER, nap=0.005, every=20)
    counting(job, 30)
    job.kill()
    assert job.wait().state is RunState.STOPPED
    kept, _ = state.training.sessions.state(1)
    assert kept in range(20, FOREVER, 20)
    again = state.training.resume(changes={"steps": kept + 1, "nap": 0.0})
    assert again.wait().note == f"at {kept + 1}"
    assert again.logs[0].text.startswith(f"from {kept} in ")
    assert curves(state.league, 1) == {"count/value": [(step, float(step)) for step in range(1, kept + 2)]}


def test_a_resumed_evolution_has_the_same_champion_as_an_uninterrupted_one(state: LeagueState) -> None:
    settings = {**NEAT, "generations": 4, "checkpoint_every": 10, "validate_every": 2, "seed": 1}
    parted = state.training.start("neat", {**settings, "mode": "against-bots"}, game=EASY)
    until(lambda: "fitness/best" in parted.latest)
    parted.stop()
    assert parted.wait().state is RunState.STOPPED
    assert len(curves(state.league, 1)["fitness/best"]) < 4
    again = state.training.resume()
    assert (again.number, again.wait().note) == (1, "4 generations")
    [champion] = again.champions
    assert (champion.name, champion.kind, champion.parents) == ("against-bots 1", "neat", ())
    assert champion.notes.startswith("against-bots, generation ")
    [(_, through)] = entered(state)
    assert (through.agent, through.payload, through.about) == (champion.id, champion.payload, champion.notes)
    never = state.training.start("neat", {**settings, "mode": "against-bots"}, game=EASY)
    assert never.wait().state is RunState.FINISHED
    assert curves(state.league, 1) == curves(state.league, 2)
    assert [step for step, _ in curves(state.league, 2)["fitness/best"]] == [1, 2, 3, 4]
    assert state.training.sessions.state(1) == state.training.sessions.state(2), "to the bit"
    assert never.champions == []
    assert "the best player is identical to against-bots 1" in never.logs[-1].text


def test_a_plug_in_that_is_installed_later_adds_no_bot_to_a_session(state: LeagueState, path: Path) -> None:
    settings = {**NEAT, "mode": "against-bots", "generations": 1, "bots": "", "validate_bots": "", "mastery": 0.0}
    first = state.training.start("neat", settings, game=EASY)
    assert first.wait().state is RunState.FINISHED
    known = dict(first.session.config)
    assert known["bots"] == known["validate_bots"] == "Dice,Still,Random,Lazy,Tracker,Shaky,Predictor"
    state.close()
    with LeagueState(path, plugins=[*PLUGINS, "tests.plugins.everyone"]) as again:
        offered = {bot.id for bots in agents_for(game_of(EASY)).values() for bot in bots}
        assert offered - {"Evolved", *known["bots"].split(",")}, "the plug-in has bots of its own"
        second = again.training.resume(1, {"generations": 2})
        assert second.wait().note == "2 generations"
        assert dict(second.session.config) == {**known, "generations": 2}
        bots = {name for name in curves(again.league, 1) if name.startswith("validation/")}
    assert bots - {"validation/share", "validation/low", "validation/high"} == {
        f"validation/{bot}" for bot in known["bots"].split(",")
    }


# Refusals


def rows(league: League) -> list[object]:
    return [league.file.read(f"SELECT * FROM {table}") for table in ("sessions", "metrics", "checkpoints", "payloads")]


@pytest.mark.parametrize(
    ("wrong", "kind", "words"),
    [
        ({"trainer": "contign"}, UnknownName, "counting"),
        ({"settings": {"stepz": 3}}, RingsideError, "steps"),
        ({"settings": {"steps": 0}}, BadValue, "steps"),
        ({"ancestor": "Lasy"}, UnknownName, "Lazy"),
        ({"game": "pogn"}, UnknownName, "pong"),
        ({"name": "\x1b[2J"}, BadValue, "name"),
        ({"trainer": "neat", "settings": {"mode": "alone"}}, BadValue, "self-play"),
        ({"game": "bids"}, BadValue, "a game for two"),
        ({"trainer": "neat", "ancestor": "Lazy"}, BadValue, "of kind neat"),
    ],
)
def test_a_refused_session_saves_nothing(
    state: LeagueState, wrong: dict[str, object], kind: type[RingsideError], words: str
) -> None:
    before = rows(state.league)
    with pytest.raises(kind, match=words):
        state.training.start(**{"trainer": "counting", "game": EASY, **wrong}).wait()
    assert rows(state.league) == before
    assert state.training.jobs == []


def test_a_refused_resume_changes_nothing(state: LeagueState, path: Path) -> None:
    with pytest.raises(NotNow, match="no training session"):
        state.training.resume()
    count(state, steps=2).wait()
    running = count(state, **SLOW)
    counting(running)
    running.pause()
    before = state.training.sessions.all()
    for which, changes, kind, words in (
        (1, None, NotNow, "it is finished; change a setting"),
        (1, {"steps": -1}, BadValue, "steps"),
        (1, {"stepz": 9}, RingsideError, "steps"),
        (2, {"steps": 9}, NotNow, r"session 2 \(counting 2\) is running"),
        ("Missing", None, UnknownName, "training session"),
    ):
        with pytest.raises(kind, match=words):
            state.training.resume(which, changes)
    assert state.training.sessions.all() == before
    assert [job.number for job in state.training.jobs] == [2]
    with LeagueState(path, read_only=True, plugins=PLUGINS) as looking:
        for press in (lambda: count(looking), lambda: looking.training.resume(1, {"steps": 9})):
            with pytest.raises(NotNow, match="opened read-only: no training can run"):
                press()
        with pytest.raises(RingsideError, match="read-only"):
            looking.training.enter(1)
