"""Tournament formats: who meets whom, as a pure function of (entrants, rounds so far).

To add one: a file here with a `Format`, and one line under `ringside.formats` in `pyproject.toml`. `rounds` yields the
rounds that follow from what has been played; when those are complete it is asked again, and yields nothing at the end.
A round robin yields everything at its first call; a sequential test yields a step, and reads its scores.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

Group = tuple[str, ...]  # who sits at one board: one entrant for each seat


class Meeting:
    """A group that has met, and what came of it."""

    def __init__(self, group: Group, games: int, scores: Callable[[], tuple[float, ...]]) -> None:
        self.group = group
        self.games = games  # that they played
        self._scores = scores

    @cached_property
    def scores(self) -> tuple[float, ...]:
        """Points per game for each of them: 1 for beating everybody, 1/2 for a draw; looked up when first read."""
        return self._scores()


Round = Sequence[Meeting]


@dataclass(frozen=True)
class Board:
    """What one meeting is."""

    seats: int
    games: int  # that are played in it, all seatings together


class Rounds(Protocol):
    """What a format is: it draws nothing, keeps nothing, and gives the same answer to the same question.

    Entrants that it cannot go on with, such as after somebody has left, are a BadValue."""

    def __call__(
        self, entrants: Sequence[str], played: Sequence[Round], board: Board, options: Any
    ) -> Iterable[Sequence[Group]]: ...


@dataclass(frozen=True)
class Format:
    """What is registered."""

    name: str
    about: str  # one sentence for people
    Options: type  # a frozen dataclass of `engine.options.option` fields
    rounds: Rounds
    adaptive: bool = False  # whether who meets whom depends on results
