"""What a worker is told and what it keeps: payloads once, by content, and no more of them than there is room for."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from concurrent.futures import Future

import pytest

from engine.play import lane_log as records
from engine.play.workers import handle as workers
from engine.play.failures import CutShort
from engine.play.executors import SequentialMatchExecutor
from engine.play.match import AgentSpec, Ending, EndingKind, Limits, MatchSpec
from engine.processes.bootstrap import WorkerSettings
from engine.play.replay import verified
from engine.play.workers.handle import Directory, Job, Worker
from engine.registry import new_game

GAME = new_game("pong")


class Recorder:
    """Stands in for the channel: what would be sent."""

    def __init__(self) -> None:
        self.sent: list[tuple[list[object], bytes]] = []

    def put(self, words: list[object], body: bytes = b"", now: bool = True) -> None:
        self.sent.append((words, body))

    def count(self, name: str) -> int:
        return sum(words[0] == name for words, _ in self.sent)


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> Iterator[Worker]:
    """A worker that is no process."""

    def start(end: socket.socket, output: socket.socket, memory: object, settings: object) -> Future[object]:
        end.close()
        output.close()
        return Future()

    monkeypatch.setattr(workers.nursery, "start", start)
    settings = WorkerSettings(lanes=4, record=True, batch=10, memory=None)
    one = Worker(0, settings, workers.memory_for(settings))
    real, one.channel = one.channel, Recorder()
    yield one
    real.socket.close()
    one.output.close()


def jobs(payloads: list[bytes]) -> list[Job]:
    players = [AgentSpec(f"a{n}", "dice", payload) for n, payload in enumerate(payloads)]
    return [Job(n, MatchSpec(f"m{n}", GAME.spec, (one, players[0]), n)) for n, one in enumerate(players)]


def test_the_state_of_a_worker_is_told_in_a_word(told: Worker) -> None:
    assert told.view().state == "starting"
    told.restarts = 1
    assert told.view().state == "restarting"
    told.ready = True
    assert told.view().state == "idle"
    told.play(jobs([b"x", b"y", b"z"]), Directory())
    assert (told.view().state, told.view().playing) == ("playing", "a0 - a0 and 2 more")
    told.retiring = True
    assert told.view().state == "retiring"


def test_a_payload_travels_once_whoever_has_it(told: Worker) -> None:
    directory = Directory()
    for _ in range(3):
        told.play(jobs([b"x" * 1000, b"y", b"x" * 1000]), directory)
    assert told.channel.count("payload") == 2, "by content"
    assert told.channel.count("agent") == 3
    assert told.channel.count("game") == 1
    told.new_run()
    told.play(jobs([b"x" * 1000]), Directory())
    assert told.channel.count("payload") == 2, "and it is still there in the next run"
    assert told.channel.count("agent") == 4


def test_what_is_too_much_is_forgotten_the_longest_unused_first(told: Worker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "PAYLOADS", 2500)
    told.play(jobs([bytes([n]) * 1000 for n in range(4)]), Directory())
    told.new_run()
    told.play(jobs([bytes([3]) * 1000, bytes([0]) * 1000]), Directory())
    assert told.channel.count("forget") == 1
    forgotten = next(words[1] for words, _ in told.channel.sent if words[0] == "forget")
    assert len(forgotten) == 2
    assert told.channel.count("payload") == 5, "the third was kept, the first had to be sent again"


def test_agents_that_are_made_anew_for_every_match_are_known_all_the_same(told: Worker) -> None:
    """And not kept: a long run would fill the memory with equal ones."""
    directory = Directory()
    numbers = {directory.number(AgentSpec("a", "dice", b"x" * 1000)) for _ in range(100)}
    numbers |= {directory.number(new_game("pong").spec) for _ in range(100)}
    assert len(numbers) == 2
    assert len(directory._seen) == 2


def test_a_result_that_is_too_large_is_void_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    dice = AgentSpec("Dice", "dice")
    with SequentialMatchExecutor(1) as executor:
        result = executor.execute_match(MatchSpec("m", GAME.spec, (dice, dice), 1, None, Limits(100)))
        monkeypatch.setattr(records, "RESULT_CAP", 40)
        capped = executor.execute_match(MatchSpec("m", GAME.spec, (dice, dice), 1, None, Limits(100)))
    assert result.ending.kind is EndingKind.STEP_LIMIT
    assert (capped.ending.kind, capped.actions, capped.scores) == (EndingKind.VOID, b"", result.scores)
    assert "its actions take" in capped.ending.reason


def test_the_record_of_a_match_cut_short_can_be_played_again() -> None:
    """Whoever died at step 30 lost a match of 30 steps; if what it left is nonsense, one of which nothing is known."""
    dice = AgentSpec("Dice", "dice")
    spec = MatchSpec("m", GAME.spec, (dice, dice), 1, None, Limits(30))
    with SequentialMatchExecutor(1) as executor:
        whole = executor.execute_match(spec)
    free = MatchSpec("m", GAME.spec, (dice, dice), 1)
    cut = CutShort(free, Ending(EndingKind.CRASH, (1,), "it died"), 30, whole.actions).record()
    assert (cut.steps, cut.scores, cut.stats, cut.ranks) == (30, whole.scores, whole.stats, (1, 2))
    assert verified(free, cut).steps == 30
    nonsense = CutShort(free, Ending(EndingKind.CRASH, (0,), "it died"), 30, b"\xff" * 100).record()
    assert (nonsense.steps, nonsense.ranks, nonsense.ending.seats) == (0, (2, 1), (0,))
