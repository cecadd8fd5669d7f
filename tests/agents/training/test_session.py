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
    make_session,
    of,
    run,
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
    line.close()


def test_a_session_that_is_not_polled_loses_no_event() -> None:
    with make_session(steps=3000, size=20_000) as session:
        session.start()
        until_blocked(session)
        events = events_until(session)
    assert steps(events) == list(range(1, 3001))
    assert [event.step for event in of(Checkpoint, events)] == list(range(1, 3001))
    assert events[-1] == Ended(How.FINISHED, "at 3000")


def test_output_never_blocks_a_trainer() -> None:
    with make_session(does="print") as session:
        session.start()
        while not session._process._concluded:  # without a call of poll()
            time.sleep(0.02)
        events = session.poll()
        assert len(session._process._child.output.text) <= 1 << 13
    assert any(map(is_log("printed"), events))
    assert events[-1].how is How.FINISHED


def test_poll_and_wait_return_at_once_before_start_and_after_the_end() -> None:
    with make_session(does="hang") as session:
        assert (session.poll(), session.wait(60), session.pid, session.over) == ([], [], None, False)
        session.start()
        events_until(session, is_log("hanging"))
        assert session.poll() == []
        assert session.wait(0.05) == []
        session.kill()
        assert isinstance(events_until(session)[-1], Ended)
        assert session.over
        assert (session.poll(), session.wait(60), session.wait()) == ([], [], [])


# Commands


def test_a_paused_trainer_stops_and_resumes_where_it_was() -> None:
    with make_session(steps=FOREVER, every=FOREVER, nap=0.005) as session:
        session.start()
        events_until(session, lambda event: isinstance(event, Metrics))
        assert not session.paused
        session.pause()
        assert session.paused
        before = session.wait(0.5)  # its last steps; any number of them
        session.resume()
        assert not session.paused
        after = events_until(session, lambda event: isinstance(event, Metrics))
        if steps(before):
            assert steps(after)[0] == steps(before)[-1] + 1
        assert steps(after)


@pytest.mark.parametrize("attends", [True, False])
def test_a_trainer_is_paused_between_events_even_if_it_never_calls_attend(attends: bool) -> None:
    with make_session(steps=FOREVER, every=FOREVER, nap=0.005, attends=attends) as session:
        session.pause()
        session.start()
        first = session.wait()
        assert len(first + session.wait(0.5)) == 1, "the event before it was looked for"
        session.resume()
        assert steps(events_until(session, lambda event: isinstance(event, Metrics)))[0] == 1


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
        assert calls.get() == ([theirs, context._news], [], []), "without a timeout"
        commands.put(["resume"])
        trainer.join()
        context.close()
    assert (answers, calls.qsize()) == ([False], 0)


