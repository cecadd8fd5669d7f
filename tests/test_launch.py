"""Runs launch.py on a tiny checkout that needs no network; checks its output and the files that it leaves."""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from subprocess import CompletedProcess, Popen
from typing import IO

import pytest

from tests.faults.league import pseudo_terminal
from tests.launch_helpers import POSIX, PYPROJECT, Checkout, load_launcher


@contextlib.contextmanager
def small_disk(folder: Path, megabytes: int) -> Iterator[Path | None]:
    """Mounts a file system of that size, or yields None if that is not permitted."""
    folder.mkdir()
    options = ["-t", "tmpfs", "-o", f"size={megabytes}m", "tmpfs", str(folder)]
    if not shutil.which("mount") or subprocess.run(["mount", *options], capture_output=True).returncode:
        yield None
        return
    try:
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=True)


def read_line(stream: IO[str] | None) -> str:
    assert stream
    return stream.readline()


@pytest.fixture(scope="module")
def first_run(tmp_path_factory: pytest.TempPathFactory) -> tuple[Checkout, CompletedProcess[str]]:
    checkout = Checkout(tmp_path_factory.mktemp("first"))
    return checkout, checkout.run()


@pytest.fixture
def ready(first_run: tuple[Checkout, CompletedProcess[str]]) -> Checkout:
    """A checkout that is set up; tests must not change it."""
    return first_run[0]


@pytest.fixture
def unfinished(tmp_path: Path, ready: Checkout) -> Checkout:
    """A checkout whose setup was interrupted: a copy of the ready one without its stamp."""
    checkout = Checkout(tmp_path)
    shutil.copytree(ready.venv, checkout.venv, symlinks=True)
    checkout.stamp.unlink()
    return checkout


def test_the_first_run_sets_up_and_then_runs_ringside(
    first_run: tuple[Checkout, CompletedProcess[str]],
) -> None:
    checkout, result = first_run
    assert result.returncode == 0, result.stderr
    assert result.stdout == f"ringside [] {checkout.source} None\n"
    for step in ("1/4", "2/4", "3/4", "4/4", "Ringside is set up."):
        assert step in result.stderr
    assert [line.split(",")[0] for line in result.stderr.splitlines()[1:4]] == [
        "1/4  Python environment",
        "     created",
        "2/4  Packages",
    ]
    assert "ringside ['compile']" in result.stderr
    assert "\r" not in result.stderr
    assert "\x1b" not in result.stderr
    assert {path.name for path in checkout.source.iterdir()} - checkout.files == {".venv", "builds.txt"}


def test_a_second_run_installs_and_prints_nothing(ready: Checkout) -> None:
    builds = ready.builds()
    result = ready.run()
    assert result.stderr == ""
    assert ready.builds() == builds


def test_arguments_and_exit_codes_pass_through(ready: Checkout, tmp_path: Path) -> None:
    (tmp_path / "league_app").mkdir()
    (tmp_path / "league_app" / "__main__.py").write_text("print('a stranger with the same name')")
    result = ready.run("play", "--seed", "3", "a file", cwd=tmp_path, PYTHONPATH=str(tmp_path))
    assert result.stdout == f"ringside ['play', '--seed', '3', 'a file'] {tmp_path} None\n"
    assert ready.run("exit", "7").returncode == 7


def test_hints_use_the_command_that_the_user_typed(ready: Checkout) -> None:
    errors = ready.run("called").stderr
    assert errors == f'{Path(sys.executable).name} "{ready.source / "launch.py"}"\n'


def test_check_with_names_is_passed_to_ringside(ready: Checkout) -> None:
    done = ready.run("check", "nim")
    assert "ringside ['check', 'nim']" in done.stdout
    assert "ruff" not in done.stdout


def test_help_installs_nothing(tmp_path: Path) -> None:
    checkout = Checkout(tmp_path)
    result = checkout.run("--help")
    assert result.returncode == 0
    assert "launch.py test" in result.stdout
    assert not checkout.venv.exists()


