"""External engines: what they are told, how they may fail, and that each failure has its own words."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from agents.usi import process
from agents.usi import transcript
from agents.usi.approvals import approve
from agents.usi.engine_spec import Engine, agent, engine_of, payload_of
from agents.usi.pilot import KIND
from agents.usi.process import EngineProcess
from agents.usi.protocol import Conversation, Option, ask_engine, go_line, read_option
from engine.errors import BadValue, UnknownName
from engine.game import AgentFault
from engine.play.failures import Conduct
from engine.play.executors import SequentialMatchExecutor
from engine.play.match import AgentSpec, Clock, EndingKind, Limits, MatchResult, MatchSpec, TimeLeft
from engine.registry import new_game
from tests.agents.engines import FAULTY, confirmed, faulty

GAME = new_game("shogi", opening="none")
DICE = AgentSpec("Dice", "dice")


@pytest.fixture(autouse=True)
def at_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """In a folder of its own; and nothing runs any more when a test is over."""
    monkeypatch.setenv("RINGSIDE_HOME", str(tmp_path / "home"))
    yield
    assert not running(), "an engine was left behind"


def running() -> list[int]:
    """The processes of our engines, and of their guards."""
    me = psutil.Process()
    below = [(one.pid, one) for one in me.children(recursive=True)]
    return [pid for pid, one in below if FAULTY in " ".join(one.cmdline())]


def play(engine: Engine, steps: int = 1, clock: Clock | None = None) -> MatchResult:
    """It has Black, so it moves first."""
    spec = MatchSpec("m", GAME.spec, (confirmed(engine), DICE), 1, limits=Limits(steps, clock))
    with SequentialMatchExecutor() as executor:
        return executor.execute_match(spec)


# What it is made of


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"command": "fairy-stockfish"}, "whole path"),
        ({"command": ""}, "command"),
        ({"command": "/bin/a\nb"}, "control characters"),
        ({"arguments": ("a\x00",)}, r"arguments\[0\]"),
        ({"options": (("Style\nquit", "1"),)}, "control characters"),
        ({"options": (("Style", "calm\nquit"),)}, r"options\.Style"),
        ({"options": (("A", "1"), ("A", "2"))}, "given once"),
        ({"nodes": 0}, "one of the two"),
        ({"movetime": 1.0}, "one of the two"),
        ({"nodes": -1}, "nodes = -1"),
        ({"startup": 1000.0}, "startup = 1000"),
        ({"memory": 1}, "memory = 1"),
    ],
)
def test_a_payload_that_cannot_be_is_told_what_is_wrong(wrong: dict[str, object], told: str) -> None:
    with pytest.raises(BadValue, match=told):
        replace(Engine("/bin/engine", nodes=1), **wrong)  # type: ignore[arg-type]


def test_a_payload_comes_back_as_it_was_and_strange_ones_are_refused() -> None:
    engine = Engine("/bin/engine", ("-x",), (("USI_Hash", "16"),), movetime=0.5)
    assert engine_of(payload_of(engine)) == engine
    for payload in (b"", b"[]", b'{"command": "/bin/x", "nodes": 1, "shell": true}', b'{"command": 3, "nodes": 1}'):
        with pytest.raises(BadValue):
            engine_of(payload)


def test_only_an_engine_that_counts_nodes_on_one_thread_is_repeatable() -> None:
    counting, timed = Engine("/bin/x", nodes=5), Engine("/bin/x", movetime=1.0)
    assert KIND.repeats(agent("a", counting))
    assert not KIND.repeats(agent("a", timed))
    assert not KIND.repeats(agent("a", replace(counting, options=(("Threads", "2"),))))
    assert not KIND.repeats(AgentSpec("a", "usi", b"nonsense"))


# What is said


def test_options_are_read_as_engines_announce_them() -> None:
    assert read_option("option name Skill Level type spin default -3 min -20 max 20") == Option(
        "Skill Level", "spin", "-3", -20, 20
    )
    combo = read_option("option name Style type combo default very calm var very calm var wild")
    assert combo == Option("Style", "combo", "very calm", choices=("very calm", "wild"))
    assert read_option("option name File type string default <empty>") == Option("File", "string")
    assert read_option("option name Clear Hash type button") == Option("Clear Hash", "button")
    assert read_option("option name Depth type combo default semi-min var semi-min var max") == Option(
        "Depth", "combo", "semi-min", choices=("semi-min", "max")
    )
    folder = read_option("option name Folder type string default /home/me/my var dir max 3")
    assert folder == Option("Folder", "string", "/home/me/my var dir max 3")
    for line in (
        "option name X\x1b[1m type button",
        "option name X type spin default 1 min a max b",
        "option name X type colour",
        "id name x",
        "",
    ):
        assert read_option(line) is None


def test_the_time_is_told_in_the_words_of_usi() -> None:
    engine = Engine("/bin/x", nodes=7)
    assert go_line(engine, None) == "go nodes 7"
    assert go_line(Engine("/bin/x", movetime=0.25), None) == "go btime 0 wtime 0 byoyomi 250"
    byoyomi = TimeLeft((60.0, 1.5), Clock(60.0, move=10.0))
    assert go_line(engine, byoyomi) == "go btime 60000 wtime 1500 byoyomi 10000"
    fischer = TimeLeft((60.0, 1.5), Clock(60.0, 2.0))
    assert go_line(engine, fischer) == "go btime 60000 wtime 1500 binc 2000 winc 2000"
    assert go_line(engine, TimeLeft((9.0, 8.0), Clock(9.0))) == "go btime 9000 wtime 8000 byoyomi 0"


def test_an_engine_is_asked_who_it_is() -> None:
    found = ask_engine(sys.executable, ("-I", "-S", FAULTY))
    assert (found.name, found.author) == ("Faulty 1.0", "nobody")
    assert [one.name for one in found.options] == [
        "USI_Hash", "Threads", "Book File", "Style", "Resign Early", "ClearHash",
    ]  # fmt: skip
    with pytest.raises(UnknownName, match="did you mean 'Style'"):
        found.option("Stile")
    with pytest.raises(BadValue, match=r"speaks USI.*I play checkers"):
        ask_engine(sys.executable, ("-I", "-S", FAULTY, "refuses"))


def test_a_game_is_played_as_usi_wants_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(transcript.FOLDER, str(tmp_path / "log"))
    result = play(faulty(options=(("Style", "very wild"), ("Book File", ""))), steps=3)
    assert (result.ending.kind, result.steps, result.repeatable) == (EndingKind.STEP_LIMIT, 3, True)
    [log] = (tmp_path / "log").iterdir()
    said = [line.split(" > ", 1)[1] for line in log.read_text().splitlines() if " > " in line]
    assert said[:4] == ["usi", "setoption name Style value very wild", "setoption name Book File value <empty>",
                        "setoption name Threads value 1"]  # fmt: skip
    assert said[4:7] == ["setoption name ClearHash", "isready", "usinewgame"]
    assert said[7].startswith("position sfen lnsgkgsnl/")
    assert said[8] == "go nodes 10"
    assert " moves 2g2f " in said[9]
    assert said[-1] == "gameover draw"


def test_a_long_conversation_is_cut_off_in_its_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(transcript.FOLDER, str(tmp_path))
    monkeypatch.setattr(transcript, "LARGEST", 300)
    assert play(faulty(), steps=3).ending.kind is EndingKind.STEP_LIMIT
    [log] = tmp_path.glob("*.log")
    assert log.read_text().endswith("the rest was too long\n")
    assert log.stat().st_size < 400


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ((("Stile", "calm"),), "did you mean 'Style'"),
        ((("Style", "mad"),), "one of calm, very wild"),
        ((("Threads", "9"),), "from 1 to 8"),
        ((("Threads", "many"),), "a whole number"),
        ((("Resign Early", "yes"),), "true or false"),
        ((("ClearHash", "1"),), "a button"),
    ],
)
def test_options_are_held_against_what_the_engine_announced(options: tuple[tuple[str, str]], told: str) -> None:
    with pytest.raises(AgentFault, match=told) as caught:
        Conversation(faulty(options=options))
    assert caught.value.kind is EndingKind.CANNOT_START


# How it fails


@pytest.mark.parametrize(
    ("fault", "more", "kind", "told"),
    [
        ("refuses", {}, EndingKind.CANNOT_START, r"ended with status 3; it last wrote: I play checkers"),
        ("silent", {"startup": 0.5}, EndingKind.CANNOT_START, r"did not answer 'usi' by 'usiok' within 0.5 s"),
        ("never-ready", {"startup": 0.7}, EndingKind.CANNOT_START, r"did not answer 'isready' by 'readyok'"),
        ("floods-at-start", {}, EndingKind.PROTOCOL, r"65,536 bytes to its standard output without a line break"),
        ("endless-lines", {}, EndingKind.PROTOCOL, r"4,096 lines and no 'usiok'; it last wrote: .*option name more"),
        ("stalls", {"patience": 0.3}, EndingKind.TIMEOUT, r"has not answered 'go' for 0.3 s; .*let me see\?"),
        ("crashes", {}, EndingKind.CRASH, r"died of SIGSEGV; it last wrote: .*boom: out of ideas"),
        ("exits", {}, EndingKind.CRASH, r"ended with status 5"),
        ("floods-output", {}, EndingKind.PROTOCOL, r"standard output without a line break; it last wrote: .*xxxx"),
        ("floods-errors", {}, EndingKind.PROTOCOL, r"standard error without a line break; it last wrote: .*xxxx"),
        ("cheats", {}, EndingKind.ILLEGAL_ACTION, r"answered '5i5a': .*a legal move in lnsgkgsnl"),
        ("babbles", {}, EndingKind.ILLEGAL_ACTION, r"answered 'rubbish': .*a move in USI notation"),
        ("mumbles", {}, EndingKind.PROTOCOL, r"said 'bestmove' and no move"),
        ("declares", {}, EndingKind.ILLEGAL_ACTION, r"declared a win"),
        ("resigns", {}, EndingKind.RESIGNED, r"^$"),
        ("stutters", {}, EndingKind.PROTOCOL, r"said 'bestmove' more than once; it last wrote: .*bestmove 9g9f"),
    ],
)
def test_each_failure_is_a_forfeit_with_its_own_reason(
    fault: str, more: dict[str, object], kind: EndingKind, told: str
) -> None:
    result = play(faulty(fault, **more))
    assert (result.ending.kind, result.ending.seats) == (kind, (0,)), result.ending.reason
    assert result.ranks == (2, 1)
    assert re.search(told, result.ending.reason), result.ending.reason


@pytest.mark.parametrize("what", ["missing", "not-executable", "not-a-program"])
def test_a_file_that_cannot_be_run_is_a_forfeit_too(what: str, tmp_path: Path) -> None:
    path = tmp_path / what
    path.write_text("this is no program")
    path.chmod(0o755 if what == "not-a-program" else 0o644)
    engine = Engine(str(path), nodes=1)
    approve(engine)
    if what == "missing":
        path.unlink()
    spec = MatchSpec("m", GAME.spec, (agent("Engine", engine), DICE), 1)
    with SequentialMatchExecutor() as executor:
        ending = executor.execute_match(spec).ending
    told = {"missing": "no such file", "not-executable": "may not be executed",
            "not-a-program": "status 127; it last wrote: Exec format error"}[what]  # fmt: skip
    assert ending.kind is EndingKind.CANNOT_START
    assert told in ending.reason


def test_an_engine_that_does_not_read_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "WRITING", 0.2)
    talk = Conversation(faulty("deaf"))
    try:
        talk.new_game()
        for _ in range(40):
            talk.process.send(f"position {'9i9h ' * 2000}".strip())
        with pytest.raises(AgentFault, match="has not read what it was told") as caught:
            talk.process.await_line(lambda line: False, time.monotonic() + 20)
        assert caught.value.kind is EndingKind.TIMEOUT
    finally:
        talk.close()


def test_an_engine_that_has_left_is_started_again(tmp_path: Path) -> None:
    """It answers and ends; nobody blames it for that until it is asked again, and then a new one goes on."""
    player = confirmed(faulty("leaves-once", str(tmp_path / "left")))
    specs = [MatchSpec(f"m{n}", GAME.spec, (player, DICE), n, limits=Limits(1)) for n in range(3)]
    with SequentialMatchExecutor(lanes=1) as executor:
        results = executor.execute_matches(specs)
    assert [one.ending.kind for one in results] == [EndingKind.STEP_LIMIT] * 3


def test_an_engine_that_is_too_slow_loses_by_the_clock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(transcript.FOLDER, str(tmp_path))
    result = play(faulty("stalls"), clock=Clock(0.3))
    [log] = tmp_path.glob("*.log")
    assert "> go btime 300 wtime 300 byoyomi 0\n" in log.read_text()
    assert (result.ending.kind, result.ending.seats) == (EndingKind.TIMEOUT, (0,))
    assert "were left" in result.ending.reason


def test_nothing_but_a_short_list_of_variables_reaches_an_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RINGSIDE_SECRET", "x")
    code = "import os; print(sorted(os.environ))"
    told = EngineProcess(Engine(sys.executable, ("-I", "-S", "-c", code), nodes=1))
    heard: list[str] = []
    try:
        told.await_line(lambda line: bool(heard.append(line)) or True, time.monotonic() + 20)
        with pytest.raises(BadValue, match="control characters"):
            told.send("usi\nquit")
    finally:
        told.close()
    assert set(eval(heard[0])) <= {*process.PASSED, "LC_CTYPE"}


def test_an_answer_that_comes_too_late_is_not_taken_for_the_next_one() -> None:
    talk = Conversation(faulty())
    try:
        talk.new_game()
        talk.process.send("go nodes 1")
        assert talk.process.await_line(lambda line: False, time.monotonic() + 0.5) is False
        talk.process.send("go nodes 1")
        time.sleep(0.5)
        with pytest.raises(AgentFault, match="though nobody had asked"):
            talk.ask("startpos", 0, None)
    finally:
        talk.close()


def test_who_thinks_by_time_plays_alone_and_who_is_told_to_blunder_is_not_repeatable() -> None:
    by_nodes, by_time = Engine("/bin/x", nodes=5), Engine("/bin/x", movetime=0.1)
    weaker = replace(by_nodes, options=(("Skill Level", "3"),))
    specs = [MatchSpec("m", GAME.spec, (agent(f"{n}", one), DICE), 1) for n, one in enumerate((by_nodes, by_time))]
    assert [Conduct().timed(spec) for spec in specs] == [False, True]
    assert Conduct().timed(replace(specs[0], limits=Limits(clock=Clock(1.0))))
    assert [KIND.repeats(agent("X", one)) for one in (by_nodes, by_time, weaker)] == [True, False, False]
