"""Training sessions: events arrive, and commands are applied."""

from __future__ import annotations

import math
import os
import queue
import select
import signal
import socket
import threading
import time
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from agents.training import trainer_main
from agents.training.events import Champion, Checkpoint, Ended, Event, How, Log, Metrics, Player, Progress
from agents.training.session import TrainingSession
from agents.training.trainer import Trainer
from engine.errors import RingsideError
from engine.play.match import AgentSpec
from engine.processes.channel import Channel
from engine.registry import TRAINERS, new_game
from tests.agents.training.session_helpers import (
    FOREVER,
    GAME,
    PLUGINS,
    assert_gone,
    events_until,
    is_log,
    of,
    run,
    session,
    steps,
    until_blocked,
)
from tests.plugins.counting import Counting

pytestmark = pytest.mark.usefixtures("trainers")

# What it says


def test_every_event_arrives_in_order_and_whole() -> None:
    events = run(steps=3, size=5)
    assert events[0].text.startswith("from 0 in ")
    assert events[1:] == [
        Metrics(1, (("count/value", 1.0), ("count/workers", 1.0))),
        Checkpoint(1, b"1|\0\0\0", (Player("dice", 1, b"best of 1", "so far"),)),
        Metrics(2, (("count/value", 2.0), ("count/workers", 1.0))),
        Checkpoint(2, b"2|\0\0\0"),
        Metrics(3, (("count/value", 3.0), ("count/workers", 1.0))),
        Checkpoint(3, b"3|\0\0\0", (Player("dice", 1, b"best of 3", "so far"),)),
        Champion(3, Player("dice", 1, b"\x00\xff", "it has counted to the end")),
        Ended(How.FINISHED, "at 3"),
    ]


def test_numbers_arrive_bit_for_bit_including_nan_and_infinity() -> None:
    events = run(does="strange_numbers")
    values = [value for _, value in of(Metrics, events)[1].values]
    assert math.isnan(values[0])
    assert values[1:] == [math.inf, -math.inf, 0.1, 5e-324, 0.25, 7.0, 0.0]
    assert math.copysign(1, values[-1]) == -1
    assert of(Progress, events) == [Progress(2, 0, "who knows"), Progress(2, 9, "soon", 1.5)]
    assert of(Log, events)[1].text == r"a name that is no text: \udcff"


def test_a_large_checkpoint_arrives_whole() -> None:
    (checkpoint,) = of(Checkpoint, run(steps=7, every=7, size=20_000_000))
    assert checkpoint.state == b"7|" + bytes(20_000_000 - 2)
    assert checkpoint.players[0].payload == b"best of 7"


def test_an_event_larger_than_a_frame_is_an_error_of_the_trainer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trainer_main, "MAX_FRAME", 1000)
    line = trainer_main.TrainerContext(SimpleNamespace(), SimpleNamespace(workers=1))
    with pytest.raises(RingsideError, match=r"size of a Checkpoint = \d+: must be at most 1,000 bytes"):
        line.send(Checkpoint(1, bytes(1000)))


def test_a_session_that_is_not_polled_loses_no_event() -> None:
    with session(steps=3000, size=20_000) as one:
        one.start()
        until_blocked(one)
        events = events_until(one)
    assert steps(events) == list(range(1, 3001))
    assert [event.step for event in of(Checkpoint, events)] == list(range(1, 3001))
    assert events[-1] == Ended(How.FINISHED, "at 3000")


def test_output_never_blocks_a_trainer() -> None:
    with session(does="print") as one:
        one.start()
        while not one._process._concluded:  # without a call of poll()
            time.sleep(0.02)
        events = one.poll()
        assert len(one._process._child.output.text) <= 1 << 13
    assert any(map(is_log("printed"), events))
    assert events[-1].how is How.FINISHED


def test_poll_and_wait_return_at_once_before_start_and_after_the_end() -> None:
    with session(does="hang") as one:
        assert (one.poll(), one.wait(60), one.pid, one.over) == ([], [], None, False)
        one.start()
        events_until(one, is_log("hanging"))
        assert one.poll() == []
        assert one.wait(0.05) == []
        one.kill()
        assert isinstance(events_until(one)[-1], Ended)
        assert one.over
        assert (one.poll(), one.wait(60), one.wait()) == ([], [], [])


