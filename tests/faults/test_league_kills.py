"""A program that is killed, interrupted or out of disk space at any moment loses no result that it has saved."""

from __future__ import annotations

import os
import random
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import psutil
import pytest

from engine.errors import LeagueHeld, ReadOnly, StorageFailed
from engine.league import played_matches, result_writer, standings
from engine.league.records import RunState
from engine.league.storage.league import League
from engine.registry import new_game
from league_app.cli.main import main
from league_app.core.state import LeagueState
from tests.faults.league import pseudo_terminal, within
from tests.faults.test_league_file import disk
from tests.waiting import until

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals and mounts of POSIX")
ROUNDS, TOTAL = 300, 300 * 42
RUN = ["--rounds", str(ROUNDS), "-o", "points=1", "--workers", "2"]
GAME = {"game": new_game("pong", points=1).spec, "options": {"rounds": ROUNDS}}

TWICE = [signal.SIGINT, signal.SIGTERM]  # of two alike, the second is lost if the first is not handled yet
AGENTS = ["Dice", "Still", "Random", "Lazy", "Tracker", "Shaky", "Predictor"]

# It saves a few results at a time and stops after so many lines, so that it is never finished before it is killed.
PROGRAM = """
import itertools, sys, threading
from engine.league import result_writer
from engine.league.tournament_runner import TournamentRun
from league_app.state import LeagueState

FEW = 50
result_writer.GATHER = 0.005  # many small transactions: more moments to be killed in
result_writer.ENOUGH = result_writer.BATCH = FEW
lines = itertools.count(1)

class Run(TournamentRun):
    def _record(self, entries, wait=True):
        for first in range(0, len(entries), FEW):  # a transaction holds at least one batch of the executor
            super()._record(entries.select(range(first, min(first + FEW, len(entries)))), wait)

def print_places(entries):
    sys.stdout.write(" ".join(str(entry.place) for entry in entries) + "\\n")
    sys.stdout.flush()
    if next(lines) >= int(sys.argv[2]):
        threading.Event().wait()

if __name__ == "__main__":
    with LeagueState(sys.argv[1]) as state:
        print("open", flush=True)
        Run(state.league, 1, state.playing_on(2), on_saved=print_places).run()
"""


Outcome = tuple[object, ...]


def outcome(path: Path) -> Outcome:
    """Digest, table, places and seats of a tournament, without times."""
    with League(path, read_only=True) as league:
        tournament = league.tournament(1)
        assert tournament.state is RunState.FINISHED
        assert tournament.played == tournament.total == TOTAL
        rows = standings.standings(league, tournament.settings.game, 1).rows
        table = [(row.agent, row.rating, row.total, sorted(row.against)) for row in rows]
        places = [found.place for found in played_matches.every_match(league, 1)]
        return played_matches.digest(league, 1)[0], table, places, league.file.read("SELECT count(*) FROM seats")


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Outcome:
    path = tmp_path_factory.mktemp("undisturbed") / "whole.league"
    with LeagueState.new(path) as state:
        state.use_concurrent = False
        state.add_samples("pong", AGENTS)
        state.start_tournament(**GAME).wait()
    return outcome(path)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return drawn_up(tmp_path / "x.league")


def drawn_up(path: Path) -> Path:
    with LeagueState.new(path) as state:
        state.add_samples("pong", AGENTS)
        state.plan_tournament(**GAME)
    return path


def ringside(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "league_app", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=600)


def is_sound(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["doctor", str(path)])
    assert f"{TOTAL:,} matches, and every record matches its checksum" in " ".join(capsys.readouterr().out.split())


def gone(pids: list[int]) -> bool:
    with suppress(psutil.NoSuchProcess):
        return all(psutil.Process(pid).status() == psutil.STATUS_ZOMBIE for pid in pids if psutil.pid_exists(pid))
    return False


# Killed


def played_until_killed(path: Path, chance: random.Random) -> set[int]:
    """The matches that the program reported as saved before it was killed: while it starts, when it has opened the
    league, or so many lines later, and then at once or a moment afterwards."""
    lines, pause = chance.choice([0, 1, 2, 2, 3, 4]), chance.choice([0.0, chance.uniform(0, 0.05)])
    command = [sys.executable, "-c", PROGRAM, str(path), str(lines + chance.randrange(1, 4))]
    saved_places: set[int] = set()
    family: list[int] = []
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for _ in range(lines):
            saved_places |= places(process.stdout.readline())
        time.sleep(pause)
        with suppress(psutil.NoSuchProcess):
            family = [child.pid for child in psutil.Process(process.pid).children(recursive=True)]
        process.kill()
        said = process.stdout.read()
        saved_places |= {place for line in said.splitlines(keepends=True) for place in places(line)}
        process.wait()
    assert process.returncode == -signal.SIGKILL, "it ended before it was killed"
    until(lambda: gone(family))  # no worker outlives its program
    return saved_places


def places(line: str) -> set[int]:
    return {int(place) for place in line.split()} if line.endswith("\n") and line[:1].isdigit() else set()


