"""The compiled loops of a group of lanes: which seats to call, their answers, the lanes that move and that end."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numba import uint32, uint64
from numpy.typing import NDArray

from engine.float_mode import read_mode, write_mode
from engine.game import PENDING, RESIGN
from engine.kernels import bare, inline, kernel
from engine.seeding import draw, purpose

ILLEGAL = -3  # stored in place of an illegal action
FAILED = -4  # stored for a seat whose player failed

AGENT_SEED = purpose("arena.agent")
LANE = np.dtype([("running", "u1"), ("ply", "u4"), ("limit", "u4"), ("logged", "u4"), ("word", "u8")], align=True)
SLOT = np.dtype([("pilot", "i4"), ("agent", "u4")], align=True)


def bits_for(actions: int) -> int:
    """Bits that one action takes in a log: a power of two, so that 64 bits hold a whole number of them."""
    return next(bits for bits in (1, 2, 4, 8, 16, 32) if actions <= 1 << bits)


TICKED = 1  # how a running lane is played: by ticks; from 2 on, by the driver of a combination of kinds
WAYS = 64
ALL_WAYS = (1 << WAYS) - 2  # bit mask of all ways


@kernel
def _find_running(lanes, ways, out):  # type: ignore[no-untyped-def]
    n = 0
    for lane in range(lanes.size):
        out[n] = lane
        n += int(ways >> uint64(lanes[lane].running) & uint64(1))
    return n


def find_running(lanes: NDArray[Any], ways: int, out: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """The running lanes that are played in one of these ways (a bit mask), written to `out`."""
    return out[: _find_running(lanes, np.uint64(ways), out)]


@bare
def gather(live, acting, lanes, slots, held, pilot, rows):  # type: ignore[no-untyped-def]
    """Write the rows (slot, lane, seat, agent, ply) for which this pilot must answer now; returns their number."""
    seats = uint32(held.shape[1])
    n = 0
    for i in range(live.size):
        lane = live[i]
        ply = lanes[lane].ply
        for seat in range(seats):
            slot = lane * seats + uint32(seat)
            if slots[slot].pilot == pilot and acting[lane, seat] and held[lane, seat] == PENDING:
                rows[0, n] = slot
                rows[1, n] = lane
                rows[2, n] = seat
                rows[3, n] = slots[slot].agent
                rows[4, n] = ply
                n += 1
    return n


@bare
def store_actions(lanes, seats, answers, legal, masked, actions, held):  # type: ignore[no-untyped-def]
    """Store the answers; one that is not a legal action becomes ILLEGAL. Returns how many are actions."""
    n = 0
    for i in range(answers.size):
        a = answers[i]
        if a < 0 or a >= actions:
            a = a if a in (PENDING, RESIGN) else ILLEGAL
        elif masked and not legal[i, a]:
            a = ILLEGAL
        held[lanes[i], seats[i]] = a
        n += a >= 0
    return n


@inline
def _write(log, lanes, lane, acting, held, bits):  # type: ignore[no-untyped-def]
    """Append a step to a lane's log; its last, unfinished 64 bits are in `word`. Returns the length of the log."""
    place = lanes[lane].logged
    word = lanes[lane].word
    for seat in range(held.shape[1]):
        if acting[lane, seat]:
            word |= uint64(held[lane, seat]) << uint64(place & uint32(63))
            place += bits
            if place & uint32(63) == 0:
                log[lane, (place >> uint32(6)) - uint32(1)] = word
                word = uint64(0)
    lanes[lane].logged = place
    lanes[lane].word = word
    return place


@inline
def _play(lane, held, played):  # type: ignore[no-untyped-def]
    """The actions held for a lane are those of its next step."""
    for seat in range(held.shape[1]):
        played[lane, seat] = held[lane, seat]
        held[lane, seat] = PENDING


@bare
def commit_all(live, acting, lanes, held, played, log, bits):  # type: ignore[no-untyped-def]
    """Play and log a step in which every seat acts and has answered, as nearly always in simultaneous games."""
    longest = uint32(0)
    for i in range(live.size):
        lane = live[i]
        if bits:
            longest = max(longest, _write(log, lanes, lane, acting, held, bits))
        _play(lane, held, played)
    return longest


