"""Runs commands in this process, or in a child process that handles Ctrl-C."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from typing import Any

import pytest

from league_app.cli.main import main

Capture = pytest.CaptureFixture[str]


def run_json(capsys: Capture, *arguments: str, status: int = 0) -> Any:
    """The JSON output of a command."""
    if status:
        run_until_exit(status, *arguments, "--json")
    else:
        main([*arguments, "--json"])
    return json.loads(capsys.readouterr().out)


def run_text(capsys: Capture, *arguments: str) -> str:
    """The output of a command, on one line."""
    main(list(arguments))
    return " ".join(capsys.readouterr().out.split())


def run_rejected(capsys: Capture, *arguments: str) -> str:
    """The error message of an invalid command."""
    run_until_exit(2, *arguments)
    return capsys.readouterr().err


def run_until_exit(status: int, *arguments: str) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(list(arguments))
    assert stopped.value.code == status


def start_process(*arguments: str, **options: Any) -> subprocess.Popen[str]:
    """Starts Python; SIGINT is reset because a process that was started in the background inherits it ignored."""
    reset = None if sys.platform == "win32" else _reset_sigint
    return subprocess.Popen(
        [sys.executable, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=reset,
        **options,
    )


def _reset_sigint() -> None:
    signal.signal(signal.SIGINT, signal.SIG_DFL)