def kill_and_resume(path: Path, kills: int, seed: int) -> None:
    chance, saved_places, rounds = random.Random(seed), set[int](), 0
    while rounds < kills or not saved_places:  # a program that is killed early has saved nothing
        rounds += 1
        more = played_until_killed(path, chance)
        assert not more & saved_places, "a saved match was played again"
        saved_places |= more
        with League(path, read_only=True) as league:
            found = [match.place for match in played_matches.every_match(league)]
            assert saved_places <= set(found), "a saved result is lost"
            assert len(found) == len(set(found)) == league.tournament(1).played


def finished(path: Path, undisturbed: Outcome, capsys: pytest.CaptureFixture[str]) -> None:
    with League(path, read_only=True) as league:
        over = not league.tournament(1).state.open  # a fast machine may be done before the last kill
    done = ringside("tournament", *(["show", path] if over else ["resume", path, "--workers", "2"]))
    assert done.returncode == 0, done.stderr
    assert f"digest {undisturbed[0]}" in done.stdout
    assert outcome(path) == undisturbed
    is_sound(path, capsys)
    stale = {"x.league-lock"} if over else set()  # of a program killed after its last match: the next writer removes it
    assert {file.name for file in path.parent.glob("x.league*")} - stale == {"x.league"}


def test_kill_9_at_any_moment_loses_nothing_and_repeats_nothing(
    path: Path, undisturbed: Outcome, capsys: pytest.CaptureFixture[str]
) -> None:
    kill_and_resume(path, 8, seed=1)
    finished(path, undisturbed, capsys)


@pytest.mark.slow
def test_many_kills_at_any_moment_lose_nothing(
    tmp_path: Path, undisturbed: Outcome, capsys: pytest.CaptureFixture[str]
) -> None:
    for turn in range(4):
        (tmp_path / str(turn)).mkdir()
        kill_and_resume(path := drawn_up(tmp_path / str(turn) / "x.league"), 10, seed=100 + turn)
        finished(path, undisturbed, capsys)


HOLDER = """
import itertools, sys
from engine.league.storage.league import League
from engine.play.match import AgentSpec
league = League(sys.argv[1])
for line in itertools.chain(["Early"], sys.stdin):
    league.add_agent(line.strip(), "pong", AgentSpec("x", "dice", b"", 1))
    print("added", flush=True)
"""


