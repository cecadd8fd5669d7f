"""The README and the guide are true: their commands and examples run, print what is shown, and their links resolve.

`RINGSIDE_UPDATE_GUIDE=1` writes what is printed into the pages instead of comparing it.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import re
import shlex
import tomllib
from contextlib import suppress
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pygame
import pytest

from engine.checks import check_game, check_kind
from engine.files import asset
from engine.plain import plain_kind
from engine.play.executors import SequentialMatchExecutor
from engine.play.match import AgentSpec, MatchSpec
from engine.registry import FORMATS, GAMES, KINDS, TRAINERS, new_game
from league_app.cli.main import main
from league_app.core.state import LeagueState
from league_app.gui.actions import ACTIONS
from league_app.rendering.painter import save_png
from tests import screens
from tests.guide import GUIDE, PAGES, README, ROOT, anchors, blocks, example, headings, links, pictures, prose

EVERY_PAGE = [README, *PAGES]
TOP_LEVEL = [ROOT / f"{name}.md" for name in ("CONTRIBUTING", "SECURITY", "CHANGELOG")]
LANGUAGES = {"sh", "python", "text", "console", "toml"}
INDEX = GUIDE / "index.md"
DISPLAYS = ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM")
NOT_RUN = {"test", "bench", "screenshots"}  # they belong to launch.py and take minutes

every_page = pytest.mark.parametrize("page", EVERY_PAGE, ids=lambda page: page.stem)


# Examples


def run_commands(text: str) -> list[list[str]]:
    """Run the commands of an `sh` block in this process; returns them without `python3 launch.py`."""
    commands = []
    for line in text.splitlines():
        words = shlex.split(line, comments=True)
        assert words[:2] == ["python3", "launch.py"], line
        if words[2:3] and words[2] in NOT_RUN:
            continue
        commands.append(words[2:])
        main(words[2:])
    return commands


def run_python(text: str) -> dict[str, Any]:
    """Run an example as a file of its own would be, and return its names."""
    names: dict[str, Any] = {"__name__": "tests.test_guide"}  # dataclasses look their module up
    exec(compile(text, "<guide>", "exec", dont_inherit=True), names)
    return names


def printed_lines(output: str) -> list[str]:
    """Without the lines that say how long it took."""
    lines = (line.rstrip() for line in output.splitlines())
    return [line for line in lines if not line.startswith(("played", "playing"))]


def compare(page: Path, shown: str, output: str) -> None:
    lines = printed_lines(output)
    if os.environ.get("RINGSIDE_UPDATE_GUIDE"):
        text = page.read_text("utf-8")
        before, after = f"```text\n{shown}```", "\n".join(["```text", *lines, "```"])
        page.write_text(text.replace(before, after, 1), "utf-8")
        return
    assert lines == shown.splitlines(), "RINGSIDE_UPDATE_GUIDE=1 writes the new output into the page"


@pytest.fixture
def working_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder without a display; `their_package` stands for another package's environment."""
    monkeypatch.chdir(tmp_path)
    for name in DISPLAYS:  # where there is one, the first command would open a window
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "their_package").mkdir()
    (tmp_path / "their_package" / "race_v0.py").write_text("from pettingzoo.classic.rps_v2 import env, raw_env\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


@pytest.mark.filterwarnings("ignore:.*LeafSpec:FutureWarning")  # in torch's own exporter to ONNX
@pytest.mark.usefixtures("only_ours", "working_folder")
@every_page
def test_the_examples_of_a_page_run(page: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """In order. A `text` block is what the last command, or the Python before it, prints."""
    output = ""
    for block in blocks(page):
        if block.language == "sh":
            *earlier, last = block.text.splitlines(keepends=True)
            run_commands("".join(earlier))
            capsys.readouterr()
            run_commands(last)
            output = capsys.readouterr().out
        elif block.language == "python":
            run_python(block.text)
            output = capsys.readouterr().out
        elif block.language == "text":
            compare(page, block.text, output)
        elif block.language == "toml":
            tomllib.loads(block.text)


def test_every_kind_of_example_is_there() -> None:
    counts = {language: sum(len(blocks(page, language)) for page in EVERY_PAGE) for language in LANGUAGES}
    assert counts["sh"] >= 15
    assert counts["python"] >= 12
    assert counts["text"] >= 6


@pytest.mark.usefixtures("only_ours", "working_folder")
def test_pictures_and_files_that_commands_write(tmp_path: Path) -> None:
    for line in ("match pong Tracker Lazy -o points=1 --save short.replay", "replay short.replay --png rally.png"):
        main(line.split())
    assert (tmp_path / "rally.png").stat().st_size > 1000


class Replaced(Exception):  # noqa: N818 - what execv does to the process
    """This process would now be another program."""


def console_commands() -> list[str]:
    lines = [line for page in EVERY_PAGE for block in blocks(page, "console") for line in block.text.splitlines()]
    assert all(line.startswith("$ ") for line in lines), lines
    return sorted({line[2:] for line in lines if "launch.py" in line})


def test_the_commands_of_the_console_reach_ringside(monkeypatch: pytest.MonkeyPatch) -> None:
    """Through launch.py, which has commands of its own."""
    spec = importlib.util.spec_from_file_location("launch", ROOT / "launch.py")
    assert spec is not None
    assert spec.loader is not None
    launch = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(launch)
    reached: list[list[str]] = []

    def execv(python: Path, words: list[str]) -> None:
        reached.append(words[1:])
        raise Replaced  # the real one does not return

    monkeypatch.setattr(launch, "WINDOWS", False)
    monkeypatch.setattr(launch.os, "execv", execv)
    monkeypatch.setenv("RINGSIDE_CALLED", "")
    lines = console_commands()
    for line in lines:
        with suppress(Replaced):
            launch.start(Path("python"), shlex.split(line)[2:])
    assert [words[:3] for words in reached] == [["-P", "-m", "league_app"]] * len(lines)
    assert ["check", "chaser"] in [words[3:] for words in reached]


@pytest.mark.parametrize("line", console_commands())
def test_the_commands_of_the_console_have_known_options(line: str, capsys: pytest.CaptureFixture[str]) -> None:
    """They need plug-ins, engines or minutes, so they are parsed and not run."""
    words = shlex.split(line)[2:]
    flags = {word.partition("=")[0] for word in words if word.startswith("--")}
    command = [word for word in words[:2] if re.fullmatch("[a-z]+", word)]
    command = command[: 2 if words[:1] and words[0] in ("agents", "tournament", "train") else 1]
    assert flags <= set(re.findall(r"--[\w-]+", help_text(capsys, command)))


# Plug-ins


def test_the_bot_passes_the_conformance_checks() -> None:
    names = run_python(example("agents.md", "class Chaser"))
    KINDS.add("chaser", names["KIND"])
    try:
        check_kind(names["KIND"], new_game("pong", points=1))
    finally:
        KINDS.remove("chaser")


def test_the_readme_and_the_guide_show_the_same_bot() -> None:
    [shown] = [block.text for block in blocks(README, "python")]
    assert shown == example("agents.md", "class Chaser")


def test_the_searching_bot_mates_in_one() -> None:
    names = run_python(example("games.md", "class Mater"))
    kind = plain_kind("mater", 1, lambda payload: names["Mater"](), games=["shogi"], samples={"Mater": b""})
    KINDS.add("mater", kind)
    try:
        game = new_game("shogi")
        check_kind(kind, new_game("shogi", move_limit=20), matches=2)
        players = (*kind.samples(game), AgentSpec("Dice", "dice"))
        spec = MatchSpec("m", game.spec, players, 1, start="sfen 4k4/9/4G4/9/9/9/9/9/4K4 b G 1")
        with SequentialMatchExecutor(1) as executor:
            result = executor.execute_match(spec)
    finally:
        KINDS.remove("mater")
    assert (result.steps, result.ranks) == (1, (1, 2))


def test_the_game_passes_the_conformance_checks() -> None:
    names = run_python(example("own-game.md", "class Nim"))
    GAMES.add("nim", names["Nim"])
    try:
        check_game(new_game("nim", stones=13))
        check_kind(KINDS.get("fast"), new_game("nim"))
    finally:
        GAMES.remove("nim")


@pytest.mark.usefixtures("only_ours")
def test_the_format_works(tmp_path: Path) -> None:
    names = run_python(example("tournaments.md", "King of the hill"))
    FORMATS.add("hill", names["FORMAT"])
    try:
        with LeagueState.new(tmp_path / "hill.league") as state:
            state.add_samples("pong")
            game = new_game("pong", points=1).spec
            job = state.start_tournament(game=game, format="hill", options={"rounds": 8})
            tournament = job.wait()
            assert tournament is not None
            assert tournament.state.value == "finished"
            assert job.progress().played == 16
    finally:
        FORMATS.remove("hill")


@pytest.mark.usefixtures("only_ours")
def test_the_trainer_trains(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    line = "from engine.registry import TRAINERS\nTRAINERS.add(DeadZone.name, DeadZone)\n"
    (tmp_path / "my_trainer.py").write_text(f"{example('training.md', 'class DeadZone')}\n{line}")
    monkeypatch.syspath_prepend(str(tmp_path))
    importlib.import_module("my_trainer")
    try:
        with LeagueState.new(tmp_path / "my.league", plugins=["my_trainer"]) as state:
            job = state.training.start("dead-zone", {"tries": 2}, game=new_game("pong", points=1).spec)
            ended = job.wait()
            assert ended is not None
            assert ended.state.value == "finished"
            [champion] = job.champions
            assert re.fullmatch(r"won \d+ of 40", champion.notes)
            assert list(state.training.sessions.metrics(1)["search/won"].steps) == [0, 1]
    finally:
        TRAINERS.remove("dead-zone")


@pytest.mark.usefixtures("only_ours")
def test_the_training_loop_and_the_environment_print_results(capsys: pytest.CaptureFixture[str]) -> None:
    """Networks sum as the installed Python does, so their results are not shown on the page."""
    run_python(example("training.md", "ConcurrentTrainingExecutor"))
    assert re.fullmatch(r"(\(\d\.0, \d\.0\) \d+\.0 \d+\.0 None\n){3}", capsys.readouterr().out)
    run_python(example("pettingzoo.md", "court.reset"))
    assert re.fullmatch(r"it wins \d+ of 10\n", capsys.readouterr().out)


# Completeness


def help_text(capsys: pytest.CaptureFixture[str], command: list[str]) -> str:
    with pytest.raises(SystemExit):
        main([*command, "--help"])
    return capsys.readouterr().out


def training_pages() -> str:
    """The pages that explain the trainers."""
    return "".join((GUIDE / name).read_text() for name in ("training.md", "independent.md", "hybrid.md"))


def test_every_command_and_option_is_listed(capsys: pytest.CaptureFixture[str]) -> None:
    page = (GUIDE / "command-line.md").read_text()
    settings = training_pages()
    commands = re.findall(r"^    (\w+)(?:  |$)", help_text(capsys, []), re.M)
    assert {"demo", "match", "compile", "tournament"} <= set(commands)
    for command in commands:
        assert f"`ringside {command}" in page or command in ("check", "doctor", "compile"), command
        inner = re.findall(r"^    (\w+)(?:  |$)", help_text(capsys, [command]), re.M)
        for subcommand in inner or [""]:
            words = [command, subcommand] if subcommand else [command]
            assert not subcommand or f"`ringside {command} {subcommand}" in page, words
            text = settings if command == "train" and subcommand in TRAINERS.own() else page
            for flag in set(re.findall(r"(--[a-z][\w-]*)", help_text(capsys, words))) - {"--help", "--json"}:
                assert flag in text, (words, flag)


def test_every_metric_and_setting_of_the_trainers_is_explained() -> None:
    text = training_pages()
    for trainer in TRAINERS.own():
        kind = TRAINERS.get(trainer)
        for name in kind.metrics:
            assert f"`{name}`" in text, name
        for field in fields(kind):
            assert f"| `--{field.name.replace('_', '-')}` |" in text, field.name
        for preset in kind.presets:
            assert f"`{preset}`" in text, preset


def test_every_option_of_a_game_is_listed() -> None:
    text = (GUIDE / "games.md").read_text()
    for name in GAMES.own():
        for option in dict(new_game(name).spec.options):
            assert f"`{option}`" in text, (name, option)


def test_every_kind_of_agent_is_listed() -> None:
    text = (
        (GUIDE / "agents.md").read_text().partition("## The kinds that come with Ringside\n")[2].partition("\n## ")[0]
    )
    listed = [name for row in re.findall(r"^\| (`.*?) \|", text, re.M) for name in re.findall(r"`([\w-]+)`", row)]
    assert sorted(listed) == sorted(KINDS.own())


def test_every_shortcut_is_listed() -> None:
    text = re.sub(r"Ctrl\+1 to Ctrl\+5", "Ctrl+1, Ctrl+2, Ctrl+3, Ctrl+4, Ctrl+5", (GUIDE / "window.md").read_text())
    for action in ACTIONS:
        assert not action.shortcut or re.search(rf"{re.escape(action.shortcut)}(?![\w+])", text), action.shortcut


def test_every_menu_entry_that_is_named_exists() -> None:
    entries = {f"{action.menu.replace('/', ' > ')} > {action.text}" for action in ACTIONS}
    entries |= {action.menu.replace("/", " > ") for action in ACTIONS}
    menus = "|".join({entry.partition(" > ")[0] for entry in entries})
    for path in [ROOT / "README.md", ROOT / "CHANGELOG.md", *GUIDE.glob("*.md")]:
        text = " ".join(path.read_text("utf-8").split())
        for named in re.findall(rf"\*((?:{menus}) > [^*]+)\*", text):
            assert named in entries, f"{path.name}: {named}"


# Pages


@every_page
def test_a_page_begins_with_its_title_and_what_it_covers(page: Path) -> None:
    lines = page.read_text("utf-8").splitlines()
    assert [level for level, _ in headings(page)].count(1) == 1
    assert re.fullmatch(r"# .+", lines[0])
    assert lines[1] == ""
    assert re.match(r"[A-Z`]", lines[2]), "a paragraph"


@every_page
def test_a_page_is_plain_markdown(page: Path) -> None:
    text = page.read_text("utf-8")
    fences = re.findall(r"^```(.*)$", text, re.M)
    assert set(fences[::2]) <= LANGUAGES
    assert set(fences[1::2]) <= {""}
    assert not re.search(r"</?[a-zA-Z][^>]*>", re.sub(r"`[^`]*`", "", prose(page))), "raw HTML"
    assert "\\|" not in text, "Qt shows the backslash inside code"
    names = [text for _, text in headings(page)]
    assert len(names) == len(set(names)), "two headings have one anchor"


@pytest.mark.parametrize("page", [*EVERY_PAGE, *TOP_LEVEL], ids=lambda page: page.stem)
def test_every_link_resolves(page: Path) -> None:
    for text, target in links(page):
        if target.startswith("https://"):
            continue
        name, _, anchor = target.partition("#")
        file = (page.parent / name).resolve() if name else page
        assert file.is_file(), (text, target)
        assert not anchor or anchor in anchors(file), (text, target)
    for words, target in pictures(page):
        assert len(words) > 10, f"{target} needs a text for readers who do not see it"


def test_every_page_can_be_reached_and_is_shipped() -> None:
    for start in (INDEX, README):
        reached = {(start.parent / target.partition("#")[0]).resolve() for _, target in links(start)}
        assert {*PAGES} - {INDEX} <= reached
    assert all(asset(f"guide/{page.name}") == page for page in PAGES)
    build = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]["targets"]["wheel"]
    assert build["force-include"]["assets/guide"] == "engine/assets/guide"


def test_the_readme_is_short() -> None:
    assert len(README.read_text("utf-8").splitlines()) <= 250


# Pictures


@pytest.mark.parametrize("name", screens.STILLS)
def test_the_picture_of_a_match_is_up_to_date(tmp_path: Path, name: str) -> None:
    make, height = screens.STILLS[name]
    save_png(make().scene(), tmp_path / f"{name}.png", height)
    kept, fresh = (pygame.image.load(str(folder / f"{name}.png")) for folder in (screens.README, tmp_path))
    assert kept.get_size() == fresh.get_size()
    pixels = [np.frombuffer(pygame.image.tostring(image, "RGB"), np.uint8).astype(int) for image in (kept, fresh)]
    assert np.abs(pixels[0] - pixels[1]).mean() < 0.5, "it is out of date: run `python3 launch.py screenshots`"


def test_the_pictures_are_taken_by_the_script() -> None:
    shown = {(page.parent / path).resolve() for page in EVERY_PAGE for _, path in pictures(page)}
    taken = {screens.README / f"{name}.png" for name in (*screens.IN_README, *screens.STILLS)}
    assert shown == taken == set(screens.README.iterdir())
    for name, (_, size) in screens.IN_README.items():
        assert pygame.image.load(str(screens.README / f"{name}.png")).get_size() == size or name == "tournament"
