"""The command that compares what agents of a league and bots score, which the guide's page of figures names."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from engine.errors import BadValue
from league_app.cli.main import main
from tests.benchmarks import scores

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def league(tmp_path: Path, capsys: Capture) -> str:
    path = str(tmp_path / "hunt.league")
    main(["new", path, "--game", "treasure-hunt"])
    capsys.readouterr()
    return path


def numbers(capsys: Capture) -> list[float]:
    return [float(text.replace(",", "")) for text in re.findall(r"-?[\d,]*\d(?:\.\d+)?", capsys.readouterr().out)]


def test_an_agent_sits_at_each_seat_beside_bots(league: str, capsys: Capture) -> None:
    scores.main([league, "Magpie", "--against", "Dice", "--seeds", "5"])
    others, seeds, seats, own, theirs, ratio, low, high, first, matches = numbers(capsys)
    assert (others, seeds, seats, first, matches) == (3, 5, 4, 20, 20)
    assert 3 < low < ratio < high < 6
    assert own / theirs == pytest.approx(ratio, abs=0.05)
    scores.main([league, "Dice", "Dice", "--against", "Dice", "--seeds", "5", "-o", "seats=2"])
    agents, _, _, _, own, theirs, *interval, _, matches = numbers(capsys)
    assert (agents, matches) == (2, 20)
    assert own == theirs, "equal agents at both seats of the same matches"
    assert interval == [1.0, 1.0, 1.0]


def test_agents_meet_each_other_and_bots_play_the_same_seeds(league: str, capsys: Capture) -> None:
    agents = ["Magpie"] * 3
    scores.main([league, *agents, "-o", "seats=3", "--together", "--against", "Magpie", "--seeds", "4"])
    assert numbers(capsys)[-3:] == [0.0, 0.0, 0.0]
    scores.main([league, *agents, "-o", "seats=3", "--together", "--against", "Dice", "--seeds", "4"])
    more, low, high = numbers(capsys)[-3:]
    assert 0 < low < more < high
    with pytest.raises(BadValue, match="agents = 2: must be 3, one for each seat"):
        scores.main([league, "Magpie", "Dice", "-o", "seats=3", "--together"])


def test_intervals_are_those_of_the_formulas() -> None:
    assert scores.mean(np.array([1.0, 3.0])) == pytest.approx((2.0, 2.0 - 1.96, 2.0 + 1.96), abs=1e-3)
    assert scores.ratio(np.array([4.0, 8.0]), np.array([2.0, 4.0])) == (2.0, 2.0, 2.0), "the same in each pair"
    draws = np.random.default_rng(1)
    theirs = draws.normal(250, 30, 60)
    own = 4.5 * theirs + draws.normal(0, 60, 60)
    value, low, high = scores.ratio(own, theirs)
    samples = [draws.integers(0, 60, 60) for _ in range(4000)]
    found = np.percentile([own[rows].mean() / theirs[rows].mean() for rows in samples], [2.5, 97.5])
    assert (low, high) == pytest.approx(tuple(found), abs=0.02), "as resampling says"
    assert low < value < high
