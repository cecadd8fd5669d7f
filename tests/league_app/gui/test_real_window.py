"""The window on a real screen, with a window manager, a mouse and a keyboard: flows 1 to 4, with real workers.

Xvfb, openbox and xdotool are needed; where they are missing this is skipped, unless RINGSIDE_TESTS=all says that
they must be there.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from engine.league.records import RunState
from engine.league.storage.league import League
from engine.league.storage.sessions import SessionStore
from league_app.core import sample_league

ROOT = Path(__file__).parents[3]
NEEDED = ("Xvfb", "openbox", "xdotool")
MISSING = [name for name in NEEDED if shutil.which(name) is None]
PATIENCE = 120.0
OWN = len(sample_league.games()) + 1  # the first tournament that is not the sample league's own

pytestmark = pytest.mark.skipif(
    bool(MISSING) and os.environ.get("RINGSIDE_TESTS") != "all", reason=f"not installed: {', '.join(MISSING)}"
)


@pytest.fixture(scope="module")
def screen() -> Iterator[str]:
    """A virtual display with a window manager."""
    read, write = os.pipe()
    command = ["Xvfb", "-displayfd", str(write), "-screen", "0", "1600x900x24", "-nolisten", "tcp"]
    server = subprocess.Popen(command, pass_fds=[write], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    os.close(write)
    with os.fdopen(read) as pipe:
        display = f":{pipe.readline().strip()}"
    manager = subprocess.Popen(
        ["openbox", "--sm-disable"],
        env={**os.environ, "DISPLAY": display},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    yield display
    for process in (manager, server):
        process.terminate()
        process.wait()


class Person:
    """Sends mouse and keyboard events to the window on that display."""

    def __init__(self, display: str, home: Path, league: Path | None = None) -> None:
        self._variables = {**os.environ, "DISPLAY": display, "RINGSIDE_HOME": str(home), "PYTHONPATH": str(ROOT)}
        self._variables.pop("QT_QPA_PLATFORM", None)
        command = [sys.executable, "-m", "tests.league_app.gui.probed_app", *([str(league)] if league else [])]
        self.app = subprocess.Popen(
            command,
            cwd=ROOT,
            env=self._variables,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        self.wait("the window", lambda: bool(self._windows()))

    def _windows(self) -> str:
        found = self._do("search", "--onlyvisible", "--pid", str(self.app.pid), check=False)
        return found.strip()

    def _do(self, *words: str, check: bool = True) -> str:
        done = subprocess.run(
            ["xdotool", *words], env=self._variables, capture_output=True, text=True, check=False, timeout=PATIENCE
        )
        assert done.returncode == 0 or not check, done.stderr
        return done.stdout

    def ask(self, ask: str, **more: Any) -> Any:
        assert self.app.stdin is not None
        assert self.app.stdout is not None
        self.app.stdin.write(json.dumps({"ask": ask, **more}) + "\n")
        self.app.stdin.flush()
        line = self.app.stdout.readline()
        assert line, f"the application is gone: {self.app.stderr.read() if self.app.stderr else ''}"
        return json.loads(line)

    def wait(self, what: str, until: Callable[[], object], patience: float = PATIENCE) -> Any:
        end = time.monotonic() + patience
        while time.monotonic() < end:
            assert self.app.poll() is None, f"it ended while waiting for {what}: {self.app.communicate()[1]}"
            if found := until():
                return found
            time.sleep(0.1)
        raise AssertionError(f"{what} did not come: {self.ask('state')}")

    def state(self, **wanted: Any) -> dict[str, Any]:
        """Waits until the state has these values."""

        def like_this() -> dict[str, Any] | None:
            now: dict[str, Any] = self.ask("state")
            return now if all(now[name] == value for name, value in wanted.items()) else None

        found: dict[str, Any] = self.wait(str(wanted), like_this)
        return found

    def click(self, text: str) -> None:
        x, y = self.wait(f"a button {text!r}", lambda: self.ask("where", text=text))
        self._do("mousemove", str(x), str(y), "click", "1")

    def press(self, *keys: str) -> None:
        for key in keys:
            self._do("key", "--clearmodifiers", key)

    def sees(self, text: str) -> bool:
        return any(text in shown for shown in self.ask("texts"))

    def family(self) -> list[psutil.Process]:
        return psutil.Process(self.app.pid).children(recursive=True)

    def leave(self) -> None:
        if self.app.poll() is None:
            self.app.kill()
        self.app.communicate()


def gone(processes: list[psutil.Process]) -> bool:
    _, alive = psutil.wait_procs(processes, timeout=PATIENCE)
    return not alive


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


def test_watching_playing_and_training_with_mouse_and_keyboard(screen: str, home: Path) -> None:
    person = Person(screen, home)
    try:
        # 1. The sample league is made, and plays a first tournament of each game by itself.
        played = [
            person.wait(f"tournament {number}", lambda number=number: _finished(person, number))
            for number in range(1, OWN)
        ]
        assert person.ask("state")["page"] == "WelcomePage"
        person.wait("its matches", lambda: person.sees(f" agents, {sum(played):,} matches played"))
        # 2. A match is watched; visual mode by key and by mouse.
        person.click("Watch a match")
        person.state(page="MatchPage")
        person.wait("the badge", lambda: person.sees("EXHIBITION"))
        person.press("F5")
        person.state(visual=True, text="the next tournament will be shown")
        person.click("Visual mode")
        person.state(visual=False)
        # 3. A tournament from the menu's shortcut: Enter starts it as it is filled in. It is watched, then not.
        person.press("F5")
        person.state(visual=True)
        person.press("ctrl+t")
        person.state(dialog="TournamentDialog")
        person.press("Return")
        person.state(running=True, live=True, page="MatchPage")
        person.wait("the live match", lambda: person.sees("LIVE"))
        person.press("F5")
        person.wait("the rest in batches", lambda: _finished(person, OWN))
        assert person.ask("state")["visual"] is False
        person.click("Standings")
        person.state(page="StandingsPage")
        # 4. Training: the preset that is filled in, for a few generations.
        person.press("ctrl+shift+t")
        person.state(dialog="NewSessionDialog")
        person.wait("the trainers", lambda: person.ask("where", text="Start"))
        person.press("Return")
        person.wait("a session", lambda: person.ask("state")["training"] == [1])
        person.wait("its first generations", lambda: person.ask("state")["steps"].get("1", 0) >= 2)
        person.state(page="TrainingPage")
        [trainer] = person.ask("state")["trainers"]
        heavy = ["libtorch"] if trainer == "neat" else []  # the other trainers learn by torch
        family = person.family()
        assert family
        assert not _with_libraries(person, family, "libQt6", "pygame", *heavy), "workers know no window"
        # Closing asks once, saves, and leaves no process.
        person.press("ctrl+q")
        person.state(dialog="ConfirmDialog")
        person.click("Stop and quit")
        assert person.app.wait(PATIENCE) == 0
        assert gone(family)
    finally:
        person.leave()
    with League(home / "Sample.league") as league:
        [session] = SessionStore(league).all()
        assert session.state is RunState.STOPPED
        assert SessionStore(league).steps(1) >= 2
        assert [tournament.state for tournament in league.tournaments()] == [RunState.FINISHED] * OWN


def test_a_killed_window_leaves_nothing_running_and_resumes(screen: str, home: Path) -> None:
    person = Person(screen, home)
    try:
        person.wait("the first tournaments", lambda: _finished(person, OWN - 1))
        person.click("Run a tournament")
        person.state(dialog="TournamentDialog")
        person.click("Rounds")
        person.press("ctrl+a", *"3000")
        person.press("Return")
        person.wait("a long run", lambda: (person.ask("state")["played"] or 0) > 100)
        family = person.family()
        os.killpg(person.app.pid, signal.SIGKILL)
        person.app.wait()
        assert gone(family)
    finally:
        person.leave()
    person = Person(screen, home)
    try:
        before = person.wait("its league", lambda: dict(_tournaments(person)).get(OWN))
        assert before >= 100, "what was acknowledged is on the disk"
        person.click("Resume")
        person.state(running=True)
        person.wait("more matches", lambda: dict(_tournaments(person))[OWN] > before)
        person.app.send_signal(signal.SIGTERM)
        assert person.app.wait(PATIENCE) == 0
    finally:
        person.leave()


def _tournaments(person: Person) -> list[tuple[int, int]]:
    return [(number, played) for number, _, played in person.ask("state")["tournaments"]]


def _finished(person: Person, number: int) -> int:
    return next(
        (tournament[2] for tournament in person.ask("state")["tournaments"] if tournament[:2] == [number, "finished"]),
        0,
    )


def _with_libraries(person: Person, family: list[psutil.Process], *libraries: str) -> list[str]:
    """Processes that have loaded one of these libraries, according to their memory maps."""
    found = []
    window = psutil.Process(person.app.pid).cmdline()
    for process in family:
        try:
            # Until a new process executes its own program, it has the command and the memory of the window.
            person.wait("its own program", lambda process=process: process.cmdline() != window)
            maps, command = Path(f"/proc/{process.pid}/maps").read_text(), " ".join(process.cmdline())
        except (OSError, psutil.Error):  # it has just ended
            continue
        found += [f"{process.pid}: {library}, {command}" for library in libraries if library in maps]
    return found
