"""PettingZoo environments as games: real ones, and one with many unusual properties."""

from __future__ import annotations

import json
import os
import random
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from engine.checks import check_game
from engine.errors import BadValue, BrokenPlugin, UnknownName
from engine.games.pettingzoo import family
from engine.games.pettingzoo.boards import ZooGame
from engine.games.pettingzoo.discovery import MISSING
from engine.league.storage.league import League
from engine.play.concurrent import ConcurrentMatchExecutor
from engine.play.executors import SequentialMatchExecutor
from engine.play.match import AgentSpec, EndingKind, MatchSpec, run_digest
from engine.play.replay import verified
from engine.registry import GAMES, all_games, game_of, new_game, usual_game
from engine.scene import Sprite, Text
from league_app.cli.main import main
from tests.engine.games.ladder_env import LadderGame, ladder

LANE = np.zeros(1, np.uint32)
CLASSICS = ("tictactoe_v3", "connect_four_v3", "rps_v2", "leduc_holdem_v4", "texas_holdem_v4")


def python(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)


def dealt(game: ZooGame, seed: int = 1, lanes: int = 1) -> object:
    boards = game.boards(lanes)
    boards.deal(LANE, np.array([seed], np.uint64), [None])
    return boards


# Real environments


@pytest.mark.parametrize("member", CLASSICS)
def test_classic_environments_pass_the_checks(member: str) -> None:
    game = new_game(f"pettingzoo:{member}")
    game.render_error = "" if member == "leduc_holdem_v4" else "it takes most of the time"
    check_game(game, lanes=2, matches=2)
    assert bool(game.render_error) == (member != "leduc_holdem_v4")
    assert game_of(game.spec).spec.name == f"pettingzoo:{member}"


def test_matches_are_the_same_in_workers_and_replays_verify() -> None:
    games = [new_game(f"pettingzoo:{member}") for member in CLASSICS[1:]]
    games[-1] = new_game(games[-1].spec.name, num_players=3)
    dice = [AgentSpec(name, "dice") for name in "ABC"]
    specs = [
        MatchSpec(f"m{n}", game.spec, tuple(dice[: game.info.seats]), n, None)
        for n, game in enumerate(game for game in games for _ in range(4))
    ]
    with SequentialMatchExecutor(3) as executor:
        here = executor.execute_matches(specs)
    with ConcurrentMatchExecutor(2) as executor:
        there = executor.execute_matches(specs)
    assert {result.ending.kind for result in here} == {
        EndingKind.FINISHED,
        EndingKind.STEP_LIMIT,
    }  # rps ends by a limit
    assert run_digest(here) == run_digest(there)
    for spec, result in zip(specs, here, strict=True):
        verified(spec, result)
        assert result.scores == tuple(gained - lost for _, gained, lost in result.stats)
    assert len({result.scores for result in here}) > 3


def test_a_scene_is_the_rendered_image_of_the_environment() -> None:
    boards = dealt(new_game("pettingzoo:connect_four_v3"))
    empty = boards.scene(0)
    boards.apply(LANE, np.array([[3, -1]]))
    played = boards.scene(0)
    [before], [after] = empty.items, played.items
    assert isinstance(before, Sprite)
    assert (after.width, after.height) == (played.aspect, 1.0)
    assert len(after.rgb) == 3 * after.pixels[0] * after.pixels[1]
    assert after.rgb != before.rgb
    assert played.caption == "Connect four (PettingZoo), step 1: player_0 0, player_1 0"
    assert boards.scene(0) is played  # drawn once


@pytest.mark.usefixtures("only_ours")
def test_a_league_plays_environments_from_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, game = str(tmp_path / "four.league"), "pettingzoo:connect_four_v3"
    main(["new", path, "--game", game])
    main(["agents", "add", path, "Other", "--game", game, "--kind", "dice"])
    main(["tournament", "run", path, "--rounds", "2", "--workers", "2"])
    output = capsys.readouterr().out
    assert "4/4" in output
    assert re.search(r"digest \w+", output)
    main(["replay", path, "1.2", "--step", "3", "--png", str(tmp_path / "four.png")])
    output = capsys.readouterr().out
    assert "Replayed: same scores and statistics. Step 3 of" in output
    assert (tmp_path / "four.png").stat().st_size > 1000
    main(["reproduce", path, "1.3", "--on", "sequential"])
    assert "was reproduced exactly" in capsys.readouterr().out
    code = (
        f"import sys; from engine.league.storage.league import League; league = League({path!r}, read_only=True);"
        "print(len(league.agents()), [name for name in sys.modules if name.startswith(('pettingzoo', 'gymnasium'))])"
    )
    assert python(code).stdout == "2 []\n"  # opening the league runs no environment code
    with League(path, read_only=True) as league:
        assert game in all_games(agent.game for agent in league.agents())


