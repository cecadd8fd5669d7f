"""Hostile names and paths: stored unchanged, or rejected in a sentence that names the field."""

from __future__ import annotations

import csv
import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from engine.errors import BadValue, RingsideError
from engine.league import played_matches, standings
from engine.league.storage import agent_file
from engine.league.storage.league import League
from engine.play.match import AgentSpec
from engine.registry import new_game
from league_app.cli.main import main
from league_app.core.state import LeagueState

ACCEPTED = {
    "quotes": """O'Neil "the `hand`" \\ """.strip(),
    "sql": "Robert'); DROP TABLE agents;--",
    "wildcards": "100%_?*[a-z]",
    "html": "<script>alert(1)</script><b>&amp;",
    "markup": "[red]x[/] [link=file:///etc]y[/link] [/]",
    "format": "{task.description} %s {0} $HOME",
    "emoji": "🏓🤖",
    "joined emoji": "👩‍🚀",
    "right to left": "שלום עולם مرحبا",
    "long": "n" * 117 + "end",
    "long enough to be cut at a blank": "n" * 117,
    "wide": "競技者",
    "formula": "=HYPERLINK(1)",
    "plus": "+1",
    "minus": "-1",
    "at": "@SUM(A1)",
    "path": "../../etc/passwd",
    "option": "--help",
    "number": "1",
    "tournament": "1.1",
    "null": "None",
    "word joiner": "a\u200cb",
}
REJECTED = {
    "surrogate": "a\ud800b",
    "byte": "a\udcffb",
    "escape": "\x1b[2Jevil",
    "nul": "a\0b",
    "newline": "two\nlines",
    "tab": "a\tb",
    "delete": "a\x7f",
    "c1": "a\x9b2J",
    "override": "a\u202eb",
    "isolate": "a\u2066b",
    "line separator": "a\u2028b",
    "empty": "",
    "blank": "   ",
    "no-break blank": "\u00a0",
    "blank before": " a",
    "blank after": "a ",
    "121": "n" * 121,
    "longer once composed": "\u0958" * 120,
    "megabyte": "n" * 1_000_000,
}


SIMILAR = {"sql", "format", "emoji", "wide", "plus", "minus", "at", "path", "tournament", "null", "word joiner"}


def named(table: dict[str, str]) -> pytest.MarkDecorator:
    """A test for each name; those that resemble another one are slow tests."""
    marks = {what: [pytest.mark.slow] if what in SIMILAR else [] for what in table}
    return pytest.mark.parametrize("name", [pytest.param(table[what], id=what, marks=marks[what]) for what in table])


def dice(name: str) -> AgentSpec:
    return AgentSpec(name, "dice", b"", 1)


