"""launch.py as a module, on simulated machines: permissions, programs and Python versions."""

import ast
import runpy
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from tests.launch_helpers import LAUNCHER, load_launcher


class Machine:
    """A simulated machine with other permissions and programs; `on_install` simulates an installation."""

    def __init__(self, launch: ModuleType, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.launch, self.monkeypatch = launch, monkeypatch
        self.environment = launch.Environment(folder)
        self.missing: list[str] = []
        self.calls: list[str] = []
        self.on_install: Callable[[], object] = lambda: None
        monkeypatch.setattr(launch, "missing_libraries", lambda: list(self.missing))
        monkeypatch.setattr(self.environment, "call", self.call)

    def become(self, as_root: bool, programs: list[str]) -> None:
        self.monkeypatch.setattr(self.launch, "AS_ROOT", as_root)
        self.monkeypatch.setattr(self.launch, "SUDO", "" if as_root else "sudo ")
        self.monkeypatch.setattr(shutil, "which", lambda name: name if name in programs else None)

    def call(self, doing: str, command: list[str], **options: object) -> tuple[int, list[str]]:
        self.calls.append(" ".join(command))
        self.on_install()
        return 0, ["Need to get 40 kB of archives."]


@pytest.fixture
def machine(launch: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    return Machine(launch, tmp_path, monkeypatch)


@pytest.fixture
def launch() -> ModuleType:
    return load_launcher()


def test_an_invalid_stamp_is_ignored(launch: ModuleType, tmp_path: Path) -> None:
    environment = launch.Environment(tmp_path)
    for text in ("", "[]", '{"schema"', '{"schema": 1, "extras": ["dev"]}'):
        environment.stamp.write_text(text)
        assert not environment.is_ready(set())


def test_a_python_of_another_version_does_not_count_as_working(
    launch: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    environment = launch.Environment(tmp_path)
    for answer, works in ((sys.implementation.cache_tag, True), ("cpython-27", False)):
        monkeypatch.setattr(environment, "call", lambda *_, answer=answer: (0, [answer]))
        assert environment.python_works() is works


def test_an_unreachable_index_has_its_own_message(launch: ModuleType, tmp_path: Path) -> None:
    environment = launch.Environment(tmp_path)
    environment.log.write_bytes(b"")
    retrying = "WARNING: Retrying (Retry(total=0)) after connection broken by 'NewConnectionError(...)': /simple/torch/"
    assert "network connection" in str(environment.failure("pip failed", [retrying, "ERROR: giving up"]))
    other = str(environment.failure("pip failed", ["error: metadata-generation-failed"]))
    assert "network" not in other
    assert "metadata-generation-failed" in other
    assert str(tmp_path) in other


def test_the_error_names_a_folder_that_cannot_be_written(launch: ModuleType, tmp_path: Path) -> None:
    error = OSError(30, "Read-only file system", str(tmp_path))
    assert "Set RINGSIDE_VENV to another folder" in str(launch.Environment(tmp_path).failure(str(error), []))


def test_an_old_python_gets_a_message_with_the_needed_version(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "version_info", (3, 9, 18, "final", 0))
    with pytest.raises(SystemExit) as exit_:
        runpy.run_path(str(LAUNCHER), run_name="__main__")
    assert exit_.value.code == 2
    assert "needs Python 3.11 or newer; this is Python 3.9" in capsys.readouterr().err


def test_old_pythons_can_parse_the_version_check() -> None:
    ast.parse(LAUNCHER.read_text("utf-8"), feature_version=(3, 6))
    for python in Path.home().glob(".pyenv/versions/3.[6-9].*/bin/python"):  # if any are installed
        result = subprocess.run([str(python), str(LAUNCHER)], capture_output=True, text=True, timeout=300)
        assert result.returncode == 2
        assert result.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("as_root", "apt", "advice"),
    [
        (False, True, "run `sudo apt-get install python{}.{}-venv`"),
        (True, True, "run `apt-get install python{}.{}-venv`"),
        (False, False, "install a complete Python"),
    ],
)
def test_missing_ensurepip_is_installed_or_the_command_is_shown(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, as_root: bool, apt: bool, advice: str
) -> None:
    monkeypatch.setitem(sys.modules, "ensurepip", None)
    machine.become(as_root, ["apt-get"] if apt else [])
    with pytest.raises(machine.launch.SetupError) as error:
        machine.environment.provide_venv_module()
    assert advice.format(*sys.version_info) in str(error.value)
    assert bool(machine.calls) is as_root
    machine.on_install = lambda: sys.modules.pop("ensurepip", None)
    if as_root:
        machine.environment.provide_venv_module()


@pytest.mark.parametrize(
    ("manager", "advice"),
    [
        ("apt-get", "run: sudo apt-get install libglib2.0-0 libxcb-cursor0\n"),
        ("dnf", "run: sudo dnf install glib2 xcb-util-cursor\n"),
        ("pacman", "run: sudo pacman -S glib2 xcb-util-cursor\n"),
        ("unknown", "install them with your system's package manager.\n"),
    ],
)
def test_missing_system_libraries_are_reported_with_the_command(
    machine: Machine, capsys: pytest.CaptureFixture[str], manager: str, advice: str
) -> None:
    machine.become(False, [manager])
    machine.missing = ["libglib-2.0.so.0", "libxcb-cursor.so.0"]
    machine.environment.provide_system_libraries()
    said = capsys.readouterr().err
    assert "Note: libglib-2.0.so.0, libxcb-cursor.so.0 not found. The command line works without them" in said
    assert said.endswith(advice)
    assert machine.calls == []


def test_root_on_debian_installs_only_the_missing_libraries(
    machine: Machine, capsys: pytest.CaptureFixture[str]
) -> None:
    machine.become(True, ["apt-get"])
    machine.missing = ["libEGL.so.1"]
    machine.environment.provide_system_libraries()
    assert "for the window, run: apt-get install libegl1" in capsys.readouterr().err
    machine.on_install = machine.missing.clear
    machine.environment.provide_system_libraries()
    assert capsys.readouterr().err.endswith("all there\n")
    assert machine.calls[-2:] == ["apt-get update", "apt-get install -y --no-install-recommends libegl1"]


def test_the_output_of_all_pip_versions_is_parsed(
    launch: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    local = tmp_path / "some wheels" / "torch-2.13.0+cpu-cp311-cp311-linux_x86_64.whl"
    local.parent.mkdir()
    local.write_bytes(b"." * 2_500_000)
    display = launch.Display(tmp_path)
    for line in (
        "WARNING: Location 'file:///opt/simple/rich/' is ignored: it is neither a file nor a directory.",
        "  Downloading numpy-2.4.6-cp311-cp311-linux_x86_64.whl.metadata (6.6 kB)",
        "Downloading numpy-2.4.6-cp311-cp311-manylinux_2_27_x86_64.whl (16.9 MB)",
        "  Using cached https://example.org/whl/neat_python-2.0.0%2Blocal-py3-none-any.whl (54 kB)",
        "  Downloading old-style-name-1.2.tar.gz (999 bytes)",
        f"Processing {local} (from ringside==0.1.0)",
        "Processing triggers for libc-bin (2.36-9+deb12u10) ...",
        "Installing collected packages: numpy, neat-python, old-style-name, torch",
    ):
        display.read(line)
    assert capsys.readouterr().err.splitlines() == [
        "     numpy                  2.4.6          16.9 MB   total   16.9 MB",
        "     neat-python            2.0.0+local      54 kB   total   17.0 MB",
        "     old-style-name         1.2          999 bytes   total   17.0 MB",
        "     torch                  2.13.0+cpu      2.5 MB   total   19.5 MB",
    ]
