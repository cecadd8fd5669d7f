"""Findings of the doctor on this machine, and on one where something is broken."""

from __future__ import annotations

import dataclasses
import functools
import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from engine.processes import launcher
from engine.registry import EXECUTORS, FORMATS, GAMES, KINDS, TRAINERS
from league_app.core import doctor
from league_app.core.doctor import Finding

EXAMINED = """
import dataclasses, json, sys
from league_app.core.doctor import examine
found = [dataclasses.asdict(finding) for finding in examine()]
print(json.dumps([found, sorted({"torch", "PySide6", "shiboken6", "pygame", "neat"} & set(sys.modules))]))
"""
ESSENTIAL = {
    *("Python", "numpy", "numba", "scipy", "psutil", "rich", "cores", "memory", "current folder", "SQLite"),
    *("kernel cache", "compiled kernels", "worker processes", "games", "agent kinds", "tournament formats"),
}

Examine = Callable[[str], list[Finding]]


@pytest.fixture(scope="module")
def examined(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[Finding], list[str]]:
    """All checks, in a process of its own: the findings, and the large modules imported afterwards."""
    folder = tmp_path_factory.mktemp("league")
    environment = {name: value for name, value in os.environ.items() if name not in ("DISPLAY", "WAYLAND_DISPLAY")}
    done = subprocess.run(
        [sys.executable, "-c", EXAMINED], cwd=folder, env=environment, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    assert not list(folder.iterdir()), "it leaves no files"
    found, heavy = json.loads(done.stdout)
    return [Finding(**finding) for finding in found], heavy


@pytest.fixture
def only(monkeypatch: pytest.MonkeyPatch) -> Examine:
    """The findings of a single check."""

    def run(what: str) -> list[Finding]:
        monkeypatch.setattr(doctor, "CHECKS", tuple(check for check in doctor.CHECKS if check[0] == what))
        return list(doctor.examine())

    return run


def dist_info(folder: Path, name: str, version: str, points: str = "") -> None:
    info = folder / f"{name.replace('-', '_')}-{version}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    (info / "entry_points.txt").write_text(points)


def no_process(*arguments: object) -> None:
    raise BlockingIOError(11, "Resource temporarily unavailable")


def test_all_essential_checks_pass_on_this_machine(examined: tuple[list[Finding], list[str]]) -> None:
    found = {finding.what: finding for finding in examined[0]}
    assert set(found) >= ESSENTIAL
    assert {what: found[what] for what in ESSENTIAL if found[what].state != "good"} == {}
    assert "pong" in found["games"].told
    assert "pong-bot" in found["agent kinds"].told


def test_only_findings_that_are_not_good_have_a_remedy(examined: tuple[list[Finding], list[str]]) -> None:
    for finding in examined[0]:
        assert finding.told
        assert "\n" not in finding.told + finding.remedy
        assert bool(finding.remedy) == (finding.state != "good"), finding


def test_pictures_window_and_training_are_checked_in_other_processes(
    examined: tuple[list[Finding], list[str]],
) -> None:
    found = {finding.what: finding.state for finding in examined[0]}
    assert found["pictures"] == found["Qt without a display"] == found["training with torch"] == "good"
    assert examined[1] == []


def test_without_a_display_the_window_is_missing_and_the_command_line_is_not(
    examined: tuple[list[Finding], list[str]],
) -> None:
    found = {finding.what: finding for finding in examined[0]}
    assert found["display"].state == "missing"
    assert "the window needs one, the command line does not" in found["display"].told
    assert "ssh -X" in found["display"].remedy
    assert "Qt on the display" not in found


@pytest.mark.skipif(sys.platform != "linux", reason="X11 is Linux's")
def test_a_display_that_does_not_answer_is_broken(only: Examine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DISPLAY", ":4077")
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    monkeypatch.delenv("QT_QPA_PLATFORM", raising=False)
    display, offscreen, real = only("window")
    assert (display.state, offscreen.state, real.state) == ("good", "good", "broken")
    assert ":4077" in display.told
    assert real.remedy


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere Qt brings all it needs")
def test_missing_libraries_are_named_with_their_packages(only: Examine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "QT", "raise ImportError('libnowhere.so.3: cannot open shared object file')")
    libraries = {"libc.so.6": "libc6", "libnowhere.so.3": "libnowhere3", "libgone.so.1": "libgone1"}
    monkeypatch.setattr(doctor, "_qt_libraries", lambda groups: libraries)
    monkeypatch.delenv("DISPLAY", raising=False)
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    _, offscreen = only("window")
    assert offscreen.state == "broken"
    assert offscreen.told == "libnowhere.so.3, libgone.so.1 cannot be loaded"
    assert "apt-get install libnowhere3 libgone1" in offscreen.remedy


@pytest.mark.parametrize("version", ["6.11.0", "6.11.1", "6.12.0", "6.12.3", "7.0"])
def test_a_pyside6_that_crashes_is_broken(
    version: str, only: Examine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dist_info(tmp_path, "PySide6-Essentials", version)
    monkeypatch.syspath_prepend(str(tmp_path))
    (qt,) = (finding for finding in only("packages") if finding.what == "pyside6-essentials")
    assert qt.state == "broken"
    assert version in qt.told
    assert "pip install" in qt.remedy
    assert "<6.12" in qt.remedy


def test_packages_that_are_not_installed_are_missing_or_broken(only: Examine, monkeypatch: pytest.MonkeyPatch) -> None:
    needs = ["nonesuch>=2,<3", "torch==2.13.0", "pytest<10; extra == 'dev'"]
    monkeypatch.setattr(doctor, "requires", lambda name: needs)
    monkeypatch.setattr(doctor, "_installed", lambda name: None)
    nonesuch, torch = only("packages")
    assert (nonesuch.what, nonesuch.state) == ("nonesuch", "broken")
    assert nonesuch.remedy.endswith('-m pip install "nonesuch>=2,<3"')
    assert (torch.what, torch.state) == ("torch", "missing")


@pytest.mark.parametrize(
    ("version", "needed", "holds"),
    [
        ("2.13.0+cpu", "torch==2.13.0", True),
        ("2.13.1", "torch==2.13.0", False),
        ("2.10", "numpy>=2.9,<2.11", True),
        ("2.5.0", "numpy<2.5,>=2.0", False),
        ("2.0.0", "neat-python==2", True),
        ("6.9.post1", "x!=6.9.1, >=6.9", True),
        ("1.4rc2", "scipy<1.4", False),
    ],
)
def test_versions_are_compared_as_numbers(version: str, needed: str, holds: bool) -> None:
    assert doctor._satisfies(version, needed) is holds


def test_a_broken_plug_in_is_named_with_its_package(
    only: Examine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dist_info(tmp_path, "a-plugin", "1.0", "[ringside.games]\nunsound = does_explode:Game\n")
    (tmp_path / "does_explode.py").write_text("raise RuntimeError('boom')\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    for registry in (GAMES, KINDS, FORMATS, TRAINERS, EXECUTORS):
        monkeypatch.setattr(registry, "problems", {})  # without those of plug-ins in other tests
    monkeypatch.setattr(GAMES, "_points", None)  # reads the entry points again, now and after the test
    found = only("plug-ins")
    (broken,) = (finding for finding in found if finding.state == "broken")
    assert "'unsound' of a-plugin cannot be loaded: RuntimeError: boom" in broken.told
    assert broken.remedy.endswith("pip uninstall a-plugin")
    assert any(finding.what == "games" and "pong" in finding.told for finding in found)


def test_the_remedy_for_a_package_that_does_not_load_is_to_reinstall() -> None:
    """In a process of its own, where numba has not been imported yet."""
    code = "import sys; sys.modules['numba'] = None; from league_app.core import doctor\n"
    code += "doctor.CHECKS = [one for one in doctor.CHECKS if one[0] in ('worker processes', 'plug-ins')]" + EXAMINED
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    broken = [finding for finding in json.loads(done.stdout)[0] if finding["state"] == "broken"]
    assert {"worker processes", "plug-in"} == {finding["what"] for finding in broken}
    assert {finding["remedy"] for finding in broken} == {doctor.REINSTALL}


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="a folder that even root cannot write to")
def test_a_read_only_folder_is_reported_and_sqlite_is_checked_elsewhere(
    only: Examine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir("/proc")
    everything = doctor.CHECKS
    (folder,) = only("current folder")
    assert folder.state == "broken"
    assert folder.told.startswith("/proc cannot be written: ")
    assert "cd ~" in folder.remedy
    monkeypatch.setattr(doctor, "CHECKS", everything)
    (sqlite,) = only("SQLite")
    assert sqlite.state == "good"
    assert "/proc" not in sqlite.told


def test_a_kernel_cache_that_cannot_be_created_is_reported(
    only: Examine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("RINGSIDE_CACHE", str(tmp_path / "file"))
    (cache,) = only("kernel cache")
    assert cache.state == "broken"
    assert "cannot be written" in cache.told
    assert "RINGSIDE_CACHE" in cache.remedy


def test_low_disk_space_and_memory_are_reported(only: Examine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "LITTLE", 1e18)
    everything = doctor.CHECKS
    (folder,) = only("current folder")
    monkeypatch.setattr(doctor, "CHECKS", everything)
    _, memory = only("machine")
    assert folder.state == memory.state == "missing"
    assert folder.remedy
    assert "--workers 1" in memory.remedy


def test_workers_that_do_not_start_are_broken(only: Examine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(launcher, "_start", no_process)
    (worker,) = only("worker processes")
    assert worker.state == "broken"
    assert "could not be started" in worker.told
    assert "Resource temporarily unavailable" in worker.told
    assert "ulimit -u" in worker.remedy


def test_a_worker_that_does_not_start_in_time_is_reported(only: Examine, monkeypatch: pytest.MonkeyPatch) -> None:
    over, ended = threading.Event(), threading.Event()

    def dawdle(*sockets: Any) -> None:
        over.wait(300)
        ended.set()
        no_process(*sockets)

    monkeypatch.setattr(launcher, "_start", dawdle)
    monkeypatch.setattr(doctor, "PATIENCE", 0.5)
    (worker,) = only("worker processes")
    assert not ended.is_set(), "the doctor does not wait for it"
    over.set()
    assert worker.state == "broken"
    assert "cancelled" in worker.told


def test_a_program_that_hangs_is_ended_and_reported(only: Examine, monkeypatch: pytest.MonkeyPatch) -> None:
    hangs = functools.partial(doctor._trial, "sleep", "numpy", "import time; time.sleep(60)", 0.3)
    monkeypatch.setattr(doctor, "CHECKS", (("sleep", hangs, "wake it"),))
    assert only("sleep") == [Finding("sleep", "broken", "no answer within 0.3 s", "wake it")]


def test_a_program_that_aborts_is_reported_with_its_first_line(only: Examine, monkeypatch: pytest.MonkeyPatch) -> None:
    code = "import os, sys; sys.stderr.write('no screen\\nand more\\n'); sys.stderr.flush(); os.abort()"
    aborts = functools.partial(doctor._trial, "abort", "numpy", code)
    monkeypatch.setattr(doctor, "CHECKS", (("abort", aborts, "mend it"),))
    assert only("abort") == [Finding("abort", "broken", "no screen", "mend it")]


def test_output_that_cannot_show_a_plus_minus_is_broken(only: Examine, monkeypatch: pytest.MonkeyPatch) -> None:
    with open(os.devnull, "w", encoding="ascii") as plain:
        monkeypatch.setattr(sys, "stdout", plain)
        (terminal,) = only("terminal")
    assert terminal.state == "broken"
    assert "PYTHONUTF8" in terminal.remedy


@pytest.mark.parametrize("error", [OSError("gone"), SystemExit(3), MemoryError(), ValueError("one\ntwo")])
def test_an_unexpected_error_is_a_finding_and_the_next_check_runs(
    error: BaseException, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail() -> Iterator[Finding]:
        yield Finding("half", "good", "done")
        raise error

    checks: Any = (("all", fail, "mend it"), ("Python", doctor._python, ""))
    monkeypatch.setattr(doctor, "CHECKS", checks)
    half, broken, python = doctor.examine()
    assert (half.what, python.state) == ("half", "good")
    assert dataclasses.replace(broken, told="") == Finding("all", "broken", "", "mend it")
    assert broken.told.startswith(type(error).__name__)
    assert "\n" not in broken.told


def test_examine_does_not_raise_where_nothing_can_be_run_or_written(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(*arguments: object, **options: object) -> None:
        raise PermissionError(13, "Permission denied")

    for module, name in ((doctor.subprocess, "run"), (doctor.tempfile, "TemporaryFile"), (doctor.shutil, "disk_usage")):
        monkeypatch.setattr(module, name, refuse)
    monkeypatch.setattr(doctor.tempfile, "TemporaryDirectory", refuse)
    monkeypatch.setattr(launcher, "_start", no_process)
    found = {finding.what: finding for finding in doctor.examine()}
    for what in ("current folder", "SQLite", "kernel cache", "worker processes", "pictures", "training with torch"):
        assert found[what].state == "broken"
        assert found[what].remedy
