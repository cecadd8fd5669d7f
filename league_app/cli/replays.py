"""A match once more: from a replay file or from a league, drawn, written down, and compared with what is recorded."""

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
from engine.files import check_path, write_whole
from engine.league import standings as tables
from engine.league.storage.database import SUFFIX
from engine.league.storage.league import League
from engine.play import replay
from engine.play.concurrent import ConcurrentMatchExecutor
from engine.play.executors import MatchExecutor, SequentialMatchExecutor
from engine.play.match import MatchResult, MatchSpec
from engine.play.replay import Playback
from engine.registry import game_of
from league_app.cli.common import command, log
from league_app.cli.output import Answer, lasting, line, say, show_match
from league_app.core.validation import check_admitted

LONG_WAIT = 3.0  # seconds until it is told that a match is still being played
LONG, AT_ONCE = 100_000, 2.0  # steps, and seconds of playing: what took longer is not gone through for a caption
NUMBERS = re.compile(r"-?\d+(\.\d+)?")


def add(commands: Any) -> None:
    one = command(
        commands,
        "replay",
        "a match again, from a replay file or from a league: the same result, or an error",
        again,
        ["replay short.replay", "replay my.league 3.17 --step 100 --png rally.png"],
    )
    one.add_argument("file", type=Path, metavar="FILE|LEAGUE")
    one.add_argument("match", nargs="?", help="which match of the league, such as 3.17")
    one.add_argument("--step", type=int, help="go to this step (the last one)")
    one.add_argument("--png", type=Path, metavar="FILE", help="draw it there")
    one.add_argument("--style", help="with --png: a way to draw it, for games that have several")
    one.add_argument("--save", type=Path, metavar="FILE", help="keep it as a replay file")
    one.add_argument("--export", type=Path, metavar="FILE", help="write it for other programs: Shogi as .csa")

    one = command(
        commands,
        "reproduce",
        "play a match of a league once more, with the same players, and compare",
        reproduce,
        ["reproduce my.league 3.17", "reproduce my.league 3.17 --here"],
    )
    one.add_argument("league")
    one.add_argument("match", help="such as 3.17: the tournament, and the place in its plan")
    one.add_argument(
        "--here", action="store_true", help="in this process: what a bot prints is seen, and debuggers work"
    )
    log(one)


def again(options: argparse.Namespace) -> Answer:
    if is_league(options.file):
        if options.match is None:
            raise BadValue("match", None, "given: which match of the league, such as 3.17")
        with League(options.file, read_only=True) as league:
            found, names = tables.match(league, options.match), league.names()
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
        draw(playback, options.png, options.style)
    if options.save:
        save(options.save, spec, result)
    if options.export:
        export(playback, options.export, [names.get(one, one) for one in result.players], result)

    def show() -> None:
        show_match(playback.game, result, [names.get(player, player) for player in result.players])
        told = f"Step {step} of {playback.steps}: {playback.scene().caption}."
        line(f"Played again: the same scores and statistics. {told}")
        for what, path in (("drawn to", options.png), ("saved as", options.save), ("written to", options.export)):
            if path:
                line(f"{what} {path}")

    data = {"match": spec_data(spec), "result": result_data(result), "step": step, "caption": playback.scene().caption}
    return Answer(data, show)


def reproduce(options: argparse.Namespace) -> Answer:
    with League(options.league, read_only=True) as league:
        found, names = tables.match(league, options.match), league.names()
        check_admitted(league, found.spec.players)
    result = played(found.spec, options.here)
    same = result.digest() == found.result.digest()

    def show() -> None:
        who = [names[player] for player in result.players]
        show_match(game_of(found.spec.game), result, who)
        if same:
            line(f"{options.match} came out the same, to the bit.")
            return
        line(f"{options.match} came out differently. As it was recorded:")
        show_match(game_of(found.spec.game), found.result, who)
        if not found.result.repeatable:
            line("It was recorded as not repeatable: it depended on time, memory or who failed first.")

    data = {"same": same, "repeatable": found.result.repeatable, "recorded": result_data(found.result)}
    return Answer({**data, "result": result_data(result), "match": spec_data(found.spec)}, show, 0 if same else 1)


