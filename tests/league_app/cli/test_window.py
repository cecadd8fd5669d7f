"""`ringside` and `ringside window`: the window where there is a display, the demo league where there is none."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from league_app.cli.main import main

PLACES = ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM")


@pytest.fixture
def no_display(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in PLACES:
        monkeypatch.delenv(name, raising=False)


@pytest.mark.usefixtures("no_display")
def test_without_a_display_it_says_so_and_plays_the_demo(capsys: pytest.CaptureFixture[str]) -> None:
    main([])
    told = capsys.readouterr()
    assert "there is no display (neither DISPLAY nor WAYLAND_DISPLAY is set)" in told.err
    assert "Demo league: Pong to 5" in told.out
    assert "digest" in told.out


@pytest.mark.usefixtures("no_display")
def test_whoever_asks_for_the_window_gets_an_error_instead_of_a_demo(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["window"])
    assert ended.value.code == 2
    assert "there is no display" in capsys.readouterr().err


def test_a_league_that_is_not_there_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["window", str(tmp_path / "nothing.league")])
    assert ended.value.code == 2
    assert "nothing.league" in capsys.readouterr().err


@pytest.mark.skipif(sys.platform != "linux", reason="displays have names on Linux")
def test_a_display_that_cannot_be_opened_does_not_abort_it() -> None:
    """Qt itself would: SIGABRT, which nobody can catch."""
    variables = {name: value for name, value in os.environ.items() if name not in PLACES}
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


def test_the_command_line_knows_no_window_until_it_is_asked_for() -> None:
    told = "import sys, league_app.cli; print([n for n in ('PySide6', 'pygame', 'torch', 'neat') if n in sys.modules])"
    done = subprocess.run([sys.executable, "-c", told], capture_output=True, text=True, check=True, timeout=120)
    assert done.stdout.strip() == "[]"
