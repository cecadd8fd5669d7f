"""Replay buffer of one agent: a ring of rows, each of which holds one turn of all lanes.

n-step returns and stacked frames are found by index arithmetic along time when a minibatch is drawn, so every
observation is stored once. The arrays may be in memory that processes share: one process adds rows, one samples, and
neither waits for the other. Before it overwrites a row, the writer announces that (`BEGUN`); a reader copies what it
has drawn, looks at the announcement afterwards, and draws again what may have been overwritten meanwhile.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from typing import Any, TypedDict

import numpy as np
from numpy.typing import NDArray

from agents.training.independent.ends import End
from agents.training.independent.sampling import copy_frames, count_usable, draw_turns
from agents.training.independent.shared_words import LINE, SharedWords, fence, padded
from engine.errors import BadValue, RingsideError
from engine.game import Ints, Observations

ADDED, BEGUN, FIRST = range(3)  # words: rows that are complete, rows whose writing has begun, and the oldest known row
IDLE = -1  # as the action of an agent that did not act in this turn
MOST_DRAWS = 200  # for each turn of a minibatch: more mean that (almost) no turn can be used


class NothingToSample(RingsideError):  # noqa: N818
    """The buffer has too few turns that can be sampled, or they are overwritten faster than they are read."""


@dataclass(frozen=True, eq=False)
class Transitions:
    """A minibatch of one agent."""

    obs: Observations  # [batch, *observation]; stacked frames follow each other in the first dimension, newest first
    actions: Ints  # [batch]
    rewards: NDArray[np.float32]  # [batch]; discounted sum over n turns, fewer where the match ended
    discounts: NDArray[np.float32]  # [batch]; of the value of `next_obs`: discount**n, 0 where the match terminated
    next_obs: Observations  # n turns later; where the discount is 0, any observation of the match


class BufferSnapshot(TypedDict):
    """A copy of a buffer. Rows are in the order of time, the oldest first."""

    states: Observations  # [size, lanes, *observation]
    actions: NDArray[np.int32]  # [size, lanes]; IDLE where the agent did not act
    rewards: NDArray[np.float32]  # [size, lanes]
    dones: NDArray[np.uint8]  # [size, lanes]; see `End`
    size: int  # rows
    idx: int  # rows that were added until the copy was made: the number of the next row


class ReplayBuffer:
    """The last turns of one agent on all lanes. One process may add rows while another one reads."""

    def __init__(self, rows: int, lanes: int, observation: tuple[int, ...], memory: Any = None) -> None:
        """`rows`: how many turns of all lanes are kept. `memory`: of `bytes_needed` bytes, filled with zeros when it
        was new; it continues with what is in it. Without it the buffer is in memory of this process."""
        if rows < 2 or lanes < 1:
            raise BadValue("rows, lanes", (rows, lanes), "at least 2 rows and 1 lane")
        self.rows, self.lanes, self.observation = rows, lanes, tuple(observation)
        self.memory = bytearray(self.bytes_needed(rows, lanes, observation)) if memory is None else memory
        self._words = SharedWords(self.memory, 3)
        given, arrays, start = np.frombuffer(self.memory, np.uint8), [], LINE
        for shape, kind in self._shapes(rows, lanes, self.observation):
            size = prod(shape) * np.dtype(kind).itemsize
            arrays.append(given[start : start + size].view(kind).reshape(shape))
            start += padded(size)
        self._obs, self._actions, self._rewards, self._ends = arrays
        actions, rewards, ends = (column.reshape(rows * lanes) for column in arrays[1:])
        obs: Observations = self._obs.reshape(rows * lanes, -1)
        self._flat = obs, actions, rewards, ends

    @staticmethod
    def _shapes(rows: int, lanes: int, observation: tuple[int, ...]) -> list[tuple[tuple[int, ...], Any]]:
        turns = (rows, lanes)
        return [((*turns, *observation), np.float32), (turns, np.int32), (turns, np.float32), (turns, np.uint8)]

    @staticmethod
    def bytes_needed(rows: int, lanes: int, observation: tuple[int, ...]) -> int:
        shapes = ReplayBuffer._shapes(rows, lanes, tuple(observation))
        return LINE + sum(padded(prod(shape) * np.dtype(kind).itemsize) for shape, kind in shapes)

    @property
    def added(self) -> int:
        """Rows that were added so far; the last `rows` of them are kept."""
        return self._words[ADDED]

    def __len__(self) -> int:
        """Rows that are kept."""
        return self.added - self._first(self.added)

    # Writing

    def add(self, obs: Observations, actions: Any, rewards: Any, ends: Any) -> None:
        """Add one turn of all lanes: what the agent saw, its action (IDLE if it did not act), the reward that followed,
        and whether its match ended with it (`End`). The next row of a lane after an end belongs to a new match."""
        number = self._words[ADDED]
        self._words[BEGUN] = number + 1
        fence()
        row = number % self.rows
        self._obs[row], self._actions[row], self._rewards[row], self._ends[row] = obs, actions, rewards, ends
        self._ends[row][self._actions[row] < 0] = End.ABSENT
        fence()
        self._words[ADDED] = number + 1

    # Sampling

    def sample(self, batch: int, seed: int, *, steps: int, discount: float, frames: int = 1) -> Transitions:
        """A minibatch, drawn with replacement from all turns in which the agent acted, if it is known what it saw
        `steps` turns later, or if the match terminated before. No match was truncated in between.

        Frames before the beginning of a match are zeros, as in games that stack frames themselves. The result is a
        function of the seed and the contents.
        """
        obs, *columns = self._flat
        drawn = np.empty(batch, np.int64), np.empty(batch, np.float32), np.empty(batch, np.float32)
        seen = np.empty((2, batch, frames * obs.shape[1]), np.float32)
        turns = np.empty((2, batch), np.int64)
        factors = np.array([discount**k for k in range(steps + 1)], np.float32)
        filled = tries = 0
        while filled < batch:
            if tries >= MOST_DRAWS * batch:
                raise NothingToSample(
                    f"found only {filled} of {batch} turns to learn from among {len(self):,} rows of {self.lanes} "
                    f"lanes, with {steps} steps each. Give the buffer more rows, or play longer matches"
                )
            added = self._words[ADDED]
            fence()
            until, low = added * self.lanes, self._oldest(added, frames) * self.lanes
            most, first = MOST_DRAWS * batch, filled
            filled, tries = draw_turns(
                np.uint64(seed), tries, most, first, low, until, self.lanes, tuple(columns), factors, turns, drawn
            )
            for k in range(2):
                copy_frames(obs, columns[-1], self.lanes, turns[k], first, filled, frames, seen[k])
            fence()
            filled = _without_unsafe(turns, (*seen, *drawn), first, filled, self._unsafe(frames))
        shape = batch, frames * self.observation[0], *self.observation[1:]
        return Transitions(seen[0].reshape(shape), *drawn, seen[1].reshape(shape))

    def ready(self, batch: int = 1, *, steps: int = 1, frames: int = 1) -> bool:
        """Whether at least so many different turns can be sampled."""
        added = self._words[ADDED]
        if added * self.lanes < batch:
            return False
        fence()
        low = self._oldest(added, frames) * self.lanes
        return bool(count_usable(low, added * self.lanes, self.lanes, self._flat[-1], steps, batch) >= batch)

    def _oldest(self, added: int, frames: int) -> int:
        """The oldest row that can be sampled: the frames before it are known too."""
        first = self._first(added)
        return min(first + frames - 1, added) if first else 0

    def _first(self, added: int) -> int:
        """The oldest row that is kept: a checkpoint may have fewer rows than there is room for."""
        return max(added - self.rows, self._words[FIRST])

    def _unsafe(self, frames: int) -> int:
        """Turns before this one may have been overwritten since they were read, or a frame of theirs."""
        row = self._words[BEGUN] - self.rows
        return (row + frames - 1) * self.lanes if row > 0 else 0

    # Copies

    def get_buffer_snapshot(self) -> BufferSnapshot:
        """A copy of all rows that are kept. Rows that are overwritten while they are copied are left out."""
        arrays = (self._obs, self._actions, self._rewards, self._ends)
        while True:
            added = self._words[ADDED]
            fence()
            first = self._first(added)
            order = np.arange(first, added) % self.rows
            copies = [array[order] for array in arrays]
            fence()
            lost = max(self._unsafe(1) // self.lanes - first, 0)
            if lost < len(order) or not added:
                obs, actions, rewards, ends = (copy[lost:] for copy in copies)
                size = len(order) - lost
                return BufferSnapshot(states=obs, actions=actions, rewards=rewards, dones=ends, size=size, idx=added)

    def tensors(self) -> dict[str, NDArray[Any]]:
        """What is kept, for a checkpoint: only rows that are filled."""
        copy = self.get_buffer_snapshot()
        arrays: dict[str, NDArray[Any]] = {"obs": copy["states"], "actions": copy["actions"]}
        return arrays | {"rewards": copy["rewards"], "ends": copy["dones"], "added": np.array([copy["idx"]], np.int64)}

    def set_tensors(self, tensors: Mapping[str, NDArray[Any]]) -> None:
        """Continue with what `tensors` returned: each row is where it was. No process may read at the same time."""
        added, arrays = int(tensors["added"][0]), (self._obs, self._actions, self._rewards, self._ends)
        given = [np.asarray(tensors[name]) for name in ("obs", "actions", "rewards", "ends")]
        size = len(given[0])
        for mine, other in zip(arrays, given, strict=True):
            if size > min(self.rows, added) or other.shape != (size, *mine.shape[1:]):
                needed = f"at most {self.rows} rows of {mine.shape[1:]}, as many in all arrays"
                raise BadValue("buffer", f"rows of shape {other.shape}", needed)
        order = np.arange(added - size, added) % self.rows
        for mine, other in zip(arrays, given, strict=True):
            mine[order] = other
        self._words[FIRST] = added - size
        self._words[BEGUN] = added
        fence()
        self._words[ADDED] = added


def _without_unsafe(turns: Ints, copied: tuple[NDArray[Any], ...], first: int, last: int, unsafe: int) -> int:
    """Remove the turns before `unsafe` among those between two places; returns how many are left."""
    kept = turns[0, first:last] >= unsafe
    if kept.all():
        return last
    count = first + int(kept.sum())
    for array in (*turns, *copied):
        array[first:count] = array[first:last][kept]
    return count