@pytest.fixture(scope="module")
def league_bytes(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return play(tmp_path_factory.mktemp("made") / "x.league", ["Dice", "Other"], "Cup").read_bytes()


@pytest.fixture
def path(tmp_path: Path, league_bytes: bytes) -> Path:
    """A league with two agents and a tournament between them."""
    (tmp_path / "x.league").write_bytes(league_bytes)
    return tmp_path / "x.league"


def play(path: Path, names: list[str], cup: str) -> Path:
    with LeagueState.new(path) as state:
        state.use_concurrent = False
        for name in names:
            state.add_agent(name, "pong", "dice", b"")
        state.start_tournament(game=new_game("pong", points=1, step_limit=60).spec, name=cup).wait()
    return path


def run_text(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    """The standard output of a successful command."""
    capsys.readouterr()
    main([str(argument) for argument in arguments])
    return capsys.readouterr().out


def rejection_problem(capsys: pytest.CaptureFixture[str], *arguments: str) -> str | None:
    """What is wrong with a rejection, which must be one sentence and exit status 2; None if nothing."""
    capsys.readouterr()
    status: object = 0
    try:
        main(list(arguments))
    except SystemExit as stopped:
        status = stopped.code
    except Exception as error:  # it would be printed as a traceback
        return f"{type(error).__name__}: {error}"[:200]
    shown = capsys.readouterr()
    if status != 2:
        return f"status {status}: {shown.out[-100:]}{shown.err[-100:]}"
    if len(shown.err) > 3000:
        return f"{len(shown.err):,} characters"
    return f"sends {control_codes(shown.out + shown.err)!r}" if control_codes(shown.out + shown.err) else None


def control_codes(text: str) -> set[str]:
    return {letter for letter in text if letter != "\n" and (letter < " " or "\x7f" <= letter < "\xa0")} | {
        letter for letter in text if letter in "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
    }


def state_of(path: Path) -> object:
    with League(path, read_only=True) as league:
        rows = [league.file.read(f"SELECT * FROM {name}") for name in ("agents", "payloads", "tournaments", "settings")]
        return rows, len(list(played_matches.every_match(league)))


# Accepted


@named(ACCEPTED)
def test_an_unusual_name_is_stored_unchanged(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("league_app.cli.output.console.width", 400)
    monkeypatch.chdir(tmp_path)
    path = play(tmp_path / "x.league", [name, "Other"], name)
    with League(path) as league:
        agent = league.agent(name)
        assert agent.name == name == league.names()[agent.id]
        assert league.tournament(name).name == name
        table = standings.standings(league, league.tournament(1).settings.game, 1)
        assert {row.name for row in table.rows} == {name, "Other"}
        assert len(played_matches.history(league, agent=name)) == 2
        league.change_agent(agent.id, notes=name, tags=[name])
        assert (league.agent(name).notes, league.agent(name).tags) == (name, (name,))

    for command in (["agents", "list"], ["standings"], ["crosstable"], ["history"], ["tournament", "list"]):
        text = run_text(capsys, *command, path)
        assert name in text, command
        assert not control_codes(text)
    assert name in run_text(capsys, "agents", "show", path, "--", name)
    for what, column in (("agents", "name"), ("standings", "agent"), ("matches", "player0")):
        rows = list(csv.DictReader(io.StringIO(run_text(capsys, "export", "csv", path, "--what", what))))
        cells = {row[column] for row in rows}
        assert (f"'{name}" if name[0] in "=+-@" else name) in cells
        assert not {cell for row in rows for cell in row.values() if cell[:1] in tuple("=+@\t\r")}
        assert name in {row[column] for row in json.loads(run_text(capsys, "export", "json", path, "--what", what))}

    run_text(capsys, "agents", "export", path, "--", name)
    [file] = tmp_path.glob("*.agent")
    assert agent_file.load(file).name == name
    second = tmp_path / "second.league"
    run_text(capsys, "new", second)
    run_text(capsys, "agents", "import", second, file)
    assert [agent["name"] for agent in json.loads(run_text(capsys, "agents", "list", second, "--json"))] == [name]


@pytest.mark.parametrize("what", ["markup", "long", "long enough to be cut at a blank", "option", "number"])
def test_agents_with_unusual_names_can_play_and_be_recorded(
    what: str, path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with League(path) as league:
        name = league.add_agent(ACCEPTED[what], "pong", dice("x")).name
    assert "recorded in" in run_text(capsys, "match", "--record", "-o", "points=1", path, "--", name, "Other")
    with League(path, read_only=True) as league:
        assert league.tournaments()[-1].played == 2


def test_a_name_is_found_in_any_unicode_normal_form(path: Path) -> None:
    with League(path) as league:
        agent = league.add_agent("Rene\u0301", "pong", dice("x"))
        assert agent.name == "Ren\u00e9"
        assert league.agent("Rene\u0301") == league.agent("Ren\u00e9") == agent
        with pytest.raises(BadValue, match="taken"):
            league.add_agent("Ren\u00e9", "pong", dice("x"))


def test_a_reused_name_does_not_refer_to_its_former_owner(path: Path) -> None:
    with League(path) as league:
        league.change_agent("Dice", name="Former")
        league.add_agent("Dice", "pong", AgentSpec("x", "pong-bot", b"{}", 1), notes="new")
        former, new = league.agent("Former"), league.agent("Dice")
        assert former.id != new.id
        assert (league.spec(former.id).kind, league.spec(new.id).kind) == ("dice", "pong-bot")
        assert league.change_agent(former.id, notes="old").name == "Former"
        assert league.agent("Dice").notes == "new"
        assert len(list(played_matches.every_match(league))) == 2
        assert league.archive(former.id).name == "Former"


# Refused


@named(REJECTED)
def test_a_name_with_control_characters_is_rejected_and_nothing_is_written(name: str, path: Path) -> None:
    before = state_of(path)
    with LeagueState(path) as state:
        game = new_game("pong").spec
        for field, attempt in (
            ("name", lambda: state.league.add_agent(name, "pong", dice("x"))),
            ("name", lambda: state.league.change_agent("Dice", name=name)),
            ("tags", lambda: state.league.change_agent("Dice", tags=["fine", name])),
            ("parents", lambda: state.league.add_agent("New", "pong", dice("x"), parents=[name])),
            ("name", lambda: state.league.add_tournament(name, state.league.tournament(1).settings, ["Dice", "Other"])),
            ("name", lambda: state.plan_tournament(name, game=game)),
        ):
            with pytest.raises(BadValue, match=f"^{field} = ") as error:
                attempt()
            assert len(str(error.value)) < 400
            assert not control_codes(str(error.value))
        for field in ("notes", "origin"):
            if any("\ud800" <= letter <= "\udfff" or letter in "\0\x1b\x7f\x9b" for letter in name):
                with pytest.raises(BadValue, match=f"^{field} = "):
                    state.league.add_agent("New", "pong", dice("x"), **{field: name})
    assert state_of(path) == before


@pytest.mark.parametrize(
    "command",
    [
        ["agents", "add", "LEAGUE", "NAME", "--game", "pong", "--kind", "dice"],
        ["agents", "edit", "LEAGUE", "Dice", "--name", "NAME"],
        pytest.param(["agents", "edit", "LEAGUE", "Dice", "--tag", "NAME"], marks=pytest.mark.slow),
        ["agents", "import", "LEAGUE", "FILE", "--name", "NAME"],
        ["agents", "show", "LEAGUE", "NAME"],
        pytest.param(["agents", "export", "LEAGUE", "NAME"], marks=pytest.mark.slow),
        pytest.param(["agents", "archive", "LEAGUE", "NAME"], marks=pytest.mark.slow),
        ["agents", "list", "NAME"],
        ["tournament", "run", "LEAGUE", "--name", "NAME"],
        ["tournament", "run", "LEAGUE", "--agents", "Dice", "NAME"],
        ["tournament", "plan", "LEAGUE", "--format", "NAME"],
        ["tournament", "resume", "LEAGUE", "NAME"],
        pytest.param(["tournament", "show", "LEAGUE", "NAME"], marks=pytest.mark.slow),
        pytest.param(["tournament", "cancel", "LEAGUE", "NAME"], marks=pytest.mark.slow),
        ["tournament", "enter", "LEAGUE", "1", "--join", "NAME"],
        ["standings", "LEAGUE", "--anchor", "NAME"],
        ["history", "LEAGUE", "--agent", "NAME"],
        ["export", "csv", "LEAGUE", "--tournament", "NAME"],
        ["match", "LEAGUE", "NAME", "Dice"],
        pytest.param(["match", "pong", "NAME", "Dice"], marks=pytest.mark.slow),
        ["match", "NAME", "Dice", "Dice"],
        ["match", "pong", "Dice", "Dice", "--start", "NAME"],
        ["replay", "LEAGUE", "NAME"],
        pytest.param(["reproduce", "LEAGUE", "NAME"], marks=pytest.mark.slow),
        pytest.param(["sprt", "LEAGUE", "NAME", "Dice"], marks=pytest.mark.slow),
        ["new", "NAME"],
        ["doctor", "NAME"],
        pytest.param(["check", "NAME"], marks=pytest.mark.slow),
    ],
    ids=" ".join,
)
def test_a_hostile_name_on_the_command_line_is_rejected_in_one_sentence(
    command: list[str], path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(path.parent)
    run_text(capsys, "agents", "export", path, "Dice", "dice.agent")
    before, files, wrong = state_of(path), sorted(os.listdir()), []
    looked_up = "--name" not in command and command[1] not in ("add", "edit")
    for what, name in (REJECTED | HUGE if looked_up else REJECTED).items():
        given = {"LEAGUE": str(path), "NAME": name[:100_000], "FILE": "dice.agent"}
        if problem := rejection_problem(capsys, *(given.get(word, word) for word in command)):
            wrong.append(f"{what}: {problem}")
        if state_of(path) != before or sorted(os.listdir()) != files:
            wrong.append(f"{what}: something was changed")
            break
    assert not wrong, "\n".join(wrong)


HUGE = {
    "huge": "9" * 30,
    "huger": "9" * 5000,
    "huge match": "9999999999.1",
    "other digits": "\u0663.\u0661",
    "power": "²",
}


@pytest.mark.skipif(sys.platform == "win32", reason="arguments are text there")
def test_arguments_that_are_not_text_are_rejected_in_one_sentence(path: Path) -> None:
    python, bad = [sys.executable, "-m", "league_app"], b"\xff\xfe\x1b[2J"
    for command in (
        [b"agents", b"show", bytes(path), bad],
        [b"standings", bad + b".league"],
        [bad],
    ):
        done = subprocess.run([*map(os.fsencode, python), *command], capture_output=True, timeout=300)
        error = done.stderr.decode()
        assert (done.returncode, done.stdout) == (2, b""), error
        assert "Traceback" not in error
        assert not control_codes(error)


# Paths


FOLDERS = ["a b", "a?mode=memory", "a#b", "100%", "a%41", "[red]x", "üñí 🏓 שלום", "a'b\"c;d", "file:x", ":memory:"]
FOLDERS += ["n" * 180, "-", "a\\b", " ", "\udcff\udcfe"]
FOLDERS[1:-1:2] = [pytest.param(name, marks=pytest.mark.slow) for name in FOLDERS[1:-1:2]]


@pytest.mark.parametrize("name", FOLDERS)
def test_a_league_can_have_any_path(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    try:
        (tmp_path / name).mkdir()
    except OSError as error:
        pytest.skip(f"not on this file system: {error}")
    path = play(tmp_path / name / f"{name}.league", ["Dice", "Other"], "Cup")
    assert sorted(place.name for place in path.parent.iterdir()) == [path.name]
    run_text(capsys, "standings", path)
    assert "is undamaged" in " ".join(run_text(capsys, "doctor", path).split())
    run_text(capsys, "backup", path, path.with_name(f"{name}2.league"))
    run_text(capsys, "export", "csv", path, "--to", path.with_name(f"{name}.csv"))
    run_text(capsys, "agents", "export", path, "Dice", path.with_name(f"{name}.agent"))
    run_text(capsys, "agents", "import", path, path.with_name(f"{name}.agent"), "--name", "Copy")
    with League(path, read_only=True) as league, League(path.with_name(f"{name}2.league")) as copy:
        assert list(played_matches.every_match(league)) == list(played_matches.every_match(copy))
        assert league.agent("Copy").kind == "dice"
    assert len(list(path.parent.iterdir())) == 4
    assert len(list(tmp_path.iterdir())) == 1, "nothing was written elsewhere"


@pytest.mark.parametrize(
    "name", ["a\0b", "a\ud800b", "n" * 300, "n" * 100_000], ids=["nul", "surrogate", "long", "huge"]
)
def test_an_impossible_path_is_rejected_with_a_message(
    name: str, path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(path.parent)
    wrong = []
    for command in (
        ["new", f"{name}.league"],
        ["standings", f"{name}.league"],
        ["tournament", "run", f"{name}.league"],
        ["demo", "--matches", "30", "--keep", f"{name}.league"],
        ["backup", str(path), f"{name}.league"],
        ["export", "json", str(path), "--to", name],
        ["agents", "export", str(path), "Dice", f"{name}.agent"],
        ["agents", "import", str(path), f"{name}.agent"],
        ["agents", "add", str(path), "New", "--kind", "dice", "--payload", f"@{name}"],
        ["match", "pong", "Dice", "Dice", "--steps", "5", "--on", "sequential", "--save", name],
        ["replay", f"{name}.replay"],
        ["replay", str(path), "1.1", "--save", name],
        ["replay", str(path), "1.1", "--png", f"{name}.png"],
    ):
        if problem := rejection_problem(capsys, *command):
            wrong.append(f"{' '.join(command[:2])[:20]}: {problem}")
    assert not wrong, "\n".join(wrong)
    assert os.listdir() == ["x.league"]


def test_an_agent_file_with_a_hostile_header_is_rejected(path: Path, tmp_path: Path) -> None:
    for name in REJECTED.values():
        with pytest.raises(RingsideError, match="name = "):
            agent_file.save(tmp_path / "x.agent", agent_file.AgentFile(name, "pong", "dice", 1, b""))
    assert not (tmp_path / "x.agent").exists()
