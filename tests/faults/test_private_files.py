"""Files of the user of this machine, which no other user may read: confirmed engines, preferences, logs of engines."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from agents.usi import approvals
from agents.usi.engine_spec import EngineSpec
from agents.usi.transcript import FOLDER, Transcript
from league_app.core import paths
from league_app.core.preferences import Preferences

pytestmark = pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX")


@pytest.fixture(autouse=True)
def permissive() -> Iterator[None]:
    before = os.umask(0)
    yield
    os.umask(before)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The default folder of the user."""
    monkeypatch.delenv("RINGSIDE_HOME", raising=False)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "share"))
    monkeypatch.setattr("sys.platform", "linux")
    return tmp_path / "share" / "ringside"


@pytest.fixture
def engine(tmp_path: Path) -> EngineSpec:
    program = tmp_path / "engine"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    return EngineSpec(str(program), nodes=1)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def write_both(engine: EngineSpec) -> list[Path]:
    approvals.approve(engine)
    Preferences(paths.settings_file()).set("theme", "dark")
    return [approvals.place(), paths.settings_file()]


def test_private_files_and_their_folder_are_made_for_this_user_only(home: Path, engine: EngineSpec) -> None:
    files = write_both(engine)
    assert [file.name for file in files] == ["engines.json", "window.json"]
    assert [oct(mode(path)) for path in [*files, home]] == ["0o600", "0o600", "0o700"]


def test_private_files_that_others_could_read_are_made_private(home: Path, engine: EngineSpec) -> None:
    for file in write_both(engine):
        file.chmod(0o664)
    home.chmod(0o755)
    assert approvals.approved(engine), "it is only read"
    assert Preferences(paths.settings_file()).get("theme") == "dark"
    assert [oct(mode(path)) for path in [*home.iterdir(), home]] == ["0o600", "0o600", "0o700"]
    for file in home.iterdir():
        file.chmod(0o666)
    assert [oct(mode(file)) for file in write_both(engine)] == ["0o600", "0o600"]


def test_a_folder_that_the_user_names_keeps_its_permissions(
    tmp_path: Path, engine: EngineSpec, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "named"
    home.mkdir(mode=0o755)
    monkeypatch.setenv("RINGSIDE_HOME", str(home))
    assert [oct(mode(file)) for file in write_both(engine)] == ["0o600", "0o600"]
    assert oct(mode(home)) == "0o755"
    monkeypatch.setenv("RINGSIDE_HOME", str(home / "new"))
    assert [oct(mode(path)) for path in [*write_both(engine), home / "new"]] == ["0o600", "0o600", "0o700"]


def test_logs_of_engines_are_private_and_not_written_through_links(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, diary = tmp_path / "logs", tmp_path / "diary"
    monkeypatch.setenv(FOLDER, str(folder))
    diary.write_text("precious")
    Transcript("Deep", 1, "engine").close()
    [log] = folder.iterdir()
    assert [oct(mode(path)) for path in (log, folder)] == ["0o600", "0o700"]
    log.unlink()
    log.symlink_to(diary)
    Transcript("Deep", 1, "engine").close()
    assert diary.read_text() == "precious"
