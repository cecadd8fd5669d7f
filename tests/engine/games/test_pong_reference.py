"""Pong against an independent version in plain Python: the same scores, statistics and actions, to the bit."""

from __future__ import annotations

from agents.scripted.pong import parse_bot
from engine.games.pong.game import Pong, PongOptions
from engine.play.executors import SequentialMatchExecutor
from engine.play.match import MatchSpec
from engine.registry import KINDS
from tests.benchmarks import reference


def test_kernels_and_plain_python_play_the_same_matches() -> None:
    for options in (PongOptions(points=2), PongOptions(points=2, paddle_height=61.5, paddle_speed=7.3, top_speed=44.0)):
        game = Pong(options)
        agents = list(KINDS.get("pong-bot").samples(game))
        specs = [
            MatchSpec(f"{a.id} {b.id}", game.spec, (a, b), n)
            for n, (a, b) in enumerate(zip(agents, agents[::-1], strict=True))
        ]
        with SequentialMatchExecutor(4) as executor:
            results = executor.execute_matches(specs)
        for spec, result in zip(specs, results, strict=True):
            expected = reference.play(options, spec.seed, [parse_bot(player.payload) for player in spec.players])
            assert (result.scores, result.steps, result.stats, result.actions) == expected
