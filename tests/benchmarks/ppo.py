"""The trainer `ppo` from end to end, beside Stable-Baselines3 if it is installed; its two modes beside each other;
collection with one and two worker processes, and the cost of passing weights on."""

from __future__ import annotations

import math
import socket
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from importlib.util import find_spec

import numpy as np
import torch

from agents.nets.network import load
from agents.training.events import Metrics
from agents.training.job_spec import TrainingJobSpec
from agents.training.selfplay.config import ASYNCHRONOUS, MODE_NAMES, SYNCHRONOUS, PpoConfig
from agents.training.selfplay.learner import Learner
from agents.training.selfplay.loss import Batch
from agents.training.selfplay.manager import ParallelManager
from agents.training.selfplay.mlp_step import MlpStep
from agents.training.selfplay.shared_weights import SharedWeights
from agents.training.selfplay.synchronizer import ModelSynchronizer
from agents.training.selfplay.torch_step import Step, TorchStep
from agents.training.trainer_main import TrainerContext
from engine.options import items
from engine.play.executors import DEFAULT
from engine.processes.channel import Channel
from engine.registry import new_game
from tests.benchmarks.measure import Figure, in_turns, ratio

PONG = {"game": "pong"}
COLLECTION = {
    "boards": 64, "experience_batch_size": 8192, "max_game_length": 0, "games_per_worker": 0, "timeout": 600.0
}  # fmt: skip
NETWORKS = {"64-64 for Pong": (PONG, {"hidden_dim": 64}), "512-512 for Shogi": ({"game": "shogi"}, {"hidden_dim": 512})}
SAMPLES = 8192  # in each update; both seats of a board learn, so a step of 32 boards has 64 of them
BOARDS = 32
MINIBATCHES = ((64, 10), (512, 4), (2048, 4))  # with epochs
COMPARED = MINIBATCHES[:2]
BATCHED, EXPORTED = "Stable-Baselines3, batched boards", "Stable-Baselines3, PettingZoo"
OFF, ON, FORCED = "compression off", "compression on, if they shrink to half", "compression forced"
PARTS = ("rollout", "learning", "sync")  # of an update; the benchmark makes no validations and no checkpoints
SOCKETS = "compression off, through sockets"
MISSING = "stable-baselines3 is not installed: its rows are left out (pip install --no-deps stable-baselines3)"


def figures(quick: bool) -> Iterator[Figure]:
    yield from _end_to_end(quick)
    yield from _steps(quick)
    yield from _lanes(quick)
    yield from _modes(quick)
    yield from _collection(quick)
    for title, (env, model) in NETWORKS.items():
        yield from _weights(title, env, model, 3 if quick else 15)


class Training:
    """A session of `ppo` in this process, in steps of one update. One network plays both seats."""

    def __init__(self, settings: PpoConfig, game: str = "pong", cores: int = 1) -> None:
        self._ours, self._theirs = socket.socketpair()  # the other end of the session, which never sends a command
        rules = new_game(game)
        job = TrainingJobSpec("ppo", items(settings), rules.spec, cores, None, None, (), (), DEFAULT)
        self._context = TrainerContext(Channel(self._ours), job)
        self._events = settings.train(self._context)
        self.samples = settings.streams * settings.steps * (rules.info.seats if rules.info.simultaneous else 1)
        self.parts: list[dict[str, float]] = []  # seconds of the parts of each update
        self.staleness: list[float] = []  # of each update, in updates

    def update(self) -> None:
        """Plays and learns once."""
        torch.set_num_threads(1)
        for event in self._events:
            if isinstance(event, Metrics):
                values = dict(event.values)  # shares of the time since the last update, in which others had their turns
                since = self.samples / values["speed/samples"]
                self.parts.append({part: since * values[f"speed/{part}"] for part in PARTS})
                self.staleness.append(values["queue/staleness"])
                return
        raise AssertionError("training has ended")

    def close(self) -> None:
        self._events.close()  # type: ignore[attr-defined]
        self._context.close()
        self._ours.close()
        self._theirs.close()


