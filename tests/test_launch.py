"""Runs launch.py on a tiny checkout that needs no network; checks its output and the files that it leaves."""

import ast
import contextlib
import importlib.util
import json
import os
import runpy
import shutil
import signal
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from subprocess import PIPE, CompletedProcess, Popen
from types import ModuleType
from typing import IO

import pytest

from tests.faults.league import pseudo_terminal

LAUNCHER = Path(__file__).resolve().parent.parent / "launch.py"
POSIX = os.name == "posix"

PYPROJECT = """\
[build-system]
requires = []
build-backend = "backend"
backend-path = ["."]
[project]
name = "ringside"
version = "0.1.0"
"""

# Installs a link to the source as hatchling does; waits while a file named `slow` exists.
BACKEND = """\
import pathlib, time, zipfile

def build_editable(wheel_directory, config_settings=None, metadata_directory=None):
    here = pathlib.Path(__file__).parent
    with open(here / "builds.txt", "a") as builds:
        builds.write("built\\n")
    while (here / "slow").exists():
        time.sleep(0.05)
    needs = (here / "needs.txt").read_text()
    info = "ringside-0.1.0.dist-info/"
    with zipfile.ZipFile(pathlib.Path(wheel_directory, "ringside-0.1.0-py3-none-any.whl"), "w") as wheel:
        wheel.writestr("ringside.pth", str(here))
        wheel.writestr(info + "METADATA", "Metadata-Version: 2.1\\nName: ringside\\nVersion: 0.1.0\\n" + needs)
        wheel.writestr(info + "WHEEL", "Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
        wheel.writestr(info + "RECORD", "")
    return "ringside-0.1.0-py3-none-any.whl"
"""

LEAGUE_APP = """\
import os, sys
if sys.argv[1:2] == ["exit"]:
    sys.exit(int(sys.argv[2]))
if sys.argv[1:] == ["called"]:
    sys.exit(os.environ["RINGSIDE_CALLED"])
if sys.argv[1:] == ["compile"] and os.path.exists(os.path.join(os.path.dirname(__file__), "broken")):
    sys.exit("no compiler")
print("ringside", sys.argv[1:], os.getcwd(), os.environ.get("PYTHONPATH"))
"""

# Replaces pytest, ruff, mypy, import-linter and the benchmarks: prints that it ran, and fails on request.
TOOL = """\
import os, sys
print("tool", {name!r}, sys.argv[1:], os.getcwd(), flush=True)
sys.exit(os.environ.get("FAILING_TOOL") == {name!r})
"""


def enable_sigint() -> None:
    signal.signal(signal.SIGINT, signal.SIG_DFL)


