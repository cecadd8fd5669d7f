"""Sets Ringside up in a folder of its own, then runs it; `python3 launch.py --help` says how."""

import sys

# All of this file has to parse under Pythons far older than the one that it asks for.
if sys.version_info < (3, 11):  # noqa: UP036
    sys.stderr.write(
        f"Ringside needs Python 3.11 or newer, and this is Python {sys.version_info[0]}.{sys.version_info[1]}: "
        "install a newer one and start launch.py with it, for example `python3.11 launch.py`.\n"
    )
    sys.exit(2)

import contextlib
import errno
import hashlib
import json
import os
import re
import time
from collections.abc import Iterator
from pathlib import Path

# subprocess, shutil and ctypes are imported where they are used: a second start needs none of them.

SOURCE = Path(__file__).resolve().parent
WINDOWS = sys.platform == "win32"
AS_ROOT = hasattr(os, "geteuid") and os.geteuid() == 0
SUDO = "" if AS_ROOT else "sudo "
SCHEMA = 1  # raise it when what an older launch.py has set up must be set up again

HELP = """\
usage: python3 launch.py [command] [arguments]

  launch.py                  set up what is missing, then start Ringside
  launch.py test [args]      run the tests; the arguments go to pytest
  launch.py check            run ruff, mypy and the import contracts
  launch.py bench [args]     run the benchmarks
  launch.py --help           show this text; nothing is installed
  launch.py <other> [args]   run one of Ringside's own commands

Everything is installed in the folder .venv beside this file, or in the one that RINGSIDE_VENV names.
That happens at the first start, and again when pyproject.toml or the Python version has changed."""

CHECKS = {
    "ruff check": ["-m", "ruff", "check", "."],
    "ruff format": ["-m", "ruff", "format", "--check", "."],
    "mypy": ["-m", "mypy"],
    "lint-imports": ["-c", "from importlinter.cli import lint_imports_command as lint; lint()"],
}

# What Qt loads and its wheel does not bring: each library's package in Debian, Fedora and Arch.
QT_LIBRARIES = {
    "libGL.so.1": ("libgl1", "libglvnd-glx", "libglvnd"),
    "libEGL.so.1": ("libegl1", "libglvnd-egl", "libglvnd"),
    "libglib-2.0.so.0": ("libglib2.0-0", "glib2", "glib2"),
    "libxkbcommon.so.0": ("libxkbcommon0", "libxkbcommon", "libxkbcommon"),
    "libfontconfig.so.1": ("libfontconfig1", "fontconfig", "fontconfig"),
    "libdbus-1.so.3": ("libdbus-1-3", "dbus-libs", "dbus"),
    "libxcb-cursor.so.0": ("libxcb-cursor0", "xcb-util-cursor", "xcb-util-cursor"),
    "libxcb-icccm.so.4": ("libxcb-icccm4", "xcb-util-wm", "xcb-util-wm"),
    "libxcb-keysyms.so.1": ("libxcb-keysyms1", "xcb-util-keysyms", "xcb-util-keysyms"),
    "libxcb-shape.so.0": ("libxcb-shape0", "libxcb", "libxcb"),
    "libxkbcommon-x11.so.0": ("libxkbcommon-x11-0", "libxkbcommon-x11", "libxkbcommon-x11"),
}
PACKAGE_MANAGERS = (("apt-get", "install"), ("dnf", "install"), ("pacman", "-S"))

DISK_FULL = ("No space left on device", "[Errno 28]", "not enough space on the disk", "Disk quota exceeded")
NO_NETWORK = ("connection broken by", "ConnectionError", "Max retries exceeded", "timed out", "No matching distribution")
SIZE_UNITS = {"GB": 1e9, "MB": 1e6, "kB": 1e3, "bytes": 1.0}
ARCHIVE = r"([^\s/\\]+)\.(?:whl|tar\.gz|zip)"
FETCHED = re.compile(rf"\s*(?:Downloading|Using cached) (?:\S*/)?{ARCHIVE} \(([\d.]+) (\w+)\)")
LOCAL = re.compile(rf"\s*Processing (.*{ARCHIVE})(?: \(from .*)?$")


class SetupError(Exception):
    """Setup cannot go on; the message says what happened and what to do."""


