"""A rollout in a process of its own: weights in, trajectories out.

    # in mypackage/plans.py
    def self_play(agents, stream, k, seed):  # the k-th match of a stream, with the current agents
        return MatchSpec(f"{stream}.{k}", GAME, (agents["me"],) * 2, derive(seed, stream, k))

    with RolloutProcess(GAME, range(64), "mypackage.plans:self_play", [me], settings={"seed": 1}) as rollout:
        segment = rollout.collect(128)
        rollout.replace(better)  # the same agent with new weights, also in running matches

Several of them share the streams: `begin` all, `receive` from all, and `joined` gives the same trajectories as one
process, to the bit (`engine.play.rollout_messages`).
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from engine.closing import Closing
from engine.errors import BadSpec, BadValue, PolicyFailed, RingsideError
from engine.play.match import AgentSpec, GameSpec
from engine.play.rollout import Trajectories
from engine.play.rollout_calls import RolloutCalls, calls_size
from engine.play.rollout_messages import pack_agent, unpack_trajectories
from engine.play.rollout_plans import write_settings
from engine.play.rollout_rewards import weights_of
from engine.play.workers.entry import PRELOAD
from engine.processes import launcher
from engine.processes.bootstrap import ChildSetup
from engine.processes.channel import Disconnected, ProtocolError
from engine.processes.child import GRACE, ChildProcess
from engine.registry import game_of, libraries_of

RUN = "engine.play.rollout_main:serve"
TIME_LIMIT = 600.0  # seconds that a segment may take
ERRORS: dict[str, type[RingsideError]] = {"BadSpec": BadSpec, "PolicyFailed": PolicyFailed}


class RolloutFailed(RingsideError):  # noqa: N818
    """A rollout process has died, hung or sent something invalid. It has ended, and the steps of its last call are
    lost."""


class RolloutDied(RolloutFailed):
    """A rollout process has ended by itself, or was killed."""


class RolloutProcess(Closing):
    """Plays streams of matches in a process of its own; as `Rollout`, with a plan that is named instead of given.

    `plan` is "module:function"; the function gets the current agents by id, the stream, the number of the match in it,
    and `settings` by name. Like `Rollout`, it raises BadSpec or PolicyFailed and can be used afterwards. The libraries
    that the kinds of `agents` declare (`AgentKind.preload`) are imported in the process, never in this one.
    """

    def __init__(
        self,
        game: GameSpec,
        streams: Sequence[int],
        plan: str,
        agents: Iterable[AgentSpec],
        *,
        settings: Mapping[str, Any] | None = None,
        learners: Collection[str] | None = None,
        rewards: Mapping[str, float] | None = None,
        plugins: Sequence[str] = (),
        saved: bytes | None = None,
        memory: int | None = None,
        time_limit: float = TIME_LIMIT,
        name: str = "a rollout process",
    ) -> None:
        """`plugins`: modules that it imports, because they register games or kinds. `memory`: bytes that it may use.

        `rewards`, `saved`: as for `Rollout`; what cannot be restored raises an error at every later call. `time_limit`:
        seconds to wait for a segment. If it takes longer, a policy hangs: the process is killed. `name`: begins the
        texts of errors.
        """
        rules, given = game_of(game), list(agents)
        weights_of(rules, rewards or {})  # raises here, not in the process
        self._info = rules.info
        self._steps = 0  # of the segment that is being played; 0 if there is none
        self.time_limit = time_limit  # may be changed between two segments
        self._until = 0.0  # when the time limit ends; 0 until the segment is first waited for
        self._streams = tuple(streams)
        self._name = name
        self._pieces = bytearray()  # of the answer that is being received
        self.saved = b""  # see `begin`
        slots = len(self._streams) * self._info.seats
        shared = launcher.shared_memory(calls_size(slots))
        self._calls = RolloutCalls(slots, shared)
        arguments = (
            game,
            self._streams,
            plan,
            write_settings(settings or {}),
            None if learners is None else sorted(learners),
            dict(rewards or {}),
            shared,
        )
        libraries = libraries_of(agent.kind for agent in given)
        setup = ChildSetup(server=PRELOAD, libraries=libraries, memory=memory, plugins=tuple(plugins))
        self._child = ChildProcess(RUN, *arguments, setup=setup)
        for agent in given:
            self.replace(agent)
        if saved is not None:
            self._child.send(["restore"], saved)

    @property
    def pid(self) -> int | None:
        return self._child.pid

    @property
    def activity(self) -> str:
        """Which agents it is asking; see `RolloutCalls.describe`. Any thread may read it."""
        return self._calls.describe()

    def kill(self) -> None:
        """End the process now, without waiting. Any thread may call it: `receive` and `save` raise RolloutDied."""
        self._child.kill()

    def replace(self, agent: AgentSpec) -> None:
        """Add an agent, or replace its weights, also in running matches. It takes effect before the next `begin`."""
        fields, body = pack_agent(agent)
        self._child.send(["agent", *fields], body)

    def configure(self, settings: Mapping[str, Any]) -> None:
        """Replace the settings of the plan, for matches that start from the next `begin` on."""
        self._child.send(["settings", write_settings(settings)])

    def save(self) -> bytes:
        """See `Rollout.save`."""
        if self._steps:
            raise RingsideError("this rollout process is playing: call `receive` first")
        self._child.send(["save"])
        with self._failures():
            match self._next_message(self.time_limit):
                case ["saved"], body:
                    return bytes(body)
                case None:
                    raise ProtocolError(self._child.with_output(f"did not answer within {self.time_limit:g} s"))
                case fields, _:
                    raise _error_of(fields)

    def begin(self, steps: int, *, save: bool = False) -> None:
        """Begin to play the next steps of every stream, without waiting. If `save`, `saved` is their state after it."""
        if self._steps:
            raise RingsideError("this rollout process is playing: call `receive` first")
        if steps < 1:
            raise BadValue("steps", steps, "at least 1")
        self._steps, self._until = steps, 0.0
        self._child.send(["collect", steps, save])

    def receive(self, timeout: float | None = None) -> Trajectories | None:
        """The segment that `begin` began; None if it takes longer than so many seconds.

        The time limit counts from the first call, so that a process may wait until its segment is received.
        """
        if not self._steps:
            raise RingsideError("this rollout process is not playing: call `begin` first")
        self._until = self._until or time.monotonic() + self.time_limit
        left = max(self._until - time.monotonic(), 0.0)
        steps = self._steps
        with self._failures():
            match self._next_message(left if timeout is None else min(left, timeout)):
                case None if timeout is not None and timeout < left:
                    self._steps = steps
                    return None
                case None:
                    text = f"did not play {steps} steps of {len(self._streams)} streams within {self.time_limit:g} s"
                    text = "; ".join(filter(None, (f"{text}, so it was ended: a policy may hang", self.activity)))
                    raise ProtocolError(self._child.with_output(text))
                case ["segment", int(size), *rest], body if 0 <= size <= len(body):
                    self.saved = bytes(memoryview(body)[len(body) - size :])
                    del body[len(body) - size :]
                    return self._check(unpack_trajectories(rest, body, self._info), steps)
                case fields, _:
                    raise _error_of(fields)

    def _next_message(self, timeout: float) -> tuple[list[Any], bytearray] | None:
        """The answer of the process, with the pieces that were sent before; None if it takes longer."""
        until = time.monotonic() + timeout
        while messages := self._child.receive(max(until - time.monotonic(), 0.0)):
            for at, (fields, body) in enumerate(messages):
                self._pieces += body
                if fields != ["piece"]:
                    if at + 1 < len(messages):
                        raise ProtocolError("sent more than one answer")
                    whole, self._pieces = self._pieces, bytearray()
                    return fields, whole
        return None

    @contextmanager
    def _failures(self) -> Iterator[None]:
        """Raise the end of the process, and invalid messages, as RolloutFailed. No segment is played afterwards."""
        self._steps = 0
        try:
            yield
        except Disconnected as ended:
            raise RolloutDied(f"{self._name} {ended}") from None
        except ProtocolError as error:
            self._child.kill()
            self._child.join(GRACE)  # so that the next call finds it ended
            raise RolloutFailed(f"{self._name} {error}") from None

    def _check(self, segment: Trajectories, steps: int) -> Trajectories:
        if segment.ends.shape != (len(self._streams), steps):
            raise ProtocolError("sent invalid trajectories")
        return segment

    def collect(self, steps: int) -> Trajectories:
        """Play the next steps of every stream, and wait for them."""
        self.begin(steps)
        segment = self.receive()
        assert segment is not None
        return segment

    def close(self) -> None:
        self._child.close()


def _error_of(fields: list[Any]) -> RingsideError:
    match fields:
        case ["failed", str(name), str(text)]:
            return ERRORS.get(name, RingsideError)(text)
        case _:
            return ProtocolError("sent an invalid message")
