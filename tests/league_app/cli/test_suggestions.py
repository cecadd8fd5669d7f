"""Unknown options of a command: the nearest known one is suggested, or how to set an option of the game.
Texts that are no numbers are refused in plain words."""

from __future__ import annotations

import pytest

from tests.league_app.cli.commands import Capture, run_rejected

pytestmark = pytest.mark.usefixtures("only_ours")
LEAGUE = "none.league"  # options are read before a league is opened


@pytest.mark.parametrize(("arguments", "expected"), [
    (["train", "independent", LEAGUE, "--epocks", "3"], "--epocks 3: did you mean --epochs? (see"),
    (["train", "independent", LEAGUE, "--epocks=3"], "--epocks=3: did you mean --epochs? (see"),
    (["train", "resume", LEAGUE, "--wrokers", "3"], "did you mean --workers?"),
    (["standings", LEAGUE, "--jsno"], "did you mean --json?"),
    (["tournament", "run", LEAGUE, "--ruonds", "3"], "did you mean --rounds?"),
    (["--verison"], "did you mean --version?"),
])  # fmt: skip
def test_the_nearest_option_is_suggested(arguments: list[str], expected: str, capsys: Capture) -> None:
    assert expected in run_rejected(capsys, *arguments)


@pytest.mark.parametrize("text", [["--seats", "5"], ["--seats=5"]])
def test_an_option_of_the_game_is_explained(text: list[str], capsys: Capture) -> None:
    error = run_rejected(capsys, "match", "treasure-hunt", "Dice", "Dice", *text)
    assert "seats is an option of treasure-hunt: use --option seats=5 (see" in error
    error = run_rejected(capsys, "train", "independent", LEAGUE, *text)  # other installed games may have it too
    assert ": seats is an option of " in error
    assert ": use --option seats=5 (see" in error


def test_an_option_of_another_game_is_not_suggested(capsys: Capture) -> None:
    error = run_rejected(capsys, "train", "ppo", LEAGUE, "--game", "pong", "--board-size", "5")
    assert "unrecognized arguments: --board-size 5 (see" in error
    assert "use --option points=VALUE" in run_rejected(capsys, "train", "ppo", LEAGUE, "--points")


@pytest.mark.parametrize(("arguments", "expected"), [
    (["train", "independent", LEAGUE, "--workers", "two"], "argument --workers: 'two' must be a whole number (see"),
    (["train", "resume", LEAGUE, "--workers", "1.5"], "argument --workers: '1.5' must be a whole number (see"),
    (["tournament", "run", LEAGUE, "--games", "x"], "argument --games: 'x' must be a whole number (see"),
    (["sprt", LEAGUE, "--elo0", "x"], "argument --elo0: 'x' must be a number (see"),
])  # fmt: skip
def test_an_option_with_another_type_says_what_it_must_be(arguments: list[str], expected: str, capsys: Capture) -> None:
    assert expected in run_rejected(capsys, *arguments)


def test_nothing_is_suggested_for_other_words(capsys: Capture) -> None:
    assert "--colour red (see" in run_rejected(capsys, "match", "pong", "Dice", "Dice", "--colour", "red")
    assert "more (see" in run_rejected(capsys, "standings", LEAGUE, "more")
