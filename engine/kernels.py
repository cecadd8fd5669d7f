"""Compiled functions: decorators, kernels from generated source, and a cache that notices changes to inlined code."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import re
import shutil
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any, cast

import numba

IMPORT = re.compile(r"^[ \t]*(?:from (?P<package>[\w.]+) )?import (?P<names>\([^)]*\)|[^\n]*)", re.M)
Compiled = Callable[..., Any]  # numba works out the types from the arguments
NO_ALLOCATION: dict[str, Any] = {"_nrt": False}  # the option is numba's own and not in its type stubs
_cache_setting = threading.Lock()  # numba's folder of cached code is a global setting

# error_model="numpy": a division needs no check for zero; with unsigned indices and inlining this is worth 40 %.
# No fastmath and no fused multiply-add: results must be the same to the bit everywhere.


def inline(function: Compiled) -> Compiled:
    """A small function that numba inlines into other kernels."""
    return cast(Compiled, numba.njit(error_model="numpy", inline="always")(function))


def row(function: Compiled) -> Compiled:
    """A function of one lane or one seat, inlined into kernels and march drivers. It must not allocate.

    LLVM does the inlining here: with `inline`, numba would copy the whole caller at each level of nesting.
    """
    return cast(Compiled, numba.njit(error_model="numpy", forceinline=True, **NO_ALLOCATION)(function))


def bare(function: Compiled) -> Compiled:
    """A kernel that does not allocate, so numba counts no array references: each count costs 5 ns."""
    return kernel(function, **NO_ALLOCATION)


def generated(name: str, source: str, names: dict[str, Any], **options: Any) -> Any:
    """A bare kernel from generated source; `names` are the globals that it uses, `options` are more ones of numba.

    numba caches only functions that come from a file. The source is therefore written next to the cached kernels, under
    a name that is the same in every process that generates the same source from the same functions.
    """
    functions = {key: inlined for key, value in names.items() if (inlined := getattr(value, "py_func", None))}
    packages = {"engine"}
    for function in functions.values():
        _packages(function, packages)
    cacheable = "__main__" not in packages and not any(function.__closure__ for function in functions.values())
    folder = _cache_folder(frozenset(packages)) if cacheable else None
    codes = [f"# {key}: {function.__module__}.{function.__qualname__} {_code_hash(function)}"
             for key, function in functions.items()]  # fmt: skip
    source = "\n".join([*codes, source])
    title = f"{name}_{hashlib.blake2b(source.encode(), digest_size=8).hexdigest()}"
    path = _write_source(folder / "generated" / f"{title}.py", source) if folder is not None else None
    module = sys.modules[title] = ModuleType(title)  # numba imports it by this name when it loads a cached kernel
    module.__spec__ = ModuleSpec(title, None)
    vars(module).update(names)
    exec(compile(source, path or f"<{title}>", "exec"), vars(module))
    return _compiled(vars(module)[name], folder if path else None, NO_ALLOCATION | options)


def _code_hash(function: Any) -> str:
    """Returns a hash that is the same in every process; that of `marshal` would depend on reference counts."""
    return hashlib.blake2b(repr(_code_parts(function.__code__)).encode(), digest_size=8).hexdigest()


def _code_parts(code: CodeType) -> list[object]:
    parts: list[object] = [code.co_code, code.co_names, code.co_varnames, code.co_freevars]
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            parts.append(_code_parts(constant))
        else:  # the order of a set differs from process to process
            parts.append(sorted(map(repr, constant)) if isinstance(constant, frozenset) else repr(constant))
    return parts


def _write_source(file: Path, source: str) -> str | None:
    """Returns the path of a file with this source; None if it cannot be written."""
    draft = file.with_suffix(f".{os.getpid()}")
    try:
        if not file.is_file():
            file.parent.mkdir(exist_ok=True)
            draft.write_text(source, encoding="utf-8")
            draft.replace(file)
    except OSError:
        draft.unlink(missing_ok=True)
        return None
    return str(file)


@contextlib.contextmanager
def compiled_once(dispatcher: Any) -> Iterator[None]:
    """Holds a lock so that one process at a time compiles this kernel; the next one finds it in the cache."""
    source = dispatcher.py_func.__code__.co_filename
    with contextlib.ExitStack() as stack:
        if os.path.isfile(source):  # without a file nothing is cached, and there is nothing to wait for
            with contextlib.suppress(ImportError, OSError):  # Windows has no such locks; the folder may be read-only
                import fcntl

                fcntl.flock(stack.enter_context(open(f"{source}.lock", "w")), fcntl.LOCK_EX)
        yield


def signature_of(dispatcher: Any, arguments: Sequence[Any]) -> tuple[Any, ...]:
    """Returns the numba types of these arguments."""
    return tuple([dispatcher.typeof_pyval(argument) for argument in arguments])


def is_cached(dispatcher: Any, signature: tuple[Any, ...]) -> bool:
    """Returns whether a call with this signature needs no compilation: it is loaded, or in the cache on disk."""
    if signature in dispatcher.overloads:
        return True
    try:
        cache = dispatcher._cache
        return cache._index_key(signature, dispatcher.targetctx.codegen()) in cache._cache_file._load_index()
    except Exception:  # no cache, or a damaged one: numba's files may raise anything
        return False


def kernel(function: Compiled, **options: Any) -> Compiled:
    """A function compiled at its first call and cached on disk for the next process."""
    return _compiled(function, _cache_folder(frozenset(_packages(function))), options)


def _compiled(function: Compiled, folder: Path | None, options: dict[str, Any]) -> Compiled:
    if folder is not None:
        with _cache_setting:
            before, numba.config.CACHE_DIR = numba.config.CACHE_DIR, str(folder)  # type: ignore[attr-defined]
            try:
                return _make_robust(numba.njit(error_model="numpy", cache=True, **options)(function))
            except RuntimeError:  # defined at a prompt: there is no file whose changes could be noticed
                pass
            finally:
                numba.config.CACHE_DIR = before  # type: ignore[attr-defined]
    return cast(Compiled, numba.njit(error_model="numpy", **options)(function))


def _make_robust(dispatcher: Any) -> Compiled:
    """Makes the cache robust: a damaged file is compiled again, and on a full disk the kernel is not cached."""
    cache = dispatcher._cache
    load, save = cache.load_overload, cache.save_overload

    def load_or_flush(signature: object, context: object) -> object:
        try:
            return load(signature, context)
        except Exception:  # whatever reading a torn file may raise
            with contextlib.suppress(OSError):
                cache.flush()
            return None

    def save_if_possible(signature: object, data: object) -> None:
        with contextlib.suppress(OSError):
            save(signature, data)

    cache.load_overload, cache.save_overload = load_or_flush, save_if_possible
    return cast(Compiled, dispatcher)


def _packages(function: Any, seen: set[str] | None = None) -> set[str]:
    """Returns the packages whose code is part of a kernel: its own, and those of functions that it inlines."""
    seen = {"engine"} if seen is None else seen
    package = function.__module__.partition(".")[0]
    if package not in seen or package == "engine":
        seen.add(package)
        for value in list(function.__globals__.values()):
            inlined = getattr(value, "py_func", None)
            if inlined is not None and inlined.__module__.partition(".")[0] not in seen:
                _packages(inlined, seen)
    return seen


def cache_root() -> Path:
    """Returns the folder of compiled kernels; the environment variable `RINGSIDE_CACHE` overrides it."""
    if chosen := os.environ.get("RINGSIDE_CACHE"):
        return Path(chosen) / "ringside-kernels"
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA", Path.home() / "AppData" / "Local"))
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache"))
    return base / "ringside" / "kernels"


def sweep_cache(days: float = 14) -> None:
    """Removes kernels compiled from sources that were not used for some days; nothing else."""
    limit = time.time() - days * 86_400
    for folder in cache_root().glob("*"):
        if re.fullmatch(r"[0-9a-f]{16}", folder.name) and folder.stat().st_mtime < limit:
            shutil.rmtree(folder, ignore_errors=True)


def note_compiled(what: str, package: str) -> None:
    """Records that all kernels of this name have been compiled from the current sources of engine and package."""
    stamp = _stamp(what, package)
    if stamp is not None:
        with contextlib.suppress(OSError):
            stamp.touch()


def was_compiled(what: str, package: str) -> bool:
    """Returns whether `note_compiled` was called for it: then loading is quick."""
    stamp = _stamp(what, package)
    return stamp is not None and stamp.exists()


def _stamp(what: str, package: str) -> Path | None:
    folder = _cache_folder(frozenset({"engine", package}))
    return folder / f"{hashlib.blake2b(what.encode(), digest_size=8).hexdigest()}.compiled" if folder else None


@functools.cache
def _cache_folder(packages: frozenset[str]) -> Path | None:
    """Returns a folder for the current state of the sources; None if it cannot be written.

    numba checks only the file of the function itself, so a change to an inlined function of another module would go
    unnoticed. The folder's name is therefore a hash of all sources of these packages that a kernel may use.
    """
    sources = hashlib.blake2b(digest_size=8)
    for text in _kernel_sources(_read_packages(packages - {"__main__"})):
        sources.update(text)
    folder = cache_root() / sources.hexdigest()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        os.utime(folder)
    except OSError:
        return None
    return folder if os.access(folder, os.W_OK) else None


def _read_packages(packages: Iterable[str]) -> dict[str, bytes]:
    """Returns the source of every module in these packages, by its dotted name."""
    modules: dict[str, bytes] = {}
    for name in sorted(packages):
        found = find_spec(name)
        if found and found.origin and found.origin.endswith(".py"):
            modules[name] = Path(found.origin).read_bytes()
        for place in (found.submodule_search_locations or []) if found else []:
            for file in sorted(Path(place).rglob("*.py")):
                path = file.relative_to(place).with_suffix("").parts
                modules[".".join((name, *path)).removesuffix(".__init__")] = file.read_bytes()
    return modules


def _kernel_sources(modules: dict[str, bytes]) -> list[bytes]:
    """Returns the sources that define kernels, or that these import: functions and constants come from nowhere else.

    So a change to the storage or to the worker processes compiles nothing again. Modules are compared by the last two
    parts of their names, which finds relative imports too, and may find more than are imported.
    """
    imports = {name: _imported(source) for name, source in modules.items()}
    used = {name for name, names in imports.items() if names & {"numba", "engine.kernels"} or name == "engine.kernels"}
    waiting = list(used)
    while waiting:
        names = imports[waiting.pop()]
        found = {name for name in modules.keys() - used if _ending(name) in names or name.rpartition(".")[2] in names}
        used |= found
        waiting += found
    return [modules[name] for name in modules if name in used]


@functools.cache
def _imported(source: bytes) -> set[str]:
    """Returns the last two parts of each name that could be a module in the import statements of a source."""
    found = set()
    for match in IMPORT.finditer(source.decode(errors="replace")):
        package, names = match["package"] or "", re.findall(r"[\w.]+", match["names"])
        found |= {_ending(package.strip(".")), *(_ending(f"{package}.{name}".strip(".")) for name in names)}
    return found


@functools.cache
def _ending(name: str) -> str:
    return ".".join(name.split(".")[-2:])
