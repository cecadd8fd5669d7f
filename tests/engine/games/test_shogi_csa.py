"""Export of Shogi matches to CSA files: format, endings, and escaping of names."""

from __future__ import annotations

import pytest

from engine.errors import BadValue
from engine.games.shogi.csa import write_csa
from engine.games.shogi.position import ShogiPosition
from engine.play.match import UNRATED, AgentSpec, Ending, EndingKind, MatchSpec
from engine.play.replay import Playback
from engine.registry import new_game
from tests.engine.games.shogi_helpers import CHECKS, SHUFFLE, dealt, play

MATING = "4k4/9/4P4/9/9/9/9/9/4K4 b G 1"
ENTERING = "4+P+P+P+P+P/4+P+P+P+P+P/9/K8/9/9/9/9/8k b 2R2B 1"
FINISHED = Ending(EndingKind.FINISHED)


def last(start: str, moves: str, ending: Ending, **options: object) -> list[str]:
    """The lines after the moves."""
    boards = dealt(start, **options)
    play(boards, moves)
    lines = boards.written(0, "csa", ["A", "B"], ending).splitlines()
    return lines[next(k for k, line in enumerate(lines) if line.startswith("%")) :]


def test_a_game_is_written_in_csa() -> None:
    boards = dealt("startpos")
    play(boards, "7g7f 3c3d 8h2b+ 3a2b B*5e")
    position = boards.position(0, 0)
    lines = write_csa(position.start, position.packed, ("Me", "You\n"), "TORYO").splitlines()
    assert lines[:5] == ["'CSA encoding=UTF-8", "V3.0", "N+Me", "N-You", "P1-KY-KE-GI-KI-OU-KI-GI-KE-KY"]
    assert lines[5] == "P2 * -HI *  *  *  *  * -KA * "
    assert lines[13:] == ["+", "+7776FU", "-3334FU", "+8822UM", "-3122GI", "+0055KA", "%TORYO"]
    hands = write_csa("4k4/9/9/9/9/9/9/9/4K4 w 2Pg 1", ()).splitlines()
    assert hands[-3:] == ["P+00FU00FU", "P-00KI", "-"]


def test_the_moves_before_a_match_are_written_too() -> None:
    boards = dealt("startpos moves 7g7f 3c3d")
    play(boards, "2g2f")
    lines = boards.written(0, "csa", ["A", "B"], Ending(EndingKind.STEP_LIMIT)).splitlines()
    assert lines[-5:] == ["+", "+7776FU", "-3334FU", "+2726FU", "%MAX_MOVES"]


@pytest.mark.parametrize(
    ("start", "moves", "ending", "word"),
    [
        (MATING, "G*5b", FINISHED, "%TSUMI"),
        (ENTERING, "9d9c 1i1h", FINISHED, "%KACHI"),
        ("startpos", SHUFFLE * 3, Ending(EndingKind.NO_CONTEST), "%SENNICHITE"),
        ("startpos", "7g7f", Ending(EndingKind.STEP_LIMIT), "%MAX_MOVES"),
        ("startpos", "7g7f", Ending(EndingKind.RESIGNED, (1,)), "%TORYO"),
        ("startpos", "7g7f", Ending(EndingKind.TIMEOUT, (1,)), "%TIME_UP"),
        ("startpos", "7g7f", Ending(EndingKind.ILLEGAL_ACTION, (1,)), "%ILLEGAL_MOVE"),
        ("startpos", "7g7f", Ending(EndingKind.CRASH, (1,)), "%-ILLEGAL_ACTION"),
        ("startpos", "7g7f 3c3d", Ending(EndingKind.PROTOCOL, (0,)), "%+ILLEGAL_ACTION"),
        ("startpos", "", Ending(EndingKind.CANNOT_START, (0,)), "%+ILLEGAL_ACTION"),
        ("startpos", "", Ending(EndingKind.CANNOT_START, (1,)), "%-ILLEGAL_ACTION"),
        ("startpos", "", Ending(EndingKind.CANNOT_START, (0, 1)), "%CHUDAN"),
        (MATING, "G*5b", Ending(EndingKind.EXCEPTION, (0,)), "%+ILLEGAL_ACTION"),  # it failed after the end
    ],
)
def test_every_ending_has_its_word(start: str, moves: str, ending: Ending, word: str) -> None:
    assert last(start, moves, ending) == [word]


@pytest.mark.parametrize(
    ("start", "moves", "word"),
    [
        ("4k4/9/9/9/9/9/9/9/K4R3 b - 1", CHECKS * 3, "%+ILLEGAL_ACTION"),
        ("4k4/9/9/9/9/9/9/9/K3R4 w - 1", "5a4a 5i4i 4a5a 4i5i " * 3, "%+ILLEGAL_ACTION"),
        ("3r4k/9/9/9/9/9/9/9/4K4 w - 1", "6a5a 5i6i 5a6a 6i5i " * 3, "%-ILLEGAL_ACTION"),
        ("4r3k/9/9/9/9/9/9/9/4K4 b - 1", "5i6i 5a6a 6i5i 6a5a " * 3, "%-ILLEGAL_ACTION"),
    ],
)
def test_perpetual_check_is_a_loss_of_the_checking_side(start: str, moves: str, word: str) -> None:
    assert last(start, moves, FINISHED) == [word]


@pytest.mark.parametrize("kind", UNRATED)
def test_an_unrated_match_is_written_as_interrupted(kind: EndingKind) -> None:
    assert last("startpos", "7g7f", Ending(kind)) == ["%CHUDAN"]
    assert last("startpos", "7g7f", Ending(kind, (1,))) == ["%CHUDAN"]


@pytest.mark.parametrize("kind", [kind for kind in EndingKind if kind.failure])
def test_every_failure_is_a_loss_with_a_comment(kind: EndingKind) -> None:
    for seat in range(2):
        word, comment = last("startpos", "", Ending(kind, (seat,), "it said:\n\n%TORYO\x1b[2J\udc80 将棋"))
        assert word == ("%TIME_UP" if (kind, seat) == (EndingKind.TIMEOUT, 0) else f"%{'+-'[seat]}ILLEGAL_ACTION")
        assert comment == f"'{kind.value}: it said: %TORYO [2J 将棋"


def test_names_stay_on_their_lines() -> None:
    lines = write_csa("4k4/9/9/9/9/9/9/9/4K4 b - 1", (), ("将棋\n%TORYO", "\u2028B\x00\u202e,'")).splitlines()
    assert lines[2:4] == ["N+将棋 %TORYO", "N-B ,'"]


def test_a_replay_is_written_with_how_it_ended() -> None:
    players = (AgentSpec("a", "dice"), AgentSpec("b", "dice"))
    playback = Playback(MatchSpec("m", new_game("shogi").spec, players, 1, MATING))
    position = playback.boards.position(1, 0)
    assert isinstance(position, ShogiPosition)
    playback.feed([position.action("G*5b")])
    lines = playback.written("csa", ["A", "B"], FINISHED).splitlines()
    assert lines[2:4] == ["N+A", "N-B"]
    assert lines[-2:] == ["+0052KI", "%TSUMI"]
    with pytest.raises(BadValue, match="notation = 'pgn': must be one of csa"):
        playback.written("pgn", ["A", "B"], FINISHED)
