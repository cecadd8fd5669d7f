"""A match as a row of the file, and back; what has changed since it was written is noticed."""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Mapping, Sequence
from typing import Any
from zlib import crc32

from engine.errors import BadLeague
from engine.league.records import PlayedMatch, Settings
from engine.league.schema import PLACES
from engine.play.match import AgentSpec, Ending, EndingKind, MatchResult, MatchSpec

COLUMNS = (
    "number, id, at, players, seed, start, ranks, numbers, steps, ending, blamed, reason, "
    "repeatable, duration, worker, game, digest, seal"
)
REST = struct.Struct("<qdqid?")  # number, at, seed, worker, duration, repeatable


def pack_players(numbers: Sequence[int]) -> bytes:
    return struct.pack(f"<{len(numbers)}I", *numbers)


def unpack_players(packed: bytes) -> tuple[int, ...]:
    return struct.unpack(f"<{len(packed) // 4}I", packed)


def pack_match(number: int, at: float, spec: MatchSpec, result: MatchResult, players: bytes) -> tuple[object, ...]:
    """The row; its actions are kept elsewhere, because most readers do without them."""
    id, numbers, ending = bytes.fromhex(spec.id), result.numbers(), result.ending
    digest = result.digested(numbers)
    seed = spec.seed - (spec.seed >> 63 << 64)  # SQLite's whole numbers have a sign
    way = crc32(result.actions, crc32(players)), crc32(numbers, crc32(repr(spec.start).encode()))
    game = (way[0] - (1 << 31) << 32) + way[1] if result.steps else 0  # 64 bits that games which went alike share
    seal = _seal(id, digest, number, at, seed, result, spec.start)
    return (
        number,
        id,
        at,
        players,
        seed,
        spec.start,
        bytes(result.ranks),
        numbers,
        result.steps,
        ending.kind.value,
        sum([1 << seat for seat in ending.seats]),
        ending.reason,
        result.repeatable,
        result.duration,
        result.worker,
        game,
        digest,
        seal,
    )


def unpack_match(
    row: Sequence[Any], actions: bytes, settings: Settings, agents: Mapping[int, AgentSpec], where: object
) -> PlayedMatch:
    """The match of a row; an error that names it if it is not what was written."""
    number, id, at, players, seed, start, ranks, numbers, steps, ending, blamed, reason = row[:12]
    repeatable, duration, worker, _, digest, seal = row[12:]
    tournament, place = divmod(number, PLACES)
    try:
        seated = tuple(agents[one] for one in unpack_players(players))
        n = len(seated)
        figures = struct.unpack(f"<{len(numbers) // 8}d", numbers)
        each = len(figures) // n - 1
        stats = tuple(figures[n + seat * each : n + (seat + 1) * each] for seat in range(n))
        seats = tuple(seat for seat in range(n) if blamed >> seat & 1)
        how = Ending(EndingKind(ending), seats, reason)
        ids = tuple(agent.id for agent in seated)
        result = MatchResult(
            id.hex(), ids, figures[:n], tuple(ranks), steps, how, stats, actions, bool(repeatable), duration, worker
        )
        sound = result.digest() == digest and _seal(id, digest, number, at, seed, result, start) == seal
    except (KeyError, ValueError, struct.error, ZeroDivisionError, TypeError, AttributeError):
        sound = False
    if not sound:
        raise BadLeague(f"{where}: the record of match {tournament}.{place} is damaged: take a backup, if there is one")
    spec = MatchSpec(id.hex(), settings.game, seated, seed % 2**64, start, settings.limits)
    return PlayedMatch(tournament, place, spec, result, at)


def _seal(id: bytes, digest: bytes, number: int, at: float, seed: int, result: MatchResult, start: str | None) -> bytes:
    """What the digest does not cover."""
    rest = REST.pack(number, at, seed, result.worker, result.duration, result.repeatable)
    words = f"{start!r}{result.ending.reason}".encode(errors="surrogatepass")
    return hashlib.blake2b(id + digest + rest + words, digest_size=8).digest()


def points(ranks: Sequence[int], seat: int) -> float:
    """What a seat has made of a match: 1 for beating everybody else, 1/2 for each that it is level with."""
    own = ranks[seat]
    if len(ranks) == 2:
        other = ranks[1 - seat]
        return 1.0 if own < other else 0.5 if own == other else 0.0
    beaten = sum((own < other) + (own == other) / 2 for other in ranks) - 0.5
    return beaten / (len(ranks) - 1)