# Commands


def test_a_paused_trainer_stops_and_resumes_where_it_was() -> None:
    with session(steps=FOREVER, every=FOREVER, nap=0.005) as one:
        one.start()
        events_until(one, lambda event: isinstance(event, Metrics))
        assert not one.paused
        one.pause()
        assert one.paused
        before = one.wait(0.5)  # its last steps; any number of them
        one.resume()
        assert not one.paused
        after = events_until(one, lambda event: isinstance(event, Metrics))
        if steps(before):
            assert steps(after)[0] == steps(before)[-1] + 1
        assert steps(after)


@pytest.mark.parametrize("attends", [True, False])
def test_a_trainer_is_paused_between_events_even_if_it_never_calls_attend(attends: bool) -> None:
    with session(steps=FOREVER, every=FOREVER, nap=0.005, attends=attends) as one:
        one.pause()
        one.start()
        first = one.wait()
        assert len(first + one.wait(0.5)) == 1, "the event before it was looked for"
        one.resume()
        assert steps(events_until(one, lambda event: isinstance(event, Metrics)))[0] == 1


def test_a_paused_trainer_waits_without_polling(monkeypatch: pytest.MonkeyPatch) -> None:
    ours, theirs = socket.socketpair()
    calls: queue.Queue[tuple[object, ...]] = queue.Queue()
    answers: list[bool] = []

    def wait(*words: Any) -> object:
        calls.put(words)
        return select.select(*words)

    monkeypatch.setattr(trainer_main, "select", SimpleNamespace(select=wait))
    with ours, theirs:
        commands = Channel(ours)
        commands.put(["pause"])
        context = trainer_main.TrainerContext(Channel(theirs), SimpleNamespace(workers=1))  # type: ignore[arg-type]
        trainer = threading.Thread(target=lambda: answers.append(context.attend()))
        trainer.start()
        assert calls.get() == ([theirs], [], []), "without a timeout"
        commands.put(["resume"])
        trainer.join()
    assert (answers, calls.qsize()) == ([False], 0)


def test_stopping_gives_a_last_checkpoint_to_resume_from() -> None:
    with session(steps=FOREVER, every=FOREVER, nap=0.005) as one:
        one.start()
        events_until(one, lambda event: isinstance(event, Metrics) and event.step >= 5)
        one.stop()
        events = events_until(one)
    checkpoint, ended = events[-2:]
    assert ended == Ended(How.STOPPED, f"at {checkpoint.step}")
    again = run(steps=checkpoint.step + 3, state=checkpoint.state)
    assert again[0].text.startswith(f"from {checkpoint.step} in")
    assert steps(again) == [checkpoint.step + n for n in (1, 2, 3)]


def test_a_paused_trainer_can_be_stopped() -> None:
    with session(steps=FOREVER, every=FOREVER) as one:
        one.pause()
        one.start()
        one.stop()
        one.pause()
        assert not one.paused, "it is about to end"
        assert events_until(one)[-1] == Ended(How.STOPPED, "at 0")


def test_a_trainer_blocked_on_sending_can_be_stopped() -> None:
    with session(steps=FOREVER, size=1_000_000) as one:
        one.start()
        until_blocked(one)
        one.stop()
        events = events_until(one)
    checkpoint, ended = events[-2:]
    assert ended == Ended(How.STOPPED, f"at {checkpoint.step}")
    assert steps(events) == list(range(1, checkpoint.step + 1))


def test_the_number_of_workers_can_change_while_it_runs() -> None:
    def workers(count: int) -> Callable[[Event], bool]:
        return lambda event: isinstance(event, Metrics) and event.values[1] == ("count/workers", count)

    with session(steps=FOREVER, every=FOREVER, nap=0.005, workers=2) as one:
        one.start()
        assert any(map(workers(2), events_until(one, workers(2))))
        one.workers = 5
        assert any(map(workers(5), events_until(one, workers(5))))
        assert one.workers == 5
        with pytest.raises(RingsideError, match="workers = 0: must be a whole number from 1 to 256"):
            one.workers = 0
        assert one.workers == 5


