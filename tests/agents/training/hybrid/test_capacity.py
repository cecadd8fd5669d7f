"""How many models are trained at a time: memory, load, and notes when the number changes."""

from __future__ import annotations

import subprocess
import sys
from collections import namedtuple
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import psutil
import pytest

from agents.training.hybrid import memory
from agents.training.hybrid.capacity import RESERVE, Capacity
from agents.training.hybrid.evaluators import PROCESSES, THREADS
from agents.training.hybrid.genome import DenseGene, Genome
from agents.training.hybrid.load import IN_A_ROW, INTERVAL, LoadControl, OtherPrograms, machine_seconds, own_seconds
from agents.training.hybrid.memory import PeakMemory, available_memory
from agents.training.hybrid.workers import Job, Worker
from tests.agents.training.hybrid.evaluating import Setting
from tests.agents.training.hybrid.failing_fits import FOLDER, HERE, failing

GENOME = Genome((), (DenseGene(8),))
MB = 1 << 20


class Machine:
    """A clock, a load and an amount of memory that tests set."""

    def __init__(self) -> None:
        self.now = self.load = 0.0
        self.available = 10_000 * MB
        self.notes: list[tuple[str, bool]] = []

    def capacity(self, models: int = 3, *, dynamic: bool = False) -> Capacity:
        return Capacity(
            models, 4, 1, 8, lambda text, warning: self.notes.append((text, warning)),
            dynamic=dynamic, load=lambda: self.load, clock=lambda: self.now, available=lambda: self.available,
        )  # fmt: skip

    def texts(self) -> list[str]:
        found, self.notes = [text for text, _ in self.notes], []
        return found


def training(need: int) -> Worker:
    worker = Worker(0, "cpu")
    worker.begin(Job(1, GENOME, 100, 100, need))
    return worker


# Memory


def test_another_model_waits_for_memory_and_says_so_once() -> None:
    machine = Machine()
    capacity, job = machine.capacity(), Job(2, GENOME, 100, 100, 300 * MB)
    others = [training(200 * MB)]
    assert capacity.has_memory(job, others)
    machine.available = RESERVE + 499 * MB
    assert not capacity.has_memory(job, others)
    assert not capacity.has_memory(job, others)
    assert capacity.has_memory(job, []), "one model is always trained"
    assert machine.texts() == [
        "one model at a time for now: another one may need 300 MB, those that train 200 MB more, and 755 MB are "
        "available"
    ]
    machine.available = RESERVE + 501 * MB
    assert not capacity.has_memory(job, others), "it would be full again at once"
    machine.available = RESERVE + 576 * MB
    assert capacity.has_memory(job, others)
    assert capacity.has_memory(job, others)
    assert machine.texts() == ["there is enough memory for more models at a time again"]


def test_a_model_is_expected_to_exceed_its_estimate_as_much_as_others_before() -> None:
    machine = Machine()
    capacity, job = machine.capacity(), Job(2, GENOME, 100, 100, 10 * MB)
    machine.available = RESERVE + 39 * MB
    assert capacity.has_memory(job, [training(10 * MB)])
    capacity.add_peak(Job(1, GENOME, 100, 100, 1000 * MB), 2000 * MB)
    assert not capacity.has_memory(job, [training(10 * MB)])
    assert "another one may need 20 MB, those that train 20 MB more" in machine.texts()[0]
    machine.available = RESERVE + 45 * MB
    assert capacity.has_memory(job, [training(10 * MB)])


def test_a_large_model_does_not_limit_the_number_of_small_ones() -> None:
    machine = Machine()
    capacity = machine.capacity()
    capacity.add_peak(Job(1, GENOME, 100, 100, 3000 * MB), 2900 * MB)
    machine.available = RESERVE + 100 * MB
    assert capacity.has_memory(Job(2, GENOME, 100, 100, 50 * MB), [training(50 * MB)])
    assert machine.notes == []


