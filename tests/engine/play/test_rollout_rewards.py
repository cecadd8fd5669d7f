"""Rewards besides the score: changes of statistics and of measures that results do not contain."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from agents.training.rollouts import RolloutPool
from engine.checks import check_game
from engine.errors import UnknownName
from engine.game import Game
from engine.play.match import MatchSpec
from engine.play.rollout import Plan, Rollout, Trajectories
from engine.play.rollout_process import RolloutProcess
from engine.registry import GAMES, KINDS, game_of, new_game
from engine.seeding import derive
from tests.engine.games.shogi_helpers import ONE, dealt, play
from tests.plugins import nets, plans, tictactoe

WORTH = {"P": 1, "L": 3, "N": 4, "S": 5, "G": 6, "B": 8, "R": 10, "K": 0}
WORTH |= {"+P": 7, "+L": 6, "+N": 6, "+S": 6, "+B": 10, "+R": 12}
WEIGHTS = {"pong": {"hits": 0.25, "misses": -0.125}, "treasure-hunt": {"bumps": -0.5, "gems": 0.3}}


@pytest.fixture(autouse=True, scope="module")
def registered() -> Iterator[None]:
    KINDS.add(nets.KIND.name, nets.KIND)
    yield
    KINDS.remove(nets.KIND.name)


def shogi_plan(game: Game, start: str | None = None) -> Plan:
    me = nets.agent("me", game, [4], 7)
    return lambda stream, k: MatchSpec(f"{stream}.{k}", game.spec, (me, me), derive("rewards", stream, k), start)


def rolled(game: Game, plan: Plan, steps: int, streams: int = 3, **options: object) -> Trajectories:
    with Rollout(game, range(streams), plan, **options) as rollout:  # type: ignore[arg-type]
        return rollout.collect(steps)


def material(sfen: str) -> list[int]:
    """Of Black and White, counted in the text of a position."""
    board, _, hands, _ = sfen.split()
    pieces = [(1, piece) for piece in re.findall(r"\+?[A-Za-z]", board)]
    pieces += [(int(count or 1), piece) for count, piece in re.findall(r"(\d*)([A-Za-z])", hands)]
    totals = [0, 0]
    for count, piece in pieces:
        totals[piece[-1].islower()] += count * WORTH[piece.upper()]
    return totals


def test_material_follows_captures_promotions_and_drops() -> None:
    boards = dealt("startpos")
    assert boards.measures(ONE)[0].tolist() == [[63], [63]]  # 9 pawns, 4 x 2 pieces, a bishop and a rook
    for move, expected in (
        ("7g7f", (63, 63)),
        ("3c3d", (63, 63)),
        ("8h2b+", (63 + 8 + 2, 63 - 8)),  # takes a bishop, and is promoted from 8 to 10
        ("3a2b", (63 + 8 - 8, 63)),  # takes the horse, which is a bishop in hand
        ("B*5e", (63, 63)),
        ("2b3c", (63, 63)),
        ("5e3c+", (63 + 5 + 2, 58)),  # takes a silver
        ("2a3c", (63 + 5 - 8, 58 + 8)),
    ):
        play(boards, move)
        assert tuple(boards.measures(ONE)[0, :, 0]) == expected, move
        assert tuple(material(boards.position(0, 0).sfen)) == expected, move


@pytest.mark.parametrize("compiled", [True, False])
def test_rewards_are_the_score_and_the_material_counted_in_texts(compiled: bool) -> None:
    game = new_game("shogi", move_limit=60)
    segment = rolled(game, shogi_plan(game), 150, 1, rewards={"material": 0.5}, compiled=compiled)
    boards, step, gained = game.boards(1), 0, set()
    for k, result in enumerate(segment.results):
        spec = shogi_plan(game)(0, k)
        boards.deal(ONE, np.array([spec.seed], np.uint64), [None])
        totals = [boards.scores()[0] + 0.5 * np.array(material(boards.position(0, 0).sfen))]
        for turn in range(step, step + result.steps):
            boards.apply(ONE, segment.actions[0, turn][None])
            totals.append(boards.scores()[0] + 0.5 * np.array(material(boards.position(0, 0).sfen)))
        found = segment.rewards[0, step : step + result.steps]
        expected = [after - before for before, after in pairwise(totals)]
        assert np.allclose(found, expected, atol=1e-6)
        gained |= set(found[:, 0].tolist())
        step += result.steps
    assert len(segment.results) >= 2
    assert len(gained) > 3


@pytest.mark.parametrize("name", ["pong", "treasure-hunt"])
def test_the_rewards_of_a_match_add_up_to_its_score_and_statistics(name: str) -> None:
    game = game_of(plans.game_spec(name))
    me = nets.agent("me", game, [8], 3)
    weights = WEIGHTS[name]

    def plan(stream: int, k: int) -> MatchSpec:
        return MatchSpec(f"{stream}.{k}", game.spec, (me,) * game.info.seats, derive("sum", stream, k))

    segment = rolled(game, plan, 200, 1, rewards=weights)
    step = 0
    for result in segment.results:
        stats = np.array(result.stats)[:, [game.info.stats.index(stat) for stat in weights]]
        expected = np.array(result.scores) + stats @ np.array(list(weights.values()))
        found = segment.rewards[0, step : step + result.steps].sum(axis=0, dtype=np.float64)
        assert np.allclose(found, expected, atol=1e-5)
        step += result.steps
    assert step
    plain = rolled(game, plan, 200, 1)
    assert np.array_equal(plain.actions, segment.actions)  # only the rewards differ
    assert not np.array_equal(plain.rewards, segment.rewards)


@pytest.mark.parametrize("name", ["pong", "treasure-hunt", "shogi"])
def test_compiled_matches_and_ticks_give_the_same_rewards(name: str) -> None:
    game = game_of(plans.game_spec(name))
    me = nets.agent("me", game, [8], 3)
    weights = WEIGHTS.get(name, {"material": 0.03, "checks": 0.1})

    def plan(stream: int, k: int) -> MatchSpec:
        return plans.mixed({"me": me}, stream, k, name, game.info.seats)

    compiled, ticked = (rolled(game, plan, 90, rewards=weights, compiled=marching) for marching in (True, False))
    assert compiled.rewards.tobytes() == ticked.rewards.tobytes()
    assert compiled.actions.tobytes() == ticked.actions.tobytes()
    assert len(np.unique(ticked.rewards)) > 2


def test_rewards_reach_processes_and_pools() -> None:
    name, weights = "pong", WEIGHTS["pong"]
    game = game_of(plans.game_spec(name))
    me = nets.agent("me", game, [8], 3)
    settings = {"game": name, "seats": 2}
    expected = rolled(game, lambda stream, k: plans.mixed({"me": me}, stream, k, name, 2), 60, rewards=weights)
    given = {"settings": settings, "rewards": weights, "plugins": ["tests.plugins.plans"]}
    with RolloutProcess(game.spec, range(3), "tests.plugins.plans:mixed", [me], **given) as process:  # type: ignore[arg-type]
        assert process.collect(60).rewards.tobytes() == expected.rewards.tobytes()
    with RolloutPool(game, range(3), "tests.plugins.plans:mixed", [me], lambda: 2, **given) as pool:  # type: ignore[arg-type]
        assert pool.collect(60).rewards.tobytes() == expected.rewards.tobytes()


def test_an_unknown_reward_names_the_known_ones() -> None:
    game = new_game("shogi")
    words = "statistic or measure of shogi.*'materiel'.*material"
    with pytest.raises(UnknownName, match=words):
        Rollout(game, [0], shogi_plan(game), rewards={"materiel": 1.0})
    with pytest.raises(UnknownName, match=words):
        RolloutProcess(game.spec, [0], "tests.plugins.plans:mixed", [], rewards={"materiel": 1.0})


class Centre(tictactoe.TicTacToeBoard):
    def measures(self, seat: int) -> list[float]:
        return [float(self._now.cells[4] == seat)]


class CentreGame(tictactoe.TicTacToe):
    name = "centre"
    info = replace(tictactoe.TicTacToe.info, measures=("centre",))

    def new(self, seed: int, start: str | None) -> Centre:
        return Centre(start)


def test_measures_of_a_game_in_plain_python_are_rewarded() -> None:
    GAMES.add("centre", CentreGame)
    try:
        game = new_game("centre")
        check_game(game)
        me = nets.agent("me", game, [4], 7)
        segment = rolled(game, lambda stream, k: MatchSpec(str(k), game.spec, (me, me), k), 9, rewards={"centre": 0.25})
        steps, seats = np.nonzero(segment.actions[0] * segment.acted[0] == 4)
        first = segment.ends[0].tolist().index(1)
        assert [seat for step, seat in zip(steps, seats, strict=True) if step <= first] == [
            seat for step in range(first + 1) for seat in range(2) if segment.rewards[0, step, seat] % 1 == 0.25
        ]
        assert (segment.rewards % 1 == 0.25).any()
    finally:
        GAMES.remove("centre")
