"""The NEAT pilot: matches are those that neat-python's own networks would play."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from agents.neat.genome import Genome
from agents.neat.payload import dump
from agents.neat.pilot import KIND, NeatPilot
from engine.errors import BadValue
from engine.game import Game
from engine.play.executors import SequentialMatchExecutor
from engine.play.match import AgentSpec, EndingKind, Limits, MatchResult, MatchSpec
from engine.registry import new_game
from tests.agents.neat.sample_genomes import EVERYTHING, all_of, bred, neats_own

PONG = new_game("pong", points=2, step_limit=600)
STEPS = 400


def contenders(feed_forward: bool, game: Game = PONG, count: int = 8, **options: object) -> list[Genome]:
    shape = {"num_inputs": game.info.observation[0], "num_outputs": game.info.actions, **options}
    return all_of(bred(feed_forward, generations=10, population=40, **shape))[-count:]


def agent(genome: Genome, name: str) -> AgentSpec:
    return AgentSpec(name, KIND.name, dump(genome), KIND.version)


def overflowing(game: Game = PONG) -> Genome:
    """Its first output overflows, at every seat."""
    well = contenders(True, game)[0]
    n = len(well.key)
    return replace(well, activation=("square",) * n, aggregation=("sum",) * n, bias=(1e200,) * n, response=(1.0,) * n)


def by_hand(spec: MatchSpec, game: Game, genomes: list[Genome]) -> tuple[Any, ...]:
    """The same match in a plain loop, with neat-python's networks: scores, steps and statistics."""
    boards, lane = game.boards(1), np.zeros(1, np.uint32)
    boards.deal(lane, np.array([spec.seed], np.uint64), [None])
    networks = [neats_own(genome) for genome in genomes]
    seen = np.zeros((1, *game.info.observation), np.float32)
    legal = np.ones((1, game.info.actions), np.bool_)
    steps = 0
    while not boards.over()[0] and steps < (spec.limits.steps or 10**9):
        actions = np.zeros((1, game.info.seats), np.int64)
        for seat in np.flatnonzero(boards.acting()[0]).tolist():
            boards.observe(lane, np.array([seat], np.uint32), seen)
            if game.info.masked:
                boards.legal(lane, np.array([seat], np.uint32), legal)
            answers = networks[seat].activate(seen[0].tolist())
            actions[0, seat] = max(np.flatnonzero(legal[0]).tolist(), key=lambda action, found=answers: found[action])
        boards.apply(lane, actions)
        steps += 1
    return tuple(boards.scores()[0].tolist()), steps, tuple(map(tuple, boards.stats(lane)[0].tolist()))


def played(specs: list[MatchSpec], **settings: Any) -> dict[str, MatchResult]:
    with SequentialMatchExecutor(**settings) as executor:
        return {result.id: result for result in executor.run(specs)}


@pytest.mark.parametrize("feed_forward", [True, False])
def test_matches_equal_those_of_neat_pythons_networks(feed_forward: bool) -> None:
    genomes = contenders(feed_forward)
    pairs = [(a, b) for a in range(0, len(genomes), 2) for b in range(1, len(genomes), 2)]
    specs = [
        MatchSpec(f"m{n}", PONG.spec, (agent(genomes[a], str(a)), agent(genomes[b], str(b))), n, None, Limits(STEPS))
        for n, (a, b) in enumerate(pairs)
    ]
    results = played(specs, lanes=5)
    assert len({result.stats for result in results.values()}) > len(specs) // 2, "they play differently"
    for spec, (a, b) in zip(specs, pairs, strict=True):
        result = results[spec.id]
        assert (result.scores, result.steps, result.stats) == by_hand(spec, PONG, [genomes[a], genomes[b]])
        assert result.ending.kind in (EndingKind.FINISHED, EndingKind.STEP_LIMIT)


def test_every_function_plays_like_neat_pythons() -> None:
    genomes = contenders(True, count=20, **EVERYTHING)
    for number, genome in enumerate(genomes):
        spec = MatchSpec("m", PONG.spec, (agent(genome, "a"), agent(genomes[0], "b")), number, None, Limits(60))
        result = played([spec])["m"]
        try:
            assert (result.scores, result.steps, result.stats) == by_hand(spec, PONG, [genome, genomes[0]])
        except OverflowError:
            assert result.ending.kind is EndingKind.EXCEPTION


