"""The cache of compiled kernels: it detects changed sources, and a damaged or missing cache does no harm."""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numba
import pytest

from engine import kernels
from engine.kernels import cache_root, kernel, sweep_cache

KERNEL = "from engine.kernels import kernel\nfrom taken_in import more\n\n@kernel\ndef answer(x):\n    return more(x)\n"
TAKEN_IN = "from engine.kernels import inline\n\n@inline\ndef more(x):\n    return x + {}\n"


def answer(folder: Path) -> str:
    """The result of the kernel in a new process."""
    paths = os.pathsep.join([str(folder), str(Path(__file__).parents[2])])
    environment = {**os.environ, "PYTHONPATH": paths, "RINGSIDE_CACHE": str(folder / "cache")}
    command = [sys.executable, "-c", "import calls; print(calls.answer(1))"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return done.stdout.strip()


@pytest.fixture
def package(tmp_path: Path) -> Path:
    (tmp_path / "calls.py").write_text(KERNEL)
    (tmp_path / "taken_in.py").write_text(TAKEN_IN.format(1))
    return tmp_path


def test_a_changed_dependency_of_a_kernel_is_detected(package: Path) -> None:
    assert answer(package) == "2"
    (package / "taken_in.py").write_text(TAKEN_IN.format(100))
    assert answer(package) == "101"


@pytest.mark.parametrize("damage", [b"", b"no pickle at all"])
def test_a_kernel_with_a_damaged_cache_file_is_compiled_again(package: Path, damage: bytes) -> None:
    assert answer(package) == "2"
    files = [path for path in (package / "cache").rglob("calls.*") if path.is_file()]
    assert len(files) == 2, "an index and a kernel"
    for file in files:
        file.write_bytes(damage)
    assert answer(package) == "2"
    assert answer(package) == "2"


def test_kernels_work_without_a_cache_folder(package: Path) -> None:
    (package / "cache").write_text("a file where a folder should be")
    assert answer(package) == "2"


def test_a_full_disk_leaves_a_kernel_uncached_and_working(package: Path) -> None:
    """Numba's cache write fails, as on a full disk."""
    (package / "sitecustomize.py").write_text(
        "import numba.core.caching as caching\n"
        "def full(*arguments):\n    raise OSError(28, 'No space left on device')\n"
        "caching.IndexDataCacheFile._save_data = full\n"
    )
    assert answer(package) == "2"
    assert not list((package / "cache").rglob("*.nbc")), "the disk was full"


def test_a_kernel_can_be_defined_at_a_prompt() -> None:
    names: dict[str, object] = {"kernel": kernel, "__name__": "__main__"}
    exec("@kernel\ndef double(x):\n    return 2 * x\n", names)
    assert names["double"](21) == 42


def test_sweeping_removes_old_kernels_and_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RINGSIDE_CACHE", str(tmp_path))
    folders = {name: cache_root() / name for name in ("0123456789abcdef", "fedcba9876543210", "photographs")}
    for folder in folders.values():
        folder.mkdir(parents=True)
    for name in ("0123456789abcdef", "photographs"):
        os.utime(folders[name], (0, 0))
    sweep_cache()
    assert sorted(path.name for path in cache_root().iterdir()) == ["fedcba9876543210", "photographs"]


def test_compiled_kernels_are_known_until_sources_change(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernels, "_cache_folder", lambda packages: tmp_path / "-".join(sorted(packages)))
    for package in ("agents", "others"):
        (tmp_path / "-".join(sorted({"engine", package}))).mkdir()
    assert not kernels.was_compiled("pong bots", "agents")
    kernels.note_compiled("pong bots", "agents")
    assert kernels.was_compiled("pong bots", "agents")
    assert not kernels.was_compiled("pong bots", "others")
    assert not kernels.was_compiled("shogi bots", "agents")
    monkeypatch.setattr(kernels, "_cache_folder", lambda packages: None)
    kernels.note_compiled("pong bots", "agents")
    assert not kernels.was_compiled("pong bots", "agents"), "where nothing can be written"


ROW = "from engine.kernels import generated, row\n\n@row\ndef more(x):\n    return x + {}\n\n"
GENERATED = """
def made(function):
    return generated("add", "def add(x):\\n    return more(x)\\n", {"more": function})

print(made(more)(1))
"""


def test_a_generated_kernel_detects_a_changed_script(tmp_path: Path) -> None:
    """Functions of a script are not among the sources that name the cache folder."""
    script = tmp_path / "script.py"
    environment = {
        **os.environ,
        "RINGSIDE_CACHE": str(tmp_path / "cache"),
        "PYTHONPATH": str(Path(__file__).parents[2]),
    }
    for amount in (1, 100):
        script.write_text(ROW.format(amount) + GENERATED)
        done = subprocess.run([sys.executable, script], env=environment, capture_output=True, text=True, check=True)
        assert done.stdout.strip() == str(1 + amount)


def test_generated_kernels_distinguish_functions_of_the_same_name() -> None:
    def adding(amount: int) -> object:
        @kernels.row
        def more(x: int) -> int:
            return x + amount

        return kernels.generated("add", "def add(x):\n    return more(x)\n", {"more": more})

    assert [adding(amount)(1) for amount in (1, 100)] == [2, 101]  # type: ignore[operator]


def test_kernels_generated_in_several_threads_are_all_cached_in_their_folder() -> None:
    def generate(number: int) -> Any:
        return kernels.generated("add", f"def add(x):\n    return x + {number}\n", {})

    before = numba.config.CACHE_DIR
    switching = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)  # so that threads interrupt each other
    try:
        with ThreadPoolExecutor(8) as pool:
            made = list(pool.map(generate, range(200)))
    finally:
        sys.setswitchinterval(switching)
    assert before == numba.config.CACHE_DIR
    assert {Path(kernel._cache.cache_path).is_relative_to(cache_root()) for kernel in made} == {True}


def test_only_modules_that_a_kernel_may_use_decide_whether_it_is_compiled_again() -> None:
    modules = {
        "game.rules": b"from engine.kernels import kernel\nfrom game.sizes import (\n    WIDTH,\n    HEIGHT,\n)\n",
        "game.sizes": b"from . import more\nWIDTH = 3\n",
        "game.more": b"from .deep.last import LAST\n",
        "game.deep.last": b"def late():\n    from game import local\n",
        "game.local": b"LOCAL = 1\n",
        "game.window": b"from game.rules import WIDTH\nimport os\n",
    }
    used = kernels._kernel_sources(modules)
    assert [name for name in modules if modules[name] in used] == [*modules][:-1]


def test_storage_and_processes_are_no_part_of_kernels_and_rules_are() -> None:
    modules = kernels._read_packages({"engine"})
    used = kernels._kernel_sources(modules)
    for name in ("engine.league.storage.tournaments", "engine.processes.child", "engine.play.workers.dispatcher"):
        assert modules[name] not in used
    for name in ("engine.kernels", "engine.game", "engine.games.pong.game", "engine.games.shogi.tables"):
        assert modules[name] in used