class Display:
    """Prints to stderr, for stdout is Ringside's: finished lines, and on a terminal a live one below them."""

    QUIET_SECONDS = 20  # without a terminal, say this often what is going on

    def __init__(self, downloads: Path) -> None:
        self.downloads = downloads
        self.live = sys.stderr.isatty() and not os.environ.get("CI") and os.environ.get("TERM") != "dumb"
        self.shown, self.last_line = 0, time.monotonic()
        self.doing, self.since = "", time.monotonic()
        self.size: float | None = None  # of the package under way
        self.count, self.total = 0, 0.0

    def line(self, text: str) -> None:
        self._replace(text + "\n")
        self.shown, self.last_line = 0, time.monotonic()

    def _replace(self, text: str) -> None:
        print("\r" + " " * self.shown + "\r" if self.shown else "", text, sep="", end="", file=sys.stderr, flush=True)

    def read(self, line: str) -> None:
        """Makes of pip's output a list of packages, with their sizes and a running total."""
        fetched, local = FETCHED.match(line), LOCAL.match(line)
        if fetched:
            self._package(fetched[1], float(fetched[2]) * SIZE_UNITS[fetched[3]])
        elif local:
            self._package(local[2], file_size(Path(local[1])))
        elif line.startswith("Collecting "):
            self.start(f"looking for {line.split()[1]}")
        elif line.startswith("Installing collected packages: "):
            self.start(f"unpacking {line.count(',') + 1} packages")

    def _package(self, archive: str, size: float) -> None:
        name, version = archive.replace("%2B", "+").split("-")[:2]
        self.start(f"{name.replace('_', '-'):<22} {version:<12}")
        self.size = size

    def start(self, doing: str) -> None:
        """Names what happens now; a package that was under way has arrived and is listed."""
        if self.size is not None:
            self.count, self.total = self.count + 1, self.total + self.size
            self.line(f"     {self.doing} {size_text(self.size):>9}   total {size_text(self.total):>9}")
        self.size, self.doing, self.since = None, doing, time.monotonic()

    def tick(self) -> None:
        """Shows how far things are: by the bytes that have arrived in a download, by time otherwise."""
        text = f"     {self.doing}"
        if self.size is not None:
            arrived = max(map(file_size, self.downloads.glob("pip-unpack-*/*")), default=0)
            text += f" {size_text(min(arrived, self.size)):>9} of {size_text(self.size)}"
        text += f", {time.monotonic() - self.since:.0f} s"
        if self.live:
            import shutil

            text = text[: shutil.get_terminal_size().columns - 1]
            self._replace(text)
            self.shown = len(text)
        elif time.monotonic() - self.last_line >= self.QUIET_SECONDS:
            self.line(text)


