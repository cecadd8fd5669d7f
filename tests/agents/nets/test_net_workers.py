"""Networks in worker processes: the same results anywhere, and torch only where it is needed."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from collections.abc import Iterator

import pytest

from agents.nets.network import dump
from agents.nets.pilot import NET, agent
from agents.nets.torch_pilot import TORCH_NET
from engine.play.concurrent import ConcurrentMatchExecutor
from engine.play.executors import SequentialMatchExecutor
from engine.play.match import AgentSpec, EndingKind, MatchSpec, run_digest
from engine.registry import KINDS, libraries_of, new_game
from engine.seeding import derive
from tests.faults.league import within
from tests.plugins import heavy
from tests.plugins.networks import CONV, SMALL, drawn

PONG, HUNT = new_game("pong", points=1, step_limit=200), new_game("treasure-hunt", turns=20)


@pytest.fixture(autouse=True, scope="module")
def registered() -> Iterator[None]:
    KINDS.add(heavy.SPY.name, heavy.SPY)
    yield
    KINDS.remove(heavy.SPY.name)


def match(n: int, *players: AgentSpec) -> MatchSpec:
    game = PONG if len(players) == 2 else HUNT
    return MatchSpec(f"m{n}", game.spec, players, derive("nets", n))


def executor(workers: int = 1) -> ConcurrentMatchExecutor:
    return ConcurrentMatchExecutor(workers, plugins=["tests.plugins.heavy"])


def test_a_kind_declares_torch_only_if_it_needs_it() -> None:
    assert libraries_of(["net"]) == ()
    assert libraries_of(["torch-net"]) == ("torch",)


def test_a_worker_that_plays_only_small_networks_does_not_import_torch() -> None:
    net, telling = agent("net", drawn(SMALL, PONG)), AgentSpec("telling", "spy", b"tell")
    with within(120), executor() as workers:
        workers.execute_matches([match(n, net, net) for n in range(8)])
        result = workers.execute_match(match(9, telling, net))
    assert result.ending.kind is EndingKind.EXCEPTION
    assert "torch was imported: False, now: False" in result.ending.reason


def test_networks_are_read_checked_described_and_played_small_without_torch() -> None:
    """In a fresh interpreter, because other tests import torch here."""
    script = textwrap.dedent("""
        import sys
        from agents.nets.pilot import NET, agent, kind_for
        from agents.nets.torch_pilot import TORCH_NET
        from engine.play.executors import SequentialMatchExecutor
        from engine.play.match import MatchSpec
        from engine.registry import describe_agent, draw_agent, new_game
        from league_app.core.validation import check_playable, configured
        from tests.plugins.networks import CONV, SMALL, drawn
        pong, hunt = new_game("pong", points=1, step_limit=200), new_game("treasure-hunt")
        small, large = agent("a", drawn(SMALL, pong)), agent("b", drawn(CONV, hunt))
        assert (small.kind, large.kind) == ("net", "torch-net")
        for network, game in ((small, pong), (large, hunt)):
            check_playable(network, game.spec)
            assert describe_agent(network) and draw_agent(network)
            configured(network.kind, network.payload, {"temperature": "0.5"})
        with SequentialMatchExecutor(4) as executor:
            executor.execute_matches([MatchSpec("m", pong.spec, (small, small), 1)])
        print("torch" in sys.modules)
    """)
    child = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=300, check=False)
    assert child.stdout.strip() == "False", child.stderr


@pytest.mark.parametrize("workers", [1, 2])
def test_results_are_the_same_on_any_number_of_workers(workers: int) -> None:
    small = agent("small", drawn(SMALL, PONG))
    slow = AgentSpec("slow", TORCH_NET.name, dump(drawn(SMALL, PONG, seed=2)), TORCH_NET.version)
    conv, other = agent("conv", drawn(CONV, HUNT)), agent("other", drawn(CONV, HUNT, seed=3, temperature=0.0))
    line_ups = [(small, slow), (conv, other, conv, other), (slow, slow), (small, small)]
    specs = [match(n, *line_ups[n % len(line_ups)]) for n in range(24)]
    with SequentialMatchExecutor(5) as here:
        results = here.execute_matches(specs)
    assert not any(result.ending.kind.failure for result in results)
    with within(300), executor(workers) as running:
        assert run_digest(running.run(specs[::-1])) == run_digest(results)
    assert NET.name == small.kind
