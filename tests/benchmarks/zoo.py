"""Pong as an environment of PettingZoo: the cost of its interface compared with a board that is called directly."""

from __future__ import annotations

import statistics
from collections.abc import Iterator

import numpy as np

from engine.game import Boards
from engine.games.pettingzoo import env
from engine.games.pong.game import Pong, PongOptions
from tests.benchmarks import reference
from tests.benchmarks.measure import Figure, in_turns, ratio

GAME = Pong(PongOptions())
AGAIN = 500  # steps after which a match is dealt again, well before it can end


def figures(quick: bool) -> Iterator[Figure]:
    steps = 5_000 if quick else 50_000
    plays = np.random.default_rng(1).integers(0, 3, (16, 1, 2))
    check(plays)
    jobs = {
        "environment": _environment(steps, plays),
        "plain": _plain(steps, plays),
        "board": _board(steps, plays),
        "board, all that is returned": _board(steps, plays, whole=True),
        "1,024 boards": _board(steps // 1024 + 1, plays.repeat(1024, 1), lanes=1024),
    }
    for job in jobs.values():
        job()
    taken = in_turns(jobs, 3 if quick else 9)
    moved = dict.fromkeys(jobs, steps) | {"1,024 boards": (steps // 1024 + 1) * 1024}
    for name, what in (
        ("environment", "PettingZoo environment"),
        ("plain", "in plain Python"),
        ("board", "one lane, seen"),
        ("board, all that is returned", "one lane, all of it"),
        ("1,024 boards", "1,024 lanes, seen"),
    ):
        rate = moved[name] / statistics.median(taken[name])
        against = ratio(taken, name, "board") * moved[name] / steps
        yield Figure(f"Pong, {what}", rate / 1e3, "thousand steps/s", against, "one lane, seen")


def check(plays: np.ndarray) -> None:
    """Checks that environment, plain Python and board give the same observations at every step."""
    environment, boards, match = env("pong"), GAME.boards(1), reference.Match(GAME.options, 1)
    seen, _ = environment.reset(seed=1)
    boards.deal(np.zeros(1, np.uint32), np.ones(1, np.uint64), [None])
    match.serve()
    lanes, seats, out = np.zeros(2, np.uint32), np.arange(2, dtype=np.uint32), np.zeros((2, 8), np.float32)
    total = np.zeros(2)
    for step in range(AGAIN):
        boards.observe(lanes, seats, out)
        shown = [seen[f"player_{seat}"].tobytes() for seat in range(2)]
        plain = [np.array(match.observe(seat), np.float32).tobytes() for seat in range(2)]
        ours = [row.tobytes() for row in out], boards.scores()[0].tolist()
        if not (shown, total.tolist()) == (plain, match.score) == ours:
            raise AssertionError(f"environment, plain Python and board differ at step {step}")
        row = plays[step & 15]
        seen, rewards, *_ = environment.step({"player_0": int(row[0, 0]), "player_1": int(row[0, 1])})
        total += list(rewards.values())
        boards.apply(lanes[:1], row)
        match.advance((int(row[0, 0]), int(row[0, 1])))


def _environment(steps: int, plays: np.ndarray):  # type: ignore[no-untyped-def]
    environment = env("pong")
    actions = [{"player_0": int(row[0]), "player_1": int(row[1])} for row in plays[:, 0]]

    def job() -> None:
        for step in range(steps):
            if step % AGAIN == 0:
                environment.reset(seed=1)
            environment.step(actions[step & 15])

    return job


def _plain(steps: int, plays: np.ndarray):  # type: ignore[no-untyped-def]
    """The same rules and observations, written as most environments are."""
    actions = [(int(row[0]), int(row[1])) for row in plays[:, 0]]
    names = ("player_0", "player_1")

    def job() -> None:
        for step in range(steps):
            if step % AGAIN == 0:
                match = reference.Match(GAME.options, 1)
                match.serve()
            before = match.score[:]
            match.advance(actions[step & 15])
            {name: np.array(match.observe(seat), np.float32) for seat, name in enumerate(names)}
            {name: float(match.score[seat] - before[seat]) for seat, name in enumerate(names)}
            dict.fromkeys(names, match.over), dict.fromkeys(names, False), {name: {} for name in names}

    return job


def _board(steps: int, plays: np.ndarray, lanes: int = 1, whole: bool = False):  # type: ignore[no-untyped-def]
    boards: Boards = GAME.boards(lanes)
    every = np.arange(lanes, dtype=np.uint32)
    both, seats = every.repeat(2), np.tile(np.arange(2, dtype=np.uint32), lanes)
    seeds, out = np.ones(lanes, np.uint64), np.zeros((2 * lanes, 8), np.float32)

    def job() -> None:
        for step in range(steps):
            if step % AGAIN == 0:
                boards.deal(every, seeds, [None] * lanes)
            boards.apply(every, plays[step & 15])
            boards.observe(both, seats, out)
            if whole:
                boards.scores()
                boards.over()

    return job
