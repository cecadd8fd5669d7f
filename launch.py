"""Installs Ringside in a virtual environment, then runs it; see `python3 launch.py --help`."""

import sys

# This file must parse under much older Pythons, so that they can print this message.
if sys.version_info < (3, 11):  # noqa: UP036
    sys.stderr.write(
        f"Ringside needs Python 3.11 or newer; this is Python {sys.version_info[0]}.{sys.version_info[1]}: "
        "install a newer one and start launch.py with it, for example `python3.11 launch.py`.\n"
    )
    sys.exit(2)

import signal

# Until `main` handles Ctrl-C, it ends the process without a traceback. Background processes ignore it.
if __name__ == "__main__" and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
    signal.signal(signal.SIGINT, signal.SIG_DFL)

import contextlib
import hashlib
import importlib.util
import json
import os
import re
import shutil
import subprocess
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from subprocess import DEVNULL, PIPE, STDOUT
from typing import Any

SOURCE = Path(__file__).resolve().parent
WINDOWS = sys.platform == "win32"
AS_ROOT = hasattr(os, "geteuid") and os.geteuid() == 0
SUDO = "" if AS_ROOT else "sudo "
SCHEMA = 1  # increase it when environments of older versions must be set up again

HELP = """\
usage: python3 launch.py [command] [arguments]

  launch.py                  install if needed, then open the window (without a display: run the demo in the terminal)
  launch.py test [args]      run the tests (--all: the slow ones too); arguments are passed to pytest
  launch.py check            run ruff, mypy and the import contracts (with names: Ringside's own `check`)
  launch.py bench [args]     run the benchmarks
  launch.py screenshots      take screenshots of every page, without a display
  launch.py help, --help     show this text and install nothing
  launch.py COMMAND [args]   run a command of Ringside; `launch.py COMMAND --help` describes it:

    play       window, demo, match, replay, reproduce
    leagues    new, agents, export, backup
    compete    tournament, sprt
    train      train
    results    standings, crosstable, history
    check      list, check, compile, doctor

Packages are installed in the folder .venv next to this file, or in the folder named by RINGSIDE_VENV,
at the first start and after a change of pyproject.toml or the Python version."""

MODULES = {"test": "pytest", "bench": "tests.benchmarks", "screenshots": "tests.screens"}  # run in the source folder
CHECKS = {
    "ruff check": ["-m", "ruff", "check", "."],
    "ruff format": ["-m", "ruff", "format", "--check", "."],
    "mypy": ["-m", "mypy"],
    "lint-imports": ["-c", "from importlinter.cli import lint_imports_command as lint; lint()"],
}

QT_LIBRARIES = SOURCE / "assets" / "qt_libraries.json"  # packages in Debian, Fedora and Arch, in this order
PACKAGE_MANAGERS = ("apt-get install", "dnf install", "pacman -S")

# Patterns in the output of failed commands, and what to tell the user.
FAILURES = {
    "No space left|not enough space|quota exceeded": "the disk is full ({folder} has {free} left). Make 2 GB of room",
    "onnection broken|ConnectionError|timed out": "downloads failed. Check the network connection",
    "No matching dist": "a package for Python {version} was not found. Check the network, or try another Python,",
    "Permission denied|Read-only|Access is denied": "{folder} cannot be written. Set RINGSIDE_VENV to another folder",
}

SIZE_UNITS = {"GB": 1e9, "MB": 1e6, "kB": 1e3, "bytes": 1.0}
PIP_PACKAGE = re.compile(
    r"\s*(?:Downloading|Using cached|Processing) "
    r"(?P<folder>.*?)(?P<file>(?P<name>[^\s/\\]+?)-(?P<version>\d[^\s/\\-]*?)(?:-[^\s/\\]+)?\.(?:whl|tar\.gz|zip))"
    r"(?: \((?:(?P<number>[\d.]+) (?P<unit>GB|MB|kB|bytes)|from .*)\))?$"
)


class SetupError(Exception):
    """Setup failed; the message says what happened and what to do."""


