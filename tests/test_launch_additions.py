"""launch.py changes what works only when its replacement is ready; its help; unusual folders and streams."""

import json
import os
import shlex
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

from league_app.cli.main import _parser as ringside_parser
from tests.launch_helpers import POSIX, PYPROJECT, Checkout, load_launcher
from tests.waiting import until

only_posix = pytest.mark.skipif(not POSIX, reason="closes file descriptors with a shell")


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    checkout = Checkout(tmp_path_factory.mktemp("original"))
    assert checkout.run().returncode == 0
    return checkout


@pytest.fixture
def checkout(original: Checkout, tmp_path: Path) -> Checkout:
    """A copy of a checkout that is set up, moved to its place."""
    copied = Checkout(tmp_path)
    shutil.copytree(original.venv, copied.venv, symlinks=True)
    assert copied.run().returncode == 0
    return copied


def assert_works(checkout: Checkout) -> None:
    """Without any setup."""
    result = checkout.run("list")
    assert (result.stdout, result.stderr) == (f"ringside ['list'] {checkout.source} None\n", "")


def test_help_lists_the_commands_of_ringside(tmp_path: Path) -> None:
    checkout, launch = Checkout(tmp_path), load_launcher()
    assert checkout.run("help").stdout == checkout.run("--help").stdout == launch.HELP + "\n"
    listed = launch.HELP.partition("describes it:")[2].partition("Packages")[0]
    names = {name for line in listed.splitlines() for name in line[14:].replace(",", "").split()}
    [choices] = [action.choices for action in ringside_parser()._actions if action.metavar == "COMMAND"]
    assert names | {"bench"} == set(choices or ())  # `launch.py bench` is described above them


def test_an_addition_that_cannot_be_installed_leaves_what_works(checkout: Checkout) -> None:
    """As without a network: `launch.py test` needs more packages, `launch.py list` does not."""
    before = checkout.stamp.read_text()
    checkout.write("needs.txt", "Provides-Extra: dev\nRequires-Dist: helper; extra == 'dev'\n")
    failed = checkout.run("test")
    assert failed.returncode == 1
    assert "was not found. Check the network" in failed.stderr
    assert checkout.stamp.read_text() == before
    assert_works(checkout)
    checkout.add_wheel("helper")
    assert checkout.run("test").stdout.startswith("tool pytest.py")
    assert json.loads(checkout.stamp.read_text())["extras"] == ["dev"]


def test_new_entry_points_are_installed_by_the_next_run(checkout: Checkout) -> None:
    """As after a pull: plug-ins that come with Ringside are found by them."""
    script = (
        "import importlib.metadata as m; print([entry.name for entry in m.entry_points(group='ringside.executors')])"
    )
    query = [str(load_launcher().Environment(checkout.venv).python), "-c", script]
    assert subprocess.check_output(query, text=True) == "[]\n"
    points = '[project.entry-points."ringside.executors"]\nlocal = "league_app:here"\n'
    checkout.write("pyproject.toml", PYPROJECT + points)
    checkout.write("entry_points.txt", "[ringside.executors]\nlocal = league_app:here\n")
    builds = checkout.builds()
    again = checkout.run("list")
    assert again.stdout == f"ringside ['list'] {checkout.source} None\n", again.stderr
    assert checkout.builds() == builds + 1
    assert subprocess.check_output(query, text=True) == "['local']\n"
    assert_works(checkout)


def test_an_interrupted_addition_leaves_what_works(checkout: Checkout) -> None:
    checkout.write("slow", "")
    builds = checkout.builds()
    with checkout.start("check") as process:
        until(lambda: checkout.builds() > builds)
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate(timeout=600)
    assert_works(checkout)


def test_an_environment_of_another_python_is_kept_until_the_new_one_is_finished(checkout: Checkout) -> None:
    before = checkout.stamp.read_text()
    (checkout.venv / "marker").write_text("of the other Python")
    environment = load_launcher().Environment(checkout.venv)
    for interrupted in (False, True):
        environment.set_aside()
        assert not checkout.stamp.exists()
        assert not environment.python.exists()
        environment.python.parent.mkdir()  # a new one has been begun
        (checkout.venv / "ringside-setup.lock").touch()
        if not interrupted:
            environment.restore()  # as after a failure; else at the next start
        assert checkout.run("list").stdout == f"ringside ['list'] {checkout.source} None\n"
        assert checkout.stamp.read_text() == before
        assert not environment.previous.exists()
        assert (checkout.venv / "marker").exists()


def test_a_folder_that_cannot_be_created_is_reported_in_a_sentence(checkout: Checkout, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for folder in (tmp_path / "file", tmp_path / "file" / "below"):
        result = checkout.run(RINGSIDE_VENV=str(folder))
        assert result.returncode == 1
        assert "Traceback" not in result.stderr
        assert f"{folder} cannot be created" in result.stderr
        assert "Set RINGSIDE_VENV to another folder" in result.stderr


@only_posix
def test_closed_streams_give_no_traceback(original: Checkout) -> None:
    line = " ".join(map(shlex.quote, original.command("list")))
    for closed in ("2>&-", ">&-", "<&-", ">&- 2>&-"):
        command = ["sh", "-c", f"{line} {closed}"]
        done = subprocess.run(command, capture_output=True, text=True, env=original.variables, check=False)
        assert f'File "{original.source / "launch.py"}"' not in done.stderr  # no traceback of its own
        assert ("['list']" in done.stdout) == (">&-" not in closed.split())


@only_posix
def test_ctrl_c_is_blocked_until_ringside_can_handle_it(checkout: Checkout) -> None:
    checkout.write("league_app/__main__.py", "import signal\nprint(signal.pthread_sigmask(signal.SIG_BLOCK, []))\n")
    assert "SIGINT" in checkout.run("list").stdout
    checkout.write("pytest.py", "import signal\nprint(signal.pthread_sigmask(signal.SIG_BLOCK, []))\n")
    assert "SIGINT" not in checkout.run("test").stdout
