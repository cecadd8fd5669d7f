"""Atomic file writes: write to a temporary name, flush to the disk, then rename. Also finds asset files."""

from __future__ import annotations

import errno
import os
import tempfile
from pathlib import Path

from engine.errors import BadValue


def check_path(field: str, path: Path | str) -> Path:
    """Raise BadValue unless the operating system accepts this path. The file need not exist."""
    try:
        os.lstat(path)
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:
            raise BadValue(field, str(path), "a shorter path") from None
    except ValueError:  # a null byte, or characters that cannot be encoded
        raise BadValue(field, str(path), "a valid path") from None
    return Path(path)


def asset(name: str) -> Path | None:
    """The path of an asset: next to the packages in a checkout, inside this package when installed; None if missing."""
    here = Path(__file__).parent
    paths = (here.parent / "assets" / name, here / "assets" / name)
    return next((path for path in paths if path.is_file()), None)


def write_atomic(path: Path, data: bytes) -> None:
    """Write a file so that a crash leaves either the old or the new content."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        move_into_place(Path(name), path)
    finally:
        Path(name).unlink(missing_ok=True)


def move_into_place(temporary: Path, path: Path, replace: bool = True) -> None:
    """Flush a temporary file and rename it to `path`. Raises FileExistsError if `path` exists and not `replace`."""
    with temporary.open("rb") as file:
        os.fsync(file.fileno())
    umask = os.umask(0)
    os.umask(umask)
    os.chmod(temporary, 0o666 & ~umask)  # as any new file; temporary files are readable by their owner only
    if replace:
        os.replace(temporary, path)
    else:
        _link_new(temporary, path)
    if os.name == "posix":
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def _link_new(temporary: Path, path: Path) -> None:
    """Rename unless `path` exists, atomically on file systems that support hard links."""
    try:
        os.link(temporary, path)
    except FileExistsError:
        raise
    except OSError:
        if path.exists():
            raise FileExistsError(path) from None
        os.replace(temporary, path)
