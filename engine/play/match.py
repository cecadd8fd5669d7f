"""What a match is, and its result: small frozen dataclasses without code."""

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
    """A game with its options: two matches are comparable if their GameSpecs are equal."""

    name: str
    version: int  # of the rules; incremented when the same actions would lead to another result
    options: tuple[tuple[str, Value], ...] = ()  # all options, defaults included, in alphabetical order


@dataclass(frozen=True)
class AgentSpec:
    """An agent: everything that is needed to create the player in any process."""

    id: str  # unique within a run
    kind: str  # name of an agent kind
    payload: bytes = b""  # data of the kind: parameters, a genome, weights
    version: int = 1  # of the kind's code; incremented when it plays differently


@dataclass(frozen=True)
class Clock:
    """Real time for each player, in seconds. A match with a clock is played alone, and is not repeatable."""

    base: float = 0.0  # for the whole match
    increment: float = 0.0  # added after each answer
    move: float = 0.0  # for each answer once the base is used up, not saved up (byoyomi)


@dataclass(frozen=True)
class TimeLeft:
    """The clocks of a match as its players see them."""

    base: tuple[float, ...]  # seconds by seat
    clock: Clock


@dataclass(frozen=True)
class Limits:
    """Limits of a match beyond the rules of its game."""

    steps: int | None = None  # then the match ends as `step_limit`
    clock: Clock | None = None  # a player that exceeds it forfeits by `timeout`


@dataclass(frozen=True)
class MatchSpec:
    """A match to play; it contains everything that is needed to repeat it."""

    id: str
    game: GameSpec
    players: tuple[AgentSpec, ...]  # by seat; an agent may play several seats
    seed: int  # 0 <= seed < 2**64; the two games of a side-swapped pair share it
    start: str | None = None  # a position or opening of the game; None for the default
    limits: Limits = Limits()


class EndingKind(Enum):
    """How a match ended. Endings that are not rated do not count for ratings."""

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
    PROTOCOL = "protocol"  # an answer that is not an action
    QUARANTINED = "quarantined"  # not played: a player failed too often
    VOID = "void"  # not finished, through no fault of a player
    CANCELLED = "cancelled"

    @property
    def rated(self) -> bool:
        return self not in UNRATED

    @property
    def failure(self) -> bool:
        """Whether a player failed, rather than lost."""
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
    """The end of a match: its kind, the seats that forfeited and the reason."""

    kind: EndingKind
    seats: tuple[int, ...] = ()  # that forfeited; several if they failed in the same step
    reason: str = ""  # a text for the user; not part of the digest


@dataclass(frozen=True, slots=True)
class MatchResult:
    """The result of a match, with the id of its match."""

    id: str
    players: tuple[str, ...]  # ids by seat
    scores: tuple[float, ...]  # as the game counts them
    ranks: tuple[int, ...]  # 1 is best, ties share a rank; used by ratings
    steps: int
    ending: Ending
    stats: tuple[tuple[float, ...], ...]  # by seat, named by `GameInfo.stats`
    actions: bytes = field(repr=False)  # see `engine.play.replay`
    repeatable: bool = True
    duration: float = 0.0  # seconds; never part of the digest
    worker: int = -1  # slot of the worker that played it, -1 for this process; never part of the digest

    def digest(self) -> bytes:
        """Sixteen bytes that are equal exactly if two results are equal, apart from reason, duration and worker."""
        return self.digest_with(self.numbers())

    def digest_with(self, numbers: bytes) -> bytes:
        """The digest, if `numbers()` is known already."""
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


@functools.lru_cache(4096)  # called with the same few players many times
def length_prefixed(texts: tuple[str, ...]) -> bytes:
    """Concatenate texts, each after its length, so that different texts give different bytes."""
    raw = [text.encode() for text in texts]
    return b"".join([len(text).to_bytes(4, "little") + text for text in raw])


def run_digest(results: Iterable[MatchResult]) -> str:
    """One digest for a run, independent of the order in which its matches finished."""
    return joint_digest((result.id, result.digest()) for result in results)


def joint_digest(digests: Iterable[tuple[str, bytes]]) -> str:
    """The digest of a run from (id, digest) pairs."""
    h = hashlib.blake2b(digest_size=16)
    for _, digest in sorted(digests):
        h.update(digest)
    return h.hexdigest()
