"""A tiny checkout that needs no network, to run launch.py on."""

import contextlib
import importlib.util
import os
import shutil
import signal
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from subprocess import PIPE, CompletedProcess, Popen
from types import ModuleType

from tests.waiting import until

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
        if (here / "entry_points.txt").exists():
            wheel.writestr(info + "entry_points.txt", (here / "entry_points.txt").read_text())
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
            until((self.source / "builds.txt").exists)
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


def load_launcher() -> ModuleType:
    """The launcher as a module, for tests that simulate other machines."""
    spec = importlib.util.spec_from_file_location("launch", LAUNCHER)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
