"""Networks of ONNX files in worker processes: the same results anywhere, and onnxruntime only where it is needed."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest

from agents.nets.onnx.export import to_onnx
from agents.nets.pilot import agent
from engine.play.concurrent import ConcurrentMatchExecutor
from engine.play.executors import SequentialMatchExecutor
from engine.play.match import AgentSpec, EndingKind, MatchSpec, run_digest
from engine.registry import libraries_of, new_game
from engine.seeding import derive
from tests.agents.nets.onnx.files import linear, model, node, port, tensor
from tests.faults.league import within
from tests.plugins.networks import CONV, SMALL, drawn

pytest.importorskip("onnxruntime")

PONG, HUNT = new_game("pong", points=1, step_limit=200), new_game("treasure-hunt", turns=20)
GUEST = AgentSpec("guest", "onnx", model(linear()))


def match(n: int, *players: AgentSpec) -> MatchSpec:
    game = PONG if len(players) == 2 else HUNT
    return MatchSpec(f"m{n}", game.spec, players, derive("onnx", n))


def maps_library(pid: int) -> bool:
    return "onnxruntime" in Path(f"/proc/{pid}/maps").read_text()


def test_the_kind_declares_its_library() -> None:
    assert libraries_of(["onnx"]) == ("onnxruntime",)
    assert libraries_of(["onnx", "torch-net", "net"]) == ("onnxruntime", "torch")


@pytest.mark.skipif(sys.platform != "linux", reason="reads the memory maps of a process")
@pytest.mark.parametrize("player", ["net", "onnx"])
def test_only_workers_that_play_the_kind_have_its_library(player: str) -> None:
    net = agent("net", drawn(SMALL, PONG))
    with within(120), ConcurrentMatchExecutor(1) as executor:
        executor.execute_matches([match(0, GUEST, net), match(1, GUEST, GUEST)])
        executor.execute_matches([match(2, GUEST if player == "onnx" else net, net)])
        (worker,) = [worker for worker in executor.status().workers if worker.state == "idle"]
        assert maps_library(worker.pid) == (player == "onnx")


def test_a_file_is_read_checked_configured_and_described_without_the_library() -> None:
    """In a fresh interpreter, because other tests import it here. This is what the window and the commands do."""
    script = textwrap.dedent("""
        import sys
        from agents.nets.onnx.export import to_onnx
        from engine.play.match import AgentSpec
        from engine.registry import describe_agent, draw_agent, new_game
        from league_app.core.validation import check_playable, configured
        from tests.plugins.networks import CONV, drawn

        game = new_game("treasure-hunt")
        payload = configured("onnx", to_onnx(drawn(CONV, game)), {"temperature": "0.5"})
        check_playable(AgentSpec("a", "onnx", payload), game.spec)
        assert dict(describe_agent(AgentSpec("a", "onnx", payload)))["Temperature"] == "0.5"
        draw_agent(AgentSpec("a", "onnx", payload))
        print([name for name in ("onnxruntime", "onnx", "torch") if name in sys.modules])
    """)
    child = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=300, check=False)
    assert child.stdout.strip() == "[]", child.stderr


@pytest.mark.parametrize("workers", [1, 2])
def test_results_are_the_same_on_any_number_of_workers_and_lanes(workers: int) -> None:
    other = AgentSpec("other", "onnx", to_onnx(drawn(SMALL, PONG, seed=2)))
    net = agent("net", drawn(SMALL, PONG))
    conv, cold = (AgentSpec(f"{at}", "onnx", to_onnx(drawn(CONV, HUNT, 3, at))) for at in (1.0, 0.0))
    line_ups = [(GUEST, other), (conv, cold, conv, cold), (other, net), (other, other)]
    specs = [match(n, *line_ups[n % len(line_ups)]) for n in range(24)]
    digests = set()
    for lanes in (1, 5):
        with SequentialMatchExecutor(lanes) as here:
            results = here.execute_matches(specs)
        assert not any(result.ending.kind.failure for result in results)
        digests.add(run_digest(results))
    with within(300), ConcurrentMatchExecutor(workers) as executor:
        digests.add(run_digest(executor.run(specs[::-1])))
    assert len(digests) == 1


def test_a_network_that_takes_all_memory_costs_its_own_match_alone() -> None:
    """A tensor of 10^12 numbers is not in the file: an operator makes it."""
    ends = [
        node("ConstantOfShape", ["size"], ["huge"]),
        node("ReduceSum", ["huge"], ["s"]),
        node("Add", ["y", "s"], ["z"]),
    ]
    huge = linear(output=port("z", ["n", 3]), ends=ends, tensors=[tensor("size", np.array([10**12], np.int64))])
    bad = AgentSpec("bad", "onnx", model(huge))
    with within(300), ConcurrentMatchExecutor(2) as executor:
        results = executor.execute_matches([match(0, bad, GUEST), *(match(n, GUEST, GUEST) for n in range(1, 9))])
    assert results[0].ending.kind in (
        EndingKind.EXCEPTION,
        EndingKind.MEMORY,
        EndingKind.CRASH,
        EndingKind.CANNOT_START,
    )
    assert results[0].ranks == (2, 1)
    assert not any(result.ending.kind.failure for result in results[1:])