def test_environments_print_nothing_to_stdout() -> None:
    command = [
        sys.executable,
        "-m",
        "league_app",
        "match",
        "pettingzoo:rps_v2",
        "Dice",
        "Dice",
        "--json",
        "--on",
        "sequential",
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert json.loads(done.stdout)["match"]["game"]["name"] == "pettingzoo:rps_v2"
    assert done.stderr == ""


# Which environments are listed, and which are refused


def test_members_are_listed_and_suggested_without_loading_them() -> None:
    members = GAMES.members()
    assert {f"pettingzoo:{member}" for member in CLASSICS} < set(members)
    assert not set(members) & set(GAMES.names())
    assert not set(members) & set(all_games())
    assert "pettingzoo:connect_four_v3" in GAMES
    assert "pettingzoo:connect_four" not in GAMES
    assert usual_game("pettingzoo:connect_four") is None
    code = (
        "import sys; from league_app.cli.main import main; main(['list']);"
        "print([name for name in sys.modules if name.startswith(('pettingzoo', 'gymnasium', 'pygame'))])"
    )
    done = python(code)
    assert "connect_four_v3" in done.stdout.replace("\n", "")
    assert done.stdout.endswith("[]\n")


def test_every_installed_environment_is_a_game_or_says_why_not() -> None:
    names, games = GAMES.members(), dict[str, object]()
    for name in names:
        try:
            games[name] = new_game(name)
        except BrokenPlugin as error:  # no other error may escape
            assert str(error).startswith(f"{name} cannot be")  # noqa: PT017
    butterflies = {f"pettingzoo:{member}" for member in ("knights_archers_zombies_v11", "cooperative_pong_v6")}
    assert {f"pettingzoo:{member}" for member in CLASSICS} | butterflies <= set(games) <= set(names)


def test_knights_archers_and_zombies_are_played() -> None:
    game = new_game("pettingzoo:knights_archers_zombies_v11", {"max_cycles": "20"})
    dice = tuple(AgentSpec(name, "dice") for name in "ABCD")
    with SequentialMatchExecutor(2) as executor:
        [result] = executor.execute_matches([MatchSpec("m", game.spec, dice, 1)])
    verified(MatchSpec("m", game.spec, dice, 1), result)
    assert result.steps == 20
    assert result.ending.kind is EndingKind.STEP_LIMIT


def test_a_module_that_raises_any_error_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(family, "options_of", lambda module: 1 / 0)
    with pytest.raises(BrokenPlugin, match="pettingzoo:rps_v2 cannot be loaded: ZeroDivisionError: division by zero"):
        family.PettingZoo().get("rps_v2")


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("pettingzoo:connect_for_v3", r"unknown game 'pettingzoo:connect_for_v3': did you mean .*connect_four_v3'\?"),
        ("conect_four_v3", r"unknown game 'conect_four_v3': did you mean 'pettingzoo:connect_four_v3'\?"),
        ("pettingzoo:antigravity", "unknown game"),
        ("pettingzoo:all_modules", "unknown game"),
        ("pettingzoo:test.api_test", "unknown game"),
        ("pettingzoo:../classic/rps_v2", "unknown game"),
        ("pettingzoo:", "unknown game"),
        ("gym:rps_v2", "unknown game"),
    ],
)
def test_an_unknown_member_imports_nothing(name: str, sentence: str) -> None:
    before = set(sys.modules)
    with pytest.raises(UnknownName, match=sentence):
        new_game(name)
    assert set(sys.modules) == before


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "chess", None)
    with pytest.raises(BrokenPlugin, match="pettingzoo:chess_v6 cannot be loaded: it needs the package 'chess'"):
        new_game("pettingzoo:chess_v6")


