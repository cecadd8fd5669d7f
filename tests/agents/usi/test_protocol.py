"""External engines: messages they receive, their failures, and the reason given for each."""

from __future__ import annotations

import re
import select
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest

from agents.usi import process, protocol, transcript
from agents.usi.approvals import approve
from agents.usi.engine_spec import EngineSpec, agent, engine_of, payload_of
from agents.usi.pilot import KIND
from agents.usi.process import EngineProcess
from agents.usi.protocol import Conversation, Option, ask_engine, go_line, read_option
from engine.errors import BadValue, UnknownName
from engine.game import AgentFault
from engine.play.executors import SequentialMatchExecutor
from engine.play.failures import FailureTracker
from engine.play.match import AgentSpec, Clock, EndingKind, Limits, MatchResult, MatchSpec, TimeLeft
from engine.registry import new_game
from tests.agents.usi.engines import FAULTY, confirmed, faulty

GAME = new_game("shogi", opening="none")
DICE = AgentSpec("Dice", "dice")
PATIENCE = 120.0  # seconds; only ends a hang


@pytest.fixture(autouse=True)
def at_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A data folder per test; no process may be left after a test."""
    monkeypatch.setenv("RINGSIDE_HOME", str(tmp_path / "home"))
    yield
    assert not running(), "an engine was left behind"


def running() -> list[int]:
    """Processes of our engines and their supervisors."""
    me = psutil.Process()
    below = [(process.pid, process) for process in me.children(recursive=True)]
    return [pid for pid, process in below if FAULTY in _command_of(process)]


def _command_of(process: psutil.Process) -> str:
    try:
        return " ".join(process.cmdline())
    except psutil.Error:  # it has ended
        return ""


def play(engine: EngineSpec, steps: int = 1, clock: Clock | None = None) -> MatchResult:
    """It has Black, so it moves first."""
    spec = MatchSpec("m", GAME.spec, (confirmed(engine), DICE), 1, limits=Limits(steps, clock))
    with SequentialMatchExecutor() as executor:
        return executor.execute_match(spec)


# What it is made of


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"command": "fairy-stockfish"}, "absolute path"),
        ({"command": ""}, "command"),
        ({"command": "/bin/a\nb"}, "control characters"),
        ({"arguments": ("a\x00",)}, r"arguments\[0\]"),
        ({"options": (("Style\nquit", "1"),)}, "control characters"),
        ({"options": (("Style", "calm\nquit"),)}, r"options\.Style"),
        ({"options": (("A", "1"), ("A", "2"))}, "set only once"),
        ({"nodes": 0}, "not both"),
        ({"movetime": 1.0}, "not both"),
        ({"nodes": -1}, "nodes = -1"),
        ({"startup": 1000.0}, "startup = 1000"),
        ({"memory": 1}, "memory = 1"),
    ],
)
def test_an_invalid_payload_names_the_field(wrong: dict[str, object], message: str) -> None:
    with pytest.raises(BadValue, match=message):
        replace(EngineSpec("/bin/engine", nodes=1), **wrong)  # type: ignore[arg-type]


def test_a_payload_survives_a_round_trip_and_others_are_refused() -> None:
    engine = EngineSpec("/bin/engine", ("-x",), (("USI_Hash", "16"),), movetime=0.5)
    assert engine_of(payload_of(engine)) == engine
    for payload in (b"", b"[]", b'{"command": "/bin/x", "nodes": 1, "shell": true}', b'{"command": 3, "nodes": 1}'):
        with pytest.raises(BadValue):
            engine_of(payload)


def test_only_an_engine_that_counts_nodes_on_one_thread_is_repeatable() -> None:
    counting, timed = EngineSpec("/bin/x", nodes=5), EngineSpec("/bin/x", movetime=1.0)
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


def test_the_go_command_has_the_limits_in_milliseconds() -> None:
    engine = EngineSpec("/bin/x", nodes=7)
    assert go_line(engine, None) == "go nodes 7"
    assert go_line(EngineSpec("/bin/x", movetime=0.25), None) == "go btime 0 wtime 0 byoyomi 250"
    byoyomi = TimeLeft((60.0, 1.5), Clock(60.0, move=10.0))
    assert go_line(engine, byoyomi) == "go btime 60000 wtime 1500 byoyomi 10000"
    fischer = TimeLeft((60.0, 1.5), Clock(60.0, 2.0))
    assert go_line(engine, fischer) == "go btime 60000 wtime 1500 binc 2000 winc 2000"
    assert go_line(engine, TimeLeft((9.0, 8.0), Clock(9.0))) == "go btime 9000 wtime 8000 byoyomi 0"


def test_an_engines_identity_is_read() -> None:
    found = ask_engine(sys.executable, ("-I", "-S", FAULTY))
    assert (found.name, found.author) == ("Faulty 1.0", "Test Author")
    assert [option.name for option in found.options] == [
        "USI_Hash", "Threads", "Book File", "Style", "Resign Early", "ClearHash",
    ]  # fmt: skip
    with pytest.raises(UnknownName, match="did you mean 'Style'"):
        found.option("Stile")
    with pytest.raises(BadValue, match=r"speaks USI.*I play checkers"):
        ask_engine(sys.executable, ("-I", "-S", FAULTY, "refuses"))


def test_a_game_follows_the_usi_protocol(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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


def test_a_long_log_is_truncated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(transcript.FOLDER, str(tmp_path))
    monkeypatch.setattr(transcript, "LARGEST", 300)
    assert play(faulty(), steps=3).ending.kind is EndingKind.STEP_LIMIT
    [log] = tmp_path.glob("*.log")
    assert log.read_text().endswith("log truncated: too long\n")
    assert log.stat().st_size < 400


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ((("Stile", "calm"),), "did you mean 'Style'"),
        ((("Style", "mad"),), "one of calm, very wild"),
        ((("Threads", "9"),), "from 1 to 8"),
        ((("Threads", "many"),), "an integer"),
        ((("Resign Early", "yes"),), "true or false"),
        ((("ClearHash", "1"),), "a button"),
    ],
)
def test_options_are_checked_against_those_announced(options: tuple[tuple[str, str]], message: str) -> None:
    with pytest.raises(AgentFault, match=message) as caught:
        Conversation(faulty(options=options))
    assert caught.value.kind is EndingKind.CANNOT_START


# How it fails


def accelerate(monkeypatch: pytest.MonkeyPatch, last: str) -> None:
    """Let time pass 10,000 times as fast after this line, as a transcript shows it."""
    reached: list[float] = []
    log = Conversation._log

    def note(talk: Conversation, sign: str, text: str) -> None:
        if (sign, text) == (">", "usi"):  # a failed match is played once more, with a new process
            reached.clear()
        if f"{sign} {text}".startswith(last):
            reached.append(time.monotonic())
        log(talk, sign, text)

    def now() -> float:
        real = time.monotonic()
        return real + 10_000 * (real - reached[0]) if reached else real

    monkeypatch.setattr(Conversation, "_log", note)
    for module in (process, protocol):
        monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=now))


@pytest.mark.parametrize(
    ("fault", "last", "kind", "message"),
    [
        ("refuses", "", EndingKind.CANNOT_START, r"ended with status 3; it last wrote: I play checkers"),
        ("silent", "> usi", EndingKind.CANNOT_START, r"did not answer 'usi' with 'usiok' within 110 s"),
        ("never-ready", "> isready", EndingKind.CANNOT_START, r"did not answer 'isready' with 'readyok' within 110 s"),
        ("floods-at-start", "", EndingKind.PROTOCOL, r"65,536 bytes to its standard output without a line break"),
        ("endless-lines", "", EndingKind.PROTOCOL, r"4,096 lines without 'usiok'; it last wrote: .*option name more"),
        ("stalls", "< info", EndingKind.TIMEOUT, r"did not answer 'go' within 110 s; .*let me see\?"),
        ("crashes", "", EndingKind.CRASH, r"was killed by SIGSEGV; it last wrote: .*boom: out of ideas"),
        ("exits", "", EndingKind.CRASH, r"ended with status 5"),
        ("floods-output", "", EndingKind.PROTOCOL, r"standard output without a line break; it last wrote: .*xxxx"),
        ("floods-errors", "", EndingKind.PROTOCOL, r"standard error without a line break; it last wrote: .*xxxx"),
        ("cheats", "", EndingKind.ILLEGAL_ACTION, r"answered '5i5a': .*a legal move in lnsgkgsnl"),
        ("babbles", "", EndingKind.ILLEGAL_ACTION, r"answered 'rubbish': .*a move in USI notation"),
        ("mumbles", "", EndingKind.PROTOCOL, r"sent 'bestmove' without a move"),
        ("declares", "", EndingKind.ILLEGAL_ACTION, r"declared a win"),
        ("resigns", "", EndingKind.RESIGNED, r"^$"),
        ("stutters", "", EndingKind.PROTOCOL, r"sent 'bestmove' more than once; it last wrote: .*bestmove 9g9f"),
    ],
)
def test_each_failure_is_a_forfeit_with_its_own_reason(
    fault: str, last: str, kind: EndingKind, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`last`: the line after which the engine never writes another one."""
    if last:
        accelerate(monkeypatch, last)
    result = play(faulty(fault))
    assert (result.ending.kind, result.ending.seats) == (kind, (0,)), result.ending.reason
    assert result.ranks == (2, 1)
    assert re.search(message, result.ending.reason), result.ending.reason


