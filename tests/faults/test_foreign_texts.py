"""Errors of agents with any text, or of any class: the failure of that agent alone, with a reason that can be shown."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.foreign_code import LONGEST, clean_lines, clean_text, name_and_text
from engine.league import played_matches
from engine.league.failure_report import failures
from engine.league.records import RunState
from engine.league.storage.league import League
from engine.play.executors import SequentialMatchExecutor
from engine.play.match import EndingKind, MatchResult
from league_app.core.state import LeagueState
from tests.faults.league import GAME, digest, mixed, play, sick, sick_matches, well_matches, within

TEXTS = {  # how the reason of each fault begins
    "surrogate": "RuntimeError: half \ufffd letter (ringside_harm.py, line ",
    "control": "RuntimeError: a\ufffdb\ufffd[2J\ufffd\ufffdevil and more (ringside_harm.py, line ",
    "megabyte": "RuntimeError: \ufffd\ufffd",
    "speechless": "Speechless: (no text: its __str__ raised Wild) (ringside_harm.py, line ",
    "deceitful": "Deceitful: no luck (ringside_harm.py, line ",
    "wild": "Wild: not an Exception (ringside_harm.py, line ",
    "cancelled": "CancelledError (ringside_harm.py, line ",
    "generator": "GeneratorExit (ringside_harm.py, line ",
    "closed": "Wild: closed (ringside_harm.py, line ",
    "misplaced": "RuntimeError: lost (a\ufffdb\ufffd.py, line ",
    "unknown ending": "I have won",
    "unprintable": "Wild (ringside_harm.py, line ",
}


def check_text(text: str) -> None:
    """It is one line that can be stored and shown anywhere."""
    assert text.encode().decode() == text == clean_text(text, 2 * LONGEST)
    assert len(text) <= LONGEST + 100


def check(result: MatchResult, seat: int, fault: str) -> None:
    assert (result.ending.kind, result.ending.seats) == (EndingKind.EXCEPTION, (seat,)), result
    assert result.ending.reason.startswith(TEXTS[fault])
    check_text(result.ending.reason)


@pytest.mark.parametrize("kind", ["harm", "shared-harm"])
def test_an_error_of_any_text_and_class_is_the_failure_of_its_agent(kind: str) -> None:
    well = well_matches(60)
    ill = {fault: sick_matches(sick(fault, kind), 2) for fault in TEXTS}
    with SequentialMatchExecutor(32) as executor:
        expected = {result.id: result for result in executor.execute_matches(well)}
    with within(240):
        results = play(mixed(well, [spec for specs in ill.values() for spec in specs]))
    assert digest(results, well) == digest(expected, well), "the other results equal those of a run without them"
    for fault, specs in ill.items():
        for seat, spec in enumerate(specs):
            check(results[spec.id], seat, fault)


@pytest.mark.parametrize("fault", TEXTS)
def test_an_error_of_any_text_and_class_has_the_same_ending_in_this_process(fault: str) -> None:
    specs = sick_matches(sick(fault, "harm"), 2)
    with SequentialMatchExecutor(8) as executor:
        for seat, result in enumerate(executor.execute_matches(specs)):
            check(result, seat, fault)


def test_a_tournament_with_such_errors_is_recorded_to_its_end(tmp_path: Path) -> None:
    with within(240), LeagueState.new(tmp_path / "x.league") as state:
        for fault in TEXTS:
            state.add_agent(fault, "pong", "harm", fault.encode())
        state.add_agent("well", "pong", "fault", b"")
        job = state.start_tournament(game=GAME.spec, name="Cup", format="gauntlet", options={"rounds": 2})
        job.wait()
        assert state.league.tournament(1).state is RunState.FINISHED
    with League(tmp_path / "x.league", read_only=True) as league:
        ended = list(played_matches.every_match(league))
        assert len(ended) == league.tournament(1).total
        for found in failures(league, 1):
            check_text(found.reason)
        for match in ended:
            assert match.result.ending.kind is not EndingKind.VOID
            check_text(match.result.ending.reason)


def test_a_user_may_interrupt_an_agent_in_this_process() -> None:
    """Ctrl-C is not the failure of the agent that happens to be asked."""
    specs = sick_matches(sick("interrupt"), 1)
    with SequentialMatchExecutor(8) as executor, pytest.raises(KeyboardInterrupt):
        executor.execute_matches(specs)


@pytest.mark.parametrize(
    "text", ["\ud800", "\0", "a\r\nb", "\x1b]0;x\x07", "\u2066x", "x" * 10_000, "\ud800" * 10_000, ""]
)
def test_a_cleaned_text_is_one_short_line_of_valid_unicode(text: str) -> None:
    check_text(clean_text(text))
    check_text(name_and_text(ValueError(text)))
    assert clean_text(clean_text(text)) == clean_text(text)


def test_what_a_process_prints_is_cleaned_line_by_line() -> None:
    assert clean_lines("one\r\n\ttwo\x1b[1m\0\nthree \ud800") == "one\n    two\ufffd[1m\ufffd\nthree \ufffd"