def test_a_hanging_trainer_can_be_killed_and_its_events_are_kept() -> None:
    with session(does="hang", steps=9) as one:
        one.start()
        events = events_until(one, is_log("hanging"))
        one.stop()
        assert one.wait(0.5) == [], "it does not look up"
        one.kill()
        events += events_until(one)
        assert_gone(one.pid)
    assert [type(event) for event in events] == [Log, Metrics, Checkpoint, Log, Ended]
    assert events[-1].how is How.STOPPED
    assert "on request" in events[-1].reason


def test_commands_before_the_start_are_applied_and_after_the_end_ignored() -> None:
    one = session(steps=FOREVER)
    one.workers = 3
    one.kill()
    one.stop()
    one.start()
    assert events_until(one)[-1] == Ended(How.STOPPED, "at 0")
    for late in (one.pause, one.resume, one.stop, one.kill):
        late()
    one.workers = 2
    assert (one.poll(), one.paused, one.workers) == ([], False, 2)
    one.close()
    one.close()
    with pytest.raises(RingsideError, match="started only once"):
        one.start()


def test_a_session_cannot_be_started_twice_or_after_close() -> None:
    with session() as one:
        one.start()
        with pytest.raises(RingsideError, match="started only once"):
            one.start()
    with session() as other:
        pass
    with pytest.raises(RingsideError, match="started only once"):
        other.start()
    assert other.poll() == []


def test_the_trainer_ignores_ctrl_c_in_the_terminal() -> None:
    with session(steps=FOREVER, every=FOREVER, nap=0.005) as one:
        one.start()
        events_until(one, lambda event: isinstance(event, Metrics))
        os.kill(one.pid, signal.SIGINT)
        os.kill(one.pid, signal.SIGTERM)
        assert len(steps(events_until(one, lambda event: isinstance(event, Metrics) and event.step > 50))) > 1
        one.stop()
        assert events_until(one)[-1].how is How.STOPPED


# What is refused


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"trainer": "countin"}, "unknown trainer 'countin': did you mean 'counting'"),
        ({"settings": {"step": 3}}, "unknown setting of counting 'step': did you mean 'steps'"),
        ({"settings": {"steps": 0}}, "steps = 0: must be from 1 to"),
        ({"settings": {"nap": "long"}}, "nap = 'long': must be of type float"),
        ({"game": new_game("bids", seats=3).spec}, "game = 'bids': must be a game for two"),
        ({"workers": 0}, "workers = 0: must be a whole number from 1 to 256"),
        ({"state": "text"}, "state = 'text': must be the bytes of a checkpoint"),
        ({"ancestor": AgentSpec("x", "no-such-kind")}, "unknown agent kind 'no-such-kind'"),
        ({"plugins": ["no_such_module"]}, "plugins = 'no_such_module': must be the name of a module"),
    ],
)
def test_invalid_arguments_raise_before_a_process_starts(change: dict[str, object], words: str) -> None:
    threads = threading.active_count()
    given = {"trainer": "counting", "settings": {}, "game": GAME, "workers": 1, **change}
    with pytest.raises(RingsideError, match=words):
        TrainingSession(**given)
    assert threading.active_count() == threads


def test_a_trainer_receives_its_ancestor() -> None:
    ancestor = AgentSpec("Adam", "dice")
    with TrainingSession("counting", {}, GAME, workers=1, ancestor=ancestor, plugins=PLUGINS) as one:
        one.start()
        assert any(map(is_log("after Adam"), events_until(one)))


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (
            object,
            "is not a trainer: it has no name, about, metrics, headline, unit, ends, fixed, presets, check, train",
        ),
        (Counting(), "is not a trainer: it is not a dataclass"),
        (type("Bare", (Trainer,), {"name": "bare", "about": "", "metrics": {}, "headline": ""}), "not a dataclass"),
    ],
)
def test_only_a_trainer_can_be_registered_as_one(value: object, words: str) -> None:
    with pytest.raises(TypeError, match=words):
        TRAINERS.add("bare", value)
    with pytest.raises(RingsideError, match="name = 'counting': must be 'other'"):
        TRAINERS.add("other", Counting)
