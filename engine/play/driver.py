"""The compiled loop that plays lanes for many steps in one call, generated for a game and the kinds that play it.

Its source is composed of row functions: those of the game (`engine.game.BoardRows`) and `act_row` of each pilot.
For each lane in turn it does what ticks do, in the same order, until the lane ends, its log is full or the time is up.
An answer that is not a legal action stops its lane; the group decides what follows. Lane after lane is faster than all
lanes in step: the branches of one match are predictable, and its board stays in registers and in the nearest cache.
`engine.play.rollout_driver` composes its loop from the same parts.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numba import types, uint32, uint64

from engine.game import BoardRows, GameInfo
from engine.kernels import generated, row
from engine.play.heartbeat import ROW, SEQUENCE

MOST_STEPS = 128  # between two readings of the clock, which take 25 ns each

SOURCE = """
def march({arguments}):
    start = last_read = nanoseconds(clock)
    seats = {seats}
    ends = illegal_count = 0
    longest = uint32(0)
    at = first
    late = False
    for turn in range(live.size):
        at = first + turn if first + turn < live.size else first + turn - live.size
        lane = live[at]
        words[ROW] = uint64(at + 1)
        words[SEQUENCE] += uint64(1)
        record = lanes[lane]
        ply, limit, place, word = record.ply, record.limit, record.logged, record.word
        own = answers[lane]
        stride = uint32(1)
        next_read = ply + stride
        while place < full:
            all_legal = True
            for seat in range(seats):
                {skip_idle}
                slot = lane * uint32(seats) + uint32(seat)
                who = slots[slot].pilot
                agent = slots[slot].agent
                obs = seen[seat]
                mask = legal[seat]
                {legal}
                {answers}
                own[seat] = answer
                all_legal &= (answer >= 0) & (answer < {actions}){check_legal}
            if not all_legal:
                illegal[illegal_count] = lane
                illegal_count += 1
                break
            if bits != uint32(0):
                for seat in range(seats):
                    {skip_idle}
                    word |= uint64(own[seat]) << uint64(place & uint32(63))
                    place += bits
                    if place & uint32(63) == uint32(0):
                        log[lane, (place >> uint32(6)) - uint32(1)] = word
                        word = uint64(0)
            apply_row(board, lane, own)
            ply += uint32(1)
            if over_row(board, lane) != 0 or ply == limit:
                record.running = 0
                ended[ends] = lane
                ends += 1
                break
            if ply == next_read:
                now = nanoseconds(clock)
                late = now - start > budget
                if late:
                    break
                words[SEQUENCE] += uint64(1)
                if now - last_read < budget >> 6:
                    stride = min(uint32(4) * stride, uint32({most_steps}))
                else:  # where steps are slow, read the clock more often
                    stride = max(stride >> uint32(2), uint32(1))
                last_read = now
                next_read = ply + stride
        record.ply = ply
        record.logged = place
        record.word = word
        longest = max(longest, place)
        if late:
            break
    return at, ends, illegal_count, longest
"""
ARGUMENTS = (
    "first", "budget", "clock", "live", "lanes", "slots", "pilots", "answers", "seen", "legal", "log", "bits", "full",
    "words", "ended", "illegal", "board",
)  # fmt: skip


class Player(NamedTuple):
    """The parts of a pilot that a driver calls."""

    act_row: Callable[..., Any]
    observes: bool


if sys.platform == "win32":
    _read_clock: Any = types.ExternalFunction("QueryPerformanceCounter", types.int32(types.voidptr))

    @row
    def nanoseconds(clock):  # type: ignore[no-untyped-def]
        """Nanoseconds of a monotonic clock; `clock` is a buffer of two numbers."""
        _read_clock(clock.ctypes)
        return clock[0] * np.int64(100)  # the counter runs at 10 MHz

else:
    _read_clock: Any = types.ExternalFunction("clock_gettime", types.int32(types.int32, types.voidptr))
    MONOTONIC = np.int32(6 if sys.platform == "darwin" else 1)

    @row
    def nanoseconds(clock):  # type: ignore[no-untyped-def]
        """Nanoseconds of a monotonic clock; `clock` is a buffer of two numbers."""
        _read_clock(MONOTONIC, clock.ctypes)
        return clock[0] * np.int64(1_000_000_000) + clock[1]


@functools.cache
def driver(info: GameInfo, rows: BoardRows, players: tuple[Player, ...]) -> Any:
    """The driver for this game and these players. It is compiled at its first call and cached on disk."""
    names: dict[str, Any] = {"ROW": ROW, "SEQUENCE": SEQUENCE, "nanoseconds": nanoseconds}
    names |= {f"act_row{place}": player.act_row for place, player in enumerate(players)}
    return compile_source("march", driver_source(info, rows, players), rows, names)


def compile_source(name: str, source: str, rows: BoardRows, names: dict[str, Any], **options: Any) -> Any:
    """Compile source that calls the row functions of a game and of players; `options` are those of numba."""
    known = {"np": np, "uint32": uint32, "uint64": uint64, **names, **rows._asdict()}
    return generated(name, source, known, **options)


def driver_source(info: GameInfo, rows: BoardRows, players: tuple[Player, ...]) -> str:
    return SOURCE.format(
        arguments=", ".join([*ARGUMENTS, *(f"pilot{place}" for place in range(len(players)))]),
        answers=_answers(rows, players).replace("\n", "\n" + 16 * " "),
        most_steps=MOST_STEPS,
        **source_parts(info, rows),
    )


def source_parts(info: GameInfo, rows: BoardRows) -> dict[str, object]:
    """The parts of a source that depend on the game alone."""
    return {
        "seats": 2 if info.seats == 2 else "answers.shape[1]",  # loops of a constant length are unrolled
        "actions": info.actions,
        "skip_idle": "if not acting_row(board, lane, uint32(seat)): continue" if rows.acting_row else "pass",
        "legal": "legal_row(board, lane, uint32(seat), mask)" if rows.legal_row else "pass",
        "check_legal": f" and mask[min(max(answer, 0), {info.actions - 1})] != 0" if rows.legal_row else "",
    }


def position_argument(rows: BoardRows) -> str:
    """The expression of the position that is passed to searching players."""
    return "position_row(board, lane, uint32(seat))" if rows.position_row else "()"


def _answers(rows: BoardRows, players: tuple[Player, ...]) -> str:
    position = position_argument(rows)
    lines = []
    for place, player in enumerate(players):
        last = place == len(players) - 1
        lines.append("else:" if last else f"{'elif' if place else 'if'} who == pilots[{place}]:")
        if player.observes:
            lines.append("    observe_row(board, lane, uint32(seat), obs)")
        lines.append(f"    answer = np.int64(act_row{place}(pilot{place}, slot, agent, ply, obs, mask, {position}))")
    return "\n".join(lines if len(players) > 1 else [line.strip() for line in lines[1:]])