def test_options_are_those_of_the_environment_and_a_step_limit() -> None:
    game = new_game("pettingzoo:go_v5", {"board_size": "5", "step_limit": "3"})
    assert game.spec.options == (("board_size", 5), ("komi", 7.5), ("step_limit", 3))
    assert (game.info.actions, game.info.observation) == (26, (5, 5, 17))
    boards = dealt(game)
    for seat in (0, 1, 0):
        assert boards.acting().tolist() == [[seat == 0, seat == 1]]
        boards.apply(LANE, np.array([[1 + seat, 7 + seat]]) + 2 * len(boards._boards[0]._moves))
    assert boards.over().tolist() == [2]  # truncated
    with pytest.raises(UnknownName, match="did you mean 'board_size'"):
        new_game("pettingzoo:go_v5", board_siz=5)
    with pytest.raises(BadValue, match=r"num_actions = 4: must be a value that pettingzoo:rps_v2 accepts \(.*odd"):
        new_game("pettingzoo:rps_v2", num_actions=4)
    with pytest.raises(BrokenPlugin, match="texas_holdem_v4 cannot be used as a game: it has 11 agents"):
        new_game("pettingzoo:texas_holdem_v4", num_players=11)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"act": "box"}, "the action space of climber_0 is Box.*; only Discrete is supported"),
        ({"luck": "none"}, "it is not deterministic"),
        ({"luck": "global"}, "it is not deterministic"),
        ({"sight": "unlike"}, r"climber_0 observes the shape \(4,\), climber_1 \(3,\); all must be the same"),
        ({"sight": "odd"}, "Sequence.*which has no fixed size"),
    ],
)
def test_unsupported_environments_say_why(options: dict[str, object], sentence: str) -> None:
    with pytest.raises(BrokenPlugin, match=f"pettingzoo:ladder_v0 cannot be used as a game: .*{sentence}"):
        ladder(**options)


def test_a_refused_value_is_named_even_among_others() -> None:
    with pytest.raises(BadValue, match=r"length = 51: .*\(ValueError: no ladder is that long\)"):
        ladder(length=51)
    with pytest.raises(BadValue, match=r"options = {'length': 51, 'sight': 'pair'}|{'sight': 'pair', 'length': 51}"):
        ladder(length=51, sight="pair")


def test_without_pettingzoo_the_error_says_what_to_install() -> None:
    words = ["match", "pettingzoo:rps_v2", "Dice", "Dice"]
    done = python(f"import sys; sys.modules['pettingzoo'] = None; from league_app.cli.main import main; main({words})")
    assert done.returncode == 2
    assert done.stderr == f"ringside: pettingzoo:rps_v2 cannot be played: {MISSING}\n"
    assert f'{sys.executable} -m pip install "ringside[pettingzoo]"' in MISSING


def test_everything_else_works_without_pettingzoo() -> None:
    code = (
        "import sys; sys.modules['pettingzoo'] = sys.modules['gymnasium'] = None\n"
        "from league_app.cli.main import main; from engine.registry import GAMES, usual_game\n"
        "main(['list', '--json'])\n"
        "assert GAMES.members() == [] and usual_game('pettingzoo:rps_v2') is None\n"
        "from engine.errors import RingsideError; from engine.games.pettingzoo import env\n"
        "try: env('pong')\n"
        "except RingsideError as error: sys.stderr.write(str(error))"
    )
    done = python(code)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["problems"] == []
    assert done.stderr == MISSING


def test_a_plug_in_registers_a_third_party_environment(tmp_path: Path) -> None:
    info = tmp_path / "ringside_relay-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: ringside-relay\nVersion: 1.0\n")
    points = ('relay-race = "ringside_relay:Relay"', 'other = "ringside_relay:Other"')
    (info / "entry_points.txt").write_text("[ringside.games]\n" + "\n".join(point.replace('"', "") for point in points))
    (tmp_path / "relay_v0.py").write_text("from tests.engine.games.relay_env import Relay as parallel_env\n")
    (tmp_path / "ringside_relay.py").write_text(
        "from engine.games.pettingzoo import game_class\n"
        'Relay = game_class("relay-race", "relay_v0")\n'
        'Other = game_class("other", "relay_v0", "The other race")\n'
    )
    outputs = []
    for name in ("relay-race", "other"):
        words = ["match", name, "Dice", "Dice", "Dice", "--option", "length=5", "--on", "sequential"]
        command = [sys.executable, "-m", "league_app", *words]
        path = os.pathsep.join([str(tmp_path), *sys.path])
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=120, env={**os.environ, "PYTHONPATH": path}
        )
        assert done.returncode == 0, done.stderr
        outputs.append(done.stdout.splitlines()[-1])
    assert outputs == [
        "Relay race (PettingZoo): finished after 5 steps",
        "The other race: finished after 5 steps",
    ]


def test_members_of_families_are_distinguished_from_other_games() -> None:
    assert GAMES.in_family("pettingzoo:rps_v2")
    assert GAMES.in_family("pettingzoo:nothing_v0")  # checked only when it is loaded
    assert not any(map(GAMES.in_family, ("pong", "gym:rps_v2", "pettingzoo")))
    GAMES.add("pettingzoo:ladder_v0", LadderGame)
    try:
        assert not GAMES.in_family("pettingzoo:ladder_v0")
    finally:
        GAMES.remove("pettingzoo:ladder_v0")


