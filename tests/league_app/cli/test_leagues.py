"""Commands that work on a league, and their JSON output."""

from __future__ import annotations

import csv
import dataclasses
import io
import json
import re
from pathlib import Path

import pytest

from engine.league import played_matches
from engine.league.estimate import rate_name
from engine.league.records import RunState
from engine.league.storage.checksums import agent_row
from engine.league.storage.league import League
from league_app.cli import output
from league_app.cli.main import main
from tests.league_app.cli.commands import run_json, run_rejected, run_text

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


def test_planning_a_tournament_does_not_change_the_league(league: str, capsys: pytest.CaptureFixture[str]) -> None:
    before = Path(league).read_bytes()
    plan = run_json(capsys, "tournament", "plan", league, "--rounds", "10", *QUICK)
    assert plan["estimate"]["matches"] == 8 * 7 * 10
    assert plan["estimate"]["seconds"] > 0
    low, high = plan["estimate"]["width"]
    assert 0 < low <= high < 400
    assert Path(league).read_bytes() == before
    output_text = run_text(capsys, "tournament", "plan", league, "--rounds", "10", *QUICK)
    assert "round 1: " in output_text
    assert re.search("8 agents, 560 matches: (about|less than) ", output_text)
    assert "headless" in output_text
    assert "visual" in output_text


def test_fewer_games_give_wider_expected_intervals(league: str, capsys: pytest.CaptureFixture[str]) -> None:
    with League(league) as opened:  # a known speed, so that no test run judges the agents
        opened.save_setting(rate_name(opened.tournament("First").settings.game, "local"), 1000.0)
    few, many = (
        run_json(capsys, "tournament", "plan", league, "--rounds", rounds, *QUICK)["estimate"]
        for rounds in ("1", "100")
    )
    assert few["judged_by"] == many["judged_by"] == 112
    assert few["seconds"] * 100 == pytest.approx(many["seconds"])
    assert few["width"][0] == pytest.approx(10 * many["width"][0], rel=0.01)


def test_the_tables_of_a_tournament_agree_with_each_other(league: str, capsys: pytest.CaptureFixture[str]) -> None:
    shown = run_json(capsys, "tournament", "show", league)
    standings = run_json(capsys, "standings", league, "--tournament", "First")
    assert shown["standings"]["rows"] == standings["rows"]
    assert run_json(capsys, "crosstable", league)["rows"] == run_json(capsys, "standings", league)["rows"]
    assert (
        sum(row["total"]["wins"] for row in standings["rows"])
        + sum(row["total"]["draws"] for row in standings["rows"]) / 2
        == 112
    )
    assert "Bradley-Terry" in standings["model"]
    assert run_text(capsys, "standings", league, "--anchor", "Lazy").count("Lazy at 1200") == 1
    output_text = run_text(capsys, "crosstable", league)
    assert "won-drawn-lost by the agent of the row" in output_text


def test_the_same_tournament_in_another_league_has_the_same_digest(
    league: str, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["new", "other.league", "--game", "pong"])
    main(["tournament", "run", "other.league", "--rounds", "1", "--workers", "2", "--seed", "7", *QUICK])
    main(["tournament", "run", "other.league", "--rounds", "2", "--workers", "2", "--seed", "1", *QUICK])
    capsys.readouterr()
    here, there = (
        run_json(capsys, "tournament", "show", league),
        run_json(capsys, "tournament", "show", "other.league", "2"),
    )
    assert here["digest"] == there["digest"]
    assert run_json(capsys, "tournament", "show", "other.league", "1")["digest"] != here["digest"]


def test_the_same_plan_is_rejected_the_second_time(league: str, capsys: pytest.CaptureFixture[str]) -> None:
    main(["tournament", "run", league, "--rounds", "2", *QUICK])
    capsys.readouterr()
    digests = [run_json(capsys, "tournament", "show", league, number)["digest"] for number in ("1", "2")]
    assert digests[0] != digests[1], "without --seed each tournament has its own seed"
    error = run_rejected(capsys, "tournament", "run", league, "--rounds", "2", "--seed", "1", *QUICK)
    assert "tournament 1 (First) already has these matches" in error