class Environment:
    """The folder that everything is installed in, and the four steps that fill it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.python = folder / ("Scripts/python.exe" if WINDOWS else "bin/python")
        self.stamp = folder / "ringside-setup.json"  # written last, so only a finished setup has one
        self.lock = folder / "ringside-setup.lock"
        self.log = folder / "ringside-setup.log"
        self.downloads = folder / "ringside-downloads"

    def is_ready(self, extras: set[str]) -> bool:
        """Tells whether the last setup still holds."""
        stamp = self.read_stamp()
        return setup_facts().items() <= stamp.items() and extras <= set(stamp["extras"]) and self.python.exists()

    def read_stamp(self) -> dict:
        """Returns what the last setup wrote when it was finished, and of an unfinished one nothing."""
        with contextlib.suppress(OSError, ValueError):
            return {"extras": [], **json.loads(self.stamp.read_text("utf-8"))}
        return {"extras": []}

    def write_stamp(self, extras: set[str]) -> None:
        fresh = self.stamp.with_suffix(".new")
        with open(fresh, "w", encoding="utf-8") as file:
            json.dump({**setup_facts(), "extras": sorted(extras)}, file, indent=1)
            file.flush()
            os.fsync(file.fileno())
        os.replace(fresh, self.stamp)

    def set_up(self, extras: set[str]) -> None:
        """Takes every step that is needed; a step can be repeated after a failure."""
        if self.folder.is_dir() and os.listdir(self.folder) and not (self.folder / "pyvenv.cfg").exists():
            if not self.lock.exists():
                raise SetupError(f"{self.folder} holds something else: empty it, or name another in RINGSIDE_VENV.")
        self.folder.mkdir(parents=True, exist_ok=True)
        with locked(self.lock) as self.lock_number:
            if self.is_ready(extras):
                return  # another launch.py has done it meanwhile
            extras = extras | set(self.read_stamp()["extras"])
            self.stamp.unlink(missing_ok=True)
            self.log.write_bytes(b"")
            started = time.monotonic()
            self.display = Display(self.downloads)
            self.display.line(f"Setting Ringside up in {self.folder} with Python {sys.version.split()[0]}.")
            self.make_environment()
            self.install_packages(extras)
            self.provide_system_libraries()
            self.compile_kernels()
            self.write_stamp(extras)
            self.display.line(f"Ringside is set up after {time.monotonic() - started:.0f} s.\n")

    def make_environment(self) -> None:
        self.display.line("1/4  Python environment")
        self.remove_torn_packages()
        if self.python_works():
            self.display.line("     is there already")
            return
        self.provide_venv_module()
        for path in self.folder.iterdir():
            if path not in (self.lock, self.log):
                remove(path)
        # Started by the environment's own Python, sys.executable is what has just been removed.
        python = getattr(sys, "_base_executable", None) or sys.executable
        code, output = self.call("creating it", [python, "-m", "venv", str(self.folder)])
        if code:
            raise self.failure("the Python environment could not be created", output)
        self.display.line(f"     created, {size_text(folder_size(self.folder))}")

    def remove_torn_packages(self) -> None:
        """Removes the marks of packages that a killed pip left half-written, so that pip installs them again."""
        for site in [*self.folder.glob("lib/python*/site-packages"), *self.folder.glob("Lib/site-packages")]:
            # pip writes INSTALLER after all other files, and renames what it is about to replace to ~name.
            torn = [info for info in site.glob("*.dist-info") if not (info / "INSTALLER").exists()]
            for path in [*torn, *site.glob("~*")]:
                remove(path)

    def python_works(self) -> bool:
        """Tells whether the environment's Python runs, has pip and is of the version in use."""
        tag = "sys.implementation.cache_tag + getattr(sys, 'abiflags', '')"
        probe = f"import importlib.metadata as m, sys; m.version('pip'); print({tag})"
        try:
            code, output = self.call("trying it", [str(self.python), "-I", "-c", probe])
        except OSError:
            return False
        return code == 0 and output[-1:] == [setup_facts()["python"]]

    def provide_venv_module(self) -> None:
        """Debian keeps a part of Python that creating an environment needs in a package of its own."""
        import shutil

        package = f"python{sys.version_info[0]}.{sys.version_info[1]}-venv"
        apt = shutil.which("apt-get")
        if not has_venv_module() and AS_ROOT and apt:
            self.apt_install([package])
        if not has_venv_module():
            advice = f"run `{SUDO}apt-get install {package}`" if apt else "install a complete Python"
            raise SetupError(f"Setup stopped, because this Python lacks venv or ensurepip: {advice}, then launch again.")

    def install_packages(self, extras: set[str]) -> None:
        """Installs everything in one resolution: whatever depends on torch must not choose its version."""
        self.display.line("2/4  Packages")
        remove(self.downloads)
        self.downloads.mkdir()
        options = ["--no-input", "--disable-pip-version-check", "--progress-bar", "off", "--retries", "5"]
        target = f".[{','.join(sorted(extras))}]" if extras else "."
        command = [str(self.python), "-P", "-m", "pip", "install", *options, "-e", target]
        # Downloads go where the packages go: /tmp may be small, and their growth shows how far they are.
        variables = dict.fromkeys(("TMPDIR", "TEMP", "TMP"), str(self.downloads))
        code, output = self.call("asking pip what is needed", command, PIP_USER="0", **variables)
        if code:
            raise self.failure("pip could not install the packages", output)
        remove(self.downloads)
        fetched = f"{self.display.count} packages fetched, {size_text(self.display.total)}"
        present = sum(line.startswith("Requirement already satisfied") for line in output)
        self.display.line(f"     {fetched}; {present} there already; {size_text(folder_size(self.folder))} on disk")

    def provide_system_libraries(self) -> None:
        """Finds or installs what the window needs; whatever is missing, the terminal works without."""
        self.display.line("3/4  System libraries for the window")
        missing = missing_libraries()
        if missing and AS_ROOT and install_command(missing).startswith("apt-get"):
            self.apt_install([QT_LIBRARIES[library][0] for library in missing])
            missing = missing_libraries()
        if not missing:
            self.display.line("     all there")
            return
        self.display.line(f"     Note: {', '.join(missing)} not found. The terminal works without;")
        self.display.line(f"     for the window, {install_command(missing)}")

    def apt_install(self, packages: list[str]) -> None:
        """Tries to install Debian packages; the caller looks whether that worked."""
        self.call("asking apt-get what there is", ["apt-get", "update"])
        command = ["apt-get", "install", "-y", "--no-install-recommends", *packages]
        code, output = self.call(" ".join(command), command, DEBIAN_FRONTEND="noninteractive")
        told = [line for line in output if line.startswith("E: " if code else "Need to get ")]
        self.display.line(f"     {' '.join(command)}: {told[0] if told else 'done'}")

    def compile_kernels(self) -> None:
        import subprocess

        self.display.line("4/4  Compiling the games")
        command = [str(self.python), "-P", "-m", "league_app", "compile"]
        if subprocess.call(command, stdout=sys.stderr, cwd=SOURCE):
            raise SetupError("Setup stopped: compiling the games failed, as shown above. Run launch.py to try again.")

    def call(self, doing: str, command: list[str], **variables: str) -> tuple[int, list[str]]:
        """Runs a command with its output in the log; returns its exit code and the lines of its output."""
        import queue
        import subprocess
        import threading

        output: list[str] = []
        arriving: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        variables = {**os.environ, "PYTHONUNBUFFERED": "1", "PYTHONUTF8": "1", **variables}
        # With the lock handed on, a pip that outlives a killed launch.py keeps the next one waiting.
        handed_on = () if WINDOWS else (self.lock_number,)
        pipe, none = subprocess.PIPE, subprocess.DEVNULL

        def forward() -> None:
            for raw in process.stdout or ():
                arriving.put(raw)
            arriving.put(b"")

        self.display.start(doing)
        with open(self.log, "ab", buffering=0) as log, subprocess.Popen(
            command, stdin=none, stdout=pipe, stderr=subprocess.STDOUT, cwd=SOURCE, env=variables, pass_fds=handed_on
        ) as process:
            threading.Thread(target=forward, daemon=True).start()
            while True:
                try:
                    raw = arriving.get(timeout=0.2)
                except queue.Empty:
                    self.display.tick()
                    continue
                if not raw:
                    break
                with contextlib.suppress(OSError):  # a full disk must not hide the line that says so
                    log.write(raw)
                output.append(raw.decode("utf-8", "replace").rstrip())
                self.display.read(output[-1])
        self.display.start("")
        return process.returncode, output

    def failure(self, what: str, output: list[str]) -> SetupError:
        """Says why a command failed, as far as its output tells."""
        text = "\n".join(output)
        if any(sign in text for sign in DISK_FULL):
            return SetupError(disk_full(self.folder))
        absent = re.search(r"No matching distribution found for (\S+)", text)
        if absent or any(sign in text for sign in NO_NETWORK):
            detail = f" (pip found no download of {absent[1]})" if absent else ""
            return SetupError(
                f"Setup stopped, because downloads failed{detail}: check the network connection and run launch.py "
                f"again, which goes on from here. All that pip said is in {self.log}."
            )
        tail = "\n".join(f"     {line}" for line in output[-15:])
        return SetupError(f"{tail}\nSetup stopped: {what}. Its last words are above, all of them in {self.log}.")


