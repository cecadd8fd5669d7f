"""Commands that replay or reproduce a match, draw it, and export it."""

from __future__ import annotations

import argparse
import re
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from engine.errors import BadValue, RingsideError
from engine.files import check_path, check_writable, write_file
from engine.league import played_matches
from engine.league.storage.database import SUFFIX
from engine.league.storage.league import League
from engine.play import replay
from engine.play.executors import DEFAULT, Executor, new_executor
from engine.play.match import MatchResult, MatchSpec
from engine.play.replay import Playback
from engine.registry import game_of
from league_app.cli.common import add_executor_option, add_log_option, add_overwrite_option, command
from league_app.cli.output import CommandResult, announce_compilation, duration, print_error, print_line, show_match
from league_app.core.export import result_data
from league_app.core.validation import check_admitted

FEW_LANES = 16  # for one match: it starts faster
LONG_WAIT = 3.0  # seconds until a message says that the match is still being played
LONG, AT_ONCE = 100_000, 2.0  # steps, and seconds: longer matches are not replayed for a caption
NUMBERS = re.compile(r"-?\d+(\.\d+)?")


def add(commands: Any) -> None:
    parser = command(
        commands,
        "replay",
        "replay a match from a replay file or a league, and verify its result",
        replay_match,
        ["replay short.replay", "replay my.league 3.17 --step 100 --png rally.png"],
    )
    parser.add_argument("file", type=Path, metavar="FILE|LEAGUE", help="a .replay file, or a league")
    parser.add_argument("match", nargs="?", help="match of the league, such as 3.17: tournament 3, match 17")
    parser.add_argument("--step", type=int, help="step to show (default: the last)")
    parser.add_argument("--png", type=Path, metavar="FILE", help="save a picture of the position")
    parser.add_argument("--style", help="with --png: drawing style, for games with several")
    parser.add_argument("--save", type=Path, metavar="FILE", help="save as a replay file")
    parser.add_argument("--export", type=Path, metavar="FILE", help="export for other programs, such as Shogi as .csa")
    add_overwrite_option(parser)

    parser = command(
        commands,
        "reproduce",
        "play a match of a league again with the same agents, and compare the results",
        reproduce,
        ["reproduce my.league 3.17", "reproduce my.league 3.17 --on sequential"],
    )
    parser.add_argument("league")
    parser.add_argument("match", help="such as 3.17: tournament 3, match 17")
    add_executor_option(parser)
    add_log_option(parser)


def replay_match(options: argparse.Namespace) -> CommandResult:
    for field in ("png", "save", "export"):
        if path := getattr(options, field):
            check_writable(path, options.overwrite, f"--{field}")
    if is_league(options.file):
        if options.match is None:
            raise BadValue("match", None, "given: which match of the league, such as 3.17")
        with League(options.file, read_only=True) as league:
            found, names = played_matches.match(league, options.match), league.names()
        spec, result = found.spec, found.result
        playback = replay.verified(spec, result)
    else:
        record, playback = replay.load(check_path("file", options.file))
        spec, result, names = record.match, record.result, {}
    step = playback.steps if options.step is None else options.step
    if not 0 <= step <= playback.steps:
        raise BadValue("--step", step, f"from 0 to {playback.steps}")
    playback.seek(step)
    if options.png:
        from league_app.rendering.painter import save_png  # pygame is imported only for pictures

        save_png(playback.scene(options.style), options.png, overwrite=options.overwrite, field="--png")
    if options.save:
        replay.save(options.save, spec, result, options.overwrite, "--save")
    if options.export:
        text = export_text(playback, options.export, [names.get(player, player) for player in result.players], result)
        write_file(options.export, text.encode(), options.overwrite, "--export")

    def show() -> None:
        show_match(playback.game, result, [names.get(player, player) for player in result.players])
        position = f"Step {step} of {playback.steps}: {playback.scene().caption}."
        print_line(f"Replayed: same scores and statistics. {position}")
        for what, path in (("drawn to", options.png), ("saved as", options.save), ("written to", options.export)):
            if path:
                print_line(f"{what} {path}")

    data = {"match": spec_data(spec), "result": result_data(result), "step": step, "caption": playback.scene().caption}
    return CommandResult(data, show)


