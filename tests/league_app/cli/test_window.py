"""`ringside` and `ringside window`: the window if there is a display, the demo league if there is none."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from league_app.cli.main import main

DISPLAY_VARIABLES = ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM")


@pytest.fixture
def no_display(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in DISPLAY_VARIABLES:
        monkeypatch.delenv(name, raising=False)


@pytest.mark.usefixtures("no_display")
def test_without_a_display_the_demo_runs(capsys: pytest.CaptureFixture[str]) -> None:
    main([])
    captured = capsys.readouterr()
    assert "there is no display (neither DISPLAY nor WAYLAND_DISPLAY is set)" in captured.err
    assert "Demo league: Pong to 5" in captured.out
    assert "digest" in captured.out


@pytest.mark.usefixtures("no_display")
def test_without_a_display_the_window_command_fails(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["window"])
    assert ended.value.code == 2
    assert "there is no display" in capsys.readouterr().err


def test_the_error_for_a_missing_league_names_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["window", str(tmp_path / "nothing.league")])
    assert ended.value.code == 2
    assert "nothing.league" in capsys.readouterr().err


@pytest.mark.skipif(sys.platform != "linux", reason="displays have names on Linux")
def test_a_display_that_cannot_be_opened_is_an_error() -> None:
    """Qt would abort the process, which cannot be caught."""
    variables = {name: value for name, value in os.environ.items() if name not in DISPLAY_VARIABLES}
    done = subprocess.run(
        [sys.executable, "-m", "league_app", "window"],
        env={**variables, "DISPLAY": ":987"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 2
    assert "the display ':987' cannot be opened" in done.stderr


def test_the_command_line_does_not_import_the_window() -> None:
    heavy = ("PySide6", "pygame", "torch", "neat")
    code = f"import sys, league_app.cli.main; print([name for name in {heavy} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120)
    assert done.stdout.strip() == "[]"