@pytest.mark.skipif(not POSIX, reason="on Windows a closed pipe is another error")
def test_help_for_a_reader_that_closes_the_pipe_ends_without_a_message(tmp_path: Path) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    command = Checkout(tmp_path).command("help")
    done = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, check=False)
    os.close(writer)
    assert (done.returncode, done.stderr) == (0, b"")


def test_the_tools_run_in_the_checkout_and_their_packages_stay_installed(unfinished: Checkout, tmp_path: Path) -> None:
    tested = unfinished.run("test", "-k", "pong", cwd=tmp_path)
    options = ["-n", "auto", "--dist", "loadfile", "--no-loadscope-reorder", "-k", "pong"]
    assert tested.stdout == f"tool pytest.py {options} {unfinished.source}\n"
    debugged = unfinished.run("test", "--pdb", cwd=tmp_path)
    assert debugged.stdout == f"tool pytest.py ['--pdb'] {unfinished.source}\n", "a debugger needs a single process"
    benched = unfinished.run("bench", "--quick", cwd=tmp_path)
    assert benched.stdout == f"tool tests/benchmarks.py ['--quick'] {unfinished.source}\n"
    assert unfinished.run().stderr == ""
    unfinished.write("pyproject.toml", PYPROJECT + "description = 'changed'\n")
    again = unfinished.run()
    assert "2/4  Packages" in again.stderr
    assert json.loads(unfinished.stamp.read_text())["extras"] == ["dev"]


def test_check_runs_every_tool_and_fails_when_one_does(unfinished: Checkout) -> None:
    result = unfinished.run("check", FAILING_TOOL="ruff.py")
    assert result.returncode == 1
    assert [line.split()[:2] for line in result.stdout.splitlines() if line.startswith("tool")] == [
        ["tool", "ruff.py"],
        ["tool", "ruff.py"],
        ["tool", "mypy.py"],
        ["tool", "lint-imports"],
    ]
    assert "ruff check: failed, ruff format: failed, mypy: ok, lint-imports: ok" in result.stdout
    assert unfinished.run("check").returncode == 0


@pytest.mark.parametrize("with_pip", [True, False])
def test_a_half_finished_install_is_completed_by_the_next_run(unfinished: Checkout, with_pip: bool) -> None:
    with unfinished.held_up_in_pip() as first:
        if with_pip:
            os.killpg(first.pid, signal.SIGKILL)
        else:
            first.kill()
        with unfinished.start("on") as second:
            if not with_pip:  # a second pip must not meet the first one
                assert "waiting" in read_line(second.stderr)
            unfinished.let_pip_go_on()
            output, errors = second.communicate(timeout=600)
    assert "2/4  Packages" in errors
    assert output == f"ringside ['on'] {unfinished.source} None\n"


def test_of_two_launches_at_once_the_second_waits_and_installs_nothing(unfinished: Checkout) -> None:
    with unfinished.held_up_in_pip() as first, unfinished.start("second") as second:
        assert "waiting" in read_line(second.stderr)
        unfinished.let_pip_go_on()
        assert second.communicate(timeout=600) == (f"ringside ['second'] {unfinished.source} None\n", "")
        assert "1/4" in first.communicate(timeout=600)[1]
    assert unfinished.run().stderr == ""


def test_ctrl_c_during_setup_prints_one_sentence(unfinished: Checkout) -> None:
    with unfinished.held_up_in_pip() as process:
        for _ in range(3):  # pip was seen to miss one on a busy machine
            os.killpg(process.pid, signal.SIGINT)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(15)
                break
        _, errors = process.communicate(timeout=600)
    assert process.returncode == 130
    assert "Interrupted" in errors
    assert "Traceback" not in errors


def test_a_package_that_was_half_written_is_installed_again(unfinished: Checkout) -> None:
    unfinished.add_wheel("helper", size=4_000_000)
    unfinished.write("needs.txt", "Provides-Extra: dev\nRequires-Dist: helper\n")
    first = unfinished.run()
    assert "helper                 1.0             4.0 MB   total    4.0 MB" in first.stderr
    [helper] = unfinished.venv.rglob("helper.py")
    helper.unlink()
    (helper.parent / "helper-1.0.dist-info" / "INSTALLER").unlink()
    (helper.parent / "~elper").mkdir()
    unfinished.stamp.unlink()
    assert unfinished.run().returncode == 0
    assert helper.exists()
    assert not (helper.parent / "~elper").exists()


