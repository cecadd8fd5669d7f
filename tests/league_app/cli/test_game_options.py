"""A game that cannot be played with its default options has a league of its own; a damaged league is a no."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.errors import BadSpec
from engine.games.treasure_hunt.game import TreasureHunt, TreasureHuntOptions
from engine.registry import GAMES
from league_app.cli.main import main
from tests.league_app.cli.commands import Capture, run_json, run_rejected, run_text


class CrowdedHunt(TreasureHunt):
    """As an environment of PettingZoo that has too many seats with its default options."""

    name = "crowded-hunt"

    def __init__(self, options: TreasureHuntOptions) -> None:
        if options.seats == TreasureHuntOptions().seats:
            raise BadSpec(f"{self.name} has too many seats")
        super().__init__(options)


@pytest.fixture
def league(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> Iterator[str]:
    monkeypatch.chdir(tmp_path)
    GAMES.add("crowded-hunt", CrowdedHunt)
    main(["new", "a.league"])
    capsys.readouterr()
    yield "a.league"
    GAMES.remove("crowded-hunt")


def test_agents_are_added_for_a_game_with_other_options(league: str, capsys: Capture) -> None:
    add = ["agents", "add", league, "Dice", "--game", "crowded-hunt"]
    assert "too many seats" in run_rejected(capsys, *add)
    assert "Dice joined" in run_text(capsys, *add, "-o", "seats=3")
    named = ["agents", "add", league, "Other", "--game", "crowded-hunt", "--kind", "dice"]
    assert "too many seats" in run_rejected(capsys, *named)
    assert "Other joined" in run_text(capsys, *named, "--option", "seats=3")
    assert [agent["name"] for agent in run_json(capsys, "agents", "list", league)] == ["Dice", "Other"]
    table = run_json(capsys, "standings", league, "-o", "seats=3")  # the name alone is taken from the league
    assert (table["game"]["name"], table["seats"]) == ("crowded-hunt", 3)
    assert "unknown option of crowded-hunt 'seat'" in run_rejected(capsys, *add, "-o", "seat=3")


def test_doctor_answers_no_for_a_damaged_league(league: str, capsys: Capture) -> None:
    assert run_json(capsys, "doctor", league)["matches"] == 0
    content = bytearray(Path(league).read_bytes())
    content[len(content) // 2 :] = bytes(len(content) - len(content) // 2)
    Path(league).write_bytes(content)
    report = run_json(capsys, "doctor", league, status=1)
    assert "damaged" in report["problem"]
    with pytest.raises(SystemExit) as stopped:
        main(["doctor", league])
    assert stopped.value.code == 1
    assert "damaged" in capsys.readouterr().err
    assert "No such file" in run_rejected(capsys, "doctor", "none.league")
