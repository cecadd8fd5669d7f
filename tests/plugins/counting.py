"""A trainer that only counts, and commits a selectable fault at some step."""

from __future__ import annotations

import faulthandler
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from agents.training.events import Champion, Checkpoint, Current, Ended, How, Log, Metrics, Player, Progress
from agents.training.trainer import Ends, Metric, Trainer
from engine.errors import BadValue, RingsideError
from engine.game import Game
from engine.options import option
from engine.play.concurrent import ConcurrentMatchExecutor
from engine.play.match import AgentSpec, MatchSpec
from engine.registry import TRAINERS


@dataclass(frozen=True)
class Counting(Trainer):
    name: ClassVar[str] = "counting"
    about: ClassVar[str] = "Counts."
    metrics: ClassVar[Mapping[str, Metric]] = {"count/value": Metric("where it is")}
    headline: ClassVar[str] = "count/value"
    ends: ClassVar[Ends] = Ends("steps")
    shows_current: ClassVar[bool] = True
    presets: ClassVar[Mapping[str, Mapping[str, object]]] = {"short": {"steps": 3}}

    steps: int = option(5, low=1, high=10_000_000, help="number of steps")
    at: int = option(2, low=0, help="step at which the fault `does` occurs")
    does: str = option("", help="name of a fault below")
    size: int = option(10, low=0, help="minimum size of the state of a checkpoint, in bytes")
    every: int = option(1, low=1, help="steps between checkpoints")
    nap: float = option(0.0, low=0.0, help="seconds per step")
    attends: bool = option(True, help="whether it handles requests")

    def check(self, game: Game, ancestor: AgentSpec | None, resuming: bool) -> None:
        if game.info.seats != 2:
            raise BadValue("game", game.spec.name, "a game for two")

    def train(self, context: Any) -> Iterator[Any]:
        first = int(context.state.split(b"|")[0]) if context.state is not None else 0
        yield Log(f"from {first} in {os.getpid()}")
        if context.ancestor is not None:
            yield Log(f"after {context.ancestor.id}")
        for step in range(first + 1, self.steps + 1):
            if self.attends and context.attend():
                yield self._checkpoint(step - 1)
                yield Ended(How.STOPPED, f"at {step - 1}")
                return
            if self.attends and context.player_wanted():
                yield Current(step - 1, Player("dice", 1, b"\x00%d" % (step - 1), "as it is now"))
            time.sleep(self.nap)
            if self.does and step == self.at:
                yield from getattr(self, "_" + self.does)(context)
            yield Metrics(step, (("count/value", float(step)), ("count/workers", context.workers)))
            if step % self.every == 0:
                yield self._checkpoint(step)
        yield Champion(self.steps, Player("dice", 1, b"\x00\xff", "it has counted to the end"))
        yield Ended(How.FINISHED, f"at {self.steps}")

    def _checkpoint(self, step: int) -> Checkpoint:
        state = b"%d|" % step
        players = (Player("dice", 1, b"best of %d" % step, "so far"),) if step % 2 else ()
        return Checkpoint(step, state + bytes(max(self.size - len(state), 0)), players)

    # Faults, by name

    def _strange_numbers(self, context: Any) -> Iterator[Any]:
        values = (float("nan"), float("inf"), -float("inf"), 0.1, 5e-324, np.float32(0.25), np.int64(7), -0.0)
        yield Metrics(2, tuple((f"odd/{n}", value) for n, value in enumerate(values)))
        yield Progress(2, 0, "who knows", float("inf"))
        yield Progress(2, 9, "soon", 1.5)
        yield Log("a name that is no text: \udcff")

    def _modules(self, context: Any) -> Iterator[Any]:
        heavy = [name for name in ("PySide6", "pygame", "torch", "pytest") if name in sys.modules]
        yield Log(f"heavy: {heavy} session: {os.getsid(0) == os.getpid()} nice: {os.nice(0)}")

    def _where(self, context: Any) -> Iterator[Any]:
        yield Log(f"on {context.on}")

    def _evaluate(self, context: Any) -> Iterator[Any]:
        """Plays matches endlessly on the executor of the context."""
        players, n = (AgentSpec("a", "dice"), AgentSpec("b", "dice")), 0
        while context.executor.play([MatchSpec("m", context.game, players, n)], context.attend) is not None:
            n += 1
        yield Ended(How.STOPPED, "played")

    def _raise(self, context: Any) -> Iterator[Any]:
        yield Log("about to fail")
        raise ZeroDivisionError("by design")

    def _complain(self, context: Any) -> Iterator[Any]:
        yield Log("about to complain")
        raise RingsideError("the board is too small for this: choose a larger one")

    def _leave(self, context: Any) -> Iterator[Any]:
        yield Log("about to leave")
        sys.exit(4)

    def _exit(self, context: Any) -> Iterator[Any]:
        yield Log("about to exit")
        sys.stderr.write("first line\n" + "x" * 20_000 + "\nthe last straw\n")
        os._exit(3)

    def _segfault(self, context: Any) -> Iterator[Any]:
        yield Log("about to crash")
        faulthandler._sigsegv()

    def _hang(self, context: Any) -> Iterator[Any]:
        yield Log("hanging")
        while True:
            time.sleep(60)

    def _print(self, context: Any) -> Iterator[Any]:
        for _ in range(200):
            sys.stdout.write("o" * 10_000 + "\n")
            sys.stderr.write("e" * 10_000 + "\n")
        yield Log("printed")

    def _nonsense(self, context: Any) -> Iterator[Any]:
        yield 42

    def _half_right(self, context: Any) -> Iterator[Any]:
        yield Metrics(3, {"count/value": 1.0})

    def _garble(self, context: Any) -> Iterator[Any]:
        context._channel.put(["metrics", 1.5, []])
        yield from self._hang(context)

    def _scribble(self, context: Any) -> Iterator[Any]:
        context._channel.socket.send(b"\xff" * 100)
        yield from self._hang(context)

    def _close_line(self, context: Any) -> Iterator[Any]:
        os.close(context._channel.socket.fileno())
        time.sleep(60)
        yield Log("not heard")

    def _go_on(self, context: Any) -> Iterator[Any]:
        yield Ended(How.FINISHED, "early")
        yield Log("too late")
        yield Ended(How.FAILED, "twice")

    def _trip(self, context: Any) -> Iterator[Any]:
        """Fails when it cleans up."""
        try:
            yield Ended(How.FINISHED, "done, it says")
        finally:
            raise OSError("cannot clean up")

    def _fork(self, context: Any) -> Iterator[Any]:
        """Forks a child that inherits all open files, and exits."""
        child = os.fork()
        if child == 0:
            time.sleep(600)
            os._exit(0)
        yield Log(f"forked {child}")
        os._exit(5)

    def _helper(self, context: Any) -> Iterator[Any]:
        """Starts another process in its own session, and does not stop it."""
        helper = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], start_new_session=True)
        helper.returncode = 0  # avoids the warning about a running child
        yield Log(f"helper {helper.pid}")

    def _play(self, context: Any) -> Iterator[Any]:
        """Plays matches endlessly on worker processes."""
        players = (AgentSpec("a", "dice"), AgentSpec("b", "dice"))
        with ConcurrentMatchExecutor(context.workers, plugins=context.plugins, lanes=8) as executor:
            for n, result in enumerate(executor.run(self._matches(context, players))):
                if n % 50 == 0:
                    yield Metrics(n, (("match/steps", float(result.steps)), ("match/workers", executor.workers)))
                executor.workers = context.workers
                if context.attend():
                    break
        yield Ended(How.STOPPED, "played")

    def _matches(self, context: Any, players: tuple[AgentSpec, AgentSpec]) -> Iterator[MatchSpec]:
        n = 0
        while True:
            yield MatchSpec(f"m{n}", context.game, players, n)
            n += 1


@dataclass(frozen=True)
class Silent(Counting):
    """Returns without an Ended event."""

    name: ClassVar[str] = "silent"
    shows_current: ClassVar[bool] = False

    def train(self, context: Any) -> Iterator[Any]:
        for step in range(1, self.steps + 1):
            if context.attend():
                return
            time.sleep(self.nap)
            yield Progress(step, self.steps, "on its way")


TRAINERS.add("counting", Counting)
TRAINERS.add("silent", Silent)