def reproduce(options: argparse.Namespace) -> CommandResult:
    with League(options.league, read_only=True) as league:
        found, names = played_matches.match(league, options.match), league.names()
        check_admitted(league, found.spec.players)
    result = play_match(found.spec, options.on, options.json)
    same = result.digest() == found.result.digest()

    def show() -> None:
        player_names = [names[player] for player in result.players]
        show_match(game_of(found.spec.game), result, player_names)
        if same:
            print_line(f"{options.match} was reproduced exactly.")
            return
        print_line(f"{options.match} has a different result. The recorded match:")
        show_match(game_of(found.spec.game), found.result, player_names)
        if not found.result.repeatable:
            print_line("It was recorded as not repeatable: it depended on time, memory or the order of failures.")

    data = {"same": same, "repeatable": found.result.repeatable, "recorded": result_data(found.result)}
    return CommandResult(
        {**data, "result": result_data(result), "match": spec_data(found.spec)}, show, 0 if same else 1
    )


def play_match(spec: MatchSpec, on: str | None, quiet: bool) -> MatchResult:
    """Plays the match on this executor; by default isolated in a worker process."""
    announce_compilation(spec.game.name, spec.players, quiet)
    executor = new_executor(on or DEFAULT, workers=1, lanes=FEW_LANES)
    with executor, _report_long_match(executor):
        return executor.execute_match(spec)


@contextmanager
def _report_long_match(executor: Executor) -> Iterator[None]:
    """Prints how long a match has been running, less and less often: a plug-in's game may never end."""
    finished = threading.Event()

    def report() -> None:
        while not _is_playing(executor):  # its worker is still starting
            if finished.wait(0.2):
                return
        since, wait = time.monotonic(), LONG_WAIT
        while not finished.wait(wait):
            now = time.monotonic() - since
            print_error(f"still playing after {duration(now)}: Ctrl-C stops it")
            wait = min(now + 2.0, 60.0)

    reporter = threading.Thread(target=report, name="patience", daemon=True)
    reporter.start()
    try:
        yield
    finally:
        finished.set()
        reporter.join()


def _is_playing(executor: Executor) -> bool:
    try:
        return any(worker.state == "playing" for worker in executor.status().workers)
    except Exception:  # an executor may be a plug-in that reports no status: then the time before counts too
        return True


def last_caption(spec: MatchSpec, result: MatchResult) -> tuple[str, bool]:
    """The caption of the last position, and whether it differs from the first one in more than numbers. Empty if the
    actions were not recorded or cannot be replayed."""
    if not result.actions or result.steps > LONG or result.duration > AT_ONCE:
        return "", False
    try:
        playback = replay.verified(spec, result)
        last = playback.scene().caption
        playback.seek(0)
        return last, NUMBERS.sub("", last) != NUMBERS.sub("", playback.scene().caption)
    except Exception:  # plug-in code: a failing caption must not lose the result
        return "", False


def is_league(where: object) -> bool:
    return str(where).endswith(SUFFIX)


def export_text(playback: Playback, path: Path, names: Sequence[str], result: MatchResult) -> str:
    """The match in the notation that the suffix of the path names."""
    info, notation = playback.game.info, path.suffix.removeprefix(".")
    if not info.notations:
        raise RingsideError(f"{info.title} has no export format for other programs: remove --export")
    if notation not in info.notations:
        needed = " or ".join(f".{suffix}" for suffix in info.notations)
        raise BadValue("--export", str(path), f"a file name that ends in {needed}")
    return playback.written(notation, names, result.ending)


def spec_data(spec: MatchSpec) -> dict[str, object]:
    return {
        "id": spec.id,
        "game": {"name": spec.game.name, "version": spec.game.version, "options": dict(spec.game.options)},
        "players": [player.id for player in spec.players],
        "seed": spec.seed,
        "start": spec.start,
        "limits": spec.limits,
    }