def test_the_error_for_a_missing_game_says_how_to_give_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    main(["new", "one.league"])
    for arguments in (["tournament", "run", "one.league"], ["tournament", "plan", "one.league", *QUICK]):
        error = run_rejected(cleared(capsys), *arguments)
        assert "one.league has no agents yet: `ringside agents add one.league NAME --game GAME`" in error
    for game in ("pong", "shogi"):
        main(["agents", "add", "one.league", "Dice", "--game", game])
    for arguments in (["tournament", "run", "one.league"], ["standings", "one.league"]):
        error = run_rejected(cleared(capsys), *arguments)
        assert "game = None: must be given (--game): the league has agents for pong, shogi" in error


def test_a_table_without_agents_is_a_sentence(league: str, capsys: pytest.CaptureFixture[str]) -> None:
    for table in ("standings", "crosstable"):
        assert run_text(capsys, table, league, "--game", "shogi") == "my.league has no agents for shogi"
        assert run_json(capsys, table, league, "--game", "shogi")["rows"] == []


def test_pools_of_different_options_are_not_mixed(league: str, capsys: pytest.CaptureFixture[str]) -> None:
    before = run_json(capsys, "standings", league)
    main(["tournament", "run", league, "-o", "points=2", "-o", "step_limit=400"])
    capsys.readouterr()
    after = run_json(capsys, "standings", league)
    assert (before["matches"], after["matches"]) == (112, 56)
    assert run_json(capsys, "standings", league, *QUICK)["rows"] == before["rows"]
    assert run_json(capsys, "standings", league, "--tournament", "1")["rows"] == before["rows"]


def test_matches_can_be_listed_replayed_and_reproduced(league: str, capsys: pytest.CaptureFixture[str]) -> None:
    page = run_json(capsys, "history", league, "--agent", "Lazy", "--limit", "5")
    assert len(page) == 5
    assert all("Lazy" in match["players"] for match in page)
    reference = page[0]["match"]
    assert "was reproduced exactly" in run_text(capsys, "reproduce", league, reference)
    assert run_json(capsys, "reproduce", league, reference, "--on", "sequential")["same"] is True
    assert "same scores and statistics" in run_text(capsys, "replay", league, reference, "--save", "one.replay")
    assert run_json(capsys, "replay", "one.replay")["result"]["digest"] == page[0]["digest"]
    assert "0 to" in run_rejected(capsys, "replay", league, reference, "--step", "100000")
    assert "two numbers such as 3.17" in run_rejected(capsys, "reproduce", league, "seventeen")
    assert "tournament 1 has 112 of 112" in run_rejected(capsys, "reproduce", league, "1.100000")


