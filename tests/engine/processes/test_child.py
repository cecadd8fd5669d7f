"""Child processes: they are set up, answer, print, die in every way, and leave nothing behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import psutil
import pytest

from engine.processes import child as child_module
from engine.processes import launcher
from engine.processes.bootstrap import NICE, OUT_OF_MEMORY, ChildSetup
from engine.processes.channel import Message, ProtocolError
from engine.processes.child import SILENT, ChildEnded, ChildProcess
from tests.agents.training.session_helpers import assert_gone, runs

FORKED = ChildSetup(server="engine.processes.fork_server")
ROOT = Path(__file__).parents[3]


def child_of(function: str, *arguments: object, setup: ChildSetup = FORKED) -> ChildProcess:
    return ChildProcess(f"tests.engine.processes.children:{function}", *arguments, setup=setup)


def next_message(child: ChildProcess) -> Message:
    messages = child.receive()
    assert len(messages) == 1
    return messages[0]


def end_of(child: ChildProcess) -> str:
    """All further messages are ignored; returns how it ended."""
    try:
        while True:
            child.receive()
    except ChildEnded as ended:
        return str(ended)


@pytest.fixture(params=["forked", "spawned"])
def setup(request: pytest.FixtureRequest) -> ChildSetup:
    return FORKED if request.param == "forked" else ChildSetup()


# Messages


def test_messages_arrive_unchanged_in_both_directions(setup: ChildSetup) -> None:
    body = bytes(range(256)) * 40_000  # more than a socket holds
    with child_of("echo", "a", 2, setup=setup) as child:
        child.send(["one"], body)
        child.send(["two", {"three": [4]}])
        got: list[Message] = []
        while len(got) < 3:
            got += child.receive()
        assert got == [(["arguments", "a", 2], b""), (["one"], body), (["two", {"three": [4]}], b"")]
        assert child.receive(0.0) == []
        assert (child.exit_code, child.has_ended) == (None, False)
        assert child.pid == psutil.Process(child.pid).pid


def test_a_child_that_never_answers_lets_the_parent_go_on() -> None:
    with child_of("never_answer") as child:
        assert child.receive(0.01) == []
        assert child.receive(0.01) == []
        assert not child.has_ended
    assert child.has_ended


def test_messages_that_are_not_listened_to_stay_until_later() -> None:
    with child_of("leave", 0) as child:
        assert child.join(600)
        assert child.receive(0.0, listen=False) == [(["last words"], b"")], "after its death all it sent is read"


def test_garbage_is_a_protocol_error_after_the_messages_before_it() -> None:
    with child_of("send_garbage") as child:
        assert next_message(child) == (["good"], b"")
        for _ in range(2):
            with pytest.raises(ProtocolError, match="sent a frame of"):
                child.receive()
    assert not runs(child.pid)


def test_threads_may_send_while_one_receives() -> None:
    with child_of("echo") as child:
        next_message(child)
        threads = [threading.Thread(target=child.send, args=([str(n)], bytes(100_000))) for n in range(20)]
        for thread in threads:
            thread.start()
        got: list[Message] = []
        while len(got) < 20:
            got += child.receive()
        for thread in threads:
            thread.join()
    assert sorted(int(fields[0]) for fields, _ in got) == list(range(20))


# Output


def test_the_tail_of_a_flood_of_output_is_kept() -> None:
    with child_of("flood") as child:
        assert next_message(child) == (["done"], b"")
        assert end_of(child).endswith("xxx | the end")
        assert child.output.text.endswith("x\nthe end")
        assert len(child.output.text) <= child_module.OUTPUT_TAIL


def test_a_flood_of_output_does_not_block_a_child_that_is_not_listened_to() -> None:
    with child_of("flood") as child:
        while not child.has_ended:
            assert child.receive(0.01, listen=False) in ([], [(["done"], b"")])
        assert child.exit_code == 0


# How it ends


@pytest.mark.parametrize(
    ("function", "arguments", "text", "code"),
    [
        ("leave", (3,), "exited with status 3; it last printed: going", 3),
        ("leave", (0,), "exited with status 0; it last printed: going", 0),
        ("leave", (OUT_OF_MEMORY,), "ran out of memory; it last printed: going", OUT_OF_MEMORY),
        ("fail", (), "exited with status 1; it last printed: ValueError: no good", 1),
        ("kill_itself", (), "was killed by SIGKILL", -signal.SIGKILL),
        ("missing", (), "AttributeError: module 'tests.engine.processes.children' has no attribute 'missing'", 1),
    ],
)
def test_the_end_of_a_child_is_noticed_and_described(
    function: str, arguments: tuple[object, ...], text: str, code: int, setup: ChildSetup
) -> None:
    with child_of(function, *arguments, setup=setup) as child:
        assert text in end_of(child)
        assert child.exit_code == code
        assert end_of(child), "as often as it is asked"
    assert child.join(0.0)


def test_a_child_killed_from_outside_is_noticed() -> None:
    with child_of("echo") as child:
        next_message(child)
        os.kill(child.pid, signal.SIGKILL)
        assert end_of(child) == "was killed by SIGKILL"


def test_a_child_whose_fork_server_is_killed_is_killed_too() -> None:
    with child_of("echo") as child:
        next_message(child)
        psutil.Process(child.pid).parent().kill()
        assert end_of(child) == "was killed by SIGKILL"
    with child_of("echo") as child:
        assert next_message(child) == (["arguments"], b""), "another server is started"


def test_a_child_is_started_although_its_fork_server_is_killed_meanwhile(monkeypatch: pytest.MonkeyPatch) -> None:
    with child_of("echo") as child:
        next_message(child)
        server = psutil.Process(child.pid).parent()
    begun, start = threading.Event(), launcher._started

    def started(*given: object) -> object:
        begun.set()
        return start(*given)

    monkeypatch.setattr(launcher, "_started", started)
    server.suspend()  # it takes the request and does not answer
    with child_of("echo", "late") as child:
        begun.wait()
        time.sleep(0.1)  # most likely it has been sent now; if not, the child has a new server from the beginning
        server.kill()
        assert next_message(child) == (["arguments", "late"], b"")


def test_a_child_that_could_not_be_started_has_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError("no more processes")

    monkeypatch.setattr(launcher, "_start", refuse)
    with child_of("echo") as child:
        assert end_of(child) == "could not be started: no more processes"
        assert (child.pid, child.exit_code, child.has_ended) == (None, None, True)


def test_a_child_that_hangs_up_is_given_up_after_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(child_module, "GRACE", 0.05)
    with child_of("hang_up") as child:
        assert end_of(child) == SILENT
        assert not child.has_ended
    assert not runs(child.pid)


def test_a_descendant_that_holds_the_socket_does_not_hide_the_end() -> None:
    with child_of("leave_descendant") as child:
        (_, descendant), _ = next_message(child)
        assert end_of(child) == "exited with status 3"
        assert runs(descendant)
    assert_gone(descendant)


def test_a_child_that_ignores_sigterm_is_ended() -> None:
    with child_of("ignore_sigterm") as child:
        next_message(child)
        os.kill(child.pid, signal.SIGTERM)
        assert child.receive(0.05) == []
    assert child.exit_code == -signal.SIGKILL


def test_all_descendants_end_with_a_child_that_is_closed() -> None:
    """Also those in other sessions, and those whose own parents have exited."""
    with child_of("have_descendants") as child:
        (_, *descendants), _ = next_message(child)
        assert all(map(runs, descendants))
    assert not any(map(runs, [child.pid, *descendants])), "when `close` returns"


def test_closing_twice_or_before_the_start_leaves_no_process() -> None:
    before = set(psutil.Process().children(recursive=True))
    for setup in (FORKED, ChildSetup()) * 3:
        child = child_of("never_answer", setup=setup)
        child.close()
        child.close()
        assert child.has_ended
        child.send(["into the void"])
    new = set(psutil.Process().children(recursive=True)) - before
    assert not [process for process in new if runs(process.pid) and process.ppid() != os.getpid()], (
        "fork servers may be new"
    )


PARENT = """
import sys, time
from engine.processes.bootstrap import ChildSetup
from engine.processes.child import ChildProcess
setup = ChildSetup(server={server!r}, children=True)
child = ChildProcess("tests.engine.processes.children:have_child", setup=setup)
[(words, _)] = child.receive()
print(*words[1:], flush=True)
{then}
"""


@pytest.mark.parametrize("server", ["", "engine.processes.fork_server"])
@pytest.mark.parametrize("then", ["time.sleep(600)", "sys.exit(0)"])
def test_nothing_outlives_the_parent(then: str, server: str) -> None:
    """Killed, or ended without closing; its child has a child too."""
    command = [sys.executable, "-c", PARENT.format(then=then, server=server)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) as parent:
        assert parent.stdout is not None
        pids = [int(pid) for pid in parent.stdout.readline().split()]
        assert len(pids) == 2
        if then != "sys.exit(0)":
            assert all(map(runs, pids))
            parent.kill()
        assert_gone(*pids)
        assert parent.wait() == (0 if then == "sys.exit(0)" else -signal.SIGKILL)


# How it is set up


def test_a_child_is_set_up_as_asked(setup: ChildSetup, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RINGSIDE_TRIAL", "yes")
    asked = ChildSetup(server=setup.server, memory=100 << 20, plugins=("tests.engine.processes.children",))
    with child_of("describe", setup=asked) as child:
        (_, heavy, own_session, nice, memory, threads, variable), _ = next_message(child)
        assert end_of(child) == "exited with status 0"
    assert heavy == [], "it imports what it needs, nothing else"
    assert own_session
    assert nice == min(os.nice(0) + NICE, 19)
    assert memory is None or 100 << 20 <= memory < 1 << 40
    assert (threads, variable) == ("1", "yes")


def test_libraries_are_imported_by_a_fork_server_of_their_own() -> None:
    with_torch = ChildSetup(server=FORKED.server, libraries=("torch",))
    for setup, before in ((with_torch, True), (FORKED, False), (with_torch, True)):
        with child_of("use_torch", setup=setup) as child:
            assert next_message(child) == (["torch", before, 64.0**3], b"")


@pytest.mark.parametrize("library", ["tests.engine.processes.bad_library", "not_installed_anywhere"])
def test_a_library_that_cannot_be_imported_does_not_keep_a_child_from_starting(library: str) -> None:
    before = psutil.Process().children()
    for _ in range(2):
        with child_of("echo", setup=ChildSetup(server=FORKED.server, libraries=(library,))) as child:
            assert next_message(child)[0] == ["arguments"]
    new = [process for process in psutil.Process().children() if process not in before]
    assert all(runs(process.pid) for process in new), "a fork server that has ended is not left in the process table"


def test_waiting_for_the_end_takes_no_longer_than_asked() -> None:
    with child_of("never_answer") as child:
        before = time.monotonic()
        assert not child.join(0.05)
        assert time.monotonic() - before >= 0.05