def test_a_second_instance_can_only_read_until_the_first_is_killed(path: Path) -> None:
    command = [sys.executable, "-c", HOLDER, str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stdout.readline() == "added\n"
        with pytest.raises(LeagueHeld, match=f"process {process.pid} on "):
            League(path)
        with League(path, read_only=True) as league:
            assert "Late" not in league.names()
            process.stdin.write("Late\n")
            process.stdin.flush()
            assert process.stdout.readline() == "added\n"
            assert "Late" in league.names(), "new data is visible"
            with pytest.raises(ReadOnly, match="opened read-only"):
                league.archive("Late")
        process.kill()
        process.wait()
    with League(path) as league:
        assert "Late" in league.names()
        assert path.with_name("x.league-lock").exists()
    assert os.listdir(path.parent) == ["x.league"], "no lock, no log"


def saved(path: Path) -> int:
    with League(path, read_only=True) as league:
        return sum(tournament.played for tournament in league.tournaments())


@contextmanager
def command_line(*arguments: object, **settings: Any) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-m", "league_app", *map(str, arguments)]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, **settings}
    with subprocess.Popen(command, **pipes) as process:
        try:
            yield process
        finally:
            process.kill()


def test_a_run_that_is_killed_then_interrupted_once_then_twice_is_completed(
    tmp_path: Path, undisturbed: Outcome, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "x.league"
    with LeagueState.new(path) as state:
        state.add_samples("pong", AGENTS)
    wanted: list[object] = ["tournament", "run", path, *RUN]
    for signals in ([signal.SIGKILL], [signal.SIGINT], TWICE):
        before = saved(path)
        with command_line(*wanted) as process:
            until(lambda: saved(path) > before or process.poll() is not None)  # noqa: B023
            for number in signals:
                process.send_signal(number)
            shown, said = process.communicate(timeout=600)
        now = saved(path)
        assert before < now
        if now == TOTAL:  # the rest was played before the signal came
            break
        if signal.SIGINT in signals:
            assert process.returncode == 130, said
            assert f"standings after {now:,} of {TOTAL:,} matches" in said
            assert "Traceback" not in said + shown
            assert not path.with_name("x.league-lock").exists()
        wanted = ["tournament", "resume", path, "--workers", "2"]
    finished(path, undisturbed, capsys)


# Out of disk


@contextmanager
def little_disk(folder: Path) -> Iterator[Path]:
    """A disk with a league and a file that fills it, with enough space to start but not to finish."""
    with disk(folder, "128m"):  # the log alone may take 32
        path = drawn_up(folder / "x.league")
        (folder / "filler").write_bytes(bytes(shutil.disk_usage(folder).free - 2_500_000))
        yield path


def fill_up(path: Path) -> None:
    with path.with_name("more").open("wb", buffering=0) as file, suppress(OSError):
        while True:
            file.write(bytes(4096))


def make_room(path: Path) -> None:
    for name in ("filler", "more"):
        path.with_name(name).unlink(missing_ok=True)


@pytest.fixture
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small batches, so that some are saved before the disk is full."""
    monkeypatch.setattr(result_writer, "ENOUGH", 100)
    monkeypatch.setattr(result_writer, "BATCH", 100)


def test_a_run_waits_for_space_on_a_full_disk_and_then_completes(
    tmp_path: Path,
    undisturbed: Outcome,
    capsys: pytest.CaptureFixture[str],
    small_batches: None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with little_disk(tmp_path / "disk") as path, within(120):
        with LeagueState(path) as state:
            job = state.start_tournament(1)
            until(lambda: job.progress().text.startswith("waiting: ") or job.wait(0))
            text = job.progress().text
            assert str(path) in text
            assert "the disk is full" in text
            played = job.progress().played
            assert 0 < played < TOTAL
            attempts, record = list[int](), job.run.store.record_batches
            monkeypatch.setattr(job.run.store, "record_batches", lambda some: attempts.append(1) or record(some))
            until(lambda: len(attempts) >= 2)
            assert job.wait(0) is None, "it waits"
            assert len(list(played_matches.every_match(state.league))) == played, "saved results can be read meanwhile"
            make_room(path)
            ended = job.wait()
            assert ended is not None
            assert (ended.state, ended.note) == (RunState.FINISHED, "")
        assert outcome(path) == undisturbed
        is_sound(path, capsys)


def test_stopping_on_a_full_disk_reports_how_many_results_were_not_saved(
    tmp_path: Path, undisturbed: Outcome, small_batches: None
) -> None:
    with little_disk(tmp_path / "disk") as path, within(120):
        with LeagueState(path) as state:
            job = state.start_tournament(1)
            until(lambda: job.progress().text.startswith("waiting: "))
            fill_up(path)
            job.stop()
            try:
                ended = job.wait()
                message = ended.note if ended else ""
            except StorageFailed as error:
                message = str(error)
            assert job.run.unsaved > 0
        make_room(path)
        with LeagueState(path) as state:
            assert state.league.tournament(1).played == len(list(played_matches.every_match(state.league))) > 0
            state.resume_tournament().wait()
        assert outcome(path) == undisturbed
    assert f"{job.run.unsaved:,} results could not be saved" in message


def test_a_tournament_that_cannot_start_reports_it(tmp_path: Path) -> None:
    with little_disk(tmp_path / "disk") as path, within(60), LeagueState(path) as state:
        fill_up(path)
        with pytest.raises(StorageFailed, match="the disk is full"):
            state.start_tournament(1).wait()


def test_a_job_ends_even_if_its_last_note_cannot_be_written(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise StorageFailed("the disk is full")

    with LeagueState(path) as state:
        monkeypatch.setattr(state.league, "save_setting", full)
        job = state.start_tournament(1)
        until(lambda: not state.running)
        assert job.wait(300) is not None, "it hangs"


@pytest.mark.parametrize("terminal", [True, False])
def test_the_command_line_reports_a_full_disk_and_unsaved_results(tmp_path: Path, terminal: bool) -> None:
    """Also where it is not watched, and where the name of the folder looks like markup. Where even its last note cannot
    be written it ends as something that could not be done, not as something that was merely stopped."""
    with little_disk(tmp_path / "[red]disk") as path, within(120):
        text, status = stopped_on_a_full_disk(path, terminal)
    wanted = (rf"cannot write {re.escape(str(path))}: the disk is full", r"\d results could not be saved")
    missing = [pattern for pattern in wanted if not re.search(pattern, text)]
    assert missing == [], text[-1500:]
    assert status in (130, 2), text[-1500:]
    assert "Traceback" not in text


def stopped_on_a_full_disk(path: Path, terminal: bool) -> tuple[str, int]:
    """The output and the exit status."""
    output: list[str] = []
    ours, theirs = pseudo_terminal() if terminal else os.pipe()
    listener = threading.Thread(target=listen, args=[ours, output])
    listener.start()
    wanted = ["tournament", "resume", path, "--workers", "2"]
    wide = {**os.environ, "COLUMNS": "400", "TERM": "xterm"}
    with command_line(*wanted, stdout=theirs, stderr=theirs, env=wide) as process:
        os.close(theirs)
        try:
            until(lambda: shutil.disk_usage(path.parent).free < 32_768)
            with suppress(AssertionError):  # the caller reports what is missing
                until(lambda: "the disk is full" in "".join(output) or process.poll() is not None)
            fill_up(path)
            process.send_signal(signal.SIGINT)  # one is enough: there is no use in waiting for running matches
            process.wait(timeout=600)
        finally:
            process.kill()
            listener.join()
            os.close(ours)
    return "".join(output), process.returncode


def listen(handle: int, output: list[str]) -> None:
    with suppress(OSError):  # a terminal raises it when the other end is closed
        while data := os.read(handle, 65536):
            output.append(data.decode(errors="replace"))
