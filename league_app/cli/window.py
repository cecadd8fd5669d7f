"""The window from the command line; where there is no display, the same demo league in the terminal."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import Any

from engine.errors import RingsideError
from engine.files import check_path
from league_app.cli.common import command
from league_app.cli import matches as playing
from league_app.cli.output import Answer, say


def add(commands: Any) -> None:
    one = command(
        commands,
        "window",
        "the window (this is what runs without a command, where there is a display)",
        window,
        ["window", "window my.league"],
    )
    one.add_argument("league", nargs="?", help="the league to open (the one that was open last, or the sample league)")


def window(options: argparse.Namespace) -> Answer:
    first = None
    if options.league is not None:
        first = check_path("league", options.league).absolute()
        if not first.is_file():
            raise RingsideError(f"there is no file {options.league}: `ringside new {options.league}` makes a league")
    told = open_window(first)
    if told:
        raise RingsideError(told)
    return Answer(None, lambda: None)


def start(options: argparse.Namespace) -> Answer:
    """What runs without a command."""
    told = open_window(None)
    if not told:
        return Answer(None, lambda: None)
    say(f"{told}. Here is the demo league in the terminal; `ringside --help` shows what else there is")
    return playing.demo(options)


def open_window(first: Path | None) -> str:
    """Until it is closed; if it cannot be opened, why."""
    desktop = sys.platform != "linux" or any(
        os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM")
    )
    if not desktop:
        return "there is no display (neither DISPLAY nor WAYLAND_DISPLAY is set)"
    try:
        from league_app.gui.application import run
    except ImportError as error:
        return f"the window cannot be opened ({error}): `ringside doctor` says what is missing"
    status = run(first)
    if status is None:
        return f"the display {os.environ.get('DISPLAY') or os.environ.get('WAYLAND_DISPLAY')!r} cannot be opened"
    if status:
        sys.exit(status)
    return ""
