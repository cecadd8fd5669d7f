"""Functions that child processes run in the tests of `ChildProcess`."""

from __future__ import annotations

import os
import select
import signal
import socket
import subprocess
import sys
import time

from engine.processes.channel import Channel, Disconnected

SLEEP = "import time; time.sleep(600)"


def answer(channel: Channel) -> None:
    """Send back every message until the parent has closed the connection."""
    try:
        while True:
            select.select([channel.socket], [], [])
            for fields, body in channel.get():
                channel.send(fields, body)
    except Disconnected:
        pass


def echo(end: socket.socket, *arguments: object) -> int:
    channel = Channel(end)
    channel.send(["arguments", *arguments])
    answer(channel)
    return 7


def leave(end: socket.socket, status: int) -> int:
    Channel(end).send(["last words"])
    sys.stdout.write("going\n")
    sys.stdout.flush()
    return status


def fail(end: socket.socket) -> None:
    raise ValueError("no good")


def kill_itself(end: socket.socket) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def flood(end: socket.socket) -> int:
    """Print far more than the socket holds, then the end."""
    for _ in range(2000):
        sys.stdout.write("x" * 10_000 + "\n")
    sys.stdout.write("the end\n")
    sys.stdout.flush()
    Channel(end).send(["done"])
    return 0


def ignore_sigterm(end: socket.socket) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    Channel(end).send(["ready"])
    time.sleep(600)


def have_descendants(end: socket.socket) -> None:
    """A child, one in a session of its own, and one whose parent has exited; none of them ends with its parent."""
    pipe = subprocess.PIPE
    script = f"import subprocess, sys; p = subprocess.Popen([sys.executable, '-c', {SLEEP!r}], start_new_session=True)"
    near = subprocess.Popen([sys.executable, "-c", SLEEP])
    far = subprocess.Popen([sys.executable, "-c", SLEEP], start_new_session=True)
    with subprocess.Popen([sys.executable, "-c", f"{script}; print(p.pid)"], stdout=pipe, text=True) as between:
        assert between.stdout is not None
        orphan = int(between.stdout.readline())  # it inherits the pipe, which therefore stays open
    Channel(end).send(["descendants", near.pid, far.pid, orphan])
    time.sleep(600)


def leave_descendant(end: socket.socket) -> int:
    """Exit and leave a child that holds the socket open."""
    end.set_inheritable(True)
    child = subprocess.Popen([sys.executable, "-c", SLEEP], close_fds=False)
    Channel(end).send(["descendant", child.pid])
    return 3


def never_answer(end: socket.socket) -> None:
    time.sleep(600)


def hang_up(end: socket.socket) -> None:
    """Close the connection, but do not exit."""
    end.close()
    time.sleep(600)


def send_garbage(end: socket.socket) -> None:
    Channel(end).send(["good"])
    end.setblocking(True)
    end.sendall(b"\xff" * 100)
    time.sleep(600)


def describe(end: socket.socket) -> int:
    """Report what the process is like."""
    heavy = sorted({"numpy", "numba", "torch", "engine.play.workers.main"} & set(sys.modules))
    limits = None
    if sys.platform == "linux":
        import resource

        limits = resource.getrlimit(resource.RLIMIT_DATA)[0]
    own = os.getsid(0) == os.getpid()
    threads = os.environ.get("OMP_NUM_THREADS")
    Channel(end).send(["process", heavy, own, os.nice(0), limits, threads, os.environ.get("RINGSIDE_TRIAL")])
    return 0


def use_torch(end: socket.socket) -> int:
    """Send whether torch was imported before, and a product that it computes."""
    before = "torch" in sys.modules
    import torch

    product = torch.ones(64, 64) @ torch.ones(64, 64)
    Channel(end).send(["torch", before, float(product.sum())])
    return 0


def have_child(end: socket.socket) -> None:
    """Start a child process by the same class, and report both."""
    from engine.processes.child import ChildProcess

    with ChildProcess("tests.engine.processes.children:echo") as child:
        child.receive()
        Channel(end).send(["pids", os.getpid(), child.pid])
        time.sleep(600)