def ppo_settings(minibatch: int, epochs: int, boards: int, samples: int) -> PpoConfig:
    """What Stable-Baselines3 has too: constant rates, inputs as they are, no opponents and no validation."""
    never = 1_000_000
    return PpoConfig(
        updates=never, seed=1, hidden="64,64", streams=boards, steps=samples // (2 * boards), minibatch=minibatch,
        epochs=epochs, learning_rate=1e-3, last_learning_rate=1e-3, entropy=0.01, last_entropy=0.01, discount=0.99,
        trace=0.95, clip=0.2, value_weight=0.5, gradient_norm=0.5, scale_observations=False, self_share=1.0,
        bot_share=0.0, snapshots=0, validate_every=never, checkpoint_every=never,
    )  # fmt: skip


def _end_to_end(quick: bool) -> Iterator[Figure]:
    """Turns played and learned from a second, on one core."""
    samples, rounds = (1024, 2) if quick else (SAMPLES, 5)
    if find_spec("stable_baselines3") is None:
        print(MISSING, file=sys.stderr)
    else:
        from tests.benchmarks.sb3 import check

        check()
    for minibatch, epochs in MINIBATCHES:
        training = Training(ppo_settings(minibatch, epochs, BOARDS, samples))
        jobs: dict[str, Callable[[], object]] = {"ppo": training.update}
        if (minibatch, epochs) in COMPARED and find_spec("stable_baselines3") is not None:
            jobs |= _baselines(minibatch, epochs, samples)
        for job in jobs.values():
            job()
        training.parts.clear()
        taken = in_turns(jobs, rounds)
        training.close()
        what = f"minibatches of {minibatch:,}, {epochs} epochs"
        for name in jobs:
            against = ratio(taken, name, BATCHED) if BATCHED in jobs and name != BATCHED else None
            value = samples / statistics.median(taken[name]) / 1e3
            yield Figure(f"{name}, {what}", value, "thousand samples/s", against, BATCHED if against else "")
        for part in PARTS:
            pairs = zip(training.parts, taken["ppo"], strict=True)
            share = statistics.median(parts[part] / seconds for parts, seconds in pairs)
            yield Figure(f"ppo, {what}: share of {part}", 100 * share, "% of the time")