@pytest.mark.parametrize("what", ["missing", "not-executable", "not-a-program"])
def test_a_file_that_cannot_be_run_is_a_forfeit_too(what: str, tmp_path: Path) -> None:
    path = tmp_path / what
    path.write_text("this is no program")
    path.chmod(0o755 if what == "not-a-program" else 0o644)
    engine = EngineSpec(str(path), nodes=1)
    approve(engine)
    if what == "missing":
        path.unlink()
    spec = MatchSpec("m", GAME.spec, (agent("Engine", engine), DICE), 1)
    with SequentialMatchExecutor() as executor:
        ending = executor.execute_match(spec).ending
    message = {"missing": "does not exist", "not-executable": "not executable",
            "not-a-program": "status 127; it last wrote: Exec format error"}[what]  # fmt: skip
    assert ending.kind is EndingKind.CANNOT_START
    assert message in ending.reason


def test_an_engine_that_does_not_read_does_not_block(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "WRITING", 0.2)
    talk = Conversation(faulty("deaf"))
    try:
        talk.new_game()
        for _ in range(40):
            talk.process.send(f"position {'9i9h ' * 2000}".strip())
        with pytest.raises(AgentFault, match="has not read its input") as caught:
            talk.process.await_line(lambda line: False, time.monotonic() + PATIENCE)
        assert caught.value.kind is EndingKind.TIMEOUT
    finally:
        talk.close()


