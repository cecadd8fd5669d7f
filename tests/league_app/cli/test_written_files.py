"""Commands that write files which the user names: no league is ever overwritten, and other files only on request."""

from __future__ import annotations

import os
import shutil
import stat
from pathlib import Path

import numpy as np
import pytest

from engine.errors import BadValue
from engine.league.storage.league import League
from engine.league.storage.session_rows import Series
from league_app.cli.main import main
from league_app.core import tensorboard
from league_app.core.export import write_csv
from tests.league_app.cli.commands import Capture, run_rejected, run_text

WRITERS = (
    ["match", "pong", "Dice", "Dice", "--steps", "9", "--save"],
    ["replay", "a.league", "1.1", "--save"],
    ["replay", "a.league", "1.1", "--png"],
    ["export", "csv", "a.league", "--to"],
    ["export", "json", "a.league", "--what", "standings", "--to"],
    ["agents", "export", "a.league", "Shaky"],
)


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("written") / "a.league"
    main(["new", str(path), "--game", "pong"])
    main(["tournament", "run", str(path), "--agents", "Dice", "Shaky", "--steps", "40"])
    return path


@pytest.fixture
def league(played: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A played league in the current folder."""
    monkeypatch.chdir(tmp_path)
    return Path(shutil.copy(played, tmp_path))


def match_count(path: Path) -> int:
    with League(path, read_only=True) as league:
        return league.tournament(1).played


@pytest.mark.parametrize("overwrite", [[], ["--overwrite"]])
@pytest.mark.parametrize("command", WRITERS, ids=" ".join)
def test_no_command_overwrites_a_league(
    command: list[str], overwrite: list[str], league: Path, capsys: Capture
) -> None:
    before = league.read_bytes()
    (league.parent / "renamed.png").write_bytes(before)
    (league.parent / "link.png").symlink_to(league)
    for name in ("a.league", "renamed.png", "link.png", "a.league-wal", "new.league"):
        assert "a league is never overwritten" in run_rejected(capsys, *command, name, *overwrite)
    assert league.read_bytes() == before == (league.parent / "renamed.png").read_bytes()
    assert (league.parent / "link.png").is_symlink()
    assert match_count(league) == 2


@pytest.mark.parametrize("command", WRITERS, ids=" ".join)
def test_a_file_is_replaced_only_with_overwrite(command: list[str], league: Path, capsys: Capture) -> None:
    target = league.parent / "kept.png"
    target.write_text("mine")
    assert "only --overwrite replaces it" in run_rejected(capsys, *command, "kept.png")
    assert target.read_text() == "mine"
    run_text(capsys, *command, "kept.png", "--overwrite")
    assert target.read_bytes() != b"mine"
    assert sorted(path.name for path in league.parent.iterdir()) == ["a.league", "kept.png"]


@pytest.mark.parametrize("command", WRITERS, ids=" ".join)
def test_a_folder_a_pipe_and_a_missing_folder_are_no_files(command: list[str], league: Path, capsys: Capture) -> None:
    os.mkfifo(league.parent / "pipe.png")
    (league.parent / "folder.png").mkdir()
    reasons = {"folder.png": "this is a folder", "pipe.png": "this is a device or a pipe", "none/x.png": "No such file"}
    for name, reason in reasons.items():
        message = run_rejected(capsys, *command, name, "--overwrite")
        assert reason in message
        assert repr(name) in message
    assert stat.S_ISFIFO((league.parent / "pipe.png").stat().st_mode)


def test_a_target_that_cannot_be_written_is_reported_before_the_match(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.chdir(tmp_path)

    def fail(*_: object) -> None:
        raise AssertionError("the match was played")

    monkeypatch.setattr("league_app.cli.matches.play_match", fail)
    (tmp_path / "taken").write_text("mine")
    for name in ("taken", "none/a.replay"):
        assert "--save" in run_rejected(capsys, "match", "pong", "Dice", "Dice", "--save", name)


def test_metrics_are_replaced_only_on_request(tmp_path: Path) -> None:
    metrics = {"validation/share": Series(np.array([1, 2]), np.array([0.0, 1.0]), np.array([0.25, 0.5]))}
    target = tmp_path / "curves.csv"
    write_csv(metrics, str(target))
    with pytest.raises(BadValue, match="only --overwrite replaces it"):
        write_csv(metrics, str(target))
    assert write_csv(metrics, str(target), overwrite=True).read_text().startswith("metric,step,at,value\n")
    first, second = (tensorboard.export(metrics, 0.0, tmp_path / "runs") for _ in range(2))
    assert first == second  # the file of a session has a name of its own in that folder