def played(spec: MatchSpec, here: bool) -> MatchResult:
    """Once, in this process or, protected, in another."""
    executor = SequentialMatchExecutor(lanes=1) if here else ConcurrentMatchExecutor(1)
    with executor, _told_if_long(executor):
        return executor.execute_match(spec)


@contextmanager
def _told_if_long(executor: MatchExecutor) -> Iterator[None]:
    """A game of somebody's own may never end: after a while it is told how long it has been played, less and less
    often."""
    over = threading.Event()

    def tell() -> None:
        while isinstance(executor, ConcurrentMatchExecutor) and not _busy(executor):  # its process takes a while
            if over.wait(0.2):
                return
        since, wait = time.monotonic(), LONG_WAIT
        while not over.wait(wait):
            now = time.monotonic() - since
            say(f"still playing after {lasting(now)}: Ctrl-C stops it")
            wait = min(now + 2.0, 60.0)

    teller = threading.Thread(target=tell, name="patience", daemon=True)
    teller.start()
    try:
        yield
    finally:
        over.set()
        teller.join()


def _busy(executor: ConcurrentMatchExecutor) -> bool:
    return any(one.state == "playing" for one in executor.status().workers)


def last_caption(spec: MatchSpec, result: MatchResult) -> tuple[str, bool]:
    """The last position in words, and whether they say more than a table of scores: others than at the start, numbers
    aside. Empty where the actions were not recorded, or do not lead there again."""
    if not result.actions or result.steps > LONG or result.duration > AT_ONCE:
        return "", False
    try:
        playback = replay.verified(spec, result)
        last = playback.scene().caption
        playback.seek(0)
        return last, NUMBERS.sub("", last) != NUMBERS.sub("", playback.scene().caption)
    except Exception:  # the game's own code, which may be anybody's: no result is lost over its caption
        return "", False


def is_league(where: object) -> bool:
    return str(where).endswith(SUFFIX)


def save(path: Path, spec: MatchSpec, result: MatchResult) -> None:
    check_path("--save", path)
    try:
        replay.save(path, spec, result)
    except OSError as error:
        raise BadValue("--save", str(path), f"a file that can be written ({error.strerror})") from None


def export(playback: Playback, path: Path, names: Sequence[str], result: MatchResult) -> None:
    check_path("--export", path)
    info, notation = playback.game.info, path.suffix.removeprefix(".")
    if not info.notations:
        raise RingsideError(f"{info.title} cannot be written down for other programs: leave out --export")
    if notation not in info.notations:
        needed = " or ".join(f".{one}" for one in info.notations)
        raise BadValue("--export", str(path), f"a file name that ends in {needed}")
    text = playback.written(notation, names, result.ending)
    try:
        write_whole(path, text.encode())
    except OSError as error:
        raise BadValue("--export", str(path), f"a file that can be written ({error.strerror})") from None


def draw(playback: Playback, path: Path, style: str | None) -> None:
    check_path("--png", path)
    scene = playback.scene(style)
    from league_app.rendering.painter import save_png  # pygame is needed for pictures only

    try:
        save_png(scene, path)
    except OSError as error:
        raise BadValue("--png", str(path), f"a file name that ends in .png and can be written ({error})") from None


def spec_data(spec: MatchSpec) -> dict[str, object]:
    return {
        "id": spec.id,
        "game": {"name": spec.game.name, "version": spec.game.version, "options": dict(spec.game.options)},
        "players": [player.id for player in spec.players],
        "seed": spec.seed,
        "start": spec.start,
        "limits": spec.limits,
    }


def result_data(result: MatchResult) -> dict[str, object]:
    return {
        "players": result.players,
        "scores": result.scores,
        "ranks": result.ranks,
        "steps": result.steps,
        "ending": result.ending,
        "stats": result.stats,
        "repeatable": result.repeatable,
        "duration": result.duration,
        "digest": result.digest(),
    }
