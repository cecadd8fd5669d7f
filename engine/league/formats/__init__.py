"""Tournament formats: the pairings as a pure function of (entrants, rounds so far).

To add one: a file here with a `Format`, and one line under `ringside.formats` in `pyproject.toml`. `rounds` yields the
rounds that follow from the rounds so far. When those are complete it is called again; it yields nothing at the end.
A round robin yields all rounds at its first call; a sequential test yields one step, and reads its scores.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

Group = tuple[str, ...]  # the players at one board: one entrant for each seat


class Meeting:
    """A group that has met, and its scores."""

    def __init__(self, group: Group, games: int, scores: Callable[[], tuple[float, ...]]) -> None:
        self.group = group
        self.games = games  # that they played
        self._scores = scores

    @cached_property
    def scores(self) -> tuple[float, ...]:
        """Points per game of each player: 1 for beating all others, 1/2 for a draw; loaded when first read."""
        return self._scores()


Round = Sequence[Meeting]


@dataclass(frozen=True)
class Board:
    """The size of a meeting."""

    seats: int
    games: int  # in one meeting, all seatings together


class Rounds(Protocol):
    """The function of a format: without randomness and state, it gives the same rounds for the same arguments.

    It raises BadValue for entrants that it cannot continue with, such as after a withdrawal."""

    def __call__(
        self, entrants: Sequence[str], played: Sequence[Round], board: Board, options: Any
    ) -> Iterable[Sequence[Group]]: ...


@dataclass(frozen=True)
class Format:
    """A registered format."""

    name: str
    about: str  # a short description for users
    Options: type  # a frozen dataclass of `engine.options.option` fields
    rounds: Rounds
    adaptive: bool = False  # whether pairings depend on results
