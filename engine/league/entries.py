"""Results on their way into the books, one by one and in columns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, overload

import numpy as np

from engine.league.storage.match_rows import pack_players
from engine.league.tallies import Agents
from engine.play.match import MatchResult, MatchSpec
from engine.play.results import ResultBatch, batches_of


class Entry(NamedTuple):
    """One result on its way into the league file."""

    place: int  # in the plan
    spec: MatchSpec
    result: MatchResult


@dataclass(frozen=True, eq=False)
class Entries(Sequence[Entry]):
    """Many results on their way into the league file; an Entry is made when one is read."""

    places: Sequence[int]
    results: ResultBatch

    @classmethod
    def of(cls, entries: Iterable[Entry]) -> list[Entries]:
        """From single ones, in the same order: a new batch wherever the shape of the results changes."""
        given = list(entries)
        found, at = [], 0
        for batch in batches_of((entry.spec, entry.result) for entry in given):
            found.append(cls([entry.place for entry in given[at : at + len(batch)]], batch))
            at += len(batch)
        return found

    def __len__(self) -> int:
        return len(self.places)

    @overload
    def __getitem__(self, at: int) -> Entry: ...
    @overload
    def __getitem__(self, at: slice) -> Entries: ...
    def __getitem__(self, at: int | slice) -> Entry | Entries:
        if isinstance(at, slice):
            return Entries(self.places[at], self.results[at])
        return Entry(self.places[at], self.results.specs[at], self.results[at])

    def __iter__(self) -> Iterator[Entry]:
        return map(Entry, self.places, self.results.specs, self.results)

    def select(self, chosen: Sequence[int]) -> Entries:
        return Entries([self.places[at] for at in chosen], self.results.select(chosen))


class Seating(NamedTuple):
    """The players of a match by their numbers in the league."""

    numbers: tuple[int, ...]
    distinct: tuple[int, ...]
    packed: bytes


class Seatings(dict[tuple[str, ...], Seating]):
    """By the players' ids, made once: the same few meet again and again."""

    def __init__(self, numbers: Mapping[str, int]) -> None:
        super().__init__()
        self._numbers = numbers

    def __missing__(self, ids: tuple[str, ...]) -> Seating:
        numbers = tuple([self._numbers[agent] for agent in ids])
        made = self[ids] = Seating(numbers, tuple(dict.fromkeys(numbers)), pack_players(numbers))
        return made

    def of(self, batch: ResultBatch) -> list[Seating]:
        return [self[tuple([player.id for player in spec.players])] for spec in batch.specs]


def agents_of(seatings: Sequence[Seating]) -> Agents:
    return np.array([seating.numbers for seating in seatings], np.int64)
