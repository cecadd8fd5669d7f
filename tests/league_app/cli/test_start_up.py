"""Commands in unusual surroundings: closed streams, other encodings, a terminal of no width, an early Ctrl-C."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from league_app.cli.main import main
from tests.league_app.cli.commands import Capture, run_until_exit, start_process

POSIX = pytest.mark.skipif(os.name != "posix", reason="closes file descriptors with a shell")


@pytest.fixture(scope="module")
def league(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = str(tmp_path_factory.mktemp("start") / "a.league")
    main(["new", path, "--game", "pong"])
    main(["tournament", "run", path, "--agents", "Dice", "Shaky", "--steps", "40"])
    return path


def run(command: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Runs a command of Ringside in a shell."""
    line = f"{sys.executable} -m league_app {command}"
    environment = {**os.environ, "PYTHONIOENCODING": "utf-8", **variables}
    return subprocess.run(["sh", "-c", line], capture_output=True, text=True, env=environment, check=False)


@POSIX
def test_a_closed_standard_output_is_an_error_in_one_sentence(league: str) -> None:
    before = Path(league).read_bytes()
    for command in (f"standings {league}", f"standings {league} --json", "list", "--help"):
        done = run(f"{command} >&-")
        assert done.returncode == 1, command
        assert done.stderr == "ringside: cannot write to standard output: Bad file descriptor\n", command
    assert Path(league).read_bytes() == before  # nothing was printed into the file that got the number 1


@POSIX
def test_with_closed_standard_error_the_exit_status_still_tells(league: str) -> None:
    assert run("standings none.league 2>&-").returncode == 2
    assert run("nonsense 2>&-").returncode == 2
    done = run(f"standings {league} 2>&-")
    assert (done.returncode, "Shaky" in done.stdout) == (0, True)
    assert run(f"standings {league} >&- 2>&- <&-").returncode == 1


def test_characters_that_the_encoding_lacks_are_written_out(league: str) -> None:
    done = run(f"standings {league}", PYTHONIOENCODING="ascii")
    assert done.returncode == 0, done.stderr
    assert "+-" in done.stdout
    wrong = run("match pong Čapek Dice", PYTHONIOENCODING="ascii")
    assert wrong.returncode == 2
    assert "unknown agent for pong '\\u010capek'" in wrong.stderr


@pytest.mark.parametrize("columns", ["0", "-7", "1", "wide", ""])
def test_a_terminal_of_any_width_shows_something(league: str, columns: str) -> None:
    done = run(f"standings {league}", COLUMNS=columns)
    assert done.returncode == 0, done.stderr
    if columns != "1":
        assert "Shaky" in done.stdout
    assert run("--help", COLUMNS=columns).returncode == 0


def test_help_is_a_command_too(capsys: Capture) -> None:
    def shown(*arguments: str) -> str:
        run_until_exit(0, *arguments)
        return capsys.readouterr().out

    assert shown("help") == shown("--help") != ""
    assert shown("help", "tournament", "run") == shown("tournament", "run", "--help") != ""


@POSIX
def test_ctrl_c_at_any_moment_of_the_start_prints_no_traceback(league: str) -> None:
    """As launch.py starts it: with Ctrl-C blocked until it can be handled. So it is sent before Python has started."""
    block = "import os, signal, sys; signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT]); "
    block += (
        "os.kill(os.getpid(), signal.SIGINT); os.execv(sys.executable, [sys.executable, '-m', 'league_app', 'list'])"
    )
    with start_process("-c", block) as process:
        output, errors = process.communicate(timeout=600)
    assert (process.returncode, output, errors) == (130, "", "ringside: stopped\n")