def test_an_environment_with_a_broken_python_is_created_again(unfinished: Checkout) -> None:
    python = unfinished.venv / ("bin/python" if POSIX else "Scripts/python.exe")
    python.unlink()
    python.write_bytes(b"no program")
    result = unfinished.run()
    assert result.returncode == 0, result.stderr
    assert "created, " in result.stderr


def test_a_moved_checkout_is_set_up_again(unfinished: Checkout, tmp_path: Path) -> None:
    assert unfinished.run().returncode == 0
    moved = tmp_path / "elsewhere"
    unfinished.source.rename(moved)
    unfinished.source = moved
    result = unfinished.run()
    assert result.stdout == f"ringside [] {moved} None\n"
    assert str(moved) in "".join(path.read_text() for path in moved.rglob("ringside.pth"))


def test_a_missing_package_stops_the_setup_and_the_next_run_resumes_it(unfinished: Checkout) -> None:
    unfinished.write("needs.txt", "Provides-Extra: dev\nRequires-Dist: helper\n")
    failed = unfinished.run()
    assert failed.returncode == 1
    assert "was not found. Check the network, or try another Python, and run launch.py again" in failed.stderr
    assert "No matching distribution found for helper" in failed.stderr
    assert "Traceback" not in failed.stderr
    unfinished.add_wheel("helper")
    assert unfinished.run().stdout.startswith("ringside []")


@pytest.mark.parametrize("megabytes", [8, 40])
def test_a_full_disk_is_reported_with_its_free_space(unfinished: Checkout, tmp_path: Path, megabytes: int) -> None:
    """8 MB are too few for the environment itself; 40 MB hold it, but not the package that comes next."""
    unfinished.add_wheel("helper", size=60_000_000)
    unfinished.write("needs.txt", "Requires-Dist: helper\n")
    with small_disk(tmp_path / "disk", megabytes) as disk:
        if disk:
            result = unfinished.run(RINGSIDE_VENV=str(disk / "venv"))
            said = result.stderr
            assert result.returncode == 1
        else:
            disk = tmp_path
            environment = load_launcher().Environment(disk / "venv")
            said = str(environment.failure("pip failed", ["[Errno 28] No space left on device"]))
    assert f"the disk is full ({disk / 'venv'} has " in said
    assert "Make 2 GB of room and run launch.py again" in said
    assert "Traceback" not in said.partition("Setup stopped")[2]


def test_a_folder_with_other_files_is_not_changed(ready: Checkout, tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("years of work")
    result = ready.run(RINGSIDE_VENV=str(tmp_path))
    assert result.returncode == 1
    assert "RINGSIDE_VENV" in result.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]


def test_kernels_that_do_not_compile_stop_the_setup(unfinished: Checkout) -> None:
    unfinished.write("league_app/broken", "")
    result = unfinished.run()
    assert result.returncode == 1
    assert "no compiler" in result.stderr
    assert "compiling the games failed" in result.stderr
    assert not unfinished.stamp.exists()


def test_a_terminal_gets_a_live_line_without_control_codes(unfinished: Checkout) -> None:
    ours, theirs = pseudo_terminal()
    with open(ours, "rb", buffering=0) as screen:
        command = [sys.executable, "launch.py"]
        with Popen(command, cwd=unfinished.source, env={**unfinished.variables, "TERM": "xterm"}, stderr=theirs):
            os.close(theirs)
            shown = b""
            with contextlib.suppress(OSError):  # how a pty says that its other end is closed
                while part := screen.read(4096):
                    shown += part
    assert b"\r     resolving packages with pip, 0 s" in shown
    assert b"Ringside is set up." in shown
    assert b"\x1b" not in shown