class Display:
    """Prints progress to stderr (stdout belongs to Ringside): finished lines and, on a terminal, a live line."""

    def __init__(self, downloads: Path) -> None:
        live = sys.stderr.isatty() and not os.environ.get("CI") and os.environ.get("TERM") != "dumb"
        self.width = shutil.get_terminal_size().columns - 1 if live else 0
        self.downloads, self.last_line = downloads, time.monotonic()
        self.doing, self.since = "", time.monotonic()
        self.file, self.size = "", 0.0  # of the package under way
        self.count, self.total = 0, 0.0

    def line(self, text: str) -> None:
        print(f"\r{text:<{self.width}}" if self.width else text, file=sys.stderr, flush=True)
        self.last_line = time.monotonic()

    def start(self, doing: str) -> None:
        """Sets the text of the current step, and lists the package that has just been downloaded."""
        if self.file:
            self.count, self.total = self.count + 1, self.total + self.size
            self.line(f"     {self.doing} {size_text(self.size):>9}   total {size_text(self.total):>9}")
        self.file, self.doing, self.since = "", doing, time.monotonic()

    def read(self, line: str) -> None:
        """Turns pip's output into a list of packages, with sizes and a running total."""
        package = PIP_PACKAGE.match(line)
        if package:
            self.start(f"{package['name'].replace('_', '-'):<22} {package['version'].replace('%2B', '+'):<12}")
            local, number, unit = Path(package["folder"] + package["file"]), package["number"], package["unit"]
            self.size = float(number) * SIZE_UNITS[unit] if number else total_size([local])
            self.file = package["file"]
        elif line.startswith("Collecting "):
            self.start(f"looking for {line.split()[1]}")
        elif line.startswith("Installing collected packages: "):
            self.start(f"unpacking {line.count(',') + 1} packages")

    @contextlib.contextmanager
    def ticking(self) -> Iterator[None]:
        """Updates the live line five times a second, because a command may be silent for minutes."""
        done = threading.Event()

        def tick() -> None:
            while not done.wait(0.2):
                self._tick()

        ticker = threading.Thread(target=tick)
        ticker.start()
        try:
            yield
        finally:
            done.set()
            ticker.join()

    def _tick(self) -> None:
        arrived = total_size(self.downloads.glob(f"*/{self.file}")) if self.file else 0
        whole = f" {size_text(self.size):>9}" if self.file else ""
        part = f" {size_text(min(arrived, self.size)):>9} of" if arrived else ""
        text = f"     {self.doing}{part}{whole}, {time.monotonic() - self.since:.0f} s"
        if self.width:
            print(f"\r{text[: self.width]:<{self.width}}", end="", file=sys.stderr, flush=True)
        elif time.monotonic() - self.last_line > 20:
            self.line(text)


