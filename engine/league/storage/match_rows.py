"""Converts matches to rows of the file and back; digests and checksums detect changes made in between."""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Mapping, Sequence
from typing import Any
from zlib import crc32

from engine.errors import BadLeague
from engine.league.records import PlayedMatch, TournamentSettings
from engine.league.storage.schema import PLACES
from engine.play.match import AgentSpec, Ending, EndingKind, MatchResult, MatchSpec
from engine.play.results import VALUES, ResultBatch

COLUMNS = (
    "number, id, at, players, seed, start, ranks, numbers, steps, ending, blamed, reason, "
    "repeatable, duration, worker, game, digest, seal"
)
DEFAULT_START = crc32(b"None")  # of a match without an opening
REST = struct.Struct("<qdqid?")  # number, at, seed, worker, duration, repeatable


def pack_players(numbers: Sequence[int]) -> bytes:
    return struct.pack(f"<{len(numbers)}I", *numbers)


def unpack_players(packed: bytes) -> tuple[int, ...]:
    return struct.unpack(f"<{len(packed) // 4}I", packed)


def pack_matches(
    numbers: Sequence[int], at: float, batch: ResultBatch, players: Sequence[bytes]
) -> list[tuple[object, ...]]:
    """The rows; actions have a table of their own, because most readers do not need them."""
    columns, seats = batch.columns, batch.shape[0]
    ranks, told, worker = columns.ranks.tobytes(), batch.detailed_endings, batch.worker
    checks = {packed: crc32(packed) for packed in set(players)}
    fields = zip(
        range(len(batch)),
        numbers,
        batch.specs,
        players,
        batch.numbers(),
        batch.digests(),
        batch.actions(),
        columns.steps.tolist(),
        [VALUES[kind] for kind in columns.kinds.tolist()],
        columns.repeatable.tolist(),
        columns.durations.tolist(),
        strict=True,
    )
    rows: list[tuple[object, ...]] = []
    for place, number, spec, seated, figures, digest, actions, steps, kind, repeatable, duration in fields:
        id, start, seed = bytes.fromhex(spec.id), spec.start, spec.seed
        seed -= seed >> 63 << 64  # SQLite has signed integers
        game = 0  # 64 bits, the same for identical games
        if steps:
            opening = DEFAULT_START if start is None else crc32(repr(start).encode())
            game = (crc32(actions, checks[seated]) - (1 << 31) << 32) + crc32(figures, opening)
        blamed, reason = 0, ""
        if place in told:
            blamed, reason = sum([1 << seat for seat in told[place].seats]), told[place].reason
        rest = REST.pack(number, at, seed, worker, duration, repeatable)
        seal = _seal(id, digest, rest, start, reason)
        own = ranks[place * seats : (place + 1) * seats]
        row = (number, id, at, seated, seed, start, own, figures, steps, kind, blamed, reason)
        rows.append((*row, repeatable, duration, worker, game, digest, seal))
    return rows


def unpack_match(
    row: Sequence[Any], actions: bytes, settings: TournamentSettings, agents: Mapping[int, AgentSpec], where: object
) -> PlayedMatch:
    """The match of a row; raises BadLeague if the row was changed."""
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
        end = Ending(EndingKind(ending), seats, reason)
        ids = tuple(agent.id for agent in seated)
        result = MatchResult(
            id.hex(), ids, figures[:n], tuple(ranks), steps, end, stats, actions, bool(repeatable), duration, worker
        )
        rest = REST.pack(number, at, seed, worker, duration, bool(repeatable))
        intact = result.digest() == digest and _seal(id, digest, rest, start, reason) == seal
    except (KeyError, ValueError, struct.error, ZeroDivisionError, TypeError, AttributeError):
        intact = False
    if not intact:
        raise BadLeague(f"{where}: the record of match {tournament}.{place} is damaged: restore a backup")
    spec = MatchSpec(id.hex(), settings.game, seated, seed % 2**64, start, settings.limits)
    return PlayedMatch(tournament, place, spec, result, at)


def _seal(id: bytes, digest: bytes, rest: bytes, start: str | None, reason: str) -> bytes:
    """A checksum of the fields that the digest does not cover."""
    words = b"None" if start is None and not reason else f"{start!r}{reason}".encode(errors="surrogatepass")
    return hashlib.blake2b(id + digest + rest + words, digest_size=8).digest()


def points(ranks: Sequence[int], seat: int) -> float:
    """Points of a seat, from 0 to 1: the share of opponents that it beat, where a draw counts 1/2."""
    own = ranks[seat]
    if len(ranks) == 2:
        other = ranks[1 - seat]
        return 1.0 if own < other else 0.5 if own == other else 0.0
    beaten = sum((own < other) + (own == other) / 2 for other in ranks) - 0.5
    return beaten / (len(ranks) - 1)
