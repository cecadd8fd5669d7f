"""Commands that are interrupted, and commands whose output cannot be written."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

import pytest

from engine.errors import RingsideError
from engine.league.storage.league import League
from tests.faults.league import within
from tests.league_app.cli.commands import start_process
from tests.waiting import until

INTERRUPTED = """
import runpy, signal, sys

class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            sys.meta_path.remove(self)
            signal.raise_signal(signal.SIGINT)

sys.meta_path.insert(0, Finder())
sys.argv = ["ringside", "demo", "--matches", "84"]
runpy.run_module("league_app", run_name="__main__")
"""


@pytest.mark.parametrize(
    "module", ["multiprocessing", "league_app.cli.main", "numpy", "league_app.cli.training", "engine.play.concurrent"]
)
def test_ctrl_c_during_the_imports_prints_one_line_and_no_traceback(module: str) -> None:
    """From the first line of our code on; before that Python prints its own traceback."""
    with start_process("-c", INTERRUPTED.format(module=module)) as process:
        _, error = process.communicate()
    assert (process.returncode, error) == (130, "ringside: stopped\n")


def recorded_matches(folder: Path) -> int:
    """Matches in the temporary league of a demo."""
    for path in folder.glob("ringside.*/*/demo.league"):
        with suppress(RingsideError), League(path, read_only=True) as league:  # it may not be complete yet
            return sum(tournament.played for tournament in league.tournaments())
    return 0


@pytest.mark.skipif(sys.platform == "win32", reason="Windows cannot send SIGINT to a single process")
@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_an_interrupted_demo_shows_the_standings_so_far(number: signal.Signals, status: int) -> None:
    arguments = ["-u", "-m", "league_app", "demo", "--matches", "1000000"]
    with (
        tempfile.TemporaryDirectory() as folder,  # a short path, as those of sockets must be
        start_process(*arguments, env={**os.environ, "TMPDIR": folder}) as process,
    ):
        assert process.stdout is not None
        assert "Demo league" in process.stdout.readline()
        with within(60):
            until(lambda: recorded_matches(Path(folder)) or process.poll() is not None)
        process.send_signal(number)
        table, error = process.communicate(timeout=300)
    assert process.returncode == status
    finishing, stopped = error.splitlines()
    assert re.fullmatch(r"ringside: finishing [\d,]+ match(es)?; press Ctrl-C again to stop now", finishing), error
    assert re.fullmatch(r"ringside: stopped: standings after [\d,]+ of 1,000,020 matches", stopped), error
    assert "Predictor" in table
    assert "digest" not in table, "the digest is for finished tournaments"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_is_reported() -> None:
    command = [sys.executable, "-m", "league_app", "match", "pong", "Dice", "Dice", "--steps", "5"]
    with open("/dev/full", "w") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, timeout=300)
    assert done.returncode == 1
    assert done.stderr == "ringside: cannot write to standard output: No space left on device\n"


@pytest.mark.parametrize(("arguments", "status"), [(["list"], 0), (["--help"], 0), (["demo", "--matches", "60"], 3)])
def test_a_reader_that_closes_the_pipe_ends_the_command_without_a_message(arguments: list[str], status: int) -> None:
    """Status 0 if the command was done and only its text is lost, 3 if it was not finished."""
    with start_process("-m", "league_app", *arguments) as process:
        assert process.stdout is not None
        process.stdout.close()
        assert process.stderr is not None
        error = process.stderr.read()
        assert (process.wait(60), error) == (status, "")
