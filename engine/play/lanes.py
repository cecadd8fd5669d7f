"""The bookkeeping of a group of lanes, compiled: whom to ask, what they answered, what moves, what has ended."""

from __future__ import annotations

import numpy as np
from numba import uint32, uint64

from engine.game import PENDING, RESIGN
from engine.kernels import kernel
from engine.seeding import draw, purpose

ILLEGAL = -3  # held in place of an action that is none
FAILED = -4  # held for a seat whose player broke

AGENT_SEED = purpose("arena.agent")
LANE = np.dtype([("running", "u1"), ("ply", "u4"), ("limit", "u4"), ("logged", "u4"), ("word", "u8")], align=True)
SLOT = np.dtype([("pilot", "i4"), ("agent", "u4")], align=True)


def bits_for(actions: int) -> int:
    """Bits that one action takes in a log: a power of two, so that 64 bits hold a whole number of them."""
    return next(bits for bits in (1, 2, 4, 8, 16, 32) if actions <= 1 << bits)


@kernel
def gather(live, acting, lanes, slots, held, pilot, rows):  # type: ignore[no-untyped-def]
    """Rows (slot, lane, seat, agent, ply) of the seats that this pilot must answer for now; how many there are."""
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


@kernel
def hold(lanes, seats, answers, legal, masked, actions, held):  # type: ignore[no-untyped-def]
    """Note the answers; what is no legal action becomes ILLEGAL."""
    for i in range(answers.size):
        a = answers[i]
        if a < 0 or a >= actions:
            a = a if a in (PENDING, RESIGN) else ILLEGAL
        elif masked and not legal[i, a]:
            a = ILLEGAL
        held[lanes[i], seats[i]] = a


@kernel
def commit(live, acting, lanes, held, played, log, bits, moving, failing):  # type: ignore[no-untyped-def]
    """Lanes whose acting seats have all answered: those that move, logged, and those on which a seat forfeits.

    Lanes in lock-step are unlike their neighbours, so a branch on an answer would be mispredicted at every other one:
    the usual case, all answered, is found by one minimum.
    """
    seats = held.shape[1]
    n = 0
    failed = 0
    longest = uint32(0)
    for i in range(live.size):
        lane = live[i]
        least = held[lane, 0] if acting[lane, 0] else min(held[lane, 0] + 1, 0)
        for seat in range(1, seats):
            least = min(least, held[lane, seat] if acting[lane, seat] else min(held[lane, seat] + 1, 0))
        if least < 0:
            waiting = False
            for seat in range(seats):
                waiting |= acting[lane, seat] and held[lane, seat] == PENDING
            if not waiting:
                failing[failed] = lane
                failed += 1
            continue
        place = lanes[lane].logged  # bits so far; the last, unfinished 64 of them are in `word`
        word = lanes[lane].word
        for seat in range(seats):
            if acting[lane, seat]:
                a = held[lane, seat]
                played[lane, seat] = a
                held[lane, seat] = PENDING
                word |= uint64(a) << uint64(place & uint32(63)) if bits else uint64(0)
                place += bits
                if place & uint32(63) == 0:
                    if bits:
                        log[lane, (place >> uint32(6)) - uint32(1)] = word
                    word = uint64(0)
        lanes[lane].logged = place
        lanes[lane].word = word
        longest = max(longest, place)
        moving[n] = lane
        n += 1
    return n, failed, longest


@kernel
def settle(over, lanes, moving, ended):  # type: ignore[no-untyped-def]
    """Count the step; the lanes that are over, by the rules or by their limit, stop running."""
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
def agent_seeds(seeds, out):  # type: ignore[no-untyped-def]
    """[matches, seats]: the seed of each player, so that the two of a self-play match differ."""
    for i in range(seeds.size):
        for seat in range(out.shape[1]):
            out[i, seat] = draw(seeds[i], AGENT_SEED, seat, 0, 0)


@kernel
def rank(scores, forfeits, out):  # type: ignore[no-untyped-def]
    """1 is best, ties share. Who forfeited comes after everybody who did not."""
    for i in range(scores.shape[0]):
        for a in range(scores.shape[1]):
            better = 0
            for b in range(scores.shape[1]):
                if forfeits[i, a] == forfeits[i, b]:
                    better += not forfeits[i, a] and scores[i, b] > scores[i, a]
                elif forfeits[i, a]:
                    better += 1
            out[i, a] = better + 1


def unpack(log: bytes, bits: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """The actions in a log, in order; it may end in up to seven bits of padding."""
    raw = np.frombuffer(log, np.uint8)
    if bits >= 8:
        return np.frombuffer(log, f"<u{bits // 8}").astype(np.int64)
    shifts = np.arange(0, 8, bits, dtype=np.uint8)
    return ((raw[:, None] >> shifts) & ((1 << bits) - 1)).reshape(-1).astype(np.int64)