def setup_facts() -> dict[str, object]:
    """Returns what an installation depends on: when any of it changes, setup runs again."""
    return {
        "schema": SCHEMA,
        "pyproject": hashlib.sha256((SOURCE / "pyproject.toml").read_bytes()).hexdigest(),
        "python": sys.implementation.cache_tag + getattr(sys, "abiflags", ""),
        "python_path": sys.base_prefix,
        "source": str(SOURCE),  # the packages are installed as links to there
    }


@contextlib.contextmanager
def locked(path: Path) -> Iterator[int]:
    """Holds a lock that the system releases when this process dies."""
    with open(path, "ab") as file:
        if not try_lock(file.fileno()):
            print("Another launch.py is setting Ringside up here; waiting for it.", file=sys.stderr, flush=True)
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
    import importlib.util

    importlib.invalidate_caches()
    return all(importlib.util.find_spec(name) for name in ("venv", "ensurepip"))


def missing_libraries() -> list[str]:
    """Returns the libraries that the loader does not find; only Linux leaves any to the user."""
    missing = []
    with contextlib.suppress(ImportError):  # without ctypes nobody can tell
        import ctypes

        for library in QT_LIBRARIES if sys.platform == "linux" else ():
            try:
                ctypes.CDLL(library)
            except OSError:
                missing.append(library)
    return missing


