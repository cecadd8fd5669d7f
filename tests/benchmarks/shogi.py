"""Shogi: random play, counting, searching and whole matches on one core, compared with cshogi if it is installed."""

from __future__ import annotations

import random
import statistics
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import numpy as np

from agents.scripted import random_agent
from agents.scripted.shogi import SAMPLES, agent
from agents.scripted.shogi_search import new_frames, search
from engine.game import Bools, Ints, Seeds
from engine.games.shogi.game import Shogi, ShogiOptions
from engine.games.shogi.moves import perft
from engine.games.shogi.notation import START, read_sfen
from engine.games.shogi.tables import SIDE
from engine.kernels import kernel
from engine.play.executors import SequentialMatchExecutor
from engine.play.march import Marching
from engine.play.match import AgentSpec, MatchResult, MatchSpec, run_digest
from engine.seeding import derive, draw, purpose
from tests.benchmarks.measure import Figure, in_turns, ratio

FESTIVAL = "l6nl/5+P1gk/2np1S3/p1p4Pp/3P2Sp1/1PPb2P1P/P5GS1/R8/LN4bKL w GR5pnsg 1"
ATTACK = "8l/1l+R2P3/p2pBG1pp/kps1p4/Nn1P2G2/P1P1P2PP/1PS6/1KSG3+r1/LN2+p3L w Sbgn3p 124"
OTHER, MISSING = "cshogi", "cshogi is not installed: nothing to compare with"
PICK = purpose("bench.shogi")
LANES = 256
WHOLE_MATCHES = {
    "Dice": 1000, "Pebble": 1000, "Magpie": 1000, "Merchant": 250, "Apprentice": 100, "Adept": 30, "Master": 8
}  # fmt: skip


def figures(quick: bool) -> Iterator[Figure]:
    cshogi = oracle()
    yield from counting(cshogi, quick)
    yield from random_play(cshogi, quick)
    yield from searching(quick)
    yield from whole_matches(quick)


def oracle() -> ModuleType | None:
    try:
        import cshogi
    except ImportError:
        return None
    return cshogi  # type: ignore[no-any-return]


def counting(cshogi: ModuleType | None, quick: bool) -> Iterator[Figure]:
    """Bulk perft: the last moves are counted without being made, on both sides."""
    for name, sfen, depth in (("the start", START, 3 if quick else 4), ("many drops", FESTIVAL, 2 if quick else 3)):
        cells, sets, _ = read_sfen(sfen)
        nodes = perft(cells, sets, depth)
        jobs: dict[str, Callable[[], object]] = {"ours": lambda c=cells, s=sets, d=depth: perft(c, s, d)}  # type: ignore[misc]
        if cshogi is not None:
            board = cshogi.Board(sfen)
            if _perft(board, depth) != nodes:
                raise AssertionError(f"cshogi counts differently from {sfen}: the figures would mean nothing")
            jobs[OTHER] = lambda b=board, d=depth: _perft(b, d)  # type: ignore[misc]
        yield from _figures(f"Shogi perft {depth} from {name}", "million nodes/s", nodes / 1e6, jobs, quick)


def _perft(board: Any, depth: int) -> int:
    if depth == 1:
        return len(board.legal_moves)
    total = 0
    for move in board.legal_moves:
        board.push(move)
        total += _perft(board, depth - 1)
        board.pop()
    return total


@kernel
def _pick(moves, lanes, cells, seeds, ply, actions):  # type: ignore[no-untyped-def]
    """A random move of each lane."""
    for lane in range(len(lanes)):
        if lanes[lane].count > 0:
            move = moves[lane, draw(seeds[lane], PICK, 0, ply, 0) % np.uint64(lanes[lane].count)]
            actions[lane, cells[lane, SIDE]] = move & 0xFFF


