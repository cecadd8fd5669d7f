"""Options, codec, registry: what they refuse, and that they say why."""

from __future__ import annotations

import dataclasses
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine import codec
from engine.errors import BadValue, BrokenPlugin, UnknownName, VersionMismatch
from engine.options import build, items, option, parse
from engine.play.match import AgentSpec, Ending, EndingKind, GameSpec, Limits, MatchResult, MatchSpec
from engine.registry import GAMES, KINDS, Registry, agents_for, game_of, kind_of, new_game


@dataclass(frozen=True)
class Example:
    count: int = option(3, low=1, high=9, help="a count")
    speed: float = option(1.5, low=0.0, help="a speed")
    loud: bool = option(False, help="a switch")
    style: str = option("a", choices=("a", "b"), help="a style")


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"count": 0}, ["count = 0", "from 1 to 9"]),
        ({"count": 2.0}, ["count = 2.0", "int"]),
        ({"count": True}, ["count = True", "int"]),
        ({"speed": -0.1}, ["speed = -0.1", "at least 0.0"]),
        ({"speed": float("nan")}, ["speed = nan", "finite"]),
        ({"speed": float("inf")}, ["speed = inf", "finite"]),
        ({"loud": 1}, ["loud = 1", "bool"]),
        ({"style": "c"}, ["style = 'c'", "'a', 'b'"]),
    ],
)
def test_a_bad_value_is_named_with_what_it_must_be(values: dict[str, object], words: list[str]) -> None:
    with pytest.raises(BadValue) as caught:
        build(Example, values)
    assert all(word in str(caught.value) for word in words), str(caught.value)


def test_the_nearest_known_option_is_suggested() -> None:
    with pytest.raises(UnknownName, match="unknown option 'conut': did you mean 'count'"):
        build(Example, {"conut": 1})


def test_options_are_read_from_text() -> None:
    assert parse(Example, {"count": "7", "speed": "2", "loud": "yes"}) == Example(7, 2.0, True)
    assert items(Example()) == (("count", 3), ("loud", False), ("speed", 1.5), ("style", "a"))
    with pytest.raises(BadValue, match="count = 'seven': must be a whole number"):
        parse(Example, {"count": "seven"})
    with pytest.raises(BadValue, match="speed = 'fast': must be a number"):
        parse(Example, {"speed": "fast"})
    with pytest.raises(BadValue, match="loud = 'maybe': must be yes or no"):
        parse(Example, {"loud": "maybe"})


SPEC = MatchSpec("m", GameSpec("pong", 1, (("a", True), ("b", 1), ("c", 1.0))), (AgentSpec("x", "k", b"\x00\xff"),), 5)


def test_specs_and_results_are_unchanged_by_a_round_trip() -> None:
    result = MatchResult(
        "m", ("x",), (0.1,), (1,), 3, Ending(EndingKind.CRASH, (0,), "why"), ((1.0, 2.5),), b"\x01", False, 0.25
    )
    assert codec.load(MatchSpec, codec.dump(SPEC)) == SPEC
    back = codec.load(MatchSpec, codec.dump(SPEC)).game.options
    assert [type(value) for _, value in back] == [bool, int, float]
    assert codec.load(MatchResult, codec.dump(result)) == result


@given(st.integers(0, 2**64 - 1), st.text(), st.none() | st.text(), st.none() | st.integers(1, 2**32 - 1))
def test_any_spec_is_unchanged_by_a_round_trip(seed: int, name: str, start: str | None, steps: int | None) -> None:
    spec = MatchSpec(name, GameSpec(name, 1), (), seed, start, Limits(steps))
    assert codec.load(MatchSpec, codec.dump(spec)) == spec


GOOD = codec.dump(SPEC)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", ["JSON"]),
        ("[" * 100_000, ["JSON"]),
        (GOOD[:-5], ["JSON"]),
        ('{"id": 1, "id": 2}', ["duplicate key 'id'"]),
        (GOOD.replace('"seed":5', '"seed":NaN'), ["NaN"]),
        (GOOD.replace('"seed":5', '"seed":5.5'), ["file.seed = 5.5", "int"]),
        (GOOD.replace('"seed":5', '"sead":5'), ["'sead'", "seed"]),
        (GOOD.replace('"seed":5,', ""), ["file.seed", "given"]),
        (GOOD.replace('"AP8="', '"*"'), ["file.players[0].payload", "base64"]),
        (GOOD.replace('["a",true]', '["a"]'), ["file.game.options[0]", "a list of 2"]),
        ("7", ["an object (MatchSpec)"]),
    ],
)
def test_errors_in_malformed_records_name_the_field(text: str, words: list[str]) -> None:
    with pytest.raises(BadValue) as caught:
        codec.load(MatchSpec, text)
    assert all(word in str(caught.value) for word in words), str(caught.value)


def test_the_nearest_known_name_is_suggested() -> None:
    with pytest.raises(UnknownName, match="unknown game 'pomg': did you mean 'pong'"):
        new_game("pomg")
    with pytest.raises(UnknownName, match="unknown option of pong 'point': did you mean 'points'"):
        new_game("pong", point=3)
    with pytest.raises(UnknownName, match="unknown agent kind 'pong-bots': did you mean 'pong-bot'"):
        KINDS.get("pong-bots")
    with pytest.raises(UnknownName, match="unknown thing 'five_v1': did you mean 'many:five_v1'"):
        raise UnknownName("thing", "five_v1", ["one"], ["many:five_v1"])
    with pytest.raises(UnknownName, match="'many:five': did you mean 'many:five_v1'"):
        raise UnknownName("thing", "many:five", ["many:five_v1", "many:six_v1"])


