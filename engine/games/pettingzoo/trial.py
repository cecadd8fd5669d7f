"""Finds out what an environment is: its spaces are read, and some matches are played in it."""

from __future__ import annotations

import dataclasses
import hashlib
import math
import random
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from engine.errors import BrokenPlugin
from engine.game import GameInfo, Observations
from engine.games.pettingzoo.shelf import twin
from engine.games.pettingzoo.tables import Seats, dealt, inner, mask_of, numbers, shape_of
from engine.seeding import pick, purpose

TRIAL = purpose("pettingzoo.trial")
STATS = ("moves", "gained", "lost")  # actions of a seat, its rewards above nothing, and those below
MOST_SEATS, MOST_ACTIONS, MOST_VALUES = 10, 10_000, 500_000  # values: what one seat sees
STEPS = 60
VERSION = re.compile(r"_v[0-9]+$")
LANES = 32  # one environment may hold eleven megabytes (cooperative pong), and more of them are no faster


@dataclass(frozen=True)
class Traits:
    """What an environment turned out to be."""

    seats: Seats
    counts: tuple[int, ...]  # actions of each seat
    spaces: tuple[Any, ...]  # of what each seat sees
    careful: bool  # it touches the process's own generators, which are kept apart then


class Trial:
    """Of an environment with its options: `make` makes one, and `name` is what the game is called."""

    def __init__(self, name: str, make: Callable[[], Any], title: str = "") -> None:
        self._name, self._make, self._title = name, make, title

    def measure(self, env: Any) -> tuple[GameInfo, Traits]:
        """What there is to know of it, from one that has been made; BrokenPlugin where it can be no game."""
        agents = tuple(getattr(env, "possible_agents", ()))
        if not 1 <= len(agents) <= MOST_SEATS:
            raise self.refusal(f"it has {len(agents)} seats, and a match has 1 to {MOST_SEATS}")
        acts = [env.action_space(agent) for agent in agents]
        for agent, space in zip(agents, acts, strict=True):
            if type(space).__name__ != "Discrete":
                raise self.refusal(f"the actions of {agent} are {space}, and only discrete ones can be played")
            if space.n > MOST_ACTIONS:
                raise self.refusal(f"{agent} has {space.n} actions, and at most {MOST_ACTIONS:,} can be played")
        seen = [inner(env.observation_space(agent)) for agent in agents]
        shapes = self._shapes(agents, [space for space, _ in seen])
        traits = Traits(
            Seats(agents, tuple(int(space.start) for space in acts)),
            tuple(int(space.n) for space in acts),
            tuple(space for space, _ in seen),
            careful=False,
        )
        traits = dataclasses.replace(traits, careful=self._touches(traits))
        fps = float(getattr(env, "metadata", {}).get("render_fps") or 2.0)
        info = GameInfo(
            title=self._title or _title(self._name),
            seats=len(agents),
            actions=max(traits.counts),
            observation=shapes[0],
            stats=STATS,
            masked=True,  # an info may say what is legal at any step, and nothing says beforehand whether it will
            pace=min(max(fps, 1.0), 60.0),
            # Not `simultaneous`: nothing says that all stay to the end, and trials of those who do prove nothing.
            together=not hasattr(env, "agent_iter"),
            lanes=LANES,
        )
        return info, traits

    def copies(self, traits: Traits) -> bool:
        """Whether a match that is handed on from copy to copy goes as it goes without."""
        return list(self._match(traits, copied=True)) == list(self._match(traits))

    def refusal(self, why: str) -> BrokenPlugin:
        return BrokenPlugin(f"{self._name} cannot be a game here: {why}")

    def _shapes(self, agents: Sequence[str], seen: Sequence[Any]) -> list[tuple[int, ...]]:
        try:
            shapes = [shape_of(space) for space in seen]
        except (NotImplementedError, ValueError):
            raise self.refusal(f"what its seats see is {seen[0]}, which has no fixed number of values") from None
        for agent, shape in zip(agents, shapes, strict=True):
            if shape != shapes[0]:
                raise self.refusal(f"{agents[0]} sees {shapes[0]} values and {agent} {shape}: all must see alike")
        if not 1 <= math.prod(shapes[0]) <= MOST_VALUES:
            raise self.refusal(f"its seats see {shapes[0]} values, and that must make 1 to {MOST_VALUES:,}")
        return shapes

    def _touches(self, traits: Traits) -> bool:
        """One match alone, then two of them in turns, with other luck around them: all three must be the same.

        Whether it touches the luck of others.
        """
        touched = False
        stories: list[list[object]] = []
        for luck, matches in ((1, 1), (2, 2)):
            random.seed(luck)
            np.random.seed(luck)
            before = _luck()
            trials = [self._match(traits) for _ in range(matches)]
            told: list[list[object]] = [[] for _ in trials]
            for _ in range(STEPS):
                for trial, story in zip(trials, told, strict=True):
                    story.append(next(trial, None))
            touched = touched or _luck() != before
            stories += told
        if any(story != stories[0] for story in stories):
            raise self.refusal("it does not play the same match twice under one seed, so nothing could be replayed")
        return touched

    def _match(self, traits: Traits, copied: bool = False) -> Iterator[object]:
        """What is seen in a match of drawn actions; if `copied`, one that is handed on from copy to copy."""
        table = dealt(self._make(), traits.seats, 1)
        if not table.acting():
            raise self.refusal("nobody acts when it begins")
        rewards: list[float] = []
        for ply in range(STEPS):
            acting, seats = table.acting(), range(len(traits.counts))
            agents = traits.seats.agents
            seen = [_print(numbers(traits.spaces[seat], table.seen(seat), agents[seat])) for seat in seats]
            masks = {seat: mask_of(table, seat) for seat in acting}
            yield acting, seen, rewards, masks
            if not acting:
                return
            choices = {seat: list(range(traits.counts[seat])) if mask is None else mask for seat, mask in masks.items()}
            if copied and ply % 4 == 1:
                left, table = table, twin(table)
                left.step({seat: some[0] for seat, some in choices.items()})  # what it does is its own business
            rewards = table.step({seat: some[pick(len(some), 1, TRIAL, seat, ply)] for seat, some in choices.items()})


def _title(name: str) -> str:
    """From "pettingzoo:connect_four_v3" as from "connect-four"."""
    own = VERSION.sub("", name.rpartition(":")[2])
    return f"{own.replace('_', ' ').replace('-', ' ').capitalize()} (PettingZoo)"


def _print(seen: Observations) -> bytes:
    """What is seen may take megabytes, and a trial remembers all of it."""
    return hashlib.blake2b(seen.tobytes()).digest()


def _luck() -> tuple[object, ...]:
    """The state of the process's own generators."""
    state: Any = np.random.get_state(legacy=False)
    inside = state.pop("state")
    return random.getstate(), state, inside["pos"], inside["key"].tobytes()
