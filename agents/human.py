"""Human players: the pilot plays the actions that the user enters.

It never blocks. In games with an idle action the seat plays the key that is held, or idles; in other games the match
waits. A *script* of actions is played before the user's own: to take over a seat of a match in progress, the match is
replayed up to that point.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from engine import codec
from engine.errors import BadValue
from engine.game import PENDING, RESIGN, AgentKind, Bools, Game, Indices, Ints, Seeds, Views
from engine.play.match import AgentSpec, MatchResult

MOST_ACTIONS = 1_000_000  # in a script
SIZE = 8 << 20  # bytes in a payload


@dataclass(frozen=True)
class Script:
    """The payload, if not empty: actions to play before those of the user, one per turn."""

    script: tuple[int, ...]


class HumanPilot:
    """Keeps the last action that the user entered, by slot."""

    capacity = None

    def __init__(self, game: Game, slots: int) -> None:
        self._game, self._info = game.spec.name, game.info
        self._scripts: list[tuple[int, ...]] = []  # by agent
        self._scripted: dict[int, Iterator[int]] = {}  # by slot: the rest of its script
        self._entered: dict[int, int] = {}  # by slot

    def load(self, agent: AgentSpec) -> int:
        self._scripts.append(_script_of(agent.payload, self._game, self._info.actions))
        return len(self._scripts) - 1

    def begin(self, slots: Indices, agents: Indices, seeds: Seeds) -> None:
        for slot, agent in zip(slots.tolist(), agents.tolist(), strict=True):
            self._scripted[slot] = iter(self._scripts[agent])
            self._entered.pop(slot, None)

    def on_action(self, slot: int, action: int) -> None:
        """Receives an action of the user. Invalid numbers are ignored, so that a wrong key is not a forfeit."""
        if slot in self._scripted and (action == RESIGN or 0 <= action < self._info.actions):
            self._entered[slot] = action

    def act(self, views: Views) -> Ints:
        legal = views.legal
        answers = [
            self._answer(slot, None if legal is None else legal[row]) for row, slot in enumerate(views.slots.tolist())
        ]
        return np.array(answers, np.int64)

    def _answer(self, slot: int, legal: Bools | None) -> int:
        action = next(self._scripted[slot], PENDING)
        if action != PENDING:
            if _allowed(action, legal):
                return action
            self._scripted[slot] = iter(())  # the match differs from the recorded one: the user plays from here
        idle = self._info.idle
        if idle is not None:
            held = self._entered.get(slot, idle)
            return next((action for action in (held, idle) if _allowed(action, legal)), PENDING)
        entered = self._entered.pop(slot, PENDING)
        return entered if _allowed(entered, legal) else PENDING

    def end(self, slots: Indices, results: Sequence[MatchResult] | None) -> None:
        for slot in slots.tolist():
            del self._scripted[slot]
            self._entered.pop(slot, None)

    def close(self) -> None:
        self._scripted.clear()
        self._entered.clear()


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
    """A human player as an agent; `script` has the actions to play first."""
    payload = codec.dump(Script(tuple(int(action) for action in script))).encode() if script else b""
    return AgentSpec(name, KIND.name, payload, KIND.version)


def _plays(game: Game) -> bool:
    return True


def _samples(game: Game) -> list[AgentSpec]:
    """None: there are no ready-made human players."""
    return []


KIND = AgentKind(name="human", version=1, pilot=HumanPilot, plays=_plays, samples=_samples, repeatable=False, live=True)