# The awkward one


def test_shifted_actions_masks_and_agents_that_leave_are_supported() -> None:
    game = ladder()
    check_info = (game.info.seats, game.info.actions, game.info.observation, game.info.masked)
    assert check_info == (3, 3, (4,), True)
    boards = dealt(game)
    turns, legal = [], np.zeros((1, 3), np.bool_)
    while not boards.over()[0]:
        [seat] = np.flatnonzero(boards.acting()[0]).tolist()
        boards.legal(LANE, np.array([seat], np.uint32), legal)
        turns.append((seat, np.flatnonzero(legal[0]).tolist()))
        boards.apply(LANE, np.full((1, 3), turns[-1][1][-1]))
    assert turns == [(0, [1, 2]), (1, [0]), (2, [1]), (0, [0, 2]), (1, [1]), (2, [0]), (0, [1, 2]), (1, [0])]
    assert boards.over().tolist() == [2]  # a limit ended it for the last agents
    stats = boards.stats(LANE)[0]
    assert stats[:, 0].tolist() == [3, 3, 2]
    assert np.allclose(boards.scores()[0], stats[:, 1] - stats[:, 2])
    assert boards.scores()[0, 0] > 0


def test_an_environment_with_dict_observations_passes_the_checks() -> None:
    GAMES.add("pettingzoo:ladder_v0", LadderGame)
    try:
        game = ladder(sight="pair")
        assert game.info.observation == (7,)
        check_game(game, matches=2)
    finally:
        GAMES.remove("pettingzoo:ladder_v0")


def test_a_match_ended_by_the_rules_is_not_truncated() -> None:
    boards = dealt(new_game("pettingzoo:tictactoe_v3"))
    for cell in (0, 3, 1, 4, 2):
        assert boards.over().tolist() == [0]
        boards.apply(LANE, np.full((1, 2), cell))
    assert boards.over().tolist() == [1]
    assert boards.scores().tolist() == [[1.0, -1.0]]
    limited = dealt(new_game("pettingzoo:rps_v2", max_cycles=2))
    for _ in range(2):
        limited.apply(LANE, np.array([[0, 1]]))
    assert limited.over().tolist() == [2]
    assert limited.scores().tolist() == [[-2.0, 2.0]]


def test_the_global_random_generators_are_unchanged() -> None:
    random.seed(5)
    np.random.seed(5)
    before = random.getstate(), np.random.get_state()[1].tolist()
    game = ladder(luck="vandal")  # it seeds the global generators, but does not draw from them
    assert game.traits.uses_global_rng
    boards = dealt(game)
    boards.apply(LANE, np.full((1, 3), 1))
    boards.copy(0, 0)
    boards.observe(LANE, LANE, np.zeros((1, 4), np.float32))
    assert (random.getstate(), np.random.get_state()[1].tolist()) == before
    assert not ladder().traits.uses_global_rng


def test_a_copy_creates_no_environment_until_it_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    game = new_game("pettingzoo:tictactoe_v3")
    monkeypatch.setattr(game, "can_copy", bool)  # as if its tables could not be copied
    boards, actions = dealt(game, lanes=3), []
    whole = ZooGame.environment
    monkeypatch.setattr(ZooGame, "environment", lambda *given: actions.append(given) or whole(*given))
    for cell in (4, 0):
        boards.apply(LANE, np.full((3, 2), cell))
    boards.copy(0, 1)
    boards.copy(0, 2)
    assert boards.scores().shape == (3, 2)
    assert not actions
    boards.apply(LANE, np.full((3, 2), 1))
    boards.apply(np.array([2], np.uint32), np.full((3, 2), 8))
    assert len(actions) == 1
    seen = np.zeros((3, 3, 3, 2), np.float32)
    boards.observe(np.arange(3, dtype=np.uint32), np.zeros(3, np.uint32), seen)
    assert len(actions) == 2
    assert seen.sum((1, 2, 3)).tolist() == [3, 2, 3]
    assert not np.array_equal(seen[0], seen[2])
    boards.copy(2, 1)  # its own moves, not those of its source
    boards.observe(np.arange(3, dtype=np.uint32), np.zeros(3, np.uint32), seen)
    assert np.array_equal(seen[1], seen[2])


def test_a_match_that_cannot_be_drawn_has_a_caption() -> None:
    game = ladder()
    boards = dealt(game)
    [item] = boards.scene(0).items
    assert isinstance(item, Text)
    text = "Ladder (PettingZoo), step 0: climber_0 0, climber_1 0, climber_2 0"
    assert boards.scene(0).caption == f"{text} (no picture: NotImplementedError)"
