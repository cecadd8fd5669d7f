"""Converts matches to rows of the file and back; digests and checksums detect changes made in between."""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Mapping, Sequence
from typing import Any
from zlib import crc32

import numpy as np

from engine.errors import BadLeague
from engine.league.records import PlayedMatch, TournamentSettings
from engine.league.storage.schema import PLACES
from engine.league.storage.statements import Column, Shared
from engine.play.match import AgentSpec, Ending, EndingKind, MatchResult, MatchSpec
from engine.play.results import VALUES, ResultBatch, rows_of, slices

COLUMNS = (
    "number, id, at, players, seed, start, ranks, numbers, steps, ending, blamed, reason, "
    "repeatable, duration, worker, game, digest, seal"
)
ID_BYTES = 16  # also of a digest
REST = struct.Struct("<qdqid?")  # number, at, seed, worker, duration, repeatable
BYTES, WHOLE, REAL = (np.uint8, ID_BYTES), "<i8", "<f8"
SEALED = np.dtype(  # not aligned: the same bytes as id, digest and REST
    [
        ("id", *BYTES),
        ("digest", *BYTES),
        ("number", WHOLE),
        ("at", REAL),
        ("seed", WHOLE),
        ("worker", "<i4"),
        ("duration", REAL),
        ("repeatable", np.bool_),
    ]
)


def pack_players(numbers: Sequence[int]) -> bytes:
    return struct.pack(f"<{len(numbers)}I", *numbers)


def unpack_players(packed: bytes) -> tuple[int, ...]:
    return struct.unpack(f"<{len(packed) // 4}I", packed)


def pack_matches(numbers: Sequence[int], at: float, batch: ResultBatch, players: Sequence[bytes]) -> list[Column]:
    """The rows, in columns; actions have a table of their own, because most readers do not need them."""
    columns, count, specs = batch.columns, len(batch), batch.specs
    ids = bytearray.fromhex("".join([spec.id for spec in specs]))
    seeds = np.array([spec.seed for spec in specs], np.uint64).view(np.int64)  # SQLite has signed integers
    starts, blamed, reasons = [spec.start for spec in specs], [0] * count, [""] * count
    for place, ending in batch.detailed_endings.items():
        blamed[place], reasons[place] = sum([1 << seat for seat in ending.seats]), ending.reason
    digests = bytearray(b"".join(batch.digests()))
    sealed = np.empty(count, SEALED)
    sealed["id"] = np.frombuffer(ids, np.uint8).reshape(count, ID_BYTES)
    sealed["digest"] = np.frombuffer(digests, np.uint8).reshape(count, ID_BYTES)
    sealed["number"], sealed["at"], sealed["seed"], sealed["worker"] = numbers, at, seeds, batch.worker
    sealed["duration"], sealed["repeatable"] = columns.durations, columns.repeatable
    rows = zip(rows_of(sealed), starts, reasons, strict=True)
    packed = {seated: bytearray(seated) for seated in set(players)}
    return [
        numbers,
        slices(ids, ID_BYTES),
        Shared(at),
        [packed[seated] for seated in players],
        seeds.tolist(),
        _shared(starts),
        slices(bytearray(columns.ranks), columns.ranks.shape[1]),
        [bytearray(row) for row in batch.numbers()],
        columns.steps.tolist(),
        _shared([VALUES[kind] for kind in columns.kinds.tolist()]),
        _shared(blamed),
        _shared(reasons),
        _shared(columns.repeatable.view(np.uint8).tolist()),
        columns.durations.tolist(),
        Shared(batch.worker),
        _games(batch, players, starts),
        slices(digests, ID_BYTES),
        [bytearray(_seal(row, start, reason)) for row, start, reason in rows],
    ]


def _shared(column: Sequence[object]) -> Column:
    """The column, or its only value: most matches are finished, repeatable and without a special start."""
    return Shared(column[0]) if column.count(column[0]) == len(column) else column


def pack_actions(numbers: Sequence[int], batch: ResultBatch) -> list[Column]:
    """The rows of the actions, in columns; matches without actions have none."""
    logs = zip(numbers, map(bytearray, batch.actions()), strict=True)
    return list(zip(*[log for log in logs if log[1]], strict=True))


def _games(batch: ResultBatch, players: Sequence[bytes], starts: Sequence[str | None]) -> list[int]:
    """64 bits of each match, the same for identical games; 0 for a match without steps."""
    checks = {packed: crc32(packed) for packed in set(players)}
    openings = {start: crc32(repr(start).encode()) for start in set(starts)}
    games = np.array(
        [crc32(log, checks[seated]) for log, seated in zip(batch.actions(), players, strict=True)], np.int64
    )
    figures = [crc32(row, openings[start]) for row, start in zip(batch.numbers(), starts, strict=True)]
    found = ((games - (1 << 31)) << 32) + np.array(figures, np.int64)
    return np.where(batch.columns.steps != 0, found, 0).tolist()  # type: ignore[no-any-return]


def unpack_match(
    row: Sequence[Any], actions: bytes, settings: TournamentSettings, agents: Mapping[int, AgentSpec], where: object
) -> PlayedMatch:
    """The match of a row; raises BadLeague if the row was changed."""
    number, id, at, players, seed, start, ranks, numbers, steps, ending, blamed, reason = row[:12]
    repeatable, duration, worker, _, digest, seal = row[12:]
    tournament, place = divmod(number, PLACES)
    try:
        seated = tuple(agents[number] for number in unpack_players(players))
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
        rest = id + digest + REST.pack(number, at, seed, worker, duration, bool(repeatable))
        intact = result.digest() == digest and _seal(rest, start, reason) == seal
    except (KeyError, ValueError, struct.error, ZeroDivisionError, TypeError, AttributeError):
        intact = False
    if not intact:
        raise BadLeague(f"{where}: the record of match {tournament}.{place} is damaged: restore a backup")
    spec = MatchSpec(id.hex(), settings.game, seated, seed % 2**64, start, settings.limits)
    return PlayedMatch(tournament, place, spec, result, at)


def _seal(rest: bytes, start: str | None, reason: str) -> bytes:
    """A checksum of the digest and of the fields that it does not cover; `rest` is laid out as in SEALED."""
    words = b"None" if start is None and not reason else f"{start!r}{reason}".encode(errors="surrogatepass")
    return hashlib.blake2b(rest + words, digest_size=8).digest()


def points(ranks: Sequence[int], seat: int) -> float:
    """Points of a seat, from 0 to 1: the share of opponents that it beat, where a draw counts 1/2."""
    own = ranks[seat]
    if len(ranks) == 2:
        other = ranks[1 - seat]
        return 1.0 if own < other else 0.5 if own == other else 0.0
    beaten = sum((own < other) + (own == other) / 2 for other in ranks) - 0.5
    return beaten / (len(ranks) - 1)