def install_command(libraries: list[str]) -> str:
    """Returns the command that installs these libraries here, or nothing for an unknown package manager."""
    import shutil

    for column, (manager, verb) in enumerate(PACKAGE_MANAGERS):
        if shutil.which(manager):
            packages = dict.fromkeys(QT_LIBRARIES[library][column] for library in libraries)
            return " ".join([manager, verb, *packages])
    return ""


def remove(path: Path) -> None:
    import shutil

    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def file_size(path: Path) -> int:
    """Returns the size of a file, and 0 for one that has gone meanwhile."""
    try:
        return path.lstat().st_size
    except OSError:
        return 0


def folder_size(folder: Path) -> int:
    return sum(file_size(path) for path in folder.rglob("*"))


def size_text(size: float) -> str:
    unit = next((unit for unit, factor in SIZE_UNITS.items() if size >= factor), "bytes")
    return f"{size / SIZE_UNITS[unit]:.{1 if unit in ('GB', 'MB') else 0}f} {unit}"


def disk_full(folder: Path) -> str:
    import shutil

    free = size_text(shutil.disk_usage(folder).free)
    return f"Setup stopped, because the disk is full: {folder} has {free} left and needs about 2 GB. Make room and run launch.py again."


def explain(error: OSError, folder: Path) -> str:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return disk_full(folder)
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return f"Setup stopped: {error}. Name a folder that you may write to in RINGSIDE_VENV."
    return f"Setup stopped: {error}."


def start(python: Path, args: list[str]) -> int:
    """Runs what the arguments ask for; on POSIX in place of this process, so that none is left between."""
    command, rest = (args[0], args[1:]) if args else ("", [])
    if command == "check":
        return check(python)
    if command in ("test", "bench"):
        os.chdir(SOURCE)
        arguments = ["-m", "pytest" if command == "test" else "tests.benchmarks", *rest]
    else:
        arguments = ["-P", "-m", "league_app", *args]  # -P: a folder named engine in the user's place is not ours
    if not WINDOWS:
        os.execv(python, [str(python), *arguments])
    import signal
    import subprocess

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the child too, which knows what to do
    return subprocess.call([str(python), *arguments])


def check(python: Path) -> int:
    """Runs every check, whatever the others said."""
    import subprocess

    results = {}
    for name, arguments in CHECKS.items():
        print(f"== {name}", flush=True)
        results[name] = subprocess.call([str(python), *arguments], cwd=SOURCE)
    print("== " + ", ".join(f"{name}: {'failed' if code else 'ok'}" for name, code in results.items()))
    return 1 if any(results.values()) else 0


def main(args: list[str]) -> int:
    if args[:1] in (["--help"], ["-h"]):
        print(HELP)
        return 0
    for name in ("PYTHONHOME", "PYTHONPATH", "__PYVENV_LAUNCHER__"):  # they would lead past the environment
        os.environ.pop(name, None)
    environment = Environment(Path(os.environ.get("RINGSIDE_VENV") or SOURCE / ".venv").expanduser().absolute())
    extras = {"dev"} if args[:1] in (["test"], ["check"], ["bench"]) else set()
    try:
        if not environment.is_ready(extras):
            environment.set_up(extras)
        return start(environment.python, args)
    except SetupError as error:
        problem = str(error)
    except OSError as error:
        problem = explain(error, environment.folder)
    except KeyboardInterrupt:
        print("\nInterrupted; launch.py goes on from here when it is run again.", file=sys.stderr)
        return 130
    print(problem, file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
