"""`ringside tournament plan`, and the estimate of the tournament dialog, when kernels or figures are missing."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.league import estimate as estimates
from engine.league.estimate import COMPILATION, needs_measurement
from engine.play.workers import warmup
from engine.play.workers.compilation import compile_kernels
from engine.registry import new_game
from league_app.cli.main import main
from league_app.core.state import LeagueState
from league_app.core.tournament_draft import DraftEstimator, TournamentDraft
from tests.league_app.cli.commands import Capture, run_json, run_text

pytestmark = pytest.mark.usefixtures("only_ours")
GAME = new_game("pong", points=1, step_limit=400)
QUICK = ["-o", "points=1", "-o", "step_limit=400"]
PLAN = ["tournament", "plan", "my.league", "--rounds", "2", "--workers", "1", *QUICK]
BOTS = ("Lazy", "Tracker", "Dice")
NOTICE = "compiling the kernels of pong first"


@pytest.fixture(autouse=True)
def league(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with LeagueState.new("my.league") as state:
        state.add_samples("pong", BOTS)
        assert compile_kernels("pong", [state.league.spec(agent.id) for agent in state.agents()], COMPILATION)


def draft() -> TournamentDraft:
    return TournamentDraft("pong", dict(GAME.spec.options), BOTS, options={"rounds": 2}, workers=1)


def test_a_plan_that_must_compile_kernels_first_says_so(monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    assert NOTICE not in run_text(capsys, *PLAN)
    monkeypatch.setattr(warmup, "was_compiled", lambda game, kind: kind != "dice")
    assert NOTICE in run_text(capsys, *PLAN)
    main([*PLAN, "--json"])
    assert NOTICE in capsys.readouterr().err
    with LeagueState("my.league") as state:
        assert DraftEstimator().check(state, draft()).compiles
        assert DraftEstimator().estimate(state, draft()).estimate is not None
        assert not DraftEstimator().check(state, draft()).compiles, "its speed is recorded now"


def test_missing_drivers_are_compiled_first_too(monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    compiled = warmup.kernels.was_compiled
    monkeypatch.setattr(
        warmup.kernels, "was_compiled", lambda what, package: "driver" not in what and compiled(what, package)
    )
    assert NOTICE in run_text(capsys, *PLAN)
    assert NOTICE not in run_text(capsys, "match", "pong", "Lazy", "Lazy", "--steps", "5", "--on", "sequential")


def test_without_a_finished_match_no_figure_is_given(monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    monkeypatch.setattr(estimates, "_warm_up", lambda executor, specs: False)
    text = run_text(capsys, *PLAN)
    assert "3 agents, 12 matches: how long it takes is unknown, because no match ended in a test run." in text
    assert "measured" not in text
    assert run_json(capsys, *PLAN)["estimate"]["seconds"] is None
    with LeagueState("my.league") as state:
        found = DraftEstimator().estimate(state, draft())
        assert found.sentence == "3 agents, 12 matches: unknown duration"
        assert found.caption.endswith("No match ended in a test run.")
        assert needs_measurement(state.league, GAME.spec), "nothing is recorded"
