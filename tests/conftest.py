"""Options of the test run, and the example plug-ins, registered as if their packages were installed."""

from __future__ import annotations

import os
import signal
from collections import Counter
from collections.abc import Iterator

import hypothesis
import pytest
from pytestqt.qtbot import QtBot

from engine.game import Game
from engine.registry import KINDS, new_game
from tests.plugins import everyone  # noqa: F401 - importing it registers them

# No deadline: the first example may compile a kernel. Derandomised: a failure in CI is the same failure here.
hypothesis.settings.register_profile("ringside", deadline=None, derandomize=True)
hypothesis.settings.load_profile("ringside")

WAIT = 300_000  # milliseconds; the limit only ends a hang
for wait in (QtBot.waitUntil, QtBot.waitSignal, QtBot.waitSignals, QtBot.waitCallback, QtBot.waitExposed):
    wait.__kwdefaults__["timeout"] = WAIT

# A shell that starts the tests in the background lets them ignore Ctrl-C, and their child processes inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--all", action="store_true", help="run the slow tests too, as CI does")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave slow tests out, unless `--all` or a marker expression asks for them, or a single one is named."""
    named = any("::" in argument for argument in config.args)
    slow = {item for item in items if item.get_closest_marker("slow")}
    if not (config.getoption("--all") or config.getoption("-m") or named):
        config.hook.pytest_deselected(items=list(slow))
        items[:] = [item for item in items if item not in slow]
        slow.clear()
    if config.pluginmanager.hasplugin("randomly"):
        return  # pytest-randomly has shuffled the files, too
    # Long files first, so that at the end no process waits for another.
    tests, long = Counter(item.path for item in items), {item.path for item in slow}
    items.sort(key=lambda item: (item.path not in long, -tests[item.path], item.path))


@pytest.hookimpl(optionalhook=True)  # without xdist it is unknown
def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """A process for each core, at most four: each of them holds all compiled kernels in memory."""
    return min(os.cpu_count() or 1, 4)


@pytest.fixture(autouse=True)
def restored_process() -> Iterator[None]:
    """Restores environment variables, the current folder and signals, so that no test depends on another."""
    variables, folder = dict(os.environ), os.getcwd()
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, [])
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    yield
    if dict(os.environ) != variables:
        os.environ.clear()
        os.environ.update(variables)
    os.chdir(folder)
    signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
    for number, handler in handlers.items():
        signal.signal(number, handler)


@pytest.fixture
def pong() -> Game:
    return new_game("pong")


@pytest.fixture
def only_ours() -> Iterator[None]:
    """Without the newcomers' agents, as on a machine with Ringside alone: worker processes know no others either."""
    others = {name: KINDS.get(name) for name in KINDS.names() if name not in KINDS.own()}
    for name in others:
        KINDS.remove(name)
    yield
    for name, kind in others.items():
        KINDS.add(name, kind)
