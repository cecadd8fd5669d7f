"""A person as a player: what they press is what their seat does.

It never blocks. Where a seat may idle, the match goes on with the action that is held, or none; elsewhere it waits for
one. A *script* is played before the person is asked: that is how a seat of a match in progress is taken over, by
playing the same match again up to there.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from engine import codec
from engine.errors import BadValue
from engine.game import PENDING, RESIGN, AgentKind, Bools, Game, Indices, Ints, Seeds, Views
from engine.play.match import AgentSpec, MatchResult

MOST_ACTIONS = 1_000_000  # of a script
SIZE = 8 << 20  # bytes of a payload


@dataclass(frozen=True)
class Script:
    """The payload, if there is one: what the seat plays before the person does, one action each time it is asked."""

    script: tuple[int, ...]


class HumanPilot:
    """What people said last, by slot."""

    capacity = None

    def __init__(self, game: Game, slots: int) -> None:
        self._game, self._info = game.spec.name, game.info
        self._scripts: list[tuple[int, ...]] = []  # by agent
        self._coming: dict[int, Iterator[int]] = {}  # by slot, what is left of its script
        self._said: dict[int, int] = {}  # by slot

    def load(self, agent: AgentSpec) -> int:
        self._scripts.append(_script_of(agent.payload, self._game, self._info.actions))
        return len(self._scripts) - 1

    def begin(self, slots: Indices, agents: Indices, seeds: Seeds) -> None:
        for slot, agent in zip(slots.tolist(), agents.tolist(), strict=True):
            self._coming[slot] = iter(self._scripts[agent])
            self._said.pop(slot, None)

    def hear(self, slot: int, action: int) -> None:
        """A slip of the finger is no forfeit: what is no action at all is not heard."""
        if slot in self._coming and (action == RESIGN or 0 <= action < self._info.actions):
            self._said[slot] = action

    def act(self, views: Views) -> Ints:
        legal = views.legal
        answers = [
            self._answer(slot, None if legal is None else legal[row]) for row, slot in enumerate(views.slots.tolist())
        ]
        return np.array(answers, np.int64)

    def _answer(self, slot: int, legal: Bools | None) -> int:
        action = next(self._coming[slot], PENDING)
        if action != PENDING:
            if _allowed(action, legal):
                return action
            self._coming[slot] = iter(())  # the match went another way: from here on it is the person's
        idle = self._info.idle
        if idle is not None:
            held = self._said.get(slot, idle)
            return next((one for one in (held, idle) if _allowed(one, legal)), PENDING)
        said = self._said.pop(slot, PENDING)
        return said if _allowed(said, legal) else PENDING

    def end(self, slots: Indices, results: Sequence[MatchResult] | None) -> None:
        for slot in slots.tolist():
            del self._coming[slot]
            self._said.pop(slot, None)

    def close(self) -> None:
        self._coming.clear()
        self._said.clear()


def _allowed(action: int, legal: Bools | None) -> bool:
    return action < 0 or legal is None or bool(legal[action])


def _script_of(payload: bytes, game: str, actions: int) -> tuple[int, ...]:
    if not payload:
        return ()
    script = codec.load(Script, payload, limit=SIZE).script
    if len(script) > MOST_ACTIONS:
        raise BadValue("script", f"{len(script):,} actions", f"at most {MOST_ACTIONS:,}")
    for place, action in enumerate(script):
        if not 0 <= action < actions:
            raise BadValue(f"script[{place}]", action, f"an action of {game}, from 0 to {actions - 1}")
    return script


def person(name: str = "You", script: Sequence[int] = ()) -> AgentSpec:
    """Somebody who plays these actions first, and then what they like."""
    payload = codec.dump(Script(tuple(int(action) for action in script))).encode() if script else b""
    return AgentSpec(name, KIND.name, payload, KIND.version)


def _plays(game: Game) -> bool:
    return True


def _samples(game: Game) -> list[AgentSpec]:
    """Nobody: people are not ready-made."""
    return []


KIND = AgentKind(name="human", version=1, pilot=HumanPilot, plays=_plays, samples=_samples, repeatable=False, live=True)