def random_play(cshogi: ModuleType | None, quick: bool) -> Iterator[Figure]:
    """Random games with a repetition check at every ply; finished games restart."""
    plies = LANES * (100 if quick else 1000)
    jobs: dict[str, Callable[[], object]] = {
        "boards alone": lambda: _play_lanes(plies, masks=False),
        "masks and dice": lambda: _play_lanes(plies, masks=True),
    }
    if cshogi is not None:
        jobs[OTHER] = lambda: _play_other(cshogi, plies // 4)
    for job in jobs.values():
        job()  # compiles
    taken = in_turns(jobs, 3 if quick else 7)
    if OTHER in taken:
        taken[OTHER] = [4 * seconds for seconds in taken[OTHER]]
    yield from _ratios("Shogi random plies", "million plies/s", plies / 1e6, taken)


def _play_lanes(plies: int, masks: bool) -> None:
    game = Shogi(ShogiOptions(opening="none"))
    boards = game.boards(LANES)
    every, seats = np.arange(LANES, dtype=np.uint32), np.zeros(LANES, np.uint32)
    seeds: Seeds = np.arange(LANES, dtype=np.uint64)
    actions: Ints = np.zeros((LANES, 2), np.int64)
    legal: Bools = np.zeros((LANES, game.info.actions), np.bool_)
    out: Ints = np.zeros(LANES, np.int64)
    boards.deal(every, seeds, [None] * LANES)
    for ply in range(plies // LANES):
        if masks:
            boards.legal(every, seats, legal)
            flags, plies_now = legal.view(np.uint8), np.full(LANES, ply, np.uint32)
            random_agent.roll((seeds,), every, plies_now, flags, True, out)
            actions[:] = out[:, None]
        else:
            _pick(boards.moves, boards.lanes, boards.cells, seeds, ply, actions)
        boards.apply(every, actions)
        ended = every[boards.over() != 0]
        if ended.size:
            boards.deal(ended, seeds[ended], [None] * ended.size)


def _play_other(cshogi: ModuleType, plies: int) -> None:
    """The same in a Python loop, as cshogi is used."""
    board, rng = cshogi.Board(), random.Random(1)
    for _ in range(plies):
        moves = list(board.legal_moves)
        if not moves or board.is_draw() != cshogi.NOT_REPETITION or board.move_number > 512:
            board.reset()
            moves = list(board.legal_moves)
        board.push(moves[int(rng.random() * len(moves))])


def searching(quick: bool) -> Iterator[Figure]:
    frames, extras = new_frames(), np.zeros(Shogi(ShogiOptions()).info.actions, np.int64)
    for name, sfen, depth in (("the start", START, 5), ("an attack", ATTACK, 4)):
        cells, sets, _ = read_sfen(sfen)

        def job(cells: Any = cells, sets: Any = sets, depth: int = depth) -> None:
            frames[0][0], frames[1][0] = cells, sets
            search(frames, depth, extras)

        frames[7][0] = 0
        job()
        nodes = int(frames[7][0])
        yield from _figures(
            f"Shogi alpha-beta {depth} from {name}", "million nodes/s", nodes / 1e6, {"ours": job}, quick
        )


def whole_matches(quick: bool) -> Iterator[Figure]:
    """Matches of equal players from spec to result: marched, and ticked."""
    game = Shogi(ShogiOptions())
    for name, matches in WHOLE_MATCHES.items():
        player = AgentSpec(name, "dice") if name == "Dice" else agent(name, SAMPLES[name])
        count = min(10, matches // 4) if quick else matches
        specs = [MatchSpec(str(n), game.spec, (player, player), derive("bench", n)) for n in range(count)]
        found = {how: _whole(specs, how) for how in (Marching.NEVER, Marching.AT_ONCE)}  # compiles
        if len({run_digest(results) for results in found.values()}) != 1:
            raise AssertionError(f"matches of {name} differ in a march: the figures would mean nothing")
        jobs = {
            "ticks": lambda s=specs: _whole(s, Marching.NEVER),
            "march": lambda s=specs: _whole(s, Marching.AT_ONCE),
        }  # type: ignore[misc]
        taken = in_turns(jobs, 1 if quick else 7)
        rate = count / statistics.median(taken["march"])
        note = f"{rate * sum(result.steps for result in found[Marching.NEVER]) / count / 1e6:.2f} million plies/s"
        yield Figure(
            f"Shogi, whole matches of {name}", rate, "matches/s", ratio(taken, "march", "ticks"), "ticks", note
        )


def _whole(specs: list[MatchSpec], marching: Marching) -> list[MatchResult]:
    with SequentialMatchExecutor(LANES, marching=marching) as executor:
        return executor.execute_matches(specs)


def _figures(
    what: str, unit: str, count: float, jobs: dict[str, Callable[[], object]], quick: bool
) -> Iterator[Figure]:
    yield from _ratios(what, unit, count, in_turns(jobs, 3 if quick else 7))


def _ratios(what: str, unit: str, count: float, taken: dict[str, list[float]]) -> Iterator[Figure]:
    for name in taken:
        compared = OTHER in taken and name != OTHER
        against = ratio(taken, name, OTHER) if compared else None
        note = "" if OTHER in taken or "alpha-beta" in what else MISSING
        label = what if name == "ours" else f"{what}, {name}"
        yield Figure(label, count / statistics.median(taken[name]), unit, against, OTHER if compared else "", note)
