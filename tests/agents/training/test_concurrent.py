"""`ConcurrentTrainingExecutor` as the guide shows it: pairs of genomes in, results out, in order, on any workers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import neat
import pytest

from agents.neat.genome import from_neat
from agents.neat.payload import dump
from agents.neat.pilot import KIND
from agents.training.concurrent import ConcurrentTrainingExecutor
from engine.errors import BadValue, RingsideError
from engine.play.executors import SequentialMatchExecutor
from engine.play.match import AgentSpec, EndingKind, Limits, MatchResult, MatchSpec
from engine.registry import new_game
from tests.agents.neat.sample_genomes import RESTLESS, config_with, plain_config, seeded

GAME = new_game("pong", points=1, step_limit=300)
LIMITS = Limits(steps=120)


@pytest.fixture(scope="module")
def config_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("neat") / "neat_config.txt"
    place.write_text(config_with(**{**RESTLESS, "num_inputs": 8, "num_outputs": 3, "pop_size": 12}), encoding="utf-8")
    return place


@pytest.fixture(scope="module")
def config(config_path: Path) -> Any:
    return plain_config(config_path.read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def genomes(config: Any) -> list[Any]:
    """A new population of neat-python."""
    with seeded(3):
        return list(neat.Population(config).population.values())


@pytest.fixture(scope="module", params=[1, 2])
def executor(request: pytest.FixtureRequest, config_path: Path) -> Iterator[ConcurrentTrainingExecutor]:
    with ConcurrentTrainingExecutor(
        config_path, request.param, game=GAME.spec, limits=LIMITS, batch_size=3
    ) as executor:
        yield executor


def pairs_of(genomes: list[Any]) -> list[tuple[Any, Any]]:
    return [(a, b) for a in genomes[:6] for b in genomes[6:]]


def plain(results: list[dict[str, Any]]) -> list[Any]:
    """Results without durations and worker names."""
    return [
        (result["match_result"].digest(), result["match_result"].players, result["contact_metrics"], result["error"])
        for result in results
    ]


@pytest.fixture(scope="module")
def wanted(genomes: list[Any], config: Any, config_path: Path) -> list[MatchResult]:
    """The same matches, one after the other in this process; the seeds are taken from a first run."""
    with ConcurrentTrainingExecutor(config_path, 1, game=GAME.spec, limits=LIMITS) as alone:
        specs: list[MatchSpec] = []
        alone._executor = SimpleNamespace(execute_matches=lambda given: specs.extend(given) or [], close=lambda: None)
        assert alone.execute_matches(pairs_of(genomes), seed=1) == []
    assert len(specs) == 36
    with SequentialMatchExecutor(record=False) as executor:
        return executor.execute_matches(specs)


def test_results_come_in_the_order_of_the_pairs_with_any_number_of_workers(
    executor: ConcurrentTrainingExecutor, genomes: list[Any], wanted: list[MatchResult]
) -> None:
    pairs = pairs_of(genomes)
    results = executor.execute_matches(pairs, seed=1)
    assert [result["match_result"].digest() for result in results] == [result.digest() for result in wanted]
    for (first, second), result in zip(pairs, results, strict=True):
        left, right = result["match_result"].players
        assert (left.partition("/")[0], right.partition("/")[0]) == (str(first.key), str(second.key))
        assert set(result) == {"match_result", "contact_metrics", "error"}
        assert result["error"] is None
        for seat in (0, 1):
            assert tuple(result["contact_metrics"][seat]) == GAME.info.stats
            assert tuple(result["contact_metrics"][seat].values()) == result["match_result"].stats[seat]
    assert len({result["match_result"].stats for result in results}) > 10
    assert plain(executor.execute_matches(pairs, seed=1)) == plain(results), "and again"
    assert plain(executor.execute_matches(pairs)) != plain(executor.execute_matches(pairs)), "other matches each time"


def test_a_different_seed_gives_different_matches(
    config_path: Path, genomes: list[Any], wanted: list[MatchResult]
) -> None:
    with ConcurrentTrainingExecutor(config_path, 1, game=GAME.spec, limits=LIMITS, seed=2) as executor:
        results = executor.execute_matches(pairs_of(genomes))
    assert [each["match_result"].stats for each in results] != [each.stats for each in wanted]


def test_a_failing_genome_gives_an_error_and_the_others_play(
    executor: ConcurrentTrainingExecutor, genomes: list[Any], config: Any, wanted: list[MatchResult]
) -> None:
    ill = neat.DefaultGenome(99)
    with seeded(1):
        config.genome_config.innovation_tracker = neat.reproduction.InnovationTracker()
        ill.configure_new(config.genome_config)
    for node in ill.nodes.values():
        node.activation, node.bias = "cube", 1e200
    pairs = pairs_of(genomes)
    results = executor.execute_matches([*pairs[:5], (ill, genomes[0]), (genomes[1], ill), *pairs[5:20]], seed=1)
    for place, seat in ((5, 0), (6, 1)):
        error = results[place]["error"]
        assert (error["kind"], error["seats"]) == ("exception", (seat,))
        assert "too large" in error["reason"]
        assert results[place]["match_result"].ending.kind is EndingKind.EXCEPTION
    others = [result for place, result in enumerate(results) if place not in (5, 6)]
    assert all(result["error"] is None for result in others)
    assert [result["match_result"].stats for result in results[:5]] == [result.stats for result in wanted[:5]]


def test_a_custom_function_is_an_error_of_that_genome(executor: ConcurrentTrainingExecutor, genomes: list[Any]) -> None:
    odd = neat.DefaultGenome(98)
    odd.nodes = {key: node.copy() for key, node in genomes[0].nodes.items()}
    odd.nodes[0].activation = "wobble"
    well, ill = executor.execute_matches([(genomes[1], genomes[2]), (genomes[1], odd)])
    assert well["error"] is None
    assert (ill["error"]["kind"], ill["error"]["seats"]) == ("cannot_start", (1,))
    assert "unknown activation function 'wobble'" in ill["error"]["reason"]


def test_a_genome_may_play_itself_and_two_may_have_one_key(
    executor: ConcurrentTrainingExecutor, genomes: list[Any], config: Any
) -> None:
    twin = neat.DefaultGenome(genomes[0].key)
    twin.nodes, twin.connections = genomes[1].nodes, genomes[1].connections
    first, second = executor.execute_matches([(genomes[0], genomes[0]), (genomes[0], twin)])
    assert (first["error"], second["error"]) == (None, None)
    assert len(set(first["match_result"].players)) == 1
    assert len(set(second["match_result"].players)) == 2
    payload = dump(from_neat(genomes[1], config.genome_config))
    agents = (
        AgentSpec("a", KIND.name, dump(from_neat(genomes[0], config.genome_config))),
        AgentSpec("b", KIND.name, payload),
    )
    assert agents[0].payload != agents[1].payload


def test_no_pairs_give_no_results(executor: ConcurrentTrainingExecutor) -> None:
    assert executor.execute_matches([]) == []


def test_a_group_of_the_wrong_size_is_refused(executor: ConcurrentTrainingExecutor, genomes: list[Any]) -> None:
    with pytest.raises(BadValue, match="genome_pairs = 3: must be 2 genomes, one for each seat"):
        executor.execute_matches([tuple(genomes[:3])])


def test_play_can_be_stopped_and_the_executor_reused(
    executor: ConcurrentTrainingExecutor, genomes: list[Any], config: Any
) -> None:
    agents = [
        AgentSpec(str(genome.key), KIND.name, dump(from_neat(genome, config.genome_config))) for genome in genomes
    ]
    specs = [
        MatchSpec(f"{n}.{turn}", GAME.spec, (agents[n], agents[turn]), n, None, LIMITS)
        for n in range(6)
        for turn in (7, 8)
    ]
    assert executor.play(specs, lambda: True) is None
    results = executor.play(specs)
    assert [result.id for result in results] == [spec.id for spec in specs]


def test_the_example_of_the_guide_runs(config_path: Path, genomes: list[Any]) -> None:
    executor = ConcurrentTrainingExecutor(config_path=str(config_path), game="pong", limits=LIMITS)
    try:
        results = executor.execute_matches([(genomes[0], genomes[1]), (genomes[2], genomes[3])])
        for result in results:
            assert len(result["match_result"].scores) == 2
            assert result["contact_metrics"][0]["hits"] >= 0
            assert result["contact_metrics"][1]["misses"] >= 0
    finally:
        executor.close()
    assert len(results) == 2


def test_an_invalid_configuration_raises_in_the_constructor(tmp_path: Path) -> None:
    with pytest.raises(BadValue, match=r"missing\.txt"):
        ConcurrentTrainingExecutor(config_path=tmp_path / "missing.txt")
    other = tmp_path / "other.txt"
    other.write_text(config_with(num_inputs=4), encoding="utf-8")
    with pytest.raises(BadValue, match="num_inputs = '4': must be 8, as in pong"):
        ConcurrentTrainingExecutor(config_path=other)
    with pytest.raises(RingsideError, match="unknown game 'pongg'"):
        ConcurrentTrainingExecutor(game="pongg")
