"""Results to be recorded, one by one and in columns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, overload

import numpy as np

from engine.league.head_to_head import Agents
from engine.league.storage.match_rows import pack_players
from engine.play.match import MatchResult, MatchSpec
from engine.play.results import ResultBatch, batches_of


class PlayedEntry(NamedTuple):
    """One result to be recorded."""

    place: int  # in the schedule
    spec: MatchSpec
    result: MatchResult


@dataclass(frozen=True, eq=False)
class PlayedEntries(Sequence[PlayedEntry]):
    """Many results to be recorded, in columns; a PlayedEntry is created when one is read."""

    places: Sequence[int]
    results: ResultBatch

    @classmethod
    def of(cls, entries: Iterable[PlayedEntry]) -> list[PlayedEntries]:
        """From single entries, in the same order: a new batch begins where the shape of the results changes."""
        given = list(entries)
        found, at = [], 0
        for batch in batches_of((entry.spec, entry.result) for entry in given):
            found.append(cls([entry.place for entry in given[at : at + len(batch)]], batch))
            at += len(batch)
        return found

    @classmethod
    def joined(cls, several: Iterable[PlayedEntries]) -> list[PlayedEntries]:
        """The same entries in as few parts as possible: one for each shape and worker, as each has a fixed cost."""
        alike: dict[tuple[object, ...], list[PlayedEntries]] = {}
        for entries in several:
            alike.setdefault((entries.results.shape, entries.results.worker), []).append(entries)
        return [
            cls(
                [place for batch in some for place in batch.places],
                ResultBatch.joined([batch.results for batch in some]),
            )
            for some in alike.values()
        ]

    def __len__(self) -> int:
        return len(self.places)

    @overload
    def __getitem__(self, at: int) -> PlayedEntry: ...
    @overload
    def __getitem__(self, at: slice) -> PlayedEntries: ...
    def __getitem__(self, at: int | slice) -> PlayedEntry | PlayedEntries:
        if isinstance(at, slice):
            return PlayedEntries(self.places[at], self.results[at])
        return PlayedEntry(self.places[at], self.results.specs[at], self.results[at])

    def __iter__(self) -> Iterator[PlayedEntry]:
        return map(PlayedEntry, self.places, self.results.specs, self.results)

    def select(self, chosen: Sequence[int]) -> PlayedEntries:
        return PlayedEntries([self.places[at] for at in chosen], self.results.select(chosen))


class Seating(NamedTuple):
    """The players of a match by their numbers in the league."""

    numbers: tuple[int, ...]
    packed: bytes


class Seatings(dict[tuple[str, ...], Seating]):
    """A cache by the players' ids: the same few agents meet many times."""

    def __init__(self, numbers: Mapping[str, int]) -> None:
        super().__init__()
        self._numbers = numbers

    def __missing__(self, ids: tuple[str, ...]) -> Seating:
        numbers = tuple([self._numbers[agent] for agent in ids])
        seating = self[ids] = Seating(numbers, pack_players(numbers))
        return seating

    def of(self, batch: ResultBatch) -> list[Seating]:
        return [self[tuple([player.id for player in spec.players])] for spec in batch.specs]


def agents_of(seatings: Sequence[Seating]) -> Agents:
    return np.array([seating.numbers for seating in seatings], np.int64)


def seats_of(numbers: Sequence[int], seatings: Sequence[Seating]) -> tuple[list[int], list[int]]:
    """The rows of `seats`, in columns: agents and match numbers, each pair once. They are in the order of the table,
    because rows that go to the same page one after the other take two thirds of the time."""
    agents, matches = agents_of(seatings), np.array(numbers, np.int64)
    order = np.argsort(matches, kind="stable")
    rows = np.stack([agents[order].ravel(), matches[order].repeat(agents.shape[1])])
    rows = rows[:, np.argsort(rows[0], kind="stable")]
    repeated = (rows[:, 1:] == rows[:, :-1]).all(axis=0)  # an agent that has several seats
    if repeated.any():
        rows = rows[:, np.append(True, ~repeated)]
    return rows[0].tolist(), rows[1].tolist()