class Environment:
    """The virtual environment, and the four steps that set it up."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.python = folder / ("Scripts/python.exe" if WINDOWS else "bin/python")
        self.stamp = folder / "ringside-setup.json"  # written last, so only a finished setup has one
        self.lock = folder / "ringside-setup.lock"
        self.log = folder / "ringside-setup.log"
        self.downloads = folder / "ringside-downloads"
        self.previous = folder / "ringside-previous"  # the environment of another Python, until this one is finished
        self.display = Display(self.downloads)

    def is_ready(self, extras: set[str]) -> bool:
        """Returns whether the last setup is still valid."""
        stamp = self.read_stamp()
        return setup_facts().items() <= stamp.items() and extras <= set(stamp["extras"]) and self.python.exists()

    def read_stamp(self) -> dict[str, Any]:
        """Returns what the last finished setup recorded; no extras if there is none."""
        with contextlib.suppress(OSError, ValueError, TypeError):
            return {"extras": [], **json.loads(self.stamp.read_text("utf-8"))}
        return {"extras": []}

    def set_up(self, extras: set[str]) -> None:
        """Runs the four steps; each can be repeated after a failure."""
        marks = (self.lock, self.folder / "pyvenv.cfg")
        if self.folder.is_dir() and os.listdir(self.folder) and not any(mark.exists() for mark in marks):
            raise SetupError(f"{self.folder} contains other files: empty it, or set RINGSIDE_VENV to another folder.")
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            advice = "Set RINGSIDE_VENV to another folder, and run launch.py again."
            raise SetupError(f"Setup stopped: {self.folder} cannot be created ({error.strerror}). {advice}") from None
        with locked(self.lock) as self.lock_number:
            self.restore()  # if another launch.py was killed
            if self.is_ready(extras):
                return  # another launch.py has finished it meanwhile
            extras = extras | set(self.read_stamp()["extras"])
            self.log.write_bytes(b"")
            self.display.line(f"Setting up Ringside in {self.folder} with Python {sys.version.split()[0]}.")
            try:
                self.make_environment()
                self.install_packages(extras)
                self.provide_system_libraries()
                self.compile_kernels()
            except BaseException:
                self.restore()
                raise
            fresh = self.stamp.with_suffix(".new")
            fresh.write_text(json.dumps({**setup_facts(), "extras": sorted(extras)}, indent=1), "utf-8")
            fresh.replace(self.stamp)
            shutil.rmtree(self.previous, ignore_errors=True)
            self.display.line("Ringside is set up.\n")

    def set_aside(self) -> None:
        """Moves a finished environment of another Python away, the stamp first: `restore` brings it back."""
        self.previous.mkdir(exist_ok=True)
        kept = (self.lock.name, self.log.name, self.previous.name, self.stamp.name)
        for name in (self.stamp.name, *(name for name in os.listdir(self.folder) if name not in kept)):
            (self.folder / name).rename(self.previous / name)

    def restore(self) -> None:
        """Brings back what was set aside, the stamp last; can be repeated if it is interrupted."""
        stamp = self.previous / self.stamp.name
        if stamp.exists():
            for path in [*(path for path in self.previous.iterdir() if path != stamp), stamp]:
                target = self.folder / path.name
                if target.is_dir() and not target.is_symlink():
                    shutil.rmtree(target)
                path.replace(target)
        shutil.rmtree(self.previous, ignore_errors=True)

    def make_environment(self) -> None:
        self.display.line("1/4  Python environment")
        self.remove_torn_packages()
        if self.python_works():
            self.display.line("     already there")
            return
        self.provide_venv_module()
        if self.stamp.exists():
            self.set_aside()
        for path in self.folder.iterdir():
            if path != self.previous:
                shutil.rmtree(path, ignore_errors=True)  # the folders only; the lock is a file and stays
        # If the environment's own Python runs this, sys.executable has just been removed.
        base_python = getattr(sys, "_base_executable", None) or sys.executable
        bare = [base_python, "-m", "venv", "--without-pip", str(self.folder)]
        with_pip = [str(self.python), "-I", "-m", "ensurepip", "--default-pip"]  # venv itself would hide its errors
        for command in (bare, with_pip):
            code, output = self.call("creating it", command)
            if code:
                raise self.failure("the Python environment could not be created", output)
        self.display.line(f"     created, {size_text(total_size(self.folder.rglob('*')))}")

    def remove_torn_packages(self) -> None:
        """Removes the metadata of packages that an interrupted pip left incomplete, so that pip reinstalls them."""
        for path in [*self.folder.glob("lib/python*/site-packages/*"), *self.folder.glob("Lib/site-packages/*")]:
            # pip writes INSTALLER after all other files, and renames what it is about to replace to ~name.
            torn = path.suffix == ".dist-info" and not (path / "INSTALLER").exists()
            if torn or path.name.startswith("~"):
                shutil.rmtree(path, ignore_errors=True)

    def python_works(self) -> bool:
        """Returns whether the environment's Python runs, has pip and matches this version."""
        probe = "import importlib.metadata as m, sys; m.version('pip'); print(sys.implementation.cache_tag)"
        try:
            code, output = self.call("trying it", [str(self.python), "-I", "-c", probe])
        except OSError:
            return False
        return code == 0 and output == [sys.implementation.cache_tag]

    def provide_venv_module(self) -> None:
        """Installs or asks for the venv package, which Debian ships separately from Python."""
        package = f"python{sys.version_info[0]}.{sys.version_info[1]}-venv"
        apt = shutil.which("apt-get")
        if apt and AS_ROOT and not has_venv_module():
            self.apt_install([package])
        if not has_venv_module():
            advice = f"run `{SUDO}apt-get install {package}`" if apt else "install a complete Python"
            raise SetupError(f"Setup stopped, because this Python lacks venv or ensurepip: {advice} and launch again.")

    def install_packages(self, extras: set[str]) -> None:
        """Installs all packages in one pip run, so that no dependency selects another version of torch."""
        self.display.line("2/4  Packages")
        shutil.rmtree(self.downloads, ignore_errors=True)
        self.downloads.mkdir()
        options = ["--no-input", "--disable-pip-version-check", "--progress-bar", "off", "--retries", "5"]
        target = f".[{','.join(sorted(extras))}]" if extras else "."
        command = [str(self.python), "-P", "-m", "pip", "install", *options, "-e", target]
        # Downloads go into the environment: /tmp may be small, and the file sizes show the progress.
        variables = dict.fromkeys(("TMPDIR", "TEMP", "TMP"), str(self.downloads))
        code, output = self.call("resolving packages with pip", command, self.read_pip, PIP_USER="0", **variables)
        shutil.rmtree(self.downloads, ignore_errors=True)
        if code:
            raise self.failure("pip could not install the packages", output)
        kept = sum(line.startswith("Requirement already satisfied") for line in output)
        fetched = f"{self.display.count} packages downloaded ({size_text(self.display.total)}), {kept} already there"
        self.display.line(f"     {fetched}; {size_text(total_size(self.folder.rglob('*')))} on disk")

    def read_pip(self, line: str) -> None:
        """Shows the progress. The stamp of an earlier setup is valid until pip replaces a package: without a network,
        or interrupted while it unpacks additional ones, pip has changed nothing that works."""
        if re.match(r"\s+Attempting uninstall: ", line):
            self.stamp.unlink(missing_ok=True)
        self.display.read(line)

    def provide_system_libraries(self) -> None:
        """Finds or installs the libraries that the window needs; the command line works without them."""
        self.display.line("3/4  System libraries for the window")
        missing = missing_libraries()
        if missing and AS_ROOT and shutil.which("apt-get"):
            with contextlib.suppress(OSError):
                self.apt_install([qt_libraries()[library][0] for library in missing])
            missing = missing_libraries()
        if not missing:
            self.display.line("     all there")
            return
        self.display.line(f"     Note: {', '.join(missing)} not found. The command line works without them;")
        self.display.line(f"     for the window, {library_advice(missing)}")

    def apt_install(self, packages: list[str]) -> None:
        """Tries to install Debian packages; the caller checks the result."""
        self.call("updating the package list", ["apt-get", "update"])
        command = ["apt-get", "install", "-y", "--no-install-recommends", *packages]
        code, output = self.call(" ".join(command), command, DEBIAN_FRONTEND="noninteractive")
        told = re.search("^E: .*" if code else "^Need to get .*", "\n".join(output), re.MULTILINE)
        self.display.line(f"     {' '.join(command)}: {told[0] if told else 'done'}")

    def compile_kernels(self) -> None:
        self.display.line("4/4  Compiling the games")
        command = [str(self.python), "-P", "-m", "league_app", "compile"]
        if subprocess.call(command, stdout=sys.stderr, cwd=SOURCE):
            raise SetupError("Setup stopped: compiling the games failed, as shown above. Run launch.py to try again.")

    def call(
        self, doing: str, command: list[str], read: Callable[[str], None] | None = None, **variables: str
    ) -> tuple[int, list[str]]:
        """Runs a command with its output in the log; returns its exit code and the lines of its output."""
        self.display.start(doing)
        output = []
        variables = {**os.environ, "PYTHONUNBUFFERED": "1", "PYTHONUTF8": "1", **variables}
        # The child inherits the lock: a pip that outlives a killed launch.py makes the next one wait.
        handed_on = () if WINDOWS else (self.lock_number,)
        process = subprocess.Popen(
            command, cwd=SOURCE, env=variables, stdin=DEVNULL, stdout=PIPE, stderr=STDOUT, pass_fds=handed_on
        )
        with process, open(self.log, "ab", buffering=0) as log, self.display.ticking():
            for raw in process.stdout or ():
                with contextlib.suppress(OSError):  # a full disk must not hide the message about it
                    log.write(raw)
                output.append(raw.decode("utf-8", "replace").rstrip())
                if read:
                    read(output[-1])
        self.display.start("")
        return process.returncode, output

    def failure(self, what: str, output: list[str]) -> SetupError:
        """Builds the error message, with the cause if the output shows a known one."""
        errors = [line.strip() for line in output if "ERROR" in line] or [what]
        for signs, meaning in FAILURES.items():
            if re.search(signs, "\n".join([what, *output])):
                disk = next(path for path in (self.folder, *self.folder.parents) if os.path.exists(path))
                meaning = meaning.format(
                    folder=self.folder, free=size_text(shutil.disk_usage(disk).free), version=sys.version.split()[0]
                )
                return SetupError(
                    f"Setup stopped, because {meaning} and run launch.py again to continue.\n"
                    f"({errors[-1]}{f'; all output is in {self.log}' if os.path.exists(self.log) else ''})"
                )
        tail = "".join(f"     {line}\n" for line in output[-15:])
        where = f" All output is in {self.log}." if os.path.exists(self.log) else ""
        return SetupError(f"{tail}Setup stopped: {what}.{where}")