def test_known_names_are_listed_if_none_is_near() -> None:
    with pytest.raises(UnknownName, match=r"'players': known: frames, .*, pillars, radius, seats, turns, width$"):
        new_game("treasure-hunt", players=2)
    with pytest.raises(UnknownName, match=r"'seets': did you mean 'seats'\? \(known: frames, gem_chance, "):
        new_game("treasure-hunt", seets=2)
    with pytest.raises(UnknownName, match=r"unknown thing 'many:foo': known: many:0, .*, many:4, many:5, \.\.\.$"):
        raise UnknownName("thing", "many:foo", [f"many:{place}" for place in range(16)])
    with pytest.raises(UnknownName, match="unknown thing 'many:foo': known: many:foozpong_v3, many:go_v5"):
        raise UnknownName("thing", "many:foo", ["many:go_v5", "many:foozpong_v3"])
    with pytest.raises(UnknownName, match="unknown thing 'foo': known: none"):
        raise UnknownName("thing", "foo", [])


def test_the_error_of_a_missing_plug_in_names_the_agent() -> None:
    with pytest.raises(UnknownName, match="unknown agent kind 'mater': 'M' is of that kind, which is not installed"):
        kind_of(AgentSpec("M", "mater"))
    with pytest.raises(UnknownName, match="unknown agent kind 'pong-bots': did you mean 'pong-bot'"):
        kind_of(AgentSpec("M", "pong-bots"))


def test_another_version_of_rules_or_agents_is_refused() -> None:
    with pytest.raises(VersionMismatch, match="game 'pong' was recorded with version 99, but version 1 is installed"):
        game_of(GameSpec("pong", 99))
    with pytest.raises(VersionMismatch, match=r"agent 'old \(pong-bot\)' was recorded with version 0"):
        kind_of(AgentSpec("old", "pong-bot", b"", 0))


PLUGIN = """
[ringside.games]
sound = sound_game:Sound
unsound = no_such_module:Game
pong = sound_game:Sound

[ringside.agents]
explodes = explodes:KIND
leaves = leaves:KIND
a-class = sound_game:Sound
misnamed = sound_game:NAMED

[ringside.trainers]
patience = sound_game:patience
"""


@pytest.fixture
def plugin(tmp_path: Path) -> Path:
    """An installed distribution with working and broken entry points."""
    info = tmp_path / "a_plugin-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: a-plugin\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(PLUGIN)
    (tmp_path / "explodes.py").write_text("raise RuntimeError('boom')\n")
    (tmp_path / "leaves.py").write_text("import sys\nsys.exit(3)\n")
    (tmp_path / "sound_game.py").write_text(
        "from tests.plugins.bids import KIND as NAMED, Bids\n"
        "class Sound(Bids):\n    name = 'sound'\n"
        "patience = object()\n"
    )
    return tmp_path


def test_a_broken_plug_in_is_reported_by_name_and_the_rest_works(plugin: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(plugin))
    games: Registry[object] = Registry("game", "ringside.games")
    assert {"pong", "sound"} <= set(games.working())
    assert games.get("sound").__name__ == "Sound"
    assert "game 'unsound' of a-plugin cannot be loaded: ModuleNotFoundError" in games.problems["unsound"]
    assert any("'pong' is registered twice" in problem for problem in games.problems.values())
    with pytest.raises(BrokenPlugin, match="'explodes' of a-plugin cannot be loaded: RuntimeError: boom"):
        Registry("agent kind", "ringside.agents").get("explodes")
    assert Registry("trainer", "ringside.trainers").names() == ["hybrid", "independent", "neat", "patience", "ppo"]
    kinds: Registry[object] = Registry("agent kind", "ringside.agents", KINDS._check)
    assert {"pong-bot", "dice"} <= set(kinds.working())
    reasons = {name: kinds.problems[name].partition("loaded: ")[2] for name in ("leaves", "a-class", "misnamed")}
    assert reasons["leaves"] == "SystemExit: 3"
    assert "is not an AgentKind" in reasons["a-class"]
    assert "the name it is registered under" in reasons["misnamed"]


def test_a_kind_whose_code_fails_is_reported_and_the_rest_works() -> None:
    def fails(game: object) -> bool:
        raise ZeroDivisionError("who knows")

    KINDS.add("vague", dataclasses.replace(KINDS.get("bidder"), name="vague", plays=fails))
    try:
        assert "pong-bot" in agents_for(new_game("pong"))
        assert "who knows" in KINDS.problems.pop("vague")
    finally:
        KINDS.remove("vague")


def test_the_command_line_works_with_a_broken_plug_in(plugin: Path) -> None:
    path = os.pathsep.join([str(plugin), str(Path(__file__).parents[2])])
    done = subprocess.run(
        [sys.executable, "-m", "league_app", "list"],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": path},
        check=True,
    )
    assert "sound" in done.stdout
    assert "pong-bot" in done.stdout
    assert "'explodes' of a-plugin cannot be loaded: RuntimeError: boom" in done.stderr


def test_names_can_be_registered_in_one_process() -> None:
    assert {"pong", "tictactoe", "bids"} <= set(GAMES.names())
