"""`ringside train TRAINER --from AGENT`: offered by trainers that accept an agent, and named in errors."""

from __future__ import annotations

from pathlib import Path

import pytest

from league_app.cli.main import main
from league_app.core.state import LeagueState
from tests.league_app.cli.commands import Capture, run_rejected, run_until_exit

pytestmark = pytest.mark.usefixtures("only_ours")


@pytest.fixture
def league(tmp_path: Path) -> str:
    path = str(tmp_path / "my.league")
    with LeagueState.new(path) as state:
        state.add_samples("pong", ("Lazy",))
    return path


@pytest.mark.parametrize(("trainer", "offered"), [("neat", True), ("ppo", True), ("independent", False)])
def test_the_help_offers_from_only_if_the_trainer_accepts_it(trainer: str, offered: bool, capsys: Capture) -> None:
    run_until_exit(0, "train", trainer, "--help")
    assert ("--from AGENT" in capsys.readouterr().out) == offered


@pytest.mark.parametrize(("trainer", "expected"), [
    ("neat", "--from = 'Lazy': must be an agent of kind neat"),
    ("ppo", "--from = 'Lazy': must be an agent of kind"),
    ("independent", "--from = 'Lazy': must be left out: these agents begin with new networks"),
])  # fmt: skip
def test_an_agent_that_is_refused_is_an_error_of_from(
    league: str, trainer: str, expected: str, capsys: Capture
) -> None:
    assert expected in run_rejected(capsys, "train", trainer, league, "--from", "Lazy")
    main(["train", "list", league])
    assert "no training sessions yet" in capsys.readouterr().out
