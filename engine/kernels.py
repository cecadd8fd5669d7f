"""Compiled functions: two decorators, and a cache that knows when inlined code of another file has changed."""

from __future__ import annotations

import functools
import hashlib
import os
import shutil
import sys
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any, cast

import numba

Compiled = Callable[..., Any]  # numba works out the types from the arguments

# error_model="numpy": a division needs no check for zero; with unsigned indices and inlining this is worth 40 %.
# No fastmath and no fused multiply-add: results must be the same to the bit everywhere.


def inline(function: Compiled) -> Compiled:
    """A small function that other kernels take in whole."""
    return cast(Compiled, numba.njit(error_model="numpy", inline="always")(function))


def kernel(function: Compiled) -> Compiled:
    """A function compiled at its first call and cached on disk for the next process."""
    folder = _cache_folder(function.__module__.partition(".")[0])
    if folder is None:
        return cast(Compiled, numba.njit(error_model="numpy")(function))
    before, numba.config.CACHE_DIR = numba.config.CACHE_DIR, str(folder)  # type: ignore[attr-defined]
    try:
        return cast(Compiled, numba.njit(error_model="numpy", cache=True)(function))
    finally:
        numba.config.CACHE_DIR = before  # type: ignore[attr-defined]


def cache_root() -> Path:
    """Where compiled kernels are kept; `RINGSIDE_CACHE` moves it."""
    if chosen := os.environ.get("RINGSIDE_CACHE"):
        return Path(chosen) / "kernels"
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA", Path.home() / "AppData" / "Local"))
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache"))
    return base / "ringside" / "kernels"


def sweep_cache(days: float = 14) -> None:
    """Remove what was compiled from sources that are no longer in use."""
    limit = time.time() - days * 86_400
    for folder in cache_root().glob("*"):
        if folder.stat().st_mtime < limit:
            shutil.rmtree(folder, ignore_errors=True)


@functools.cache
def _cache_folder(package: str) -> Path | None:
    """One folder for each state of the sources; None where nothing can be written.

    numba looks only at the file of the function itself, so a change to an inlined function of another module would
    go unnoticed: the sources of the engine and of the function's own package are therefore part of the folder's name.
    """
    sources = hashlib.blake2b(digest_size=8)
    for name in sorted({"engine", package}):
        found = find_spec(name) if name != "__main__" else None
        for place in (found.submodule_search_locations or []) if found else []:
            for file in sorted(Path(place).rglob("*.py")):
                sources.update(file.read_bytes())
    folder = cache_root() / f"{package}-{sources.hexdigest()}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        os.utime(folder)
    except OSError:
        return None
    return folder if os.access(folder, os.W_OK) else None
