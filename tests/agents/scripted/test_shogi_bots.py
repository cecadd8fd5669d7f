"""The scripted Shogi players: different in strength, by intervals that do not overlap, and the same everywhere."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest

from agents.scripted.shogi import KIND, SAMPLES, Bot, agent, parse_bot
from agents.scripted.shogi_search import FRAMES, MATE, WORTH, evaluate, make_next, new_frames, search
from engine.errors import RingsideError
from engine.games.shogi.attacks import in_check, threats
from engine.games.shogi.moves import MAX_MOVES, list_moves
from engine.games.shogi.notation import START, read_sfen, write_usi
from engine.games.shogi.play import FROM, PROMOTING, TARGET
from engine.games.shogi.tables import KING, SIDE
from engine.play.executors import SequentialMatchExecutor
from engine.play.match import Limits, MatchSpec
from engine.registry import new_game
from engine.seeding import derive
from tests.engine.games.shogi_helpers import ONE, dealt

MANY_DROPS = "l6nl/5+P1gk/2np1S3/p1p4Pp/3P2Sp1/1PPb2P1P/P5GS1/R8/LN4bKL w GR5pnsg 1"
PROMOTED_PIECES = "8l/1l+R2P3/p2pBG1pp/kps1p4/Nn1P2G2/P1P1P2PP/1PS6/1KSG3+r1/LN2+p3L w Sbgn3p 124"
FILE = Path(__file__).parents[2] / "golden" / "shogi.json"


@pytest.mark.parametrize(
    ("better", "worse", "pairs"),
    [
        ("Magpie", "Pebble", 30),
        ("Merchant", "Magpie", 100),
        ("Apprentice", "Merchant", 10),
        ("Adept", "Apprentice", 12),
        ("Master", "Adept", 14),
    ],
)
def test_each_bot_beats_the_next_one(better: str, worse: str, pairs: int) -> None:
    game = new_game("shogi", opening="random")
    known = {agent.id: agent for agent in KIND.samples(game)}
    specs = [
        MatchSpec(f"{pair}-{seat}", game.spec, (known[worse], known[better])[:: 1 - 2 * seat], derive("bots", pair))
        for pair in range(pairs)
        for seat in range(2)
    ]
    with SequentialMatchExecutor() as executor:
        results = executor.execute_matches(specs)
    points = [result.scores[result.players.index(better)] for result in results]
    halves = [(points[k] + points[k + 1]) / 2 for k in range(0, len(points), 2)]  # by pair of games
    mean = sum(halves) / pairs
    error = math.sqrt(sum((half - mean) ** 2 for half in halves) / pairs / pairs)
    assert mean - 3 * error > 0.5, f"{better} scores {mean:.3f} +- {error:.3f} against {worse}"


def best(sfen: str, depth: int) -> str:
    frames = new_frames()
    frames[0][0], frames[1][0], _ = read_sfen(sfen)
    return write_usi(search(frames, depth, np.zeros(2187, np.int64)))


def test_a_search_finds_mates_and_hanging_pieces() -> None:
    assert best("4k4/9/4P4/9/9/9/9/9/4K4 b G 1", 1) == "G*5b"
    assert best("k8/9/9/4r4/4L4/9/9/9/K8 b - 1", 2) == "5e5d"
    assert best("k8/9/4g4/4p4/4R4/9/9/9/K8 b - 1", 2) != "5e5d", "the pawn is guarded"
    assert best("k8/9/9/4p4/4R4/9/9/9/K8 b - 1", 2) == "5e5d"


def test_the_evaluation_is_symmetric() -> None:
    cells, sets, _ = read_sfen(START)
    assert evaluate(cells, sets) == 0
    black, _, _ = first = read_sfen("4k4/9/9/4r4/9/2P6/9/9/3K5 b G 1")
    white = read_sfen("5k3/9/9/6p2/9/4R4/9/9/4K4 w g 1")
    assert black[SIDE] == 0
    assert evaluate(*first[:2]) == evaluate(*white[:2])
    assert abs(evaluate(*white[:2])) < MATE


@pytest.mark.parametrize("seed", range(12))
def test_the_value_after_a_move_is_that_of_a_new_evaluation(seed: int) -> None:
    rng = np.random.default_rng(seed)
    frames = new_frames()
    cells, sets, states, moves = frames[0], frames[1], frames[6], np.zeros(MAX_MOVES, np.int32)
    cells[0], sets[0], _ = read_sfen((START, MANY_DROPS, PROMOTED_PIECES)[seed % 3])
    kings = drops = captures = promotions = 0
    for _ in range(12):
        states[0, WORTH] = evaluate(cells[0], sets[0])
        for ply in range(FRAMES):
            count, _ = list_moves(cells[ply], sets[ply], moves, 0)
            if count == 0:
                break
            move = int(moves[rng.integers(count)])
            source, target = move >> FROM & 127, move >> TARGET & 127
            kings += source < 81 and int(cells[ply, source]) & 15 == KING
            drops += source == 81
            captures += cells[ply, target] != 0
            promotions += move >> PROMOTING & 1
            make_next(frames, ply, move)
            assert states[ply + 1, WORTH] == evaluate(cells[ply + 1], sets[ply + 1]), write_usi(move)
            checks = threats(cells[ply + 1], sets[ply + 1], int(cells[ply + 1, SIDE]))[2]
            assert in_check(cells[ply + 1], sets[ply + 1]) == (checks > 0), write_usi(move)
        cells[0], sets[0] = cells[ply], sets[ply]
    assert min(kings, drops, captures, promotions) > 0, "otherwise not every sort of move was tried"


def test_a_bot_chooses_among_equal_moves_by_the_seed_of_its_match() -> None:
    game = new_game("shogi", opening="none")
    for name in SAMPLES:
        player = agent(name, SAMPLES[name])
        specs = [MatchSpec(str(seed), game.spec, (player, player), seed, None, Limits(1)) for seed in range(8)]
        with SequentialMatchExecutor() as executor:
            first = [result.actions for result in executor.execute_matches(specs)]
            assert [result.actions for result in executor.execute_matches(specs)] == first
        assert len(set(first)) > 1, name


def test_the_six_samples_have_their_names_as_ids() -> None:
    assert [agent.id for agent in KIND.samples(new_game("shogi"))] == list(SAMPLES)
    assert {bot.depth for bot in SAMPLES.values() if bot.style == "search"} == {1, 2, 3}
    assert not KIND.plays(new_game("pong"))


def test_a_payload_holds_the_bots_parameters() -> None:
    bot = Bot("search", depth=4)
    assert parse_bot(agent("x", bot).payload) == bot
    assert parse_bot(b"") == Bot()


@pytest.mark.parametrize(
    ("payload", "words"),
    [
        (b"{", "JSON"),
        (b"[]", "a JSON object"),
        (b'{"style": "wizard"}', "style = 'wizard'"),
        (b'{"depth": 0}', "depth = 0"),
        (b'{"dept": 2}', "did you mean 'depth'"),
    ],
)
def test_an_invalid_payload_names_the_parameter(payload: bytes, words: str) -> None:
    with pytest.raises(RingsideError, match=words):
        parse_bot(payload)


def records() -> list[dict[str, object]]:
    game, other = new_game("shogi"), new_game("shogi", opening="random", move_limit=60)
    known = list(KIND.samples(game))
    specs = [
        MatchSpec(f"{n}-{a.id}-{b.id}", (game, other)[n % 2].spec, (a, b), 1000 + n, (None, "startpos")[n % 3 == 0])
        for n, (a, b) in enumerate(zip(known, known[1:] + known[:1], strict=True))
    ]
    with SequentialMatchExecutor(4) as executor:
        results = executor.execute_matches(specs)
    return [
        {"id": result.id, "steps": result.steps, "scores": list(result.scores), "digest": result.digest().hex()}
        for result in results
    ]


def test_golden_matches_are_unchanged() -> None:
    """After a deliberate change, raise the version of the game or kind and run this module to write the file anew."""
    assert records() == json.loads(FILE.read_text())


def test_masks_are_the_legal_moves_of_the_position() -> None:
    boards = dealt("startpos moves 7g7f 3c3d 8h2b+")
    out = np.ones((1, 2187), np.bool_)
    boards.legal(ONE, np.array([1], np.uint32), out)
    assert np.flatnonzero(out[0]).tolist() == boards.position(0, 1).legal().tolist()


if __name__ == "__main__":
    FILE.write_text("[\n" + ",\n".join(json.dumps(row) for row in records()) + "\n]\n")