def test_models_are_trained_one_at_a_time_while_memory_is_short(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(FOLDER, str(tmp_path))
    machine = Machine()
    machine.available = 0
    genomes = [Genome((), (DenseGene(width),)) for width in range(4, 10)]
    fit = f"{HERE}:fit_at_the_same_time"
    with Setting(PROCESSES, 3, fit=fit, capacity=machine.capacity()) as setting:
        assert all(outcome.fitness is not None for outcome in setting.outcomes(genomes))
        lines = (tmp_path / "log").read_text().splitlines()
        assert [line.split()[1] for line in lines] == ["1"] * 6
        assert len(machine.texts()) == 1
        machine.available = 1 << 40
        setting.outcomes(genomes)
        assert machine.texts() == ["there is enough memory for more models at a time again"]


def test_the_peak_is_measured_without_shared_pages() -> None:
    with PeakMemory() as measured:
        kept = np.ones(8 * MB)
        del kept
    assert measured.peak == 0 or 60 * MB < measured.peak < 80 * MB
    with PeakMemory() as measured:
        pass
    assert measured.peak < 8 * MB


def test_a_limit_of_a_control_group_counts(tmp_path: Path) -> None:
    inner = tmp_path / "user" / "session"
    inner.mkdir(parents=True)
    own = tmp_path / "own"
    own.write_text("0::/user/session\n")
    (inner / "memory.max").write_text("max\n")
    (tmp_path / "user" / "memory.max").write_text("1000\n")
    for folder in (inner, tmp_path / "user"):
        (folder / "memory.current").write_text("700\n")
        (folder / "memory.stat").write_text("anon 5\ninactive_file 200\nactive_file 1\n")
    assert memory.left_in_groups(tmp_path, own) == [500]
    old = tmp_path / "memory" / "docker"
    old.mkdir(parents=True)
    own.write_text("3:cpu:/docker\n4:memory:/docker\n")
    (old / "memory.limit_in_bytes").write_text(f"{2**62}\n")
    (old / "memory.usage_in_bytes").write_text("9\n")
    assert memory.left_in_groups(tmp_path, own) == []
    (old / "memory.limit_in_bytes").write_text("100\n")
    (old / "memory.stat").write_text("total_inactive_file 3\n")
    assert memory.left_in_groups(tmp_path, own) == [94]
    assert memory.left_in_groups(tmp_path / "missing", own) == []
    assert 0 <= available_memory() <= psutil.virtual_memory().total


# Load


def samples(control: LoadControl, machine: Machine, *loads: float) -> Iterator[int]:
    for machine.load in loads:
        machine.now += INTERVAL
        yield control.sample()


def test_other_programs_reduce_the_number_of_models_slowly() -> None:
    machine = Machine()
    control = LoadControl(4, 1, lambda: machine.load, lambda: machine.now, cores=4)
    assert list(samples(control, machine, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0)) == [4, 4, 3, 3, 3, 2, 2, 2]
    assert list(samples(control, machine, 9.0, 0.0, 9.0, 9.0, 0.0, 9.0)) == [2] * 6, "they must agree"
    assert list(samples(control, machine, *[4.0] * 9))[-1] == 1, "one model is always trained"
    assert list(samples(control, machine, *[0.1] * 8)) == [1, 1, 2, 2, 2, 3, 3, 3]


def test_a_steady_load_changes_the_number_of_models_only_once() -> None:
    for load in np.linspace(0, 4, 41):
        machine = Machine()
        control = LoadControl(4, 1, lambda machine=machine: machine.load, lambda machine=machine: machine.now, cores=4)  # type: ignore[misc]
        found = list(samples(control, machine, *[float(load)] * 30))
        assert found == sorted(found, reverse=True)


def test_the_load_is_measured_no_more_often_than_it_can_be() -> None:
    machine = Machine()
    calls: list[float] = []
    control = LoadControl(2, 1, lambda: calls.append(machine.now) or 0.0, lambda: machine.now, cores=2)  # type: ignore[func-returns-value]
    for _ in range(100):
        machine.now += INTERVAL / 20
        control.sample()
    assert len(calls) in (4, 5)


def test_changes_by_load_are_noted_and_limited_by_the_settings() -> None:
    machine = Machine()
    machine.load = psutil.cpu_count() or 1
    capacity, found = machine.capacity(3, dynamic=True), []
    for _ in range(12):
        machine.now += INTERVAL
        found.append(capacity.models)
    assert found[-1] == 1
    load = f"{machine.load:.1f} cores"
    assert machine.texts() == [
        f"2 models at a time instead of 3: other programs use {load}",
        f"one model at a time instead of 2: other programs use {load}",
    ]
    capacity.set_cores(1)
    assert machine.texts() == ["one model at a time, of 3 wanted: each uses one thread, and one core may be used"]
    machine.load = -100.0
    for _ in range(12):
        machine.now += INTERVAL
        assert capacity.models == 1


def busy_machine(capacity_of: int) -> tuple[Machine, Capacity]:
    """After so many measurements that one model at a time is left."""
    machine = Machine()
    machine.load = psutil.cpu_count() or 1
    capacity = machine.capacity(capacity_of, dynamic=True)
    for _ in range(capacity_of * IN_A_ROW):
        machine.now += INTERVAL
        last = capacity.models
    assert last == 1
    return machine, capacity


def test_a_dynamic_search_trains_one_model_at_a_time_while_other_programs_use_the_cores(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(FOLDER, str(tmp_path))
    machine, capacity = busy_machine(3)
    genomes = [Genome((), (DenseGene(width),)) for width in range(4, 12)]

    def stop() -> bool:
        machine.now += INTERVAL
        return False

    with Setting(THREADS, 3, fit=f"{HERE}:fit_at_the_same_time", capacity=capacity) as setting:
        outcomes = list(setting.evaluator.evaluate(genomes, stop))
    assert {outcome.key for outcome in outcomes if outcome.fitness is not None} == {genome.key for genome in genomes}
    assert [line.split()[1] for line in (tmp_path / "log").read_text().splitlines()] == ["1"] * len(genomes)


def test_a_dynamic_search_trains_more_models_at_a_time_when_other_programs_have_ended() -> None:
    machine, capacity = busy_machine(2)
    training: list[int] = []

    def stop() -> bool:
        """Other programs end once a model is trained alone."""
        machine.now += INTERVAL
        training.append(sum(state.state == "training" for state in setting.evaluator.states()))
        if training[-1] == 1:
            machine.load = -100.0
        return training[-1] == 2

    with Setting(THREADS, 2, fit=f"{HERE}:fit_for_ever", capacity=capacity) as setting:
        assert list(setting.evaluator.evaluate([failing(width) for width in (8, 9, 10)], stop)) == []
    assert set(training) <= {0, 1, 2}
    assert training[-2:] == [1, 2]


def test_the_load_of_other_programs_is_what_this_one_does_not_use() -> None:
    own, machine = [0.0], [(0.0, 0.0)]
    measure = OtherPrograms(lambda: own[0], lambda: machine[0], cores=4)
    for used, busy, together, load in (
        (2.0, 5.0, 8.0, 1.5),  # of 4 cores in 2 seconds, 5 seconds: 2 of them by this program
        (2.0, 5.0, 16.0, 0.0),  # an idle machine
        (10.0, 13.0, 24.0, 0.0),  # this program alone
        (0.0, 21.0, 32.0, 4.0),  # a child has ended, so its time is missing
        (0.0, 21.0, 32.0, 0.0),  # no time has passed
    ):
        own[0], machine[0] = used, (busy, together)
        assert measure() == load


def test_processors_that_wait_for_disks_are_idle_and_guests_count_once(monkeypatch: pytest.MonkeyPatch) -> None:
    times = namedtuple("times", "user system idle iowait guest guest_nice")  # guests are a part of `user`
    monkeypatch.setattr(psutil, "cpu_times", lambda: times(50.0, 20.0, 100.0, 10.0, 5.0, 1.0))
    assert machine_seconds() == (70.0, 180.0)


def test_processor_time_of_children_is_that_of_the_program() -> None:
    program = "import time\nwhile time.process_time() < 0.3: pass\nprint(flush=True)\ninput()"
    with subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        child.stdout.readline()
        alone = sum(psutil.Process().cpu_times()[:2])
        assert own_seconds() >= alone + 0.25
        child.kill()
