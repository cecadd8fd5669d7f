"""The command that opens the window; without a display, the demo league runs in the terminal instead."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import Any

from engine.errors import RingsideError
from engine.files import check_path
from league_app.cli import matches
from league_app.cli.common import command
from league_app.cli.output import CommandResult, print_error


def add(commands: Any) -> None:
    parser = command(
        commands,
        "window",
        "open the window (the default without a command, if there is a display)",
        window,
        ["window", "window my.league"],
    )
    parser.add_argument("league", nargs="?", help="the league to open (default: the last one, or the sample league)")


def window(options: argparse.Namespace) -> CommandResult:
    first = None
    if options.league is not None:
        first = check_path("league", options.league).absolute()
        if not first.is_file():
            raise RingsideError(f"there is no file {options.league}: `ringside new {options.league}` creates it")
    problem = open_window(first)
    if problem:
        raise RingsideError(problem)
    return CommandResult(None, lambda: None)


def start(options: argparse.Namespace) -> CommandResult:
    """The default command."""
    problem = open_window(None)
    if not problem:
        return CommandResult(None, lambda: None)
    print_error(f"{problem}. Running the demo league in the terminal; `ringside --help` lists all commands")
    return matches.demo(options)


def open_window(first: Path | None) -> str:
    """Runs the window until it is closed; returns why it cannot be opened, or an empty text."""
    desktop = sys.platform != "linux" or any(
        os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM")
    )
    if not desktop:
        return "there is no display (neither DISPLAY nor WAYLAND_DISPLAY is set)"
    try:
        from league_app.gui.application import run
    except ImportError as error:
        return f"the window cannot be opened ({error}): `ringside doctor` shows what is missing"
    status = run(first)
    if status is None:
        return f"the display {os.environ.get('DISPLAY') or os.environ.get('WAYLAND_DISPLAY')!r} cannot be opened"
    if status:
        sys.exit(status)
    return ""