class Checkout:
    """A folder with launch.py and a package that only prints its arguments."""

    def __init__(self, folder: Path) -> None:
        self.source = folder / "a checkout"  # with a space, as on many a desktop
        self.venv = self.source / ".venv"
        self.stamp = self.venv / "ringside-setup.json"
        self.wheels = folder / "wheels"
        programs = folder / "programs"
        for path in (self.source / "league_app", self.source / "importlinter", self.wheels, programs):
            path.mkdir(parents=True)
        shutil.copy(LAUNCHER, self.source)
        (self.source / "assets").mkdir()
        shutil.copy(LAUNCHER.parent / "assets" / "qt_libraries.json", self.source / "assets")
        self.write("pyproject.toml", PYPROJECT)
        self.write("backend.py", BACKEND)
        self.write("needs.txt", "Provides-Extra: dev\n")
        self.write("league_app/__main__.py", LEAGUE_APP)
        for name in ("pytest.py", "ruff.py", "mypy.py", "tests/benchmarks.py"):
            self.write(name, TOOL.format(name=name))
        self.write("importlinter/cli.py", "def lint_imports_command():\n    print('tool lint-imports')\n")
        self.files = {path.name for path in self.source.iterdir()}
        # The real apt-get must not run here: on a machine without Qt's libraries, root would install them.
        apt = programs / "apt-get"
        apt.write_text("#!/bin/sh\necho E: no such package\nexit 100\n")
        apt.chmod(0o755)
        dropped = ("RINGSIDE_VENV", "PYTHONPATH", "CI")
        self.variables = {name: value for name, value in os.environ.items() if name not in dropped}
        self.variables["PATH"] = f"{programs}{os.pathsep}{os.environ['PATH']}"
        self.variables["PYTHONDONTWRITEBYTECODE"] = "1"
        self.variables.update(PIP_CONFIG_FILE=os.devnull, PIP_NO_INDEX="1", PIP_FIND_LINKS=str(self.wheels))

    def write(self, name: str, text: str) -> None:
        (self.source / name).parent.mkdir(exist_ok=True)
        (self.source / name).write_text(text)

    def command(self, *args: str) -> list[str]:
        return [sys.executable, str(self.source / "launch.py"), *args]

    def start(self, *args: str, cwd: Path | None = None, **variables: str) -> Popen[str]:
        """Starts launch.py in a session of its own, as a terminal would, and with Ctrl-C enabled even if this process
        ignores it, as background processes do."""
        return Popen(
            [sys.executable, str(self.source / "launch.py"), *args],
            cwd=cwd or self.source,
            env={**self.variables, **variables},
            stdout=PIPE,
            stderr=PIPE,
            text=True,
            start_new_session=True,
            preexec_fn=enable_sigint if POSIX else None,
        )

    def run(self, *args: str, cwd: Path | None = None, **variables: str) -> CompletedProcess[str]:
        with self.start(*args, cwd=cwd, **variables) as process:
            output, errors = process.communicate(timeout=600)
        return CompletedProcess(args, process.returncode, output, errors)

    @contextlib.contextmanager
    def held_up_in_pip(self) -> Iterator[Popen[str]]:
        """Starts launch.py and waits until pip runs; pip then waits for `let_pip_go_on`."""
        self.write("slow", "")
        with self.start() as process:
            wait_for((self.source / "builds.txt").exists)
            try:
                yield process
            finally:
                self.let_pip_go_on()

    def let_pip_go_on(self) -> None:
        (self.source / "slow").unlink(missing_ok=True)

    def builds(self) -> int:
        return len((self.source / "builds.txt").read_text().split())

    def add_wheel(self, name: str, size: int = 10) -> None:
        info = f"{name}-1.0.dist-info/"
        with zipfile.ZipFile(self.wheels / f"{name}-1.0-py3-none-any.whl", "w") as wheel:
            wheel.writestr(f"{name}.py", "#" * size)
            wheel.writestr(info + "METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
            wheel.writestr(info + "WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
            wheel.writestr(info + "RECORD", "")


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


def wait_for(condition: Callable[[], bool], seconds: float = 300) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"{condition} took more than {seconds} s"
        time.sleep(0.02)


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


@pytest.fixture
def machine(launch: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    return Machine(launch, tmp_path, monkeypatch)


@pytest.fixture
def launch() -> ModuleType:
    """The launcher as a module, for tests that simulate other machines."""
    spec = importlib.util.spec_from_file_location("launch", LAUNCHER)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


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
    told = ready.run("called").stderr
    assert told == f'{Path(sys.executable).name} "{ready.source / "launch.py"}"\n'


def test_check_with_names_is_passed_to_ringside(ready: Checkout) -> None:
    done = ready.run("check", "nim")
    assert "ringside ['check', 'nim']" in done.stdout
    assert "ruff" not in done.stdout


def test_an_invalid_stamp_is_ignored(launch: ModuleType, tmp_path: Path) -> None:
    environment = launch.Environment(tmp_path)
    for text in ("", "[]", '{"schema"', '{"schema": 1, "extras": ["dev"]}'):
        environment.stamp.write_text(text)
        assert not environment.is_ready(set())


def test_help_installs_nothing(tmp_path: Path) -> None:
    checkout = Checkout(tmp_path)
    result = checkout.run("--help")
    assert result.returncode == 0
    assert "launch.py test" in result.stdout
    assert not checkout.venv.exists()


def test_the_tools_run_in_the_checkout_and_their_packages_stay_installed(unfinished: Checkout, tmp_path: Path) -> None:
    tested = unfinished.run("test", "-k", "pong", cwd=tmp_path)
    options = ["-n", "auto", "--dist", "loadfile", "-k", "pong"]
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


def test_a_python_of_another_version_does_not_count_as_working(
    launch: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    environment = launch.Environment(tmp_path)
    for answer, works in ((sys.implementation.cache_tag, True), ("cpython-27", False)):
        monkeypatch.setattr(environment, "call", lambda *_, answer=answer: (0, [answer]))
        assert environment.python_works() is works


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


def test_an_unreachable_index_has_its_own_message(launch: ModuleType, tmp_path: Path) -> None:
    environment = launch.Environment(tmp_path)
    retrying = "WARNING: Retrying (Retry(total=0)) after connection broken by 'NewConnectionError(...)': /simple/torch/"
    assert "network connection" in str(environment.failure("pip failed", [retrying, "ERROR: giving up"]))
    other = str(environment.failure("pip failed", ["error: metadata-generation-failed"]))
    assert "network" not in other
    assert "metadata-generation-failed" in other
    assert str(tmp_path) in other


@pytest.mark.parametrize("megabytes", [8, 40])
def test_a_full_disk_is_reported_with_its_free_space(
    unfinished: Checkout, launch: ModuleType, tmp_path: Path, megabytes: int
) -> None:
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
            said = str(launch.Environment(disk / "venv").failure("pip failed", ["[Errno 28] No space left on device"]))
    assert f"the disk is full ({disk / 'venv'} has " in said
    assert "Make 2 GB of room and run launch.py again" in said
    assert "Traceback" not in said.partition("Setup stopped")[2]


def test_the_error_names_a_folder_that_cannot_be_written(launch: ModuleType, tmp_path: Path) -> None:
    error = OSError(30, "Read-only file system", str(tmp_path))
    assert "Set RINGSIDE_VENV to another folder" in str(launch.Environment(tmp_path).failure(str(error), []))


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