@bare
def commit(live, acting, lanes, held, played, log, bits, moving, failing):  # type: ignore[no-untyped-def]
    """Find the lanes whose acting seats have all answered; play and log a step of those that move, and list those with
    a forfeit."""
    n = 0
    failed = 0
    longest = uint32(0)
    for i in range(live.size):
        lane = live[i]
        waiting = False
        forfeit = False
        for seat in range(held.shape[1]):
            forfeit |= held[lane, seat] < PENDING
            waiting |= held[lane, seat] == PENDING and acting[lane, seat]
        if waiting:
            continue
        if forfeit:
            failing[failed] = lane
            failed += 1
            continue
        if bits:
            longest = max(longest, _write(log, lanes, lane, acting, held, bits))
        _play(lane, held, played)
        moving[n] = lane
        n += 1
    return n, failed, longest


@bare
def finish_step(over, lanes, moving, ended):  # type: ignore[no-untyped-def]
    """Count the step, and end the lanes that are over by the rules or by their limit."""
    n = 0
    for i in range(moving.size):
        lane = moving[i]
        lanes[lane].ply += uint32(1)
        if over[lane] != 0 or lanes[lane].ply == lanes[lane].limit:
            lanes[lane].running = 0
            ended[n] = lane
            n += 1
    return n


@kernel
def begin_lanes(lanes, which, limits, ways, seeds, own, slots):  # type: ignore[no-untyped-def]
    """Start matches on these lanes: write their records, the seed of each player ([matches * seats]; the two players of
    a self-play match differ), and the slots of those seats."""
    seats = own.size // which.size
    for i in range(which.size):
        record = lanes[which[i]]
        record.running, record.limit = ways[i], limits[i]
        record.ply, record.logged, record.word = 0, 0, 0
        for seat in range(seats):
            own[i * seats + seat] = draw(seeds[i], AGENT_SEED, seat, 0, 0)
            slots[i * seats + seat] = which[i] * seats + seat


@kernel
def rank(scores, forfeits, out):  # type: ignore[no-untyped-def]
    """Ranks: 1 is best, ties share a rank. Seats that forfeited come after all others."""
    for i in range(scores.shape[0]):
        for a in range(scores.shape[1]):
            better = 0
            for b in range(scores.shape[1]):
                if forfeits[i, a] == forfeits[i, b]:
                    better += not forfeits[i, a] and scores[i, b] > scores[i, a]
                elif forfeits[i, a]:
                    better += 1
            out[i, a] = better + 1


@kernel
def end_lanes(lanes, which, log, scores, forfeits, steps, sizes, ranks):  # type: ignore[no-untyped-def]
    """Write the steps, sizes of actions and ranks of ended lanes, and the last word of each log."""
    for i in range(which.size):
        record = lanes[which[i]]
        log[which[i], record.logged >> uint32(6)] = record.word
        steps[i] = record.ply
        sizes[i] = (record.logged + uint32(7)) // uint32(8)
    rank(scores, forfeits, ranks)


def slots_of(lanes: Sequence[int], seats: int) -> NDArray[np.uint32]:
    """The slots of all seats on these lanes."""
    each = np.array(lanes, np.int64)[:, None] * seats + np.arange(seats)
    return each.reshape(-1).astype(np.uint32)


def unpack(log: bytes, bits: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """The actions in a log, in order; it may end in up to seven bits of padding."""
    raw = np.frombuffer(log, np.uint8)
    if bits >= 8:
        return np.frombuffer(log, f"<u{bits // 8}").astype(np.int64)
    shifts = np.arange(0, 8, bits, dtype=np.uint8)
    return ((raw[:, None] >> shifts) & ((1 << bits) - 1)).reshape(-1).astype(np.int64)


def compile_general_path() -> None:
    """Compile `commit`, which only slow or resigning players reach, and what only foreign code needs."""
    none = np.zeros(0, np.uint32)
    yes, held = np.ones((1, 2), np.bool_), np.full((1, 2), PENDING, np.int64)
    commit(none, yes, np.zeros(1, LANE), held, held.copy(), np.zeros((1, 9), "<u8"), np.uint32(2), none, none)
    write_mode(read_mode())
