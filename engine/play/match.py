"""Matches are data: what is to be played, and what came of it. Frozen, small, comparable, and free of code."""

from __future__ import annotations

import functools
import hashlib
import struct
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import Enum

from engine.options import Value

SEED_LIMIT = 2**64


@dataclass(frozen=True)
class GameSpec:
    """Which rules: two matches are comparable when their GameSpecs are equal."""

    name: str
    version: int  # of the rules; raised when the same actions would lead elsewhere
    options: tuple[tuple[str, Value], ...] = ()  # all of them, defaults included, in alphabetical order


@dataclass(frozen=True)
class AgentSpec:
    """Who plays: everything that is needed to build the player anywhere."""

    id: str  # unique within a run
    kind: str  # which pilot plays it
    payload: bytes = b""  # what the kind makes of it: parameters, a genome, weights
    version: int = 1  # of the kind's code: a bot that plays differently is another agent


@dataclass(frozen=True)
class Clock:
    """Real time for each player, in seconds. A match with a clock is played alone, and is not repeatable."""

    base: float = 0.0  # for the whole match
    increment: float = 0.0  # added after each answer
    move: float = 0.0  # for each answer once the base is used up, not saved up (byoyomi)


@dataclass(frozen=True)
class TimeLeft:
    """What a running clock shows to those who play by it."""

    base: tuple[float, ...]  # seconds by seat
    clock: Clock


@dataclass(frozen=True)
class Limits:
    """What a match may take beyond the rules of its game."""

    steps: int | None = None  # the match ends there as `step_limit`
    clock: Clock | None = None  # who exceeds it forfeits by `timeout`


@dataclass(frozen=True)
class MatchSpec:
    """One match to be played, repeatable from this alone."""

    id: str
    game: GameSpec
    players: tuple[AgentSpec, ...]  # by seat; an agent may sit on several
    seed: int  # 0 <= seed < 2**64; the two games of a side-swapped pair share it
    start: str | None = None  # a position or opening of the game; None for its usual one
    limits: Limits = Limits()


class EndingKind(Enum):
    """How a match ended. What is not rated says nothing about how well anybody plays."""

    FINISHED = "finished"  # by the rules of the game
    STEP_LIMIT = "step_limit"
    RESIGNED = "resigned"
    NO_CONTEST = "no_contest"  # by the rules, with no winner: it counts as a draw
    ILLEGAL_ACTION = "illegal_action"
    EXCEPTION = "exception"
    CRASH = "crash"
    TIMEOUT = "timeout"
    MEMORY = "memory"
    CANNOT_START = "cannot_start"
    PROTOCOL = "protocol"  # an answer that is no action at all
    QUARANTINED = "quarantined"  # not played: a player failed too often
    VOID = "void"  # not played to an end, and nobody's fault
    CANCELLED = "cancelled"

    @property
    def rated(self) -> bool:
        return self not in UNRATED

    @property
    def failure(self) -> bool:
        """Whether a player broke, rather than lost."""
        return self in FAILURES


UNRATED = (EndingKind.QUARANTINED, EndingKind.VOID, EndingKind.CANCELLED)
FAILURES = frozenset(
    {
        EndingKind.EXCEPTION,
        EndingKind.CRASH,
        EndingKind.TIMEOUT,
        EndingKind.MEMORY,
        EndingKind.CANNOT_START,
        EndingKind.PROTOCOL,
    }
)


@dataclass(frozen=True)
class Ending:
    """How, by which seats, and what they said; several seats when they failed in the same step."""

    kind: EndingKind
    seats: tuple[int, ...] = ()  # who forfeited
    reason: str = ""  # for people; not part of the digest


@dataclass(frozen=True, slots=True)
class MatchResult:
    """What came of a match. It carries its match's id: nothing is ever matched by position."""

    id: str
    players: tuple[str, ...]  # ids by seat
    scores: tuple[float, ...]  # the game's own
    ranks: tuple[int, ...]  # 1 is best, ties share; what ratings read
    steps: int
    ending: Ending
    stats: tuple[tuple[float, ...], ...]  # by seat, named by `GameInfo.stats`
    actions: bytes = field(repr=False)  # see `engine.play.replay`
    repeatable: bool = True
    duration: float = 0.0  # seconds; never part of the digest
    worker: int = -1  # which process played it, -1 for the program's own; never part of the digest either

    def digest(self) -> bytes:
        """Sixteen bytes that are equal exactly when the match went the same way."""
        return self.digested(self.numbers())

    def digested(self, numbers: bytes) -> bytes:
        """The digest, for whoever has the numbers at hand."""
        seats = self.ending.seats
        whole = [*self.ranks, self.steps, len(seats), *seats]
        sizes = struct.pack("<II", len(numbers) // 8, len(whole))
        rest = struct.pack(f"<{len(whole)}q", *whole)
        id = self.id.encode()
        who = length_prefixed((*self.players, self.ending.kind.value))
        parts = (len(id).to_bytes(4, "little"), id, who, sizes, numbers, rest, self.actions)
        return hashlib.blake2b(b"".join(parts), digest_size=16).digest()

    def numbers(self) -> bytes:
        """Scores, then statistics by seat, as raw 64-bit floats."""
        values = [*self.scores, *[value for row in self.stats for value in row]]
        return struct.pack(f"<{len(values)}d", *values)


@functools.lru_cache(4096)  # the same few players, again and again
def length_prefixed(texts: tuple[str, ...]) -> bytes:
    """Each after its length, so that they cannot run into one another."""
    raw = [text.encode() for text in texts]
    return b"".join([len(one).to_bytes(4, "little") + one for one in raw])


def run_digest(results: Iterable[MatchResult]) -> str:
    """One digest for a whole run, whatever the order in which its matches finished."""
    return joint_digest((result.id, result.digest()) for result in results)


def joint_digest(digests: Iterable[tuple[str, bytes]]) -> str:
    """The same from ids and digests."""
    h = hashlib.blake2b(digest_size=16)
    for _, one in sorted(digests):
        h.update(one)
    return h.hexdigest()