@pytest.mark.parametrize("command", ["resume", "stop"])
def test_a_command_that_another_thread_reads_ends_the_pause(command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The thread that collects trajectories reads it after the trainer has seen the pause, and before it waits."""
    ours, theirs = socket.socketpair()

    def wait(*words: Any) -> object:
        commands.put([command])
        collecting = threading.Thread(target=lambda: context.workers)
        collecting.start()
        collecting.join()
        found = select.select(*words[:3], 0.0)
        assert any(found), "it would wait for another command"
        return found

    monkeypatch.setattr(trainer_main, "select", SimpleNamespace(select=wait))
    with ours, theirs:
        commands = Channel(ours)
        commands.put(["pause"])
        context = trainer_main.TrainerContext(Channel(theirs), SimpleNamespace(workers=1))  # type: ignore[arg-type]
        assert context.attend() is (command == "stop")
        context.close()


class SlowChannel:
    """A channel that takes several calls for a message, and whether two threads have sent at the same time."""

    def __init__(self) -> None:
        self.sending, self.overlapped = 0, False
        self.started: Callable[[], None] = lambda: None  # called when the first message is half sent
        self.sent: list[Any] = []

    def put(self, fields: list[Any], body: bytes = b"") -> None:
        self.sending += 1
        self.overlapped |= self.sending > 1
        started, self.started = self.started, lambda: None
        started()
        self.sent.append(fields)
        self.sending -= 1

    waiting = False


class WatchedLock:
    """A lock that notifies when a thread asks for it."""

    def __init__(self, asked: Callable[[], None]) -> None:
        self._lock, self._asked = threading.Lock(), asked

    def __enter__(self) -> None:
        self._asked()
        self._lock.acquire()

    def __exit__(self, *_: object) -> None:
        self._lock.release()


def test_messages_of_two_threads_do_not_mix() -> None:
    """The thread that collects trajectories reports a process while the trainer sends: it has to wait."""
    channel, arrived = SlowChannel(), threading.Event()
    context = trainer_main.TrainerContext(channel, SimpleNamespace(workers=1))  # type: ignore[arg-type]
    context._sending = WatchedLock(arrived.set)  # type: ignore[assignment]

    def report() -> None:
        context.send(Log("it was started again"))
        arrived.set()

    collecting = threading.Thread(target=report)

    def meanwhile() -> None:
        arrived.clear()
        collecting.start()
        arrived.wait()  # it waits for its turn, or has sent its message in the middle of this one

    channel.started = meanwhile
    context.send(Log("first"))
    collecting.join()
    context.close()
    assert not channel.overlapped
    assert len(channel.sent) == 2


def test_stopping_gives_a_last_checkpoint_to_resume_from() -> None:
    with make_session(steps=FOREVER, every=FOREVER, nap=0.005) as session:
        session.start()
        events_until(session, lambda event: isinstance(event, Metrics) and event.step >= 5)
        session.stop()
        events = events_until(session)
    checkpoint, ended = events[-2:]
    assert ended == Ended(How.STOPPED, f"at {checkpoint.step}")
    again = run(steps=checkpoint.step + 3, state=checkpoint.state)
    assert again[0].text.startswith(f"from {checkpoint.step} in")
    assert steps(again) == [checkpoint.step + n for n in (1, 2, 3)]


def test_a_paused_trainer_can_be_stopped() -> None:
    with make_session(steps=FOREVER, every=FOREVER) as session:
        session.pause()
        session.start()
        session.stop()
        session.pause()
        assert not session.paused, "it is about to end"
        assert events_until(session)[-1] == Ended(How.STOPPED, "at 0")


def test_a_trainer_blocked_on_sending_can_be_stopped() -> None:
    with make_session(steps=FOREVER, size=1_000_000) as session:
        session.start()
        until_blocked(session)
        session.stop()
        events = events_until(session)
    checkpoint, ended = events[-2:]
    assert ended == Ended(How.STOPPED, f"at {checkpoint.step}")
    assert steps(events) == list(range(1, checkpoint.step + 1))


def test_the_number_of_workers_can_change_while_it_runs() -> None:
    def workers(count: int) -> Callable[[Event], bool]:
        return lambda event: isinstance(event, Metrics) and event.values[1] == ("count/workers", count)

    with make_session(steps=FOREVER, every=FOREVER, nap=0.005, workers=2) as session:
        session.start()
        assert any(map(workers(2), events_until(session, workers(2))))
        session.workers = 5
        assert any(map(workers(5), events_until(session, workers(5))))
        assert session.workers == 5
        with pytest.raises(RingsideError, match="workers = 0: must be a whole number from 1 to 256"):
            session.workers = 0
        assert session.workers == 5


def test_a_hanging_trainer_can_be_killed_and_its_events_are_kept() -> None:
    with make_session(does="hang", steps=9) as session:
        session.start()
        events = events_until(session, is_log("hanging"))
        session.stop()
        assert session.wait(0.5) == [], "it does not look up"
        session.kill()
        events += events_until(session)
        assert_gone(session.pid)
    assert [type(event) for event in events] == [Log, Metrics, Checkpoint, Log, Ended]
    assert events[-1].how is How.STOPPED
    assert "on request" in events[-1].reason


def test_commands_before_the_start_are_applied_and_after_the_end_ignored() -> None:
    session = make_session(steps=FOREVER)
    session.workers = 3
    session.kill()
    session.stop()
    session.start()
    assert events_until(session)[-1] == Ended(How.STOPPED, "at 0")
    for late in (session.pause, session.resume, session.stop, session.kill):
        late()
    session.workers = 2
    assert (session.poll(), session.paused, session.workers) == ([], False, 2)
    session.close()
    session.close()
    with pytest.raises(RingsideError, match="started only once"):
        session.start()


def test_a_session_cannot_be_started_twice_or_after_close() -> None:
    with make_session() as session:
        session.start()
        with pytest.raises(RingsideError, match="started only once"):
            session.start()
    with make_session() as other:
        pass
    with pytest.raises(RingsideError, match="started only once"):
        other.start()
    assert other.poll() == []


def test_the_trainer_ignores_ctrl_c_in_the_terminal() -> None:
    with make_session(steps=FOREVER, every=FOREVER, nap=0.005) as session:
        session.start()
        events_until(session, lambda event: isinstance(event, Metrics))
        os.kill(session.pid, signal.SIGINT)
        os.kill(session.pid, signal.SIGTERM)
        assert len(steps(events_until(session, lambda event: isinstance(event, Metrics) and event.step > 50))) > 1
        session.stop()
        assert events_until(session)[-1].how is How.STOPPED


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
    with TrainingSession("counting", {}, GAME, workers=1, ancestor=ancestor, plugins=PLUGINS) as session:
        session.start()
        assert any(map(is_log("after Adam"), events_until(session)))


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
