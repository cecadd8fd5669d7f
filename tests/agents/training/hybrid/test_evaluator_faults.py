"""Models that raise, and processes that are killed, stall or run out of memory: the others go on."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from agents.training.hybrid.evaluators import PROCESSES, SEQUENTIAL, THREADS
from agents.training.hybrid.genome import DenseGene, Genome
from agents.training.hybrid.outcome import Failure, LearningPlan, Outcome, describe_failures, failure_of
from agents.training.hybrid.process_workers import ModelsFailed, ProcessLimits
from engine.errors import BadValue
from tests.agents.training.hybrid.evaluating import Setting
from tests.agents.training.hybrid.failing_fits import (
    DIES,
    FICKLE,
    FOLDER,
    HERE,
    HUNGRY,
    ONCE,
    OTHER,
    RAISES,
    REFUSES,
    STALLS,
    TOO_LARGE,
    failing,
)
from tests.agents.training.hybrid.model_tasks import image_genomes
from tests.waiting import until

FAIL = f"{HERE}:fit_or_fail"
GENOMES = image_genomes()[:4]
ALL = (SEQUENTIAL, THREADS, PROCESSES)


@pytest.fixture(scope="module")
def expected() -> list[Outcome]:
    with Setting(SEQUENTIAL) as setting:
        return setting.outcomes(GENOMES)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(FOLDER, str(tmp_path))
    return tmp_path


def restarts(setting: Setting) -> int:
    return sum(state.restarts for state in setting.evaluator.states())


@pytest.mark.parametrize("mode", ALL)
def test_a_model_that_raises_is_trained_twice_and_has_an_error(mode: str, expected: list[Outcome]) -> None:
    genome = failing(RAISES)
    with Setting(mode, 2, fit=FAIL) as setting:
        *others, failed = setting.outcomes([*GENOMES, genome])
        assert others == expected
        assert restarts(setting) == 0
    assert failed == Outcome(
        genome.key, genome.parameters((2, 6, 5), 4), error="ValueError: the number 31 is not liked"
    )
    assert (failed.fitness, failed.attempts) == (None, 2)
    text = f"a model of {failed.parameters:,} parameters failed: ValueError: the number 31 is not liked"
    assert setting.notes == [(f"{text}. It is trained once more", True)]


@pytest.mark.parametrize("mode", ALL)
def test_a_model_that_fails_once_has_the_same_outcome_in_the_end(mode: str) -> None:
    with Setting(mode, 2) as setting:
        [expected] = setting.outcomes([failing(ONCE)])
    with Setting(mode, 2, fit=FAIL) as setting:
        [outcome] = setting.outcomes([failing(ONCE)])
    assert outcome == expected
    assert (expected.attempts, outcome.attempts) == (1, 2)


def test_a_refusal_says_what_the_value_must_be() -> None:
    with Setting(PROCESSES, 1, fit=FAIL) as setting:
        [outcome] = setting.outcomes([failing(REFUSES)])
    assert outcome.error == "width = 35: must be another number"


def test_a_process_that_is_killed_costs_only_the_fitness_of_its_model(expected: list[Outcome]) -> None:
    with Setting(PROCESSES, 2, fit=FAIL) as setting:
        failed, *others = setting.outcomes([failing(DIES), *GENOMES])
        assert others == expected
        assert restarts(setting) == 2
        assert all(state.state == "idle" or state.state == "starting" for state in setting.evaluator.states())
    assert failed.error == "in epoch 2 its process was killed by SIGKILL, also when it was trained alone"
    assert (failed.fitness, failed.attempts) == (None, 2)
    [(note, warning)] = setting.notes
    assert note.endswith("failed: in epoch 2 its process was killed by SIGKILL. It is trained once more, alone")
    assert warning


def test_a_model_is_trained_again_if_its_process_is_killed_from_outside() -> None:
    genome = GENOMES[0]
    with Setting(SEQUENTIAL) as setting:
        expected = setting.outcomes([genome])
    killed: list[int] = []

    def kill() -> bool:
        for state in setting.evaluator.states():
            if "epoch 2" in state.task and not killed:
                killed.append(state.pid or 0)
                os.kill(killed[0], signal.SIGKILL)
        return False

    with Setting(PROCESSES, 2, fit=f"{HERE}:fit_for_ever") as setting:
        found = list(setting.evaluator.evaluate([genome], kill))
        assert found == expected
        assert found[0].attempts == 2
        assert restarts(setting) == 1
    assert not psutil.pid_exists(killed[0])


def test_a_process_that_is_killed_while_it_is_idle_is_replaced(expected: list[Outcome]) -> None:
    with Setting(PROCESSES, 2) as setting:
        setting.outcomes(GENOMES[:2])
        [pid, _] = [state.pid for state in setting.evaluator.states()]
        assert pid is not None
        os.kill(pid, signal.SIGKILL)
        until(lambda: not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE)
        assert setting.outcomes(GENOMES) == expected
        assert pid not in [state.pid for state in setting.evaluator.states()]


def test_a_process_without_a_heartbeat_is_ended() -> None:
    now = 0.0

    def pass_time() -> bool:
        """An hour passes as often as a process is seen in the epoch in which it stalls."""
        nonlocal now
        now += 3600 * any("epoch 2" in state.task for state in setting.evaluator.states())
        return False

    with Setting(PROCESSES, 1, fit=FAIL, limits=ProcessLimits(timeout=3000.0, clock=lambda: now)) as setting:
        [failed] = setting.evaluator.evaluate([failing(STALLS)], pass_time)
        assert restarts(setting) == 2
    reason = "its process did not react for 3000 s, so it was ended, also when it was trained alone"
    assert failed.error == f"in epoch 2 {reason}"
    assert failed.fitness is None


@pytest.mark.parametrize("fit", [FAIL, "agents.training.hybrid.fitting:fit"])
def test_a_model_without_enough_memory_is_trained_again_alone(fit: str, expected: list[Outcome]) -> None:
    large = Genome((), tuple(DenseGene(4096) for _ in range(3)))
    genome = failing(HUNGRY) if fit == FAIL else large
    with Setting(PROCESSES, 2, fit=fit, settings={"model_memory": 100}) as setting:
        failed, *others = setting.outcomes([genome, *GENOMES])
        assert others == expected
        assert restarts(setting) == 2
    assert failed.error == (
        "it ran out of memory, also when it was trained alone. Smaller minibatches or smaller models need less"
    )
    assert failed.fitness is None
    assert setting.notes[0][0].endswith("failed: it ran out of memory. It is trained once more, alone")


def test_a_model_whose_process_was_killed_is_trained_alone(folder: Path) -> None:
    genomes = [Genome((), (DenseGene(width),)) for width in (DIES, 20, 21, 22, 23, 24)]
    with Setting(PROCESSES, 3, fit=f"{HERE}:fit_at_the_same_time", plan=LearningPlan(epochs=30, patience=0)) as setting:
        outcomes = setting.outcomes(genomes)
    assert [outcome.attempts for outcome in outcomes] == [2, 1, 1, 1, 1, 1]
    lines = (folder / "log").read_text().splitlines()
    assert lines[-1] == f"{genomes[0].key} 1", "last, and without others"
    assert len(lines) == 7


def test_a_model_that_dies_beside_others_at_its_second_attempt_is_trained_alone_after_that() -> None:
    genomes = [failing(FICKLE), failing(OTHER)]
    with Setting(PROCESSES, 2, fit=f"{HERE}:fit_beside_others") as setting:
        failed, other = setting.outcomes(genomes)
    assert failed.error == "in epoch 1 its process was killed by SIGKILL, also when it was trained alone"
    assert (failed.attempts, other.attempts) == (3, 1)
    assert [text.rpartition(": ")[2] for text, _ in setting.notes] == [
        "the first time. It is trained once more",
        "in epoch 1 its process was killed by SIGKILL. It is trained once more, alone",
    ]


def test_a_model_that_is_interrupted_by_ctrl_c_is_trained_once_more_and_no_other(
    folder: Path, expected: list[Outcome]
) -> None:
    found: list[Outcome] = []
    with Setting(SEQUENTIAL, fit=f"{HERE}:fit_until_ctrl_c") as setting:
        with pytest.raises(KeyboardInterrupt):
            found.extend(setting.evaluator.evaluate(GENOMES, lambda: False))
        assert [state.state for state in setting.evaluator.states()] == ["idle"]
        known = {outcome.key: outcome for outcome in found}
        rest = [genome for genome in GENOMES if genome.key not in known]
        known |= {outcome.key: outcome for outcome in setting.outcomes(rest)}
    assert [known[genome.key] for genome in GENOMES] == expected
    trained = (folder / "log").read_text().split()
    assert len(trained) == len(GENOMES) + 1
    assert trained[1] == trained[2]


def test_processes_end_when_the_search_is_killed() -> None:
    program = (
        "from tests.agents.training.hybrid.evaluating import Setting\n"
        "from tests.agents.training.hybrid.failing_fits import HERE, failing\n"
        "def stop():\n"
        "    states = setting.evaluator.states()\n"
        "    if states and all('epoch 2' in state.task for state in states):\n"
        "        print(*(state.pid for state in states), flush=True)\n"
        "    return False\n"
        "setting = Setting(fit=f'{HERE}:fit_for_ever')\n"
        "list(setting.evaluator.evaluate([failing(8), failing(9)], stop))\n"
    )
    folder = Path(__file__).parents[4]
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True, cwd=folder) as search:
        assert search.stdout is not None
        pids = [int(pid) for pid in search.stdout.readline().split()]
        search.kill()
    assert len(pids) == 2
    until(lambda: not any(map(psutil.pid_exists, pids)))


def test_processes_that_cannot_start_are_an_error_with_a_reason() -> None:
    with (
        Setting(PROCESSES, 2, fit=f"{HERE}:missing") as setting,
        pytest.raises(ModelsFailed, match=r"3 processes .* could not be started in a row.*has no attribute 'missing'"),
    ):
        setting.outcomes(GENOMES)
    assert setting.evaluator.states() == ()


def test_processes_without_enough_memory_to_start_say_so() -> None:
    reason = "could not be started in a row, the last because it ran out of memory"
    with Setting(PROCESSES, 2, fit=f"{HERE}:{TOO_LARGE}") as setting, pytest.raises(ModelsFailed, match=reason):
        setting.outcomes(GENOMES)


@pytest.mark.parametrize(
    ("text", "memory"),
    [
        ("DefaultCPUAllocator: not enough memory: you tried to allocate 9 bytes.", True),
        ("DefaultCPUAllocator: can't allocate memory: you tried to allocate 9 bytes. Error code 12", True),
        ("CUDA out of memory. Tried to allocate 2.00 GiB", True),
        ("std::bad_alloc", True),
        ("could not create a primitive", True),
        ("could not create a memory object", True),
        ("could not create a primitive descriptor for the matmul primitive. Run workload with", False),
        ("mat1 and mat2 shapes cannot be multiplied", False),
    ],
)
def test_errors_of_torch_say_whether_memory_was_short(text: str, memory: bool) -> None:
    failure = failure_of(RuntimeError(text))
    assert failure.memory == memory
    assert failure.text == ("it ran out of memory" if memory else f"RuntimeError: {text}")


def test_failures_are_described_in_one_line() -> None:
    assert failure_of(MemoryError()) == Failure("it ran out of memory", memory=True)
    assert failure_of(KeyError()).text == "KeyError"
    assert failure_of(BadValue("a", 1, "2")).text == "a = 1: must be 2"
    assert len(failure_of(ValueError("long " * 1000)).text) < 600


def test_an_error_says_that_a_model_was_trained_alone_only_if_it_was() -> None:
    broke, died, full = Failure("it broke"), Failure("it died", died=True), Failure("it was full", memory=True)
    assert describe_failures([broke, broke]) == "it broke"
    assert describe_failures([broke, died]) == "it died"
    assert describe_failures([died, broke]) == "it broke"
    assert describe_failures([died, died]) == "it died, also when it was trained alone"
    advice = "Smaller minibatches or smaller models need less"
    assert describe_failures([full]) == f"it was full. {advice}"
    assert describe_failures([broke, died, full]) == f"it was full, also when it was trained alone. {advice}"