def setup_facts() -> dict[str, object]:
    """Returns the facts that an installation depends on; setup runs again when one changes."""
    return {
        "schema": SCHEMA,
        "pyproject": hashlib.sha256((SOURCE / "pyproject.toml").read_bytes()).hexdigest(),
        "python": sys.implementation.cache_tag,
        "python_path": sys.base_prefix,
        "source": str(SOURCE),  # installed in editable mode from this folder
    }


@contextlib.contextmanager
def locked(path: Path) -> Iterator[int]:
    """Holds a lock that the system releases when this process dies."""
    with open(path, "ab") as file:
        if not try_lock(file.fileno()):
            print("Another launch.py is setting up Ringside here; waiting for it.", file=sys.stderr, flush=True)
            while not try_lock(file.fileno()):
                time.sleep(0.2)
        yield file.fileno()


def try_lock(number: int) -> bool:
    try:
        if sys.platform == "win32":
            import msvcrt

            msvcrt.locking(number, msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        return False
    return True


def has_venv_module() -> bool:
    importlib.invalidate_caches()
    return all(importlib.util.find_spec(name) for name in ("venv", "ensurepip"))


def qt_libraries() -> dict[str, list[str]]:
    """Returns the libraries that Qt loads and its wheel does not contain, with the packages that hold them."""
    groups = json.loads(QT_LIBRARIES.read_text("utf-8"))
    return {library: packages for group in groups.values() for library, packages in group.items()}


def missing_libraries() -> list[str]:
    """Returns the libraries that the loader does not find; on Linux only."""
    missing = []
    for library in qt_libraries() if sys.platform == "linux" else ():
        try:
            from ctypes import CDLL  # a Python built without ctypes reports all of them

            CDLL(library)
        except (ImportError, OSError):
            missing.append(library)
    return missing


def library_advice(libraries: list[str]) -> str:
    for column, install in enumerate(PACKAGE_MANAGERS):
        if shutil.which(install.split()[0]):
            packages = dict.fromkeys(qt_libraries()[library][column] for library in libraries)
            return f"run: {SUDO}{install} {' '.join(packages)}"
    return "install them with your system's package manager."


def total_size(paths: Iterable[Path]) -> int:
    size = 0
    for path in paths:
        with contextlib.suppress(OSError):  # pip may have removed it
            size += path.lstat().st_size
    return size


def size_text(size: float) -> str:
    unit = next((unit for unit, factor in SIZE_UNITS.items() if size >= factor), "bytes")
    return f"{size / SIZE_UNITS[unit]:.{1 if size >= 1e6 else 0}f} {unit}"


def start(python: Path, args: list[str]) -> int:
    """Runs the command; on POSIX it replaces this process."""
    command = args[0] if args else ""
    if args == ["check"]:
        return check(python)
    if command in MODULES:
        os.chdir(SOURCE)
        arguments = ["-m", MODULES[command], *(parallel_options(args) if command == "test" else ()), *args[1:]]
    else:
        arguments = ["-P", "-m", "league_app", *args]  # -P: ignore a folder named engine in the current directory
        script = f'"{sys.argv[0]}"' if " " in sys.argv[0] else sys.argv[0]
        os.environ["RINGSIDE_CALLED"] = f"{Path(sys.executable).name} {script}"  # used in hints
    if not WINDOWS:
        if command not in MODULES:  # until Ringside can handle Ctrl-C; it unblocks it
            signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
        os.execv(python, [str(python), *arguments])
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the child receives Ctrl-C too, and handles it
    return subprocess.call([str(python), *arguments])


def parallel_options(args: list[str]) -> list[str]:
    """Returns options that run the test files in several processes, unless a debugger or live output is asked for."""
    alone = {"--pdb", "--trace", "-n", "-n0", "--capture=no"}
    live = any(re.fullmatch(r"-[a-z]*s[a-z]*", one) for one in args[1:])  # -s, -sv, -vs
    return [] if live or alone & set(args) else ["-n", "auto", "--dist", "loadfile", "--no-loadscope-reorder"]


def check(python: Path) -> int:
    """Runs all checks, even if one fails."""
    results = {}
    for name, arguments in CHECKS.items():
        print(f"== {name}", flush=True)
        results[name] = subprocess.call([str(python), *arguments], cwd=SOURCE)
    print("== " + ", ".join(f"{name}: {'failed' if code else 'ok'}" for name, code in results.items()))
    return 1 if any(results.values()) else 0


def open_closed_streams() -> None:
    """Opens the null device in place of closed standard streams, whose numbers other files would get."""
    for number, mode in ((0, os.O_RDONLY), (1, os.O_RDONLY), (2, os.O_WRONLY)):
        try:
            os.fstat(number)
        except OSError:
            os.set_inheritable(os.open(os.devnull, mode), True)  # gets the lowest free number, which is this one
    sys.stdout = sys.stdout or open(1, "w", closefd=False)  # noqa: SIM115 - until the process ends
    sys.stderr = sys.stderr or open(2, "w", closefd=False)  # noqa: SIM115


def show_help() -> int:
    try:
        print(HELP, flush=True)
    except OSError as error:
        sys.stdout = None  # type: ignore[assignment]  # or Python would flush it again
        if isinstance(error, BrokenPipeError):  # the reader, such as `head`, has closed the pipe: only text is lost
            return 0
        print(f"cannot write to standard output: {error.strerror}", file=sys.stderr)
        return 1
    return 0


def main(args: list[str]) -> int:
    open_closed_streams()
    if args in (["help"], ["--help"], ["-h"]):
        return show_help()
    for name in ("PYTHONHOME", "PYTHONPATH", "__PYVENV_LAUNCHER__"):  # they would bypass the environment
        os.environ.pop(name, None)
    environment = Environment(Path(os.environ.get("RINGSIDE_VENV") or SOURCE / ".venv").expanduser().absolute())
    extras = {"dev"} if (args and args[0] in MODULES) or args == ["check"] else set()
    try:
        if not environment.is_ready(extras):
            environment.set_up(extras)
        return start(environment.python, args)
    except KeyboardInterrupt:
        print("\nInterrupted; run launch.py again to continue.", file=sys.stderr)
        return 130
    except BrokenPipeError:  # the reader, such as `head`, has closed the pipe
        return 1
    except SetupError as error:
        environment.display.line(str(error))
    except OSError as error:
        environment.display.line(str(environment.failure(str(error), [])))
    return 1


if __name__ == "__main__":
    try:
        if signal.getsignal(signal.SIGINT) is signal.SIG_DFL:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(130)