def test_a_match_with_a_different_result_exits_with_status_one(league: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The payload of an agent is replaced in the database."""
    with League(league) as league_file, league_file.file.transaction() as db:
        other = league_file.agent("Still").payload
        agent = league_file.agent("Predictor")
        row = agent_row(league_file.number(agent.id), dataclasses.replace(agent, payload=other))
        db.execute("INSERT OR REPLACE INTO agents VALUES (?,?,?,?,?,?,?,?)", row)
    matches = run_json(capsys, "history", league, "--agent", "Predictor", "--limit", "100")
    moved = [match for match in matches if match["stats"][match["players"].index("Predictor")][2] > 0]
    reference = moved[0]["match"]
    assert run_json(capsys, "reproduce", league, reference, status=1)["same"] is False


def test_a_match_of_pairs_compares_two_agents_and_can_be_recorded(
    league: str, capsys: pytest.CaptureFixture[str]
) -> None:
    output_text = run_text(capsys, "match", league, "Shaky", "Lazy", "--pairs", "20", *QUICK)
    assert "from Shaky's point of view" in output_text
    compared = run_json(capsys, "match", league, "Shaky", "Lazy", "--pairs", "20", *QUICK)
    assert sum(compared["comparison"]["counts"]) == 20
    assert compared["comparison"]["unit"] == "pairs"
    with League(league, read_only=True) as league_file:
        assert len(league_file.tournaments()) == 1, "nothing was recorded"
    main(["match", league, "Shaky", "Lazy", "--pairs", "3", "--record", *QUICK])
    with League(league, read_only=True) as league_file:
        assert league_file.tournaments()[-1].name == "Shaky - Lazy"
        assert league_file.tournaments()[-1].played == 6
    assert "with a league" in run_rejected(capsys, "match", "pong", "Shaky", "Lazy", "--record")


def test_a_sequential_test_stops_and_prints_its_verdict(league: str, capsys: pytest.CaptureFixture[str]) -> None:
    main(["sprt", league, "Predictor", "Still", "--elo1", "100", *QUICK])
    output_text = " ".join(capsys.readouterr().out.split())
    assert "from Predictor's point of view" in output_text
    assert "accepted: at least 100" in output_text
    lost = run_json(capsys, "sprt", league, "Still", "Predictor", "--elo1", "100", "--seed", "2", *QUICK, status=1)
    assert lost["verdict"] == "elo0"
    undecided = run_json(
        capsys, "sprt", league, "Random", "Dice", "--elo0", "-1", "--elo1", "1", "--most", "20", *QUICK, status=3
    )
    assert undecided["verdict"] is None
    assert sum(undecided["counts"]) == 20
    with League(league, read_only=True) as league_file:
        assert [each.state for each in league_file.tournaments()[1:]] == [RunState.FINISHED] * 3


def test_the_evaluation_of_counts_matches_published_figures(capsys: pytest.CaptureFixture[str]) -> None:
    answer = run_json(
        capsys, "sprt", "--counts", "1,22,52,21,4", "--elo0", "-5", "--elo1", "0", "--beta", "0.1", status=3
    )
    assert round(answer["sprt"]["llr"], 2) == 0.15
    assert round(answer["comparison"]["elo"], 2) == 8.69
    assert "whole numbers" in run_rejected(capsys, "sprt", "--counts", "1,2,x")
    assert "two of its agents" in run_rejected(capsys, "sprt", "my.league")


def test_an_agent_can_be_compared_with_itself(capsys: pytest.CaptureFixture[str]) -> None:
    output_text = run_text(capsys, "match", "pong", "Tracker", "Tracker", "--pairs", "5", *QUICK)
    assert "Tracker against Tracker (2)" in output_text
    assert "[0, 0, 5, 0, 0]" in output_text, "each pair is symmetric"


def test_narrow_terminals_show_full_names(
    league: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for width in (50, 80, 140):
        monkeypatch.setattr(output.console, "_width", width)
        shown = run_text(capsys, "tournament", "show", league)
        assert "Predictor" in shown
        assert "Tracker" in shown


def test_agents_are_added_changed_exported_imported_and_archived(
    league: str, capsys: pytest.CaptureFixture[str]
) -> None:
    payload = '{"style": "tracker", "dead_zone": 0.3}'
    main(["agents", "add", league, "Sleepy", "--kind", "pong-bot", "--payload", payload, "--tag", "slow"])
    main(["agents", "edit", league, "Sleepy", "--name", "Sleepier", "--colour", "4a9bff", "--notes", "rests"])
    shown = run_json(cleared(capsys), "agents", "show", league, "Sleepier")["agent"]
    assert (shown["id"], shown["colour"], shown["tags"], shown["notes"]) == ("Sleepy", "4A9BFF", ["slow"], "rests")
    main(["agents", "export", league, "Sleepier", "s.agent"])
    assert "taken" in run_rejected(capsys, "agents", "import", league, "s.agent")
    main(["agents", "import", league, "s.agent", "--name", "Twin"])
    with League(league, read_only=True) as league_file:
        assert league_file.spec("Twin").payload == league_file.spec("Sleepy").payload == payload.encode()
    main(["agents", "archive", league, "Twin"])
    capsys.readouterr()
    assert "Twin" not in [agent["name"] for agent in run_json(capsys, "agents", "list", league)]
    assert "already archived" in run_rejected(capsys, "agents", "archive", league, "Twin")
    main(["agents", "archive", league, "Twin", "--undo"])
    capsys.readouterr()
    assert "Twin" in [agent["name"] for agent in run_json(capsys, "agents", "list", league)]
    assert "dead_zone = -1.0" in run_rejected(
        capsys, "agents", "add", league, "X", "--kind", "pong-bot", "--payload", '{"dead_zone": -1.0}'
    )


def cleared(capsys: pytest.CaptureFixture[str]) -> pytest.CaptureFixture[str]:
    capsys.readouterr()
    return capsys


def test_entrants_can_change_between_runs(league: str, capsys: pytest.CaptureFixture[str]) -> None:
    with League(league) as league_file:
        settings = league_file.tournament(1).settings
        number = league_file.add_tournament("Open", settings, ["Lazy", "Tracker", "Still"]).number
    output_text = run_text(capsys, "tournament", "enter", league, str(number), "--join", "Dice", "--leave", "Still")
    assert "from round 1: Lazy, Tracker, Dice" in output_text
    main(["tournament", "resume", league])
    capsys.readouterr()
    assert run_json(capsys, "tournament", "show", league)["tournament"]["state"] == "finished"
    assert "is finished" in run_rejected(capsys, "tournament", "resume", league, "Open")
    assert "entrants cannot change" in run_rejected(capsys, "tournament", "enter", league, "Open", "--join", "Shaky")


def test_a_cancelled_tournament_keeps_its_matches_and_is_not_resumed(
    league: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with League(league) as league_file:
        league_file.add_tournament("Never", league_file.tournament(1).settings, ["Lazy", "Tracker"])
    assert "cancelled; its matches stay" in run_text(capsys, "tournament", "cancel", league, "Never")
    assert "no tournament to resume" in run_rejected(capsys, "tournament", "resume", league)
    assert "cancelled" in run_rejected(capsys, "tournament", "resume", league, "Never")


def test_matches_standings_and_agents_are_exported(league: str, capsys: pytest.CaptureFixture[str]) -> None:
    main(["export", "csv", league, "--to", "m.csv"])
    rows = list(csv.DictReader(io.StringIO(Path("m.csv").read_text())))
    assert len(rows) == 112
    assert {"tournament", "number", "player0", "score1", "hits0", "digest", "seed"} <= set(rows[0])
    with League(league, read_only=True) as league_file:
        recorded = played_matches.match(league_file, f"{rows[5]['tournament']}.{rows[5]['number']}")
    assert rows[5]["digest"] == recorded.result.digest().hex()
    assert int(rows[5]["seed"]) == recorded.spec.seed
    capsys.readouterr()
    main(["export", "json", league, "--what", "standings"])
    standings = json.loads(capsys.readouterr().out)
    assert [row["place"] for row in standings] == [1, 2, 3, 4, 5, 6, 7, 8]
    assert [row["rating"] for row in standings] == sorted((row["rating"] for row in standings), reverse=True)
    main(["export", "csv", league, "--what", "agents"])
    assert len(capsys.readouterr().out.splitlines()) == 9


def test_doctor_reports_an_undamaged_league_and_its_backup(league: str, capsys: pytest.CaptureFixture[str]) -> None:
    main(["backup", league, "copy.league"])
    for path in (league, "copy.league"):
        assert run_json(cleared(capsys), "doctor", path) | {"league": ""} == {
            "league": "",
            "agents": 8,
            "matches": 112,
            "unfinished": [],
            "kinds_missing": [],
        }
    assert "already exists" in run_rejected(capsys, "backup", league, "copy.league")


def test_the_league_of_a_demo_can_be_kept_and_used(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(tmp_path / "demo.league")
    main(["demo", "--matches", "30", "--keep", path])
    main(["tournament", "run", path])
    capsys.readouterr()
    assert [tournament["name"] for tournament in run_json(capsys, "tournament", "list", path)] == [
        "Demo league",
        "Pong round robin 2",
    ]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
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
        (["tournament", "run", "my.league", "--agents", "Lazy", "Missing"], "unknown agent"),
        (["tournament", "run", "my.league", "--clock", "tick=3"], "--clock"),
        (["tournament", "run", "my.league", "--clock", "move=-1"], "limits.clock.move"),
        (["tournament", "run", "my.league", "--start", "e4"], "start = 'e4'"),
        (["tournament", "run", "my.league", "--steps", "0"], "limits.steps = 0"),
        (["tournament", "run", "my.league", "--workers", "0"], "--workers = 0"),
        (["tournament", "run", "my.league", "--name", "x" * 200], "name = "),
        (["tournament", "show", "my.league", "9"], "unknown tournament"),
        (["history", "my.league", "--limit", "0"], "--limit = 0"),
        (["standings", "my.league", "--anchor", "Missing"], "unknown agent"),
        (["standings", "my.league", "--game", "chess"], "unknown game"),
        (["agents", "show", "my.league", "Lasy"], "did you mean 'Lazy'"),
        (["agents", "add", "my.league", "Missing"], "'Missing'"),
        (["agents", "import", "my.league", "my.league"], "my.league"),
        (["export", "csv", "my.league", "--to", "/no/such/folder/x.csv"], "/no/such/folder/x.csv"),
        (["sprt", "my.league", "Lazy", "Tracker", "--elo0", "9", "--elo1", "3"], "elo0, elo1"),
    ],
)
def test_invalid_requests_are_rejected_before_anything_changes(
    arguments: list[str], sentence: str, league: str, capsys: pytest.CaptureFixture[str]
) -> None:
    before = Path(league).read_bytes()
    assert sentence in run_rejected(capsys, *arguments)
    assert Path(league).read_bytes() == before
    assert not Path("y.league").exists()
