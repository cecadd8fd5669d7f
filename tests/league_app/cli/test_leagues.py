"""The commands of a league, one after another, as a person would use them; and what they say as data."""

from __future__ import annotations

import csv
import dataclasses
import io
import json
from pathlib import Path

import pytest

from engine.league import standings as tables
from engine.league.records import State
from engine.league.storage.checksums import agent_row
from engine.league.storage.league import League
from league_app.cli import output as terminal
from league_app.cli.main import main

pytestmark = pytest.mark.usefixtures("only_ours")
QUICK = ["-o", "points=1", "-o", "step_limit=400"]


@pytest.fixture
def league(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> str:
    """A league of eight, with one tournament played."""
    monkeypatch.chdir(tmp_path)
    main(["new", "my.league", "--game", "pong"])
    main(["tournament", "run", "my.league", "--rounds", "2", "--name", "First", *QUICK])
    capsys.readouterr()
    return "my.league"


def told(capsys: pytest.CaptureFixture[str], *words: str, status: int = 0) -> object:
    """What a command says as data."""
    if status:
        with pytest.raises(SystemExit) as stopped:
            main([*words, "--json"])
        assert stopped.value.code == status
    else:
        main([*words, "--json"])
    return json.loads(capsys.readouterr().out)


def said(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    main(list(words))
    return " ".join(capsys.readouterr().out.split())


def refused(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    with pytest.raises(SystemExit) as stopped:
        main(list(words))
    assert stopped.value.code == 2
    return capsys.readouterr().err


def test_a_tournament_is_planned_without_leaving_a_trace(league: str, capsys: pytest.CaptureFixture[str]) -> None:
    before = Path(league).read_bytes()
    plan = told(capsys, "tournament", "plan", league, "--rounds", "10", *QUICK)
    assert plan["estimate"]["matches"] == 8 * 7 * 10
    assert plan["estimate"]["seconds"] > 0
    low, high = plan["estimate"]["width"]
    assert 0 < low <= high < 400
    assert Path(league).read_bytes() == before
    words = said(capsys, "tournament", "plan", league, "--rounds", "10", *QUICK)
    assert "round 1: " in words
    assert "8 agents, 560 matches: about" in words
    assert "headless" in words
    assert "visual" in words


def test_wider_intervals_are_expected_of_fewer_games(league: str, capsys: pytest.CaptureFixture[str]) -> None:
    few, many = (
        told(capsys, "tournament", "plan", league, "--rounds", rounds, *QUICK)["estimate"]["width"][0]
        for rounds in ("1", "100")
    )
    assert few / many == pytest.approx(10, rel=0.01)


def test_the_tables_of_a_tournament_agree_with_each_other(league: str, capsys: pytest.CaptureFixture[str]) -> None:
    shown = told(capsys, "tournament", "show", league)
    standings = told(capsys, "standings", league, "--tournament", "First")
    assert shown["standings"]["rows"] == standings["rows"]
    assert told(capsys, "crosstable", league)["rows"] == told(capsys, "standings", league)["rows"]
    assert (
        sum(row["total"]["wins"] for row in standings["rows"])
        + sum(row["total"]["draws"] for row in standings["rows"]) / 2
        == 112
    )
    assert "Bradley-Terry" in standings["model"]
    assert said(capsys, "standings", league, "--anchor", "Lazy").count("Lazy at 1200") == 1
    words = said(capsys, "crosstable", league)
    assert "won-drawn-lost by the agent of the row" in words


def test_the_same_tournament_elsewhere_has_the_same_digest(league: str, capsys: pytest.CaptureFixture[str]) -> None:
    main(["new", "other.league", "--game", "pong"])
    main(["tournament", "run", "other.league", "--rounds", "1", "--workers", "2", "--seed", "7", *QUICK])
    main(["tournament", "run", "other.league", "--rounds", "2", "--workers", "2", "--seed", "1", *QUICK])
    capsys.readouterr()
    here, there = told(capsys, "tournament", "show", league), told(capsys, "tournament", "show", "other.league", "2")
    assert here["digest"] == there["digest"]
    assert told(capsys, "tournament", "show", "other.league", "1")["digest"] != here["digest"]


def test_the_same_plan_is_not_counted_twice(league: str, capsys: pytest.CaptureFixture[str]) -> None:
    main(["tournament", "run", league, "--rounds", "2", *QUICK])
    capsys.readouterr()
    digests = [told(capsys, "tournament", "show", league, number)["digest"] for number in ("1", "2")]
    assert digests[0] != digests[1], "without a seed each tournament has another"
    said_no = refused(capsys, "tournament", "run", league, "--rounds", "2", "--seed", "1", *QUICK)
    assert "tournament 1 (First) is exactly this" in said_no


def test_without_a_game_it_is_told_how_to_give_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    main(["new", "one.league"])
    for words in (["tournament", "run", "one.league"], ["tournament", "plan", "one.league", *QUICK]):
        told = refused(capsys_clear(capsys), *words)
        assert "nobody is in one.league yet: `ringside agents add one.league NAME --game GAME`" in told
    for game in ("pong", "shogi"):
        main(["agents", "add", "one.league", "Dice", "--game", game])
    for words in (["tournament", "run", "one.league"], ["standings", "one.league"]):
        told = refused(capsys_clear(capsys), *words)
        assert "game = None: must be given (--game): the league has agents for pong, shogi" in told


def test_a_table_of_nobody_is_a_sentence(league: str, capsys: pytest.CaptureFixture[str]) -> None:
    for table in ("standings", "crosstable"):
        assert said(capsys, table, league, "--game", "shogi") == "nobody in my.league plays shogi"
        assert told(capsys, table, league, "--game", "shogi")["rows"] == []


def test_pools_of_different_options_are_not_mixed(league: str, capsys: pytest.CaptureFixture[str]) -> None:
    before = told(capsys, "standings", league)
    main(["tournament", "run", league, "-o", "points=2", "-o", "step_limit=400"])
    capsys.readouterr()
    after = told(capsys, "standings", league)
    assert (before["matches"], after["matches"]) == (112, 56)
    assert told(capsys, "standings", league, *QUICK)["rows"] == before["rows"]
    assert told(capsys, "standings", league, "--tournament", "1")["rows"] == before["rows"]


def test_every_match_can_be_looked_up_replayed_and_reproduced(league: str, capsys: pytest.CaptureFixture[str]) -> None:
    page = told(capsys, "history", league, "--agent", "Lazy", "--limit", "5")
    assert len(page) == 5
    assert all("Lazy" in match["players"] for match in page)
    reference = page[0]["match"]
    assert "came out the same, to the bit" in said(capsys, "reproduce", league, reference)
    assert told(capsys, "reproduce", league, reference, "--here")["same"] is True
    assert "the same scores and statistics" in said(capsys, "replay", league, reference, "--save", "one.replay")
    assert told(capsys, "replay", "one.replay")["result"]["digest"] == page[0]["digest"]
    assert "0 to" in refused(capsys, "replay", league, reference, "--step", "100000")
    assert "two numbers such as 3.17" in refused(capsys, "reproduce", league, "seventeen")
    assert "tournament 1 has 112 of 112" in refused(capsys, "reproduce", league, "1.100000")


def test_a_match_that_comes_out_differently_is_status_one(league: str, capsys: pytest.CaptureFixture[str]) -> None:
    """As when a bot is not what it says: here its payload was exchanged behind the league's back."""
    with League(league) as one, one.file.transaction() as db:
        other = one.agent("Still").payload
        agent = one.agent("Predictor")
        row = agent_row(one.number(agent.id), dataclasses.replace(agent, payload=other))
        db.execute("INSERT OR REPLACE INTO agents VALUES (?,?,?,?,?,?,?,?)", row)
    every = told(capsys, "history", league, "--agent", "Predictor", "--limit", "100")
    moved = [one for one in every if one["stats"][one["players"].index("Predictor")][2] > 0]
    reference = moved[0]["match"]
    assert told(capsys, "reproduce", league, reference, status=1)["same"] is False


def test_a_match_of_pairs_compares_two_and_may_be_kept(league: str, capsys: pytest.CaptureFixture[str]) -> None:
    words = said(capsys, "match", league, "Shaky", "Lazy", "--pairs", "20", *QUICK)
    assert "from Shaky's point of view" in words
    compared = told(capsys, "match", league, "Shaky", "Lazy", "--pairs", "20", *QUICK)
    assert sum(compared["comparison"]["counts"]) == 20
    assert compared["comparison"]["unit"] == "pairs"
    with League(league, read_only=True) as one:
        assert len(one.tournaments()) == 1, "nothing was recorded"
    main(["match", league, "Shaky", "Lazy", "--pairs", "3", "--record", *QUICK])
    with League(league, read_only=True) as one:
        assert one.tournaments()[-1].name == "Shaky - Lazy"
        assert one.tournaments()[-1].played == 6
    assert "with a league" in refused(capsys, "match", "pong", "Shaky", "Lazy", "--record")


def test_a_sequential_test_ends_by_itself_and_says_why(league: str, capsys: pytest.CaptureFixture[str]) -> None:
    main(["sprt", league, "Predictor", "Still", "--elo1", "100", *QUICK])
    words = " ".join(capsys.readouterr().out.split())
    assert "from Predictor's point of view" in words
    assert "accepted: at least 100" in words
    lost = told(capsys, "sprt", league, "Still", "Predictor", "--elo1", "100", "--seed", "2", *QUICK, status=1)
    assert lost["verdict"] == "elo0"
    open_still = told(
        capsys, "sprt", league, "Random", "Dice", "--elo0", "-1", "--elo1", "1", "--most", "20", *QUICK, status=3
    )
    assert open_still["verdict"] is None
    assert sum(open_still["counts"]) == 20
    with League(league, read_only=True) as one:
        assert [each.state for each in one.tournaments()[1:]] == [State.FINISHED] * 3


def test_counts_are_evaluated_as_published(capsys: pytest.CaptureFixture[str]) -> None:
    told_counts = told(
        capsys, "sprt", "--counts", "1,22,52,21,4", "--elo0", "-5", "--elo1", "0", "--beta", "0.1", status=3
    )
    assert round(told_counts["sprt"]["llr"], 2) == 0.15
    assert round(told_counts["comparison"]["elo"], 2) == 8.69
    assert "whole numbers" in refused(capsys, "sprt", "--counts", "1,2,x")
    assert "two of its agents" in refused(capsys, "sprt", "my.league")


def test_an_agent_can_be_compared_with_itself(capsys: pytest.CaptureFixture[str]) -> None:
    words = said(capsys, "match", "pong", "Tracker", "Tracker", "--pairs", "5", *QUICK)
    assert "Tracker against Tracker (2)" in words
    assert "[0, 0, 5, 0, 0]" in words, "its own mirror image"


def test_narrow_terminals_keep_the_names(
    league: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for width in (50, 80, 140):
        monkeypatch.setattr(terminal.console, "_width", width)
        shown = said(capsys, "tournament", "show", league)
        assert "Predictor" in shown
        assert "Tracker" in shown


def test_agents_are_added_changed_exported_imported_and_archived(
    league: str, capsys: pytest.CaptureFixture[str]
) -> None:
    payload = '{"style": "tracker", "dead_zone": 0.3}'
    main(["agents", "add", league, "Sleepy", "--kind", "pong-bot", "--payload", payload, "--tag", "slow"])
    main(["agents", "edit", league, "Sleepy", "--name", "Sleepier", "--colour", "4a9bff", "--notes", "rests"])
    shown = told(capsys_clear(capsys), "agents", "show", league, "Sleepier")["agent"]
    assert (shown["id"], shown["colour"], shown["tags"], shown["notes"]) == ("Sleepy", "4A9BFF", ["slow"], "rests")
    main(["agents", "export", league, "Sleepier", "s.agent"])
    assert "taken" in refused(capsys, "agents", "import", league, "s.agent")
    main(["agents", "import", league, "s.agent", "--name", "Twin"])
    with League(league, read_only=True) as one:
        assert one.spec("Twin").payload == one.spec("Sleepy").payload == payload.encode()
    main(["agents", "archive", league, "Twin"])
    capsys.readouterr()
    assert "Twin" not in [agent["name"] for agent in told(capsys, "agents", "list", league)]
    assert "archived already" in refused(capsys, "agents", "archive", league, "Twin")
    main(["agents", "archive", league, "Twin", "--undo"])
    capsys.readouterr()
    assert "Twin" in [agent["name"] for agent in told(capsys, "agents", "list", league)]
    assert "dead_zone = -1.0" in refused(
        capsys, "agents", "add", league, "X", "--kind", "pong-bot", "--payload", '{"dead_zone": -1.0}'
    )


def capsys_clear(capsys: pytest.CaptureFixture[str]) -> pytest.CaptureFixture[str]:
    capsys.readouterr()
    return capsys


def test_who_takes_part_can_change_between_runs(league: str, capsys: pytest.CaptureFixture[str]) -> None:
    with League(league) as one:
        settings = one.tournament(1).settings
        number = one.add_tournament("Open", settings, ["Lazy", "Tracker", "Still"]).number
    words = said(capsys, "tournament", "enter", league, str(number), "--join", "Dice", "--leave", "Still")
    assert "from round 1: Lazy, Tracker, Dice" in words
    main(["tournament", "resume", league])
    capsys.readouterr()
    assert told(capsys, "tournament", "show", league)["tournament"]["state"] == "finished"
    assert "is finished" in refused(capsys, "tournament", "resume", league, "Open")
    assert "nobody can join" in refused(capsys, "tournament", "enter", league, "Open", "--join", "Shaky")


def test_a_cancelled_tournament_keeps_its_matches_and_is_not_resumed(
    league: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with League(league) as one:
        one.add_tournament("Never", one.tournament(1).settings, ["Lazy", "Tracker"])
    assert "is cancelled" in said(capsys, "tournament", "cancel", league, "Never")
    assert "no tournament that could be resumed" in refused(capsys, "tournament", "resume", league)
    assert "cancelled" in refused(capsys, "tournament", "resume", league, "Never")


def test_matches_standings_and_agents_are_exported(league: str, capsys: pytest.CaptureFixture[str]) -> None:
    main(["export", "csv", league, "--to", "m.csv"])
    rows = list(csv.DictReader(io.StringIO(Path("m.csv").read_text())))
    assert len(rows) == 112
    assert {"match", "player0", "score1", "hits0", "digest", "seed"} <= set(rows[0])
    with League(league, read_only=True) as one:
        recorded = tables.match(one, rows[5]["match"])
    assert rows[5]["digest"] == recorded.result.digest().hex()
    assert int(rows[5]["seed"]) == recorded.spec.seed
    capsys.readouterr()
    main(["export", "json", league, "--what", "standings"])
    standings = json.loads(capsys.readouterr().out)
    assert [row["place"] for row in standings] == [1, 2, 3, 4, 5, 6, 7, 8]
    assert [row["rating"] for row in standings] == sorted((row["rating"] for row in standings), reverse=True)
    main(["export", "csv", league, "--what", "agents"])
    assert len(capsys.readouterr().out.splitlines()) == 9


def test_a_sound_league_is_said_to_be_sound_and_its_copy_too(league: str, capsys: pytest.CaptureFixture[str]) -> None:
    main(["backup", league, "copy.league"])
    for path in (league, "copy.league"):
        assert told(capsys_clear(capsys), "doctor", path) | {"league": ""} == {
            "league": "",
            "agents": 8,
            "matches": 112,
            "unfinished": [],
            "kinds_missing": [],
        }
    assert "is there already" in refused(capsys, "backup", league, "copy.league")


def test_demo_can_be_kept_and_played_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(tmp_path / "kept.league")
    main(["demo", "--matches", "30", "--keep", path])
    main(["tournament", "run", path])
    capsys.readouterr()
    assert [one["name"] for one in told(capsys, "tournament", "list", path)] == ["Demo league", "Pong round robin 2"]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["standings", "none.league"], "none.league: No such file"),
        (["new", "x.txt"], "ends in .league"),
        (["new", "y.league", "--game", "pnog"], "did you mean 'pong'"),
        (["tournament", "run", "my.league", "--format", "swis"], "swis"),
        (["tournament", "run", "my.league", "--set", "rouds=3"], "did you mean 'rounds'"),
        (["tournament", "run", "my.league", "--rounds", "0"], "rounds = 0"),
        (["tournament", "run", "my.league", "--rounds", "9999999"], "rounds = 9999999"),
        (["tournament", "run", "my.league", "--rounds", "1000000"], "matches = "),
        (["tournament", "run", "my.league", "--games", "0"], "games = 0"),
        (["tournament", "run", "my.league", "--agents", "Lazy"], "at least 2"),
        (["tournament", "run", "my.league", "--agents", "Lazy", "Lazy"], "entered once"),
        (["tournament", "run", "my.league", "--agents", "Lazy", "Nobody"], "unknown agent"),
        (["tournament", "run", "my.league", "--clock", "tick=3"], "--clock"),
        (["tournament", "run", "my.league", "--clock", "move=-1"], "limits.clock.move"),
        (["tournament", "run", "my.league", "--start", "e4"], "start = 'e4'"),
        (["tournament", "run", "my.league", "--steps", "0"], "limits.steps = 0"),
        (["tournament", "run", "my.league", "--workers", "0"], "--workers = 0"),
        (["tournament", "run", "my.league", "--name", "x" * 200], "name = "),
        (["tournament", "show", "my.league", "9"], "unknown tournament"),
        (["history", "my.league", "--limit", "0"], "--limit = 0"),
        (["standings", "my.league", "--anchor", "Nobody"], "unknown agent"),
        (["standings", "my.league", "--game", "chess"], "unknown game"),
        (["agents", "show", "my.league", "Lasy"], "did you mean 'Lazy'"),
        (["agents", "add", "my.league", "Nobody"], "'Nobody'"),
        (["agents", "import", "my.league", "my.league"], "my.league"),
        (["export", "csv", "my.league", "--to", "/no/such/folder/x.csv"], "/no/such/folder/x.csv"),
        (["sprt", "my.league", "Lazy", "Tracker", "--elo0", "9", "--elo1", "3"], "elo0, elo1"),
    ],
)
def test_what_is_wrong_is_told_before_anything_is_changed(
    words: list[str], sentence: str, league: str, capsys: pytest.CaptureFixture[str]
) -> None:
    before = Path(league).read_bytes()
    assert sentence in refused(capsys, *words)
    assert Path(league).read_bytes() == before
    assert not Path("y.league").exists()