def _baselines(minibatch: int, epochs: int, samples: int) -> dict[str, Callable[[], object]]:
    from tests.benchmarks.sb3 import BatchedPong, ExportedPong, SelfPlay, new_model

    def job(environment: SelfPlay) -> Callable[[], object]:
        model = new_model(environment, (64, 64), samples // (2 * BOARDS), minibatch, epochs)

        def update() -> None:
            torch.set_num_threads(1)  # two threads were 20 times slower on a busy machine
            model.learn(samples, reset_num_timesteps=False)

        return update

    return {BATCHED: job(BatchedPong(BOARDS)), EXPORTED: job(ExportedPong(BOARDS))}


def _steps(quick: bool) -> Iterator[Figure]:
    """One step of gradient descent for a 64-64 network: compiled, and by torch alone."""
    torch.set_num_threads(1)
    game, settings, draws = new_game("pong"), PpoConfig(), np.random.default_rng(1)
    floats = torch.from_numpy(draws.normal(size=(5, SAMPLES)).astype(np.float32))
    obs = torch.from_numpy(draws.normal(size=(SAMPLES, *game.info.observation)).astype(np.float32))
    batch = Batch(obs, None, torch.from_numpy(draws.integers(0, 3, SAMPLES)), -floats[0].abs(), *floats[1:4])
    for minibatch, _ in MINIBATCHES:
        count = 20 if quick else max(20_000 // minibatch, 20)
        chosen = torch.from_numpy(draws.integers(0, SAMPLES, minibatch))
        jobs = {
            kind.__name__: _repeated(
                kind(Learner(settings, game, settings.architecture(game)).net, settings), batch, chosen, count
            )
            for kind in (MlpStep, TorchStep)
        }
        for job in jobs.values():
            job()
        taken = in_turns(jobs, 2 if quick else 7)
        for name, seconds in taken.items():
            against = ratio(taken, name, TorchStep.__name__) if name != TorchStep.__name__ else None
            value = 1e6 * statistics.median(seconds) / count
            yield Figure(
                f"{name}, {minibatch:,} turns", value, "us a step", against, TorchStep.__name__ if against else ""
            )


def _repeated(step: Step, batch: Batch, chosen: torch.Tensor, count: int) -> Callable[[], object]:
    step.begin(batch, 1e-4)

    def job() -> None:
        for _ in range(count):
            step.step(chosen, 0.01)

    return job


def _lanes(quick: bool) -> Iterator[Figure]:
    """The same number of samples in an update, from more boards in fewer steps."""
    samples, rounds = (2048, 2) if quick else (SAMPLES, 7)
    trainings = {str(boards): Training(ppo_settings(512, 4, boards, samples)) for boards in (1, 8, 64, 1024)}
    jobs: dict[str, Callable[[], object]] = {name: training.update for name, training in trainings.items()}
    for job in jobs.values():
        job()
    for training in trainings.values():
        training.parts.clear()
    taken = in_turns(jobs, rounds)
    for name, training in trainings.items():
        training.close()
        plays = [parts["rollout"] for parts in training.parts]
        for what, seconds in (("end to end", taken[name]), ("playing", plays)):
            value, lanes = samples / statistics.median(seconds) / 1e3, f"{int(name):,} lane{'s' * (name != '1')}"
            yield Figure(f"ppo, minibatches of 512, 4 epochs, {lanes}: {what}", value, "thousand samples/s")


def _modes(quick: bool) -> Iterator[Figure]:
    """Playing and learning at the same time, and one after the other, both on two cores and in updates of the same
    size. In each turn, one update goes before those that are measured: a batch may be ready from the turn before."""
    shogi = replace(
        ppo_settings(256, 2, 8 if quick else 64, 128 if quick else 8192), network="resnet", hidden="64", channels="16",
        blocks=2,
    )  # fmt: skip
    pong, rounds = ppo_settings(512, 4, 128, 1024 if quick else SAMPLES), 2 if quick else 7
    for game, settings, what, updates in (
        ("pong", pong, "Pong, a 64-64 network", 2 if quick else 20),
        ("shogi", shogi, "Shogi, a resnet of 2 blocks of 16 channels", 1 if quick else 3),
    ):
        trainings = {mode: Training(replace(settings, mode=mode), game, cores=2) for mode in MODE_NAMES}
        try:
            taken = _updates_in_turns(trainings, updates, rounds)
        finally:
            for training in trainings.values():
                training.close()
        for mode, training in trainings.items():
            value = updates * training.samples / statistics.median(taken[mode]) / 1e3
            against, note = None, ""
            if mode == ASYNCHRONOUS:
                against = ratio(taken, mode, SYNCHRONOUS)
                quotients = [b / a for a, b in zip(taken[mode], taken[SYNCHRONOUS], strict=True)]
                note = f"{_range_of(quotients)}, staleness {statistics.mean(training.staleness):.1f}"
            to = SYNCHRONOUS if against else ""
            yield Figure(f"ppo, {mode}, 2 cores, {what}", value, "thousand samples/s", against, to, note)


def _updates_in_turns(trainings: dict[str, Training], updates: int, rounds: int) -> dict[str, list[float]]:
    """Seconds for so many updates of each session, by round."""
    taken: dict[str, list[float]] = {name: [] for name in trainings}
    for training in trainings.values():
        training.update()
    for _ in range(rounds):
        for name, training in trainings.items():
            training.update()
            since = time.perf_counter()
            for _ in range(updates):
                training.update()
            taken[name].append(time.perf_counter() - since)
    return taken


def _range_of(ratios: Sequence[float]) -> str:
    return f"{min(ratios):.2f} to {max(ratios):.2f} in {len(ratios)} rounds"


def _collection(quick: bool) -> Iterator[Figure]:
    """Experiences a second while nothing else is done with them."""
    batches, rounds = (4, 2) if quick else (40, 5)
    managers = {
        count: ParallelManager(PONG, {"hidden_dim": 64}, {**COLLECTION, "num_workers": count}) for count in (1, 2)
    }
    rates: dict[int, list[float]] = {count: [] for count in managers}
    for manager in managers.values():
        manager.start_workers()
    try:
        for manager in managers.values():
            _collect(manager, 2 * manager.config.num_workers)
            manager.pause_workers()
        for _ in range(rounds):
            for count, manager in managers.items():
                rates[count].append(_rate(manager, batches))
    finally:
        for manager in managers.values():
            manager.stop_workers()
    for count, found in rates.items():
        ratios = [b / a for a, b in zip(rates[1], found, strict=True)]
        against, note = (statistics.median(ratios), _range_of(ratios)) if count > 1 else (None, "")
        what = f"Pong, 64-64 network, 64 boards a worker, {count} worker{'s' if count > 1 else ''}"
        yield Figure(what, statistics.median(found) / 1e3, "thousand steps/s", against, "1 worker", note)


def _rate(manager: ParallelManager, batches: int) -> float:
    manager.resume_workers()
    while manager.get_status()["queue_info"]["experience_total"]:  # those that waited while it was paused
        manager.collect_experiences()
    since = time.perf_counter()
    collected = _collect(manager, batches)
    seconds = time.perf_counter() - since
    manager.pause_workers()
    return collected / seconds


def _collect(manager: ParallelManager, batches: int) -> int:
    experiences = found = 0
    while found < batches:
        new = manager.collect_experiences()
        found += len(new)
        experiences += sum(map(len, new))
    return experiences


def _weights(title: str, env: dict[str, str], model: dict[str, int], rounds: int) -> Iterator[Figure]:
    """From the network in this process until two paused workers have installed it."""
    managers = {
        way: ParallelManager(env, model, {"num_workers": 2, "timeout": 600.0, "compression_enabled": way == ON})
        for way in (OFF, ON, FORCED, SOCKETS)
    }
    managers[FORCED].synchronizer = ModelSynchronizer(worthwhile=math.inf)
    try:
        for way, manager in managers.items():
            manager.start_workers()
            if way == SOCKETS:
                manager._shared_weights._view = memoryview(b"")  # no weights have room in it
            _collect(manager, 2)
            manager.pause_workers()
        jobs: dict[str, Callable[[], object]] = {way: _sync(manager) for way, manager in managers.items()}
        taken = in_turns(jobs, rounds)
        payload = managers[OFF].learner().payload
        parts = _parts(managers[OFF], payload, rounds)
        sent = {way: len(manager.synchronizer.message()[1]) for way, manager in managers.items()}
    finally:
        for manager in managers.values():
            manager.stop_workers()
    size = f"{len(payload) / 1e6:.2f} MB"
    for way in managers:
        against = ratio(taken, way, OFF) if way != OFF else None
        what = f"weights to 2 workers, {title} ({size}), {way}"
        note = parts if way == OFF else f"{100 * sent[way] / len(payload):.0f} % of the bytes"
        yield Figure(what, 1e3 * statistics.median(taken[way]), "ms", against, OFF if against else "", note)
    zeros = ModelSynchronizer(True)
    zeros.publish(np.zeros(len(payload) // 4, np.float32).tobytes())
    seconds = in_turns({"zeros": lambda: ModelSynchronizer.read(*_fresh(zeros))}, rounds)["zeros"]
    yield Figure(f"as many zeros, compressed and read, {title}", 1e3 * statistics.median(seconds), "ms")


def _parts(manager: ParallelManager, payload: bytes, rounds: int) -> str:
    """Where the time goes; what is missing from the whole are messages, and processes that wait for a core."""
    plain = ModelSynchronizer(False)
    plain.publish(payload)
    memory = SharedWeights.new_memory(len(payload))
    shared = SharedWeights(memory)
    written = shared.write(plain.message(), in_use=False)
    jobs: dict[str, Callable[[], object]] = {
        "learner()": manager.learner,
        "checksum": lambda: _fresh(plain),
        "copy": lambda: SharedWeights(memory).write(plain.message(), in_use=False),
        "in each worker": lambda: load(ModelSynchronizer.read(*shared.read(*written)).payload),
    }
    taken = in_turns(jobs, rounds)
    return ", ".join(f"{name} {1e3 * statistics.median(seconds):.1f}" for name, seconds in taken.items()) + " ms"


def _fresh(synchronizer: ModelSynchronizer) -> tuple[list[object], bytes]:
    """A message that was not made before."""
    synchronizer._message = None
    return synchronizer.message()


def _sync(manager: ParallelManager) -> Callable[[], object]:
    def job() -> None:
        manager.model.value.bias.data += 1e-3
        manager.sync_model_to_workers()

    return job
