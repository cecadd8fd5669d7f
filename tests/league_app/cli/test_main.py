"""The command line in a process of its own: output and exit status."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from engine.league.records import RunState
from engine.plain import plain_kind
from engine.play import replay
from engine.play.executors import SequentialMatchExecutor
from engine.play.match import AgentSpec, Limits, MatchSpec
from engine.play.workers import warmup
from engine.registry import EXECUTORS, KINDS, new_game
from league_app.cli import replays, tournaments
from league_app.cli.main import main
from tests.league_app.cli.commands import run_json, run_text
from tests.plugins.two_nodes import TwoNodes


def run_process(*arguments: str, timeout: float = 300) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "league_app", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=timeout)


def test_without_a_command_and_a_display_the_demo_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM"):
        monkeypatch.delenv(name, raising=False)
    done = run_process()
    assert done.returncode == 0, done.stderr
    assert "3,000 matches" in done.stdout
    places = re.findall(r"^\s*(\d)\s+(\w+)", done.stdout, re.M)
    assert [int(place) for place, _ in places] == [1, 2, 3, 4, 5, 6]
    assert places[0][1] == "Predictor"
    assert "3000/3000" in done.stdout


def test_the_demo_has_one_digest_for_any_number_of_workers_and_lanes(capsys: pytest.CaptureFixture[str]) -> None:
    digests = {
        run_json(capsys, "demo", "--matches", "60", *options)["digest"]
        for options in (["--lanes", "1"], ["--workers", "3", "--lanes", "33"])
    }
    assert len(digests) == 1


def test_the_demo_imports_neither_torch_nor_qt_nor_pygame() -> None:
    code = (
        "import sys; from league_app.cli.main import main; main(['demo', '--matches', '30']);"
        "heavy = {'torch', 'PySide6', 'pygame', 'neat'} & set(sys.modules);"
        "print('heavy:', heavy); sys.exit(bool(heavy))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_match_is_played_saved_replayed_and_drawn(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    saved, drawn = tmp_path / "one.replay", tmp_path / "one.png"
    match = ["match", "pong", "Tracker", "Predictor", "--seed", "3", "-o", "points=2", "--save", str(saved)]
    assert "longest rally" in run_text(capsys, *match)
    done = run_process("replay", str(saved), "--step", "100", "--png", str(drawn))  # imports pygame
    assert done.returncode == 0, done.stderr
    assert "same scores and statistics" in done.stdout
    assert "step 100" in done.stdout
    assert drawn.read_bytes()[:4] == b"\x89PNG"
    main(["match", "pong", "pong-bot:{}", "Tracker", "--steps", "50"])


def test_a_match_prints_the_final_caption_if_it_says_more_than_the_score(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    saved = str(tmp_path / "one.replay")
    main(["match", "shogi", "Magpie", "Dice", "--save", saved])
    [ending] = [line for line in capsys.readouterr().out.splitlines() if line.startswith("At the end: ")]
    assert " wins by " in ending
    main(["replay", saved])
    assert ending.removeprefix("At the end: ") in capsys.readouterr().out
    main(["match", "shogi", "Magpie", "Dice", "--json"])
    assert json.loads(capsys.readouterr().out)["caption"] == f"Shogi, {ending.removeprefix('At the end: ')[:-1]}"
    main(["match", "pong", "Dice", "Dice", "--steps", "9"])
    assert "At the end" not in capsys.readouterr().out, "its caption only repeats the score"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["match", "pnog", "Tracker", "Lazy"], "did you mean 'pong'"),
        (["match", "pong", "Traker", "Lazy"], "did you mean 'Tracker'"),
        (["match", "pong", "Tracker"], "pong needs 2 players, not 1"),
        (["match", "pong", "Tracker", "Lazy", "-o", "points=0"], "points = 0: must be from 1 to 99"),
        (["match", "pong", "Tracker", "Lazy", "-o", "points=five"], "points = 'five'"),
        (["match", "pong", "Tracker", "Lazy", "-o", "points"], "must be NAME=VALUE"),
        (["match", "pong", "Tracker", "Lazy", "--seed", "-1"], "--seed = -1"),
        (["match", "pong", "Tracker", "Lazy", "--start", "up"], "start = 'up'"),
        (["match", "pong", "pong-bt:{}", "Lazy"], "did you mean 'pong-bot'"),
        (["match", "pong", "Tracker", "Lazy", "--save", "/no/such/folder/x"], "/no/such/folder/x"),
        (["demo", "--matches", "0"], "matches = 0"),
        (["demo", "--points", "100"], "points = 100"),
        (["demo", "--lanes", "0"], "--lanes = 0"),
        (["demo", "--workers", "0"], "--workers = 0: must be from 1 to 256"),
        (["demo", "--on", "locla"], "unknown executor 'locla': did you mean 'local'"),
        (["match", "pong", "Tracker", "Lazy", "--on", "local:2"], "executor = 'local:2'"),
        (["replay", "/no/such/file"], "'/no/such/file': must be a regular file that can be read (No such file"),
        (["check", "pnog"], "did you mean 'pong'"),
        (["check", "locla"], "unknown game, agent kind or executor 'locla': did you mean 'local'"),
        (["tornament", "run", "my.league"], "unknown command 'tornament': did you mean 'tournament'? (see `ringside"),
        (["train", "resum", "my.league"], "'resume'? (see `ringside train --help`)"),
        (["agents", "fly", "my.league"], "unknown command 'fly': known: add, approve, archive,"),
        (["match", "pong", "pong-bot:tracker", "Lazy"], "must be JSON"),
        (["demo", "--with", "Traker"], "did you mean 'Tracker'"),
        (["demo", "--lanes", "1000000000"], "lanes = 1000000000"),
        (["match", "pong", "Dice", "human"], "'human' is a human player: play it in the window"),
        (["match", "pong", "Dice", "human:", "--pairs", "2"], "'human:' is a human player: play it in the window"),
        (
            ["match", "treasure-hunt", "Evolved", "Magpie", "Badger", "Drifter", "-o", "frames=3", "-o", "turns=9"],
            "'Evolved' plays treasure-hunt with its default options, but not with frames=3, turns=9",
        ),
    ],
)
def test_an_invalid_request_is_one_sentence_and_exit_status_two(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(arguments)
    captured = capsys.readouterr()
    assert stopped.value.code == 2
    assert message in captured.err
    assert "Traceback" not in captured.err


@pytest.mark.parametrize(
    ("arguments", "command"),
    [
        (["agents", "export", "my.league", "Fairy", "--to", "fairy.agent"], "ringside agents export"),
        (["match", "pong", "Dice", "Dice", "--colour", "red"], "ringside match"),
        (["--colour", "--red"], "ringside"),
    ],
)
def test_unknown_arguments_refer_to_the_help_of_their_command(
    arguments: list[str], command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(arguments)
    assert stopped.value.code == 2
    unknown = " ".join(arguments[-2:])
    assert capsys.readouterr().err == f"ringside: unrecognized arguments: {unknown} (see `{command} --help`)\n"


def test_hints_use_the_command_that_the_user_typed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RINGSIDE_CALLED", "python3 launch.py")
    for arguments in (["standings", "no.league"], ["window", "no.league"]):
        with pytest.raises(SystemExit):
            main(arguments)
        assert "`python3 launch.py new" in capsys.readouterr().err
    main(["new", "my.league"])
    main(["agents", "list", "my.league"])
    assert "`python3 launch.py agents add`" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        main(["match", "--help"])
    shown = capsys.readouterr().out
    assert shown.startswith("usage: python3 launch.py match ")
    assert "  python3 launch.py match pong Tracker Shaky --seed 3\n" in shown


@pytest.fixture(autouse=True)
def kind_without_games() -> Iterator[None]:
    """Registers an agent kind for a game that is not installed."""
    KINDS.add("without-games", plain_kind("without-games", 1, lambda payload: object(), ["chess"], {"Nowhere": b""}))
    yield
    KINDS.remove("without-games")


@pytest.mark.parametrize("name", ["/no/such/folder/x.png", "x.jpg", "x"])
def test_a_picture_that_cannot_be_written_is_an_error(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    main(["match", "pong", "Dice", "Dice", "--steps", "9", "--save", "a[b].replay"])
    assert "saved as a[b].replay" in capsys.readouterr().out
    with pytest.raises(SystemExit) as stopped:
        main(["replay", "a[b].replay", "--png", name])
    assert stopped.value.code == 2
    assert f"--png = '{name}'" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["a[b].replay"]


@pytest.mark.parametrize(
    ("game", "message"),
    [
        ("shogi", "--export = 'game.kif': must be a file name that ends in .csa"),
        ("pong", "Pong has no export format for other programs"),
    ],
)
def test_an_unsupported_export_format_is_an_error(
    game: str,
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    main(["match", game, "Dice", "Dice", "--steps", "9", "--save", "a.replay"])
    with pytest.raises(SystemExit) as stopped:
        main(["replay", "a.replay", "--export", "game.kif"])
    assert stopped.value.code == 2
    assert message in capsys.readouterr().err


def test_names_cannot_send_control_codes_to_the_terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    game = new_game("pong")
    spec = MatchSpec("m", game.spec, (AgentSpec("\x1b[2Jevil", "dice"), AgentSpec("b", "dice")), 1, None, Limits(9))
    with SequentialMatchExecutor(1) as executor:
        replay.save(tmp_path / "evil.replay", spec, executor.execute_match(spec))
    main(["replay", str(tmp_path / "evil.replay")])
    assert "\x1b" not in capsys.readouterr().out


@pytest.mark.parametrize("where", [[], ["--on", "sequential"]])
def test_a_long_match_reports_that_it_is_still_playing(
    where: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(replays, "_is_playing", lambda executor: True)  # it is polled: a fast match may be over
    monkeypatch.setattr(replays, "LONG_WAIT", 0.001)
    long_game = ("paddle_height=300", "top_speed=7", "step_limit=20000000")
    main(["match", "pong", "Predictor", "Tracker", *(part for option in long_game for part in ("-o", option)), *where])
    captured = capsys.readouterr()
    assert re.search(r"still playing after [0-9.]+ s: Ctrl-C stops it", captured.err)
    assert "Pong: " in captured.out


def test_the_time_of_a_long_match_counts_from_when_its_worker_plays(monkeypatch: pytest.MonkeyPatch) -> None:
    coming, said = ["starting", "starting", "playing"], list[tuple[str, int]]()
    reported = threading.Event()

    def status() -> SimpleNamespace:
        return SimpleNamespace(workers=[SimpleNamespace(state="idle"), SimpleNamespace(state=coming.pop(0))])

    def report(text: str) -> None:
        said.append((text, len(coming)))
        reported.set()

    monkeypatch.setattr(replays, "LONG_WAIT", 0.0)
    monkeypatch.setattr(replays, "print_error", report)
    with replays._report_long_match(SimpleNamespace(status=status)):  # type: ignore[arg-type]
        assert reported.wait(60)
    assert said == [("still playing after 0.0 s: Ctrl-C stops it", 0)]


def test_a_long_match_is_reported_although_its_executor_reports_no_status(monkeypatch: pytest.MonkeyPatch) -> None:
    reported = threading.Event()
    monkeypatch.setattr(replays, "LONG_WAIT", 0.0)
    monkeypatch.setattr(replays, "print_error", lambda text: reported.set())
    with replays._report_long_match(SimpleNamespace()):  # type: ignore[arg-type]
        assert reported.wait(60)


@pytest.mark.parametrize(("count", "words"), [(1, "1 match depends on time"), (2, "2 matches depend on time")])
def test_matches_that_are_not_repeatable_are_counted_in_words(
    count: int, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    ended = SimpleNamespace(played=0, note="", state=RunState.FINISHED)
    report = {"tournament": ended, "failures": [], "overload": "", "identical_games": 0}
    tournaments.show_summary({**report, "not_repeatable": count, "digest": "00"})
    assert words in " ".join(capsys.readouterr().out.split())


def test_an_ambiguous_agent_name_is_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    KINDS.add("copycat", plain_kind("copycat", 1, lambda payload: object(), ["pong"], {"Tracker": b""}))
    try:
        with pytest.raises(SystemExit):
            main(["match", "pong", "Tracker", "Lazy"])
    finally:
        KINDS.remove("copycat")
    assert "copycat and pong-bot offer one of that name" in capsys.readouterr().err


def test_list_and_check_show_installed_plug_ins(capsys: pytest.CaptureFixture[str]) -> None:
    main(["list"])
    text = capsys.readouterr().out
    assert "Predictor" in text
    assert "worker processes on this machine" in text
    main(["check", "pong"])
    assert capsys.readouterr().out == "game pong: ok\n"
    main(["check", "sequential"])
    assert capsys.readouterr().out == "executor sequential: ok\n"


def test_a_crashing_agent_ends_the_program_only_if_it_plays_in_this_process() -> None:
    site = Path(__file__).parents[2] / "faults" / "site"
    environment = {**os.environ, "PYTHONPATH": str(site)}
    command = [sys.executable, "-m", "league_app", "match", "pong", "Dice", "fault:exit3"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, env=environment)
    output = " ".join(done.stdout.split())
    assert done.returncode == 1, done.stderr  # a slow machine also prints how long it has been playing
    assert "Pong: crash by seat 1 after 2 steps: its process exited with status 3" in output
    several = [*command, "--pairs", "1"]
    done = subprocess.run(several, capture_output=True, text=True, timeout=300, env=environment)
    assert done.returncode == 1, done.stderr
    assert "fault:exit3: crash 2 times: its process exited with status 3" in " ".join(done.stdout.split())
    done = subprocess.run(
        [*command, "--on", "sequential"], capture_output=True, text=True, timeout=300, env=environment
    )
    assert done.returncode == 3, "the agent ended this process"


def test_the_executor_of_a_plug_in_is_chosen_by_name_and_plays_the_same_matches(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    EXECUTORS.add("two-nodes", TwoNodes)
    digests, league = [], str(tmp_path / "one.league")
    try:
        for on in ("local", "sequential", "two-nodes", "two-nodes:nodes=3"):
            digests.append(run_json(capsys, "demo", "--matches", "60", "--workers", "2", "--on", on)["digest"])
        run_json(capsys, "demo", "--matches", "30", "--keep", league, "--on", "two-nodes:3")
        played = run_json(capsys, "reproduce", league, "1.3", "--on", "two-nodes")
        pairs = ["match", "pong", "Tracker", "Lazy", "--pairs", "2", "--on"]
        tables = [run_json(capsys, *pairs, on)["standings"]["rows"] for on in ("sequential", "two-nodes")]
        listed = run_json(capsys, "list")["executors"]
    finally:
        EXECUTORS.remove("two-nodes")
    assert len(set(digests)) == 1
    assert played["same"] is True
    assert tables[0] == tables[1]
    assert [executor["name"] for executor in listed] == ["local", "sequential", "two-nodes"]
    assert [option["name"] for option in listed[2]["options"]] == ["nodes"]


@pytest.mark.parametrize(("payload", "status"), [("nonsense", 1), ("", 0)])
def test_a_match_in_which_an_agent_fails_has_exit_status_one(payload: str, status: int) -> None:
    site = Path(__file__).parents[2] / "faults" / "site"
    arguments = ["match", "pong", "Dice", f"fault:{payload}", "--steps", "9", "--json"]
    environment = {**os.environ, "PYTHONPATH": str(site)}
    command = [sys.executable, "-m", "league_app", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, env=environment)
    assert done.returncode == status, done.stderr
    assert (json.loads(done.stdout)["result"]["ending"]["seats"] == [1]) == bool(status)


def test_a_match_that_must_compile_kernels_first_says_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    notice, command = (
        "compiling the kernels of pong first",
        ["match", "pong", "Dice", "Dice", "--steps", "5", "--on", "sequential"],
    )
    monkeypatch.setattr(warmup, "was_compiled", lambda game, kind: kind != "dice")
    main(command)
    assert notice in capsys.readouterr().out
    main([*command, "--json"])
    captured = capsys.readouterr()
    assert notice in captured.err
    assert json.loads(captured.out)["result"]["steps"] == 5
    main(["match", "pong", "Lazy", "Lazy", "--steps", "5", "--on", "sequential"])
    assert notice not in capsys.readouterr().out, "these are compiled"
    main(["demo", "--matches", "1", "--with", "Dice"])
    assert notice in capsys.readouterr().out


def test_failing_agents_are_listed_below_the_standings() -> None:
    site = Path(__file__).parents[2] / "faults" / "site"
    done = subprocess.run(
        [sys.executable, "-m", "league_app", "demo", "--with", "fault:segfault", "--matches", "84"],
        capture_output=True,
        text=True,
        timeout=300,
        env={**os.environ, "PYTHONPATH": str(site)},
    )
    assert done.returncode == 0, done.stderr
    output = " ".join(done.stdout.split())
    assert re.search(r"fault:segfault: crash \d times: its process was killed by SIGSEGV; .*, in _segfault", output), (
        output
    )
    assert re.search(r"fault:segfault: quarantined \d+ times: fault:segfault has failed \d times in this run", output)
    assert re.search(r"digest \w+, not repeatable: \d+ matches depend on", output)


def test_pyside_does_not_leak_references_to_none() -> None:
    """Some PySide releases drop a reference to None in every void call, which ends in a crash."""
    code = """
import sys
from PySide6.QtCore import QCoreApplication, QTimer
timer = QTimer(QCoreApplication([]))
before = sys.getrefcount(None)
for _ in range(500):
    timer.stop()
print(abs(sys.getrefcount(None) - before))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert int(done.stdout) < 100


def test_a_failed_check_is_exit_status_one(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["check", "without-games"])
    assert stopped.value.code == 1
    assert "1 check failed" in capsys.readouterr().err
