"""Training several models at a time: equal outcomes in every mode, devices, states, and one copy of the examples."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import numpy as np
import psutil
import pytest
import torch

from agents.training.events import WorkerState
from agents.training.hybrid.arrays import TaskArrays, shared_task
from agents.training.hybrid.data import Task
from agents.training.hybrid.estimates import memory_needed, multiplications
from agents.training.hybrid.evaluators import (
    AUTO,
    PROCESSES,
    SEQUENTIAL,
    THREADS,
    ConcurrencySettings,
)
from agents.training.hybrid.fitting import TaskTensors, tensors_of
from agents.training.hybrid.genome import ConvGene, DenseGene, Genome
from agents.training.hybrid.outcome import LearningPlan, Outcome
from agents.training.hybrid.process_workers import ProcessLimits, ProcessWorker, ProcessWorkers
from agents.training.hybrid.workers import Job
from engine.errors import BadValue
from tests.agents.training.hybrid.clocks import HOUR, Clock
from tests.agents.training.hybrid.evaluating import Setting
from tests.agents.training.hybrid.failing_fits import DIES, HERE, RAISES, failing
from tests.agents.training.hybrid.model_tasks import examples, image_genomes, stripe_task
from tests.waiting import until

GENOMES = image_genomes()
SHAPE = (2, 6, 5)


@pytest.fixture(scope="module")
def expected() -> list[Outcome]:
    """One model after the other."""
    with Setting(SEQUENTIAL) as setting:
        return setting.outcomes(GENOMES)


@pytest.mark.parametrize(
    ("mode", "models", "devices"),
    [
        (SEQUENTIAL, 1, "cpu"),
        (THREADS, 1, "cpu"),
        (THREADS, 3, "cpu,cpu"),
        (PROCESSES, 1, "cpu"),
        (PROCESSES, 2, "cpu,cpu"),
        (PROCESSES, 3, "cpu"),
        (PROCESSES, 4, "cpu"),
        (AUTO, 2, "cpu"),
    ],
)
def test_outcomes_are_the_same_to_the_bit(mode: str, models: int, devices: str, expected: list[Outcome]) -> None:
    with Setting(mode, models, settings={"devices": devices}) as setting:
        assert setting.outcomes(GENOMES) == expected
        assert setting.outcomes(GENOMES[:2]) == expected[:2]
        assert not [text for text, warning in setting.notes if warning]
    assert all(outcome.tensors and not outcome.error for outcome in expected)


def test_a_model_with_two_threads_is_the_same_in_all_modes() -> None:
    before, plan = torch.get_num_threads(), LearningPlan(epochs=1, batch_size=100, threads=2)
    genomes = [Genome((ConvGene(32),), (DenseGene(300),)), Genome((), (DenseGene(300),))]
    found = []
    for mode in (SEQUENTIAL, THREADS, PROCESSES):
        with Setting(mode, 2, plan=plan) as setting:
            found.append(setting.outcomes(genomes))
        assert torch.get_num_threads() == before
    assert found[0] == found[1] == found[2]


def test_models_that_take_longest_begin_first() -> None:
    with Setting(SEQUENTIAL) as setting:
        keys = [outcome.key for outcome in setting.evaluator.evaluate(GENOMES, lambda: False)]
    ordered = sorted(GENOMES, key=lambda genome: -multiplications(genome, SHAPE, 4))
    assert keys == [genome.key for genome in ordered]


def test_multiplications_count_every_place_of_an_image() -> None:
    genome = Genome((ConvGene(4, 3, 2), ConvGene(5, 5)), (DenseGene(7),))
    convs = 4 * 2 * 9 * (3 * 3) + 5 * 4 * 25 * (3 * 3)
    assert multiplications(genome, SHAPE, 4) == convs + 7 * 5 * 9 + 4 * 7
    planes = Genome((ConvGene(4, 3), ConvGene(5, 5)))
    assert multiplications(planes, SHAPE, 60) == (4 * 2 * 9 + 5 * 4 * 25 + 2 * 5) * 6 * 5
    larger = Genome((ConvGene(40, 3), ConvGene(50, 5)), (DenseGene(7),))
    assert memory_needed(larger, SHAPE, 4, 64) > memory_needed(genome, SHAPE, 4, 64)
    assert memory_needed(genome, SHAPE, 4, 6400) > 6400 * 4 * (4 + 5) * 9


def test_a_genome_that_does_not_fit_the_inputs_has_an_error() -> None:
    flat = Task(*(examples(np.zeros((20, 3)), np.zeros(20, np.int64), 2) for _ in range(2)))
    with Setting(SEQUENTIAL, task=flat) as setting:
        wrong, right = setting.outcomes([Genome((ConvGene(4),), ()), Genome((), (DenseGene(4),))])
    assert wrong.fitness is None
    assert "planes, rows and columns" in wrong.error
    assert right.fitness == 1.0


# Settings


@pytest.mark.parametrize(
    ("wanted", "most", "cores", "threads", "models", "notes"),
    [
        (2, 4, 8, 1, 2, []),
        (6, 4, 8, 1, 4, ["concurrent_models = 6: 4 models at a time, from 1 to max_concurrent_models"]),
        (0, 4, 8, 1, 1, ["concurrent_models = 0: one model at a time, from 1 to max_concurrent_models"]),
        (-3, 1, 8, 1, 1, ["concurrent_models = -3: one model at a time, from 1 to max_concurrent_models"]),
        (4, 4, 2, 1, 2, ["2 models at a time, of 4 wanted: each uses one thread, and 2 cores may be used"]),
        (3, 4, 4, 2, 2, ["2 models at a time, of 3 wanted: each uses 2 threads, and 4 cores may be used"]),
        (
            2,
            4,
            1,
            2,
            1,
            [
                "one model at a time, of 2 wanted: each uses 2 threads, and one core may be used",
                "a model uses 2 threads, but one core may be used: training is slower",
            ],
        ),
    ],
)
def test_the_number_of_models_is_limited_and_says_so(
    wanted: int, most: int, cores: int, threads: int, models: int, notes: list[str]
) -> None:
    plan = LearningPlan(epochs=1, threads=threads)
    with Setting(THREADS, wanted, cores=cores, plan=plan, settings={"max_concurrent_models": most}) as setting:
        assert setting.notes == [(text, True) for text in notes]
        setting.outcomes(GENOMES)
        assert len(setting.evaluator.states()) == models


def test_more_cores_allow_more_models_and_fewer_cores_fewer() -> None:
    with Setting(PROCESSES, 3, cores=1) as setting:
        found = setting.outcomes(GENOMES[:2])
        assert len(setting.evaluator.states()) == 1
        setting.evaluator.set_cores(3)
        setting.evaluator.set_cores(3)
        assert setting.outcomes(GENOMES[:3])[:2] == found
        assert len(setting.evaluator.states()) == 3
        setting.evaluator.set_cores(2)
        setting.outcomes(GENOMES[:3])
        assert len(setting.evaluator.states()) == 2
    assert [text for text, _ in setting.notes] == [
        "one model at a time, of 3 wanted: each uses one thread, and one core may be used",
        "3 models at a time, of 3 wanted: each uses one thread, and 3 cores may be used",
        "2 models at a time, of 3 wanted: each uses one thread, and 2 cores may be used",
    ]


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"max_concurrent_models": 0}, "max_concurrent_models"),
        ({"mode": "stacked"}, "mode = 'stacked'"),
        ({"model_memory": -1}, "model_memory"),
        ({"concurrent_models": 1.5}, "concurrent_models"),
        ({"devices": ""}, "devices"),
        ({"devices": "cpu, tpu"}, "devices = 'tpu'"),
        ({"devices": "cuda:x"}, "devices = 'cuda:x'"),
    ],
)
def test_invalid_settings_are_refused_by_name(settings: dict[str, object], named: str) -> None:
    with pytest.raises(BadValue) as caught:
        ConcurrencySettings(**settings)  # type: ignore[arg-type]
    assert named in str(caught.value)


def test_a_device_that_the_machine_lacks_is_refused_by_name() -> None:
    with pytest.raises(BadValue, match="devices = 'cuda:77': must be a device of this machine: cpu"):
        Setting(settings={"devices": "cpu,cuda:77"})


def test_a_mode_is_chosen_by_the_time_that_models_take(monkeypatch: pytest.MonkeyPatch) -> None:
    long = [Genome((ConvGene(64, 7), ConvGene(64, 7)), (DenseGene(16),))]
    with Setting(AUTO, 2, plan=LearningPlan(epochs=5000, patience=0)) as setting:
        outcomes = setting.evaluator.evaluate(long, lambda: len(setting.evaluator.states()) > 0)
        assert list(outcomes) == []
        assert setting.modes == ["processes: 2 models at a time, each on cores of its own"]
        setting.outcomes([])
    with Setting(AUTO, 2, fit=f"{HERE}:fit_at_once") as setting, monkeypatch.context() as patch:
        Clock(patch, "fitting", step=0.0)
        setting.outcomes(GENOMES[:2])
        reason = "they take less time so far than starting processes would, about 2 s"
        assert setting.modes == [f"sequential: one model at a time, {reason}"]
        assert [state.pid for state in setting.evaluator.states()] == [None]
    with Setting(AUTO, 2, fit=f"{HERE}:fit_at_once") as setting, monkeypatch.context() as patch:
        Clock(patch, "fitting", step=60.0)
        setting.outcomes(GENOMES[:1])
        assert [state.pid for state in setting.evaluator.states()] == [None]
        setting.outcomes(GENOMES[1:3])
        assert all(state.pid for state in setting.evaluator.states())
        assert [text.split(":")[0] for text in setting.modes] == ["sequential", "processes"]
    with Setting(AUTO, 1) as setting:
        setting.outcomes(GENOMES[:1])
        assert setting.modes == ["sequential: one model at a time"]


def test_models_on_gpus_alone_are_trained_in_threads(monkeypatch: pytest.MonkeyPatch, expected: list[Outcome]) -> None:
    """Without a GPU: its examples and models are on the CPU."""
    asked: list[str] = []

    def tensors_on_cpu(arrays: TaskArrays, device: str) -> TaskTensors:
        asked.append(device)
        return tensors_of(arrays, "cpu")

    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setattr("agents.training.hybrid.fitting.tensors_of", tensors_on_cpu)
    plan = LearningPlan(epochs=5000, patience=0)
    with Setting(AUTO, 2, settings={"devices": "cuda:0,cuda:1"}) as setting:
        assert setting.outcomes(GENOMES) == expected
        reason = "processes would each load torch's libraries to the GPU"
        assert setting.modes == [f"threads: 2 models at a time, {reason}"]
        assert [state.pid for state in setting.evaluator.states()] == [None, None]
    assert asked == ["cuda:0", "cuda:1"]
    with Setting(AUTO, 2, plan=plan, settings={"devices": "cuda:0,cpu"}) as setting:
        long = [Genome((ConvGene(64, 7), ConvGene(64, 7)), (DenseGene(16),))]
        assert list(setting.evaluator.evaluate(long, lambda: bool(setting.modes))) == []
        assert setting.modes[0].startswith("processes"), "the CPU is used too"


@pytest.mark.parametrize(("mode", "models"), [(AUTO, 1), (AUTO, 2), (PROCESSES, 1)])
def test_models_with_a_limit_of_memory_are_trained_in_processes(mode: str, models: int) -> None:
    with Setting(mode, models, settings={"model_memory": 500}) as setting:
        setting.outcomes(GENOMES[:2])
        assert all(state.pid for state in setting.evaluator.states())
        assert not [text for text, warning in setting.notes if warning]


@pytest.mark.parametrize("mode", [SEQUENTIAL, THREADS])
def test_a_limit_of_memory_that_has_no_effect_is_a_warning(mode: str) -> None:
    with Setting(mode, settings={"model_memory": 500}) as setting:
        text = "the limit of memory for a model (model_memory) has no effect"
        assert setting.notes == [(f"{text} in mode {mode}: only processes have one", True)]


@pytest.mark.parametrize(
    ("mode", "models", "text"),
    [(SEQUENTIAL, 3, "one model"), (THREADS, 3, "2 models"), (PROCESSES, 1, "one model"), (PROCESSES, 2, "2 models")],
)
def test_the_mode_of_evaluation_is_noted_once(mode: str, models: int, text: str) -> None:
    with Setting(mode, models, cores=2) as setting:
        assert setting.evaluator.mode == ""
        setting.outcomes(GENOMES[:2])
        setting.outcomes(GENOMES[:2])
        assert setting.modes == [f"{mode}: {text} at a time"]
        assert setting.evaluator.mode == mode


# What is known meanwhile


@pytest.mark.parametrize("mode", [SEQUENTIAL, THREADS, PROCESSES])
def test_states_and_spans_say_what_each_worker_does(mode: str) -> None:
    seen: list[tuple[WorkerState, ...]] = []
    with Setting(mode, 2, fit=f"{HERE}:fit_for_ever") as setting:

        def stop() -> bool:
            seen.append(setting.evaluator.states())
            return bool(seen[-1]) and all("epoch 2 of 3" in state.task for state in seen[-1])

        assert list(setting.evaluator.evaluate(GENOMES[:2], stop)) == []
    states = seen[-1]
    assert [state.name for state in states] == ["model 1", "model 2"][: 1 if mode == SEQUENTIAL else 2]
    assert {state.state for state in states} == {"training"}
    counts = [genome.parameters(SHAPE, 4) for genome in GENOMES[:2]]
    assert {state.task for state in states} <= {f"epoch 2 of 3, {count:,} parameters" for count in counts}
    assert all((state.pid is not None and state.pid != os.getpid()) == (mode == PROCESSES) for state in states)
    assert setting.evaluator.states() == ()
    with Setting(mode, 2) as setting:
        setting.outcomes(GENOMES)
        states = setting.evaluator.states()
        assert sum(int(state.done.split()[0]) for state in states) == len(GENOMES)
        assert {state.state for state in states} == {"idle"}
    assert {span.track for span in setting.spans} == {state.name for state in states}
    assert len(setting.spans) == len(GENOMES)
    assert all(span.name == "train" and span.seconds > 0 for span in setting.spans)


@pytest.mark.parametrize("mode", [SEQUENTIAL, THREADS, PROCESSES])
def test_pauses_are_no_time_of_training(mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    own = ("fitting",) if mode == SEQUENTIAL else ()  # threads and processes train on in a pause
    clock = Clock(monkeypatch, "workers", "process_workers", *own)
    genomes = [*GENOMES[:3], failing(RAISES)]
    limits = ProcessLimits(timeout=1e9, first=1e9)
    with Setting(mode, 2, fit=f"{HERE}:fit_or_fail", limits=limits) as setting:
        outcomes = list(setting.evaluator.evaluate(genomes, clock.pause))
    assert len(outcomes) == 4
    seconds = {outcome.key: outcome.seconds for outcome in outcomes}
    assert all(0 < taken < HOUR for taken in seconds.values())
    assert set(seconds.values()) <= {span.seconds for span in setting.spans}
    assert len(setting.spans) == 5, "one model was trained twice"
    assert all(span.seconds < HOUR for span in setting.spans)


def test_a_process_that_dies_has_trained_until_its_last_heartbeat(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch, "workers", "process_workers")
    with Setting(PROCESSES, 1, fit=f"{HERE}:fit_or_fail", limits=ProcessLimits(timeout=1e9, first=1e9)) as setting:
        [failed] = setting.evaluator.evaluate([failing(DIES)], clock.pause)
    assert failed.attempts == 2
    assert len(setting.spans) == 2
    assert all(span.seconds < HOUR for span in setting.spans)


def test_pauses_do_not_change_the_mode(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch, "fitting", "workers")
    with Setting(AUTO, 2, fit=f"{HERE}:fit_at_once") as setting:
        for genome in GENOMES[:3]:
            assert list(setting.evaluator.evaluate([genome], clock.pause))
        assert [state.pid for state in setting.evaluator.states()] == [None]


def test_processes_are_started_once_and_gone_afterwards() -> None:
    with Setting(PROCESSES, 2) as setting:
        setting.outcomes(GENOMES[:3])
        pids = [state.pid for state in setting.evaluator.states()]
        setting.outcomes(GENOMES[3:5])
        assert [state.pid for state in setting.evaluator.states()] == pids
        assert all(psutil.pid_exists(pid or 0) for pid in pids)
    assert not any(psutil.pid_exists(pid or 0) for pid in pids)
    setting.evaluator.close()
    assert list(setting.evaluator.evaluate(GENOMES[:1], lambda: False)) == [], "it is closed"


# Memory


def test_processes_map_the_same_examples() -> None:
    rows = 6000
    draws = np.random.default_rng(1)
    part = examples(draws.normal(size=(rows, 4, 16, 16)), draws.integers(0, 3, rows), 3)
    size = part.inputs.nbytes
    with Setting(PROCESSES, 2, task=Task(part, part), plan=LearningPlan(epochs=1)) as setting:
        setting.outcomes([Genome((), (DenseGene(width),)) for width in (2, 3, 4, 5)])
        pids = [state.pid for state in setting.evaluator.states()]
        maps = [Path(f"/proc/{pid}/smaps").read_text() for pid in pids if pid is not None]
    assert size > 20 << 20
    assert len(maps) == 2
    for text in maps:
        entries = text.split("VmFlags:")
        private = [_kilobytes(entry, "Private_Dirty") for entry in entries]
        assert max(private) << 10 < size, "no process has a copy of its own"
    assert _inodes(maps[0], 2 * size) & _inodes(maps[1], 2 * size), "they map the same memory"


def test_shared_examples_are_no_memory_of_a_model() -> None:
    """A model that has read all examples needs no less memory for the rest of its training."""
    draws = np.random.default_rng(1)
    part = examples(draws.normal(size=(60_000, 256)), draws.integers(0, 3, 60_000), 3)
    task, genome = shared_task(Task(part, part)), Genome((), (DenseGene(4),))
    with ProcessWorkers(task, LearningPlan(epochs=3), ["cpu"], fit=f"{HERE}:fit_for_ever") as workers:
        workers.resize(1)
        [worker] = workers.workers

        def after_a_look() -> ProcessWorker:
            workers.wait(0.1, lambda: False)
            return worker

        until(lambda: after_a_look().ready)
        worker.begin(Job(1, genome, 1000, 1000, 1 << 20))
        until(lambda: after_a_look().epoch == 2)
        assert worker.grown is not None
        assert worker.grown < part.inputs.nbytes / 2


def _kilobytes(entry: str, name: str) -> int:
    return next((int(line.split()[1]) for line in entry.splitlines() if line.startswith(f"{name}:")), 0)


def _inodes(smaps: str, size: int) -> set[str]:
    """The inodes of mappings of at least this size."""
    found = set()
    for line in smaps.splitlines():
        parts = line.split()
        if len(parts) >= 5 and "-" in parts[0] and parts[4] != "0":
            first, last = (int(text, 16) for text in parts[0].split("-"))
            if last - first >= size:
                found.add(parts[4])
    return found


def test_shared_arrays_are_those_of_the_task() -> None:
    task = stripe_task(50)
    legal = np.ones((50, 4), np.uint8)
    weights = np.arange(50, dtype=np.float32)
    masked = Task(examples(task.train.inputs, task.train.targets, 4, legal=legal, weights=weights), task.select)
    arrays = shared_task(masked).arrays()
    assert np.array_equal(arrays.train.inputs.reshape(50, 6, 5, 2).transpose(0, 3, 1, 2), masked.train.inputs)
    assert np.array_equal(arrays.train.targets, masked.train.targets)
    assert arrays.train.weights == pytest.approx(np.arange(50) / 24.5)
    assert arrays.train.legal is not None
    assert np.array_equal(arrays.train.legal, legal)
    assert arrays.select.legal is None
    assert len(arrays.select) == 100


def test_the_peak_of_a_model_is_measured_in_its_process() -> None:
    genomes = [Genome((), (DenseGene(3000), DenseGene(1000))), Genome((), (DenseGene(4),))]
    with Setting(PROCESSES, 1, plan=LearningPlan(epochs=1)) as setting:
        large, small = setting.outcomes(genomes)
    assert large.peak_bytes == 0 or large.peak_bytes > 3 * 4 * large.parameters
    assert small.peak_bytes < 64 << 20
    assert memory_needed(genomes[0], SHAPE, 4, 128) > large.peak_bytes


# Stopping


@pytest.mark.parametrize("mode", [SEQUENTIAL, THREADS, PROCESSES])
def test_training_stops_in_the_middle_and_works_again_afterwards(mode: str, expected: list[Outcome]) -> None:
    with Setting(mode, 2, fit=f"{HERE}:fit_for_ever") as setting:
        trains = lambda: any("epoch 2" in state.task for state in setting.evaluator.states())  # noqa: E731
        assert list(setting.evaluator.evaluate(GENOMES, trains)) == []
    with Setting(mode, 2) as setting:
        iterator = setting.evaluator.evaluate(GENOMES, lambda: False)
        first = next(iterator)
        del iterator  # the caller wants no more
        assert setting.outcomes(GENOMES) == expected
        assert first in expected


@pytest.mark.parametrize("mode", [SEQUENTIAL, THREADS, PROCESSES])
def test_closing_from_another_thread_ends_training(mode: str) -> None:
    with Setting(mode, 2, fit=f"{HERE}:fit_for_ever") as setting:
        found: list[Outcome] = []
        thread = threading.Thread(target=lambda: found.extend(setting.evaluator.evaluate(GENOMES, lambda: False)))
        thread.start()
        until(lambda: any("epoch 2" in state.task for state in setting.evaluator.states()))
        pids = [state.pid for state in setting.evaluator.states() if state.pid is not None]
        setting.evaluator.close()
        thread.join()
    assert found == []
    assert not any(psutil.pid_exists(pid) for pid in pids)
