"""Recorded matches of a league that a trainer learns from: what it asks for, and what it receives."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class RecordQuery:
    """The recorded matches that a trainer learns from: of its game, and with at least one of the chosen agents."""

    setting: str  # its setting that says which agents; the names of those that are chosen as the strongest replace it
    agents: tuple[str, ...] = ()  # the names of the chosen agents; empty: the strongest ones
    strongest: int = 1  # how many of the strongest agents, if no names are given; 0: every agent
    matches: int = 1000  # at most so many
    players: bool = False  # whether the chosen agents are needed too; they are the last ones of `Context.agents`
    required: bool = True  # whether it is an error if there are none
    hint: str = ""  # what to do instead if there are none, such as "name a teacher"


@dataclass(frozen=True)
class MatchRecord:
    """A recorded match, with everything that is needed to play its actions again."""

    name: str  # such as 3.17: the tournament, and the place in its schedule
    players: tuple[str, ...]  # names by seat
    chosen: tuple[int, ...]  # the seats of the chosen agents
    seed: int
    start: str | None
    steps: int
    ranks: tuple[int, ...]  # by seat, 1 is best
    failed: tuple[int, ...]  # seats whose player failed or made an illegal action
    actions: bytes  # as in `engine.play.replay`
