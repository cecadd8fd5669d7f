"""Trajectories of a 64-64 network that plays both sides of Pong: compiled, by ticks of an arena, and with torch."""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Callable, Iterator

import numpy as np
import torch

from engine.games.pong.game import Pong, PongOptions
from engine.play.arena import Arena
from engine.play.match import MatchSpec
from engine.play.rollout import Rollout
from engine.registry import KINDS
from engine.seeding import derive
from tests.benchmarks.measure import Figure, in_turns, ratio
from tests.plugins import nets

GAME = Pong(PongOptions())
NET = nets.agent("net", GAME, [64, 64], seed=1)
BOARDS = (8, 64)


def figures(quick: bool) -> Iterator[Figure]:
    if nets.KIND.name not in KINDS:
        KINDS.add(nets.KIND.name, nets.KIND)
    steps, rounds = (32, 3) if quick else (128, 25)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        for boards in BOARDS:
            yield from _compared(boards, steps, rounds)
    finally:
        torch.set_num_threads(threads)


def _compared(boards: int, steps: int, rounds: int) -> Iterator[Figure]:
    lock_step = LockStep(boards)
    with Rollout(GAME, range(boards), match) as rollout, Arena(boards, rewards=True, record=False) as arena:
        jobs: dict[str, Callable[[], object]] = {
            "compiled": lambda: rollout.collect(steps),
            "ticks of an arena": lambda: _tick(arena, boards, steps),
            "torch in lock-step": lambda: lock_step.collect(steps),
        }
        for job in jobs.values():
            job()  # compiles
        taken = in_turns(jobs, rounds)
        _check_equal(rollout, lock_step)
    for name in jobs:
        rate = boards * steps * 2 / statistics.median(taken[name]) / 1e6
        to = "torch in lock-step"
        against = ratio(taken, name, to) if name != to else None
        yield Figure(f"Pong rollout, 64-64 network, {boards} boards, {name}", rate, "million rows/s", against, to)


def match(stream: int, k: int) -> MatchSpec:
    return MatchSpec(f"{stream}.{k}", GAME.spec, (NET, NET), derive("rollout", stream, k))


def _tick(arena: Arena, boards: int, steps: int) -> None:
    """Steps with rewards; log-probabilities and values are computed, but not returned."""
    for _ in range(steps):
        while arena.running + arena.queued < boards:
            arena.add(match(boards, next(NUMBERS)))
        arena.tick()
    arena.take_results()


NUMBERS = itertools.count()


class LockStep:
    """The usual way: all boards step together, and torch evaluates all seats in one batch."""

    def __init__(self, boards: int) -> None:
        mlp = nets.read(NET.payload)
        self._layers = [
            (torch.from_numpy(weights), torch.from_numpy(bias))
            for weights, bias in zip(mlp.weights, mlp.biases, strict=True)
        ]
        self._count, self._boards, self._dealt = boards, GAME.boards(boards), 0
        self._lanes = np.arange(boards, dtype=np.uint32)
        self._rows = np.repeat(self._lanes, 2), np.tile(np.arange(2, dtype=np.uint32), boards)
        self._random = torch.Generator().manual_seed(0)
        self._deal(self._lanes)

    def _deal(self, lanes: np.ndarray) -> None:
        seeds = np.array([derive("lock-step", self._dealt + k) for k in range(len(lanes))], np.uint64)
        self._boards.deal(lanes, seeds, [None] * len(lanes))
        self._dealt += len(lanes)

    def forward(self, obs: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Log-probabilities of all actions, and values."""
        (w1, b1), (w2, b2), (w3, b3) = self._layers
        x = torch.tanh(torch.addmm(b1, obs, w1))
        x = torch.addmm(b3, torch.tanh(torch.addmm(b2, x, w2)), w3)
        return torch.log_softmax(x[:, :-1], dim=1), x[:, -1]

    @torch.inference_mode()
    def collect(self, steps: int) -> tuple[np.ndarray, ...]:
        boards, rows = self._boards, 2 * self._count
        obs = np.zeros((steps, rows, *GAME.info.observation), np.float32)
        actions, ends = np.zeros((steps, rows), np.int64), np.zeros((steps, self._count), np.int8)
        log_probs, values, rewards = (np.zeros((steps, rows), np.float32) for _ in range(3))
        scores = boards.scores()
        for step in range(steps):
            boards.observe(*self._rows, obs[step])
            chances, value = self.forward(torch.from_numpy(obs[step]))
            action = torch.multinomial(chances.exp(), 1, generator=self._random)
            log_probs[step], values[step] = chances.gather(1, action)[:, 0], value
            actions[step] = action[:, 0]
            boards.apply(self._lanes, actions[step].reshape(-1, 2))
            now = boards.scores()
            rewards[step], scores = (now - scores).reshape(-1), now
            ends[step] = boards.over()
            if ends[step].any():
                self._deal(np.flatnonzero(ends[step]).astype(np.uint32))
                scores = boards.scores()
        return obs, actions, log_probs, values, rewards, ends


@torch.inference_mode()
def _check_equal(rollout: Rollout, lock_step: LockStep) -> None:
    batch = rollout.collect(16)
    chances, values = lock_step.forward(torch.from_numpy(batch.obs.reshape(-1, 8)))
    log_probs = chances.gather(1, torch.from_numpy(batch.actions.reshape(-1, 1)))[:, 0]
    same = np.allclose(log_probs, batch.log_probs.reshape(-1), atol=1e-5)
    if not same or not np.allclose(values, batch.values.reshape(-1), atol=1e-5):
        raise AssertionError("torch evaluates another network: the figures would mean nothing")