@pytest.mark.parametrize("feed_forward", [True, False])
def test_only_legal_actions_are_played_in_a_game_with_masks(feed_forward: bool) -> None:
    game = new_game("tictactoe")
    genomes = contenders(feed_forward, game)
    specs = [
        MatchSpec(f"m{n}", game.spec, (agent(genomes[n], str(n)), agent(genomes[n - 1], str(n - 1))), n)
        for n in range(1, len(genomes))
    ]
    results = played(specs)
    for number, spec in enumerate(specs, 1):
        result = results[spec.id]
        assert result.ending.kind is EndingKind.FINISHED, result.ending.reason
        wanted = by_hand(spec, game, [genomes[number], genomes[number - 1]])
        assert (result.scores, result.steps, result.stats) == wanted


def test_a_recurrent_genome_starts_each_match_with_empty_memory() -> None:
    genomes = contenders(False)
    players = agent(genomes[0], "a"), agent(genomes[1], "b")
    alone = played([MatchSpec("x", PONG.spec, players, 5, None, Limits(STEPS))])["x"]
    after = played([MatchSpec(f"x{n}", PONG.spec, players, 5, None, Limits(STEPS)) for n in range(12)], lanes=2)
    assert len(after) == 12
    for result in after.values():
        assert (result.stats, result.steps, result.actions) == (alone.stats, alone.steps, alone.actions)


def test_a_recurrent_genome_on_both_sides_has_two_memories() -> None:
    for genome in contenders(False):
        spec = MatchSpec("x", PONG.spec, (agent(genome, "a"), agent(genome, "a")), 3, None, Limits(STEPS))
        result = played([spec])["x"]
        assert (result.scores, result.steps, result.stats) == by_hand(spec, PONG, [genome, genome])


def test_a_genome_that_overflows_forfeits_its_own_matches_and_no_other() -> None:
    genomes = [*contenders(True, count=4), overflowing()]
    players = [agent(genome, str(number)) for number, genome in enumerate(genomes)]
    pairs = [(a, b) for a in range(5) for b in range(5) if a != b]
    specs = [MatchSpec(f"{a}-{b}", PONG.spec, (players[a], players[b]), 11, None, Limits(STEPS)) for a, b in pairs]
    results = played(specs, lanes=8, quarantine_after=None)
    assert set(results) == {spec.id for spec in specs}
    for spec, (a, b) in zip(specs, pairs, strict=True):
        result = results[spec.id]
        if 4 in (a, b):
            assert result.ending.kind is EndingKind.EXCEPTION
            assert result.ending.seats == ((a, b).index(4),)
            assert "too large" in result.ending.reason
            assert result.ranks == ((2, 1) if a == 4 else (1, 2))
        else:
            assert (result.scores, result.steps, result.stats) == by_hand(spec, PONG, [genomes[a], genomes[b]])


@pytest.mark.parametrize(
    ("inputs", "outputs", "words"), [(7, 3, "inputs = 7: must be 8"), (8, 4, "outputs = 4: must be 3")]
)
def test_a_genome_of_another_shape_is_refused_by_name(inputs: int, outputs: int, words: str) -> None:
    other = all_of(bred(True, generations=0, num_inputs=inputs, num_outputs=outputs))[0]
    with pytest.raises(BadValue, match=f"genome.{words}, as in pong"):
        NeatPilot(PONG, 2).load(agent(other, "x"))


def test_an_invalid_payload_forfeits_with_its_reason() -> None:
    ill = AgentSpec("ill", KIND.name, b'{"format": "pickle"}', KIND.version)
    spec = MatchSpec("x", PONG.spec, (agent(contenders(True)[0], "well"), ill), 1)
    result = played([spec])["x"]
    assert (result.ending.kind, result.ending.seats) == (EndingKind.CANNOT_START, (1,))
    assert "genome" in result.ending.reason


def test_genomes_play_every_game_that_is_small_enough(pong: Game) -> None:
    assert KIND.plays(pong)
    assert KIND.plays(new_game("tictactoe"))
    assert KIND.plays(new_game("bids"))