def test_an_engine_that_exited_is_restarted(tmp_path: Path) -> None:
    """It answers and exits; the next match starts a new process."""
    player = confirmed(faulty("leaves-once", str(tmp_path / "left")))
    specs = [MatchSpec(f"m{n}", GAME.spec, (player, DICE), n, limits=Limits(1)) for n in range(3)]
    with SequentialMatchExecutor(lanes=1) as executor:
        results = executor.execute_matches(specs)
    assert [result.ending.kind for result in results] == [EndingKind.STEP_LIMIT] * 3


def test_an_engine_that_is_too_slow_loses_by_the_clock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(transcript.FOLDER, str(tmp_path))
    result = play(faulty("stalls"), clock=Clock(0.3))
    [log] = tmp_path.glob("*.log")
    assert "> go btime 300 wtime 300 byoyomi 0\n" in log.read_text()
    assert (result.ending.kind, result.ending.seats) == (EndingKind.TIMEOUT, (0,))
    assert "were left" in result.ending.reason


def test_an_engine_gets_only_listed_environment_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RINGSIDE_SECRET", "x")
    code = "import os; print(sorted(os.environ))"
    engine = EngineProcess(EngineSpec(sys.executable, ("-I", "-S", "-c", code), nodes=1))
    heard: list[str] = []
    try:
        engine.await_line(lambda line: bool(heard.append(line)) or True, time.monotonic() + PATIENCE)
        with pytest.raises(BadValue, match="control characters"):
            engine.send("usi\nquit")
    finally:
        engine.close()
    assert set(eval(heard[0])) <= {*process.PASSED, "LC_CTYPE"}


def test_a_late_answer_is_not_used_for_the_next_move() -> None:
    talk = Conversation(faulty())
    try:
        talk.new_game()
        talk.process.send("go nodes 1")
        assert talk.process.await_line(lambda line: line.startswith("bestmove"), time.monotonic() + PATIENCE)
        talk.process.send("go nodes 1")
        select.select([talk.process._out.number], [], [], PATIENCE)  # until the second answer is there to be read
        with pytest.raises(AgentFault, match="without a 'go'"):
            talk.ask("startpos", 0, None)
    finally:
        talk.close()


def test_timed_engines_and_weakened_engines_are_recognised() -> None:
    by_nodes, by_time = EngineSpec("/bin/x", nodes=5), EngineSpec("/bin/x", movetime=0.1)
    weaker = replace(by_nodes, options=(("Skill Level", "3"),))
    specs = [
        MatchSpec("m", GAME.spec, (agent(f"{n}", engine), DICE), 1) for n, engine in enumerate((by_nodes, by_time))
    ]
    assert [FailureTracker().is_timed(spec) for spec in specs] == [False, True]
    assert FailureTracker().is_timed(replace(specs[0], limits=Limits(clock=Clock(1.0))))
    assert [KIND.repeats(agent("X", engine)) for engine in (by_nodes, by_time, weaker)] == [True, False, False]


def test_an_engine_that_remembers_earlier_matches_plays_each_repeatable_one_alike() -> None:
    agent = confirmed(faulty("remembers"))
    specs = [MatchSpec(f"m{n}", GAME.spec, (agent, DICE), 1, limits=Limits(3)) for n in range(3)]
    with SequentialMatchExecutor(lanes=1) as executor:
        results = executor.execute_matches(specs)
    assert all(result.repeatable for result in results)
    assert len({result.actions for result in results}) == 1
