"""Rules, agents and disks that fail during a tournament, and leagues that are closed at bad moments."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from engine.errors import GameFailed, LeagueError, StorageFailed
from engine.league.records import RunState
from engine.league.storage.tournaments import TournamentStore
from engine.play.match import EndingKind
from engine.registry import GAMES, KINDS, new_game
from league_app.core import tournament_job
from league_app.core.state import LeagueState
from tests.faults.league import worker_pids
from tests.league_app.core.state_helpers import BOTS, LONG, PLAN, QUICK, opened
from tests.waiting import until

SITE = str(Path(__file__).parents[2] / "faults" / "site")
Patch = pytest.MonkeyPatch


@pytest.fixture
def faults() -> Iterator[None]:
    sys.path.append(SITE)
    GAMES.rescan(), KINDS.rescan()
    yield
    sys.path.remove(SITE)
    GAMES.remove("broken-rules"), KINDS.remove("fault"), KINDS.remove("shared-fault")
    GAMES.rescan(), KINDS.rescan()


def test_failing_rules_stop_the_tournament_with_a_note(state: LeagueState, faults: None) -> None:
    _ = [state.add_agent(name, "broken-rules", "fault", b"") for name in "ab"]
    job = state.start_tournament(game=new_game("broken-rules", fault="raise").spec)
    with pytest.raises(GameFailed, match="broken-rules"):
        job.wait()
    [left] = state.unfinished()
    assert (left.state, left.played) == (RunState.STOPPED, 0)
    assert "broken-rules" in left.note
    assert state.start_tournament(**PLAN).wait().state is RunState.FINISHED, "other tournaments can be played"


def test_an_agent_that_crashes_forfeits_and_the_rest_continues(state: LeagueState, faults: None) -> None:
    state.add_agent("sick", "pong", "fault", b"exit3")
    job = state.start_tournament(game=QUICK, agents=("sick", *BOTS[:2]), options={"rounds": 3})
    assert job.wait().state is RunState.FINISHED
    [sick] = [row for row in state.standings(tournament=job.number).rows if row.agent == "sick"]
    assert sick.forfeits[EndingKind.CRASH.value] == sick.total.losses >= 3
    unplayed = sick.forfeits[EndingKind.QUARANTINED.value]
    assert unplayed + sick.total.losses == 12
    again = state.resume_tournament(job.number, lift_quarantine=True)
    assert again.run.store.played == 18 - unplayed
    assert again.wait().played == 18


@pytest.mark.parametrize("when", [RunState.RUNNING, RunState.STOPPED])
@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_failing_disk_is_reported_and_the_file_is_closed(tmp_path: Path, when: RunState, monkeypatch: Patch) -> None:
    def full(
        book: TournamentStore, state: RunState, note: str = "", settle: Callable[..., None] = TournamentStore.settle
    ) -> None:
        if state is when:
            raise StorageFailed("the disk is full")
        settle(book, state, note)

    state = opened(tmp_path)
    monkeypatch.setattr(TournamentStore, "settle", full)
    job = state.start_tournament(game=LONG, agents=BOTS)
    with suppress(LeagueError):
        state.close()
    with pytest.raises(StorageFailed):
        job.wait()
    assert not worker_pids()
    LeagueState(tmp_path / "one.league").close()


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_closing_at_the_very_end_of_a_run_is_safe(state: LeagueState, monkeypatch: Patch) -> None:
    """A job that has left `state.job` may still have something to write."""
    reached, go_on, remember = threading.Event(), threading.Event(), state.league.save_setting
    slowly = [lambda *_: reached.set(), lambda *_: go_on.wait(), remember]
    monkeypatch.setattr(tournament_job, "ENOUGH", 1)
    monkeypatch.setattr(state.league, "save_setting", lambda *args: [step(*args) for step in slowly])
    job = state.start_tournament(**PLAN)
    reached.wait()
    threading.Thread(target=lambda: until(lambda: state._closed) or go_on.set()).start()
    state.close()
    assert job.wait() is not None, "`wait` returns"


def test_properties_are_consistent_while_a_job_ends(state: LeagueState, monkeypatch: Patch) -> None:
    job = state.start_tournament(**PLAN)
    for look in (lambda: state.live, lambda: state.toggle_text):
        answers = iter([job, None, None])  # it ends between two reads of one property
        with monkeypatch.context() as patched:
            patched.setattr(LeagueState, "_job", property(lambda state, answers=answers: next(answers)), raising=False)
            look()
    job.wait()
