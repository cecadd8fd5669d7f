"""Probes an environment: reads its spaces and plays some trial matches."""

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
from engine.games.pettingzoo.environments import Seats, legal_actions, new_table, shape_of, to_array, without_mask
from engine.games.pettingzoo.keyframes import copy_table
from engine.seeding import pick, purpose

TRIAL = purpose("pettingzoo.trial")
STATS = ("moves", "gained", "lost")  # number of actions, sum of positive rewards, sum of negative rewards
MAX_SEATS, MAX_ACTIONS, MAX_VALUES = 10, 10_000, 500_000  # values: of one observation
STEPS = 60
VERSION = re.compile(r"_v[0-9]+$")
LANES = 32  # an environment may take 11 MB (cooperative pong), and more lanes are no faster


@dataclass(frozen=True)
class Traits:
    """The properties of an environment."""

    seats: Seats
    counts: tuple[int, ...]  # number of actions of each seat
    spaces: tuple[Any, ...]  # observation space of each seat
    uses_global_rng: bool  # whether it uses the global random generators, which are then saved and restored


class EnvProbe:
    """Probes an environment with its options: `make` creates one, `name` is the name of the game."""

    def __init__(self, name: str, make: Callable[[], Any], title: str = "") -> None:
        self._name, self._make, self._title = name, make, title

    def measure(self, env: Any) -> tuple[GameInfo, Traits]:
        """Info and traits of an environment; raises BrokenPlugin if it cannot be a game."""
        agents = tuple(getattr(env, "possible_agents", ()))
        if not 1 <= len(agents) <= MAX_SEATS:
            raise self.refusal(f"it has {len(agents)} agents; 1 to {MAX_SEATS} are supported")
        acts = [env.action_space(agent) for agent in agents]
        for agent, space in zip(agents, acts, strict=True):
            if type(space).__name__ != "Discrete":
                raise self.refusal(f"the action space of {agent} is {space}; only Discrete is supported")
            if space.n > MAX_ACTIONS:
                raise self.refusal(f"{agent} has {space.n} actions; at most {MAX_ACTIONS:,} are supported")
        observed = [without_mask(env.observation_space(agent)) for agent in agents]
        shapes = self._shapes(agents, [space for space, _ in observed])
        traits = Traits(
            Seats(agents, tuple(int(space.start) for space in acts)),
            tuple(int(space.n) for space in acts),
            tuple(space for space, _ in observed),
            uses_global_rng=False,
        )
        traits = dataclasses.replace(traits, uses_global_rng=self._check_repeatable(traits))
        fps = float(getattr(env, "metadata", {}).get("render_fps") or 2.0)
        info = GameInfo(
            title=self._title or _title(self._name),
            seats=len(agents),
            actions=max(traits.counts),
            observation=shapes[0],
            stats=STATS,
            masked=True,  # any info may contain a mask, which cannot be known in advance
            pace=min(max(fps, 1.0), 60.0),
            # Not `simultaneous`: agents may leave early, and trials without that prove nothing.
            together=not hasattr(env, "agent_iter"),
            lanes=LANES,
        )
        return info, traits

    def can_copy(self, traits: Traits) -> bool:
        """Whether a match that continues on copies is the same as without copies."""
        return list(self._play_trial(traits, copied=True)) == list(self._play_trial(traits))

    def refusal(self, why: str) -> BrokenPlugin:
        return BrokenPlugin(f"{self._name} cannot be used as a game: {why}")

    def _shapes(self, agents: Sequence[str], observed: Sequence[Any]) -> list[tuple[int, ...]]:
        try:
            shapes = [shape_of(space) for space in observed]
        except (NotImplementedError, ValueError):
            raise self.refusal(f"its observation space is {observed[0]}, which has no fixed size") from None
        for agent, shape in zip(agents, shapes, strict=True):
            if shape != shapes[0]:
                raise self.refusal(f"{agents[0]} observes the shape {shapes[0]}, {agent} {shape}; all must be the same")
        if not 1 <= math.prod(shapes[0]) <= MAX_VALUES:
            raise self.refusal(f"an observation has the shape {shapes[0]}; 1 to {MAX_VALUES:,} values are supported")
        return shapes

    def _check_repeatable(self, traits: Traits) -> bool:
        """Play one match alone, then two in alternation, with different states of the global generators; all must be
        the same. Returns whether the environment uses the global generators.
        """
        used = False
        records: list[list[object]] = []
        for seed, matches in ((1, 1), (2, 2)):
            random.seed(seed)
            np.random.seed(seed)
            before = _global_rng_state()
            trials = [self._play_trial(traits) for _ in range(matches)]
            new: list[list[object]] = [[] for _ in trials]
            for _ in range(STEPS):
                for trial, record in zip(trials, new, strict=True):
                    record.append(next(trial, None))
            used = used or _global_rng_state() != before
            records += new
        if any(record != records[0] for record in records):
            raise self.refusal("it is not deterministic: one seed gives different matches, which cannot be replayed")
        return used

    def _play_trial(self, traits: Traits, copied: bool = False) -> Iterator[object]:
        """The record of a match with random actions; if `copied`, the match continues on copies of the table."""
        table = new_table(self._make(), traits.seats, 1)
        if not table.acting():
            raise self.refusal("no agent acts at the start")
        rewards: list[float] = []
        for ply in range(STEPS):
            acting, seats = table.acting(), range(len(traits.counts))
            agents = traits.seats.agents
            observed = [
                _fingerprint(to_array(traits.spaces[seat], table.observation(seat), agents[seat])) for seat in seats
            ]
            masks = {seat: legal_actions(table, seat) for seat in acting}
            yield acting, observed, rewards, masks
            if not acting:
                return
            choices = {seat: list(range(traits.counts[seat])) if mask is None else mask for seat, mask in masks.items()}
            if copied and ply % 4 == 1:
                left, table = table, copy_table(table)
                left.step({seat: some[0] for seat, some in choices.items()})  # must not affect the copy
            rewards = table.step({seat: some[pick(len(some), 1, TRIAL, seat, ply)] for seat, some in choices.items()})


def _title(name: str) -> str:
    """A title from a name such as "pettingzoo:connect_four_v3" or "connect-four"."""
    own = VERSION.sub("", name.rpartition(":")[2])
    return f"{own.replace('_', ' ').replace('-', ' ').capitalize()} (PettingZoo)"


def _fingerprint(observation: Observations) -> bytes:
    """A digest, because trials store all observations and one may take megabytes."""
    return hashlib.blake2b(observation.tobytes()).digest()


def _global_rng_state() -> tuple[object, ...]:
    """The state of the global random generators."""
    state: Any = np.random.get_state(legacy=False)
    inside = state.pop("state")
    return random.getstate(), state, inside["pos"], inside["key"].tobytes()
