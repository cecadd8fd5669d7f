"""Temporary files of programs that are killed: the next program removes them, and touches no others."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import process
from pathlib import Path

import pytest

from engine import temporary
from engine.files import write_file
from engine.processes.child import ChildProcess
from engine.temporary import private_folder
from tests.waiting import until

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such locks")

USER = """
import os, sys
from pathlib import Path
from engine.files import write_file
from engine.temporary import private_folder

def content():
    yield b"first"
    print(private_folder(), flush=True)
    sys.stdin.read()

private_folder().joinpath("large").write_bytes(bytes(1000))
write_file(Path(sys.argv[1]), content())
"""


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder for temporary files, of this process and of those that it starts. pytest has made its own before."""
    folder = Path(tempfile.mkdtemp())  # a short path, as those of sockets must be
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    monkeypatch.setattr(temporary, "_own", None)
    own = process.current_process()
    known = {name: value for name, value in vars(own)["_config"].items() if name != "tempdir"}
    monkeypatch.setattr(own, "_config", known)
    yield folder
    shutil.rmtree(folder)


@contextmanager
def running(target: Path) -> Iterator[subprocess.Popen[str]]:
    """A program that has a private folder, and writes a file."""
    command = [sys.executable, "-c", USER, str(target)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as program:
        assert program.stdout is not None
        assert Path(program.stdout.readline().strip()).joinpath("large").exists()
        yield program
        program.communicate()


def test_what_a_killed_program_left_is_removed_by_the_next_one(place: Path, tmp_path: Path) -> None:
    for _ in range(2):
        with running(tmp_path / "x.txt") as program:
            program.kill()
    assert len(os.listdir(place)) == 1, "the second one has removed the folder of the first"
    assert len(os.listdir(tmp_path)) == 1, "its file, too"
    with running(tmp_path / "x.txt") as program:
        pass
    assert program.returncode == 0
    assert os.listdir(place) == []
    assert os.listdir(tmp_path) == ["x.txt"]


def test_what_a_running_program_uses_stays(place: Path, tmp_path: Path) -> None:
    with running(tmp_path / "x.txt") as program:
        before = os.listdir(place)
        own = private_folder()
        write_file(tmp_path / "y.txt", b"content")
        assert sorted(os.listdir(place)) == sorted([*before, own.name])
    assert program.returncode == 0
    assert (tmp_path / "x.txt").read_bytes() == b"first"
    assert os.listdir(place) == [own.name]


def test_the_folder_is_private_and_no_link_is_followed(place: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "diary").write_text("precious")
    (place / "ringside.abcdefgh").symlink_to(other)
    (tmp_path / ".ringside.abcdefgh").symlink_to(other / "diary")
    os.mkfifo(tmp_path / ".ringside.bcdefghi")
    write_file(tmp_path / "x.txt", b"content")
    assert private_folder().stat().st_mode & 0o777 == 0o700
    assert private_folder() == private_folder()
    assert (other / "diary").read_text() == "precious"
    assert (place / "ringside.abcdefgh").is_symlink()
    assert (tmp_path / ".ringside.abcdefgh").is_symlink()


def use_folder(channel: object) -> None:
    (private_folder() / "of a child").touch()


def test_children_use_the_folder_of_their_program(place: Path) -> None:
    own = private_folder()
    with ChildProcess(f"{__name__}:use_folder"):
        until(lambda: os.listdir(own) and "of a child" in os.listdir(own))
    assert os.listdir(place) == [own.name]


@pytest.mark.slow
def test_a_killed_command_leaves_nothing_once_another_has_run(place: Path) -> None:
    command = [sys.executable, "-m", "league_app", "match", "pong", "Dice", "Lazy", "--pairs"]
    with subprocess.Popen([*command, "100000"], stdout=subprocess.DEVNULL) as program:
        until(lambda: list(place.glob("**/*.league-wal")) and list(place.glob("**/listener-*")))
        program.kill()
    subprocess.run([*command, "1"], stdout=subprocess.DEVNULL, check=True)
    assert os.listdir(place) == []
