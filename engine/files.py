"""Files that are whole or not there at all: written under a temporary name, brought to the disk, then put in place."""

from __future__ import annotations

import errno
import os
import tempfile
from pathlib import Path

from engine.errors import BadValue


def check_path(field: str, path: Path | str) -> Path:
    """A path that the system could know; whether anything is there is another question."""
    try:
        os.lstat(path)
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:
            raise BadValue(field, str(path), "a shorter name") from None
    except ValueError:  # a zero byte, or letters that no file name can have
        raise BadValue(field, str(path), "the name of a file") from None
    return Path(path)


def asset(name: str) -> Path | None:
    """A file that comes with Ringside: beside the packages in a checkout, inside this one when it is installed."""
    here = Path(__file__).parent
    places = (here.parent / "assets" / name, here / "assets" / name)
    return next((place for place in places if place.is_file()), None)


def write_whole(path: Path, data: bytes) -> None:
    """A crash leaves the old file or the new one."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        settle(Path(name), path)
    finally:
        Path(name).unlink(missing_ok=True)


def settle(made: Path, path: Path, replace: bool = True) -> None:
    """Give a finished temporary file its name. FileExistsError if something is there and must not be replaced."""
    with made.open("rb") as file:
        os.fsync(file.fileno())
    umask = os.umask(0)
    os.umask(umask)
    os.chmod(made, 0o666 & ~umask)  # as any new file; temporary ones are for their owner alone
    if replace:
        os.replace(made, path)
    else:
        _link(made, path)
    if os.name == "posix":
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def _link(made: Path, path: Path) -> None:
    """In one step with the look whether something is there, where the file system can do that."""
    try:
        os.link(made, path)
    except FileExistsError:
        raise
    except OSError:
        if path.exists():
            raise FileExistsError(path) from None
        os.replace(made, path)
