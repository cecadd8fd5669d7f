"""The command line: every job without a window. It imports neither Qt nor torch."""

from __future__ import annotations

import argparse
import dataclasses
import itertools
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, Task, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from engine.checks import check_game, check_kind
from engine.errors import BadValue, RingsideError, UnknownName
from engine.game import Game
from engine.kernels import sweep_cache
from engine.play import replay
from engine.play.arena import DEFAULT_LANES, MOST_LANES
from engine.play.concurrent import MOST_WORKERS, ConcurrentMatchExecutor, default_workers, stopping_on_signals
from engine.play.executors import SequentialMatchExecutor
from engine.play.lanes import compile_general_path
from engine.play.match import SEED_LIMIT, AgentSpec, EndingKind, Limits, MatchResult, MatchSpec, run_digest
from engine.registry import FORMATS, GAMES, KINDS, TRAINERS, Registry, agents_for, all_games, new_game
from league_app import demo

console = Console(highlight=False)
SAME = "the same however it is run"
REGISTRIES: tuple[Registry[Any], ...] = (GAMES, KINDS, FORMATS, TRAINERS)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run one command; what is wrong with it is one sentence on standard error and exit status 2."""
    options = _parser().parse_args(arguments)
    try:
        options.run(options)
    except RingsideError as error:
        _stop(str(error), 2)
    except KeyboardInterrupt:
        _stop("stopped", 130)
    except BrokenPipeError:  # the reader, such as `head`, has seen enough
        sys.stderr.close()
        sys.exit(0)
    except OSError as error:  # files are dealt with where they are written: this is standard output
        sys.stdout = None  # or Python would try again at the end, and fail again
        _stop(f"cannot write what there is to say: {error.strerror or error}", 1)


def _stop(sentence: str, status: int) -> None:
    _say(sentence)
    sys.exit(status)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="ringside", description="A league for game-playing agents.")
    parser.set_defaults(run=_demo, matches=3000, points=5, seed=1, workers=None, lanes=DEFAULT_LANES, entrants=[])
    commands = parser.add_subparsers(title="commands", metavar="COMMAND")

    one = commands.add_parser("demo", help="a league of scripted Pong bots (this is what runs without a command)")
    one.set_defaults(run=_demo)
    one.add_argument("--matches", type=int, default=3000, help="how many, rounded up to whole rounds (3000)")
    one.add_argument("--points", type=int, default=5, help="points that win a match (5)")
    one.add_argument("--seed", type=int, default=1, help="another seed, another league (1)")
    one.add_argument("--workers", type=int, help=f"worker processes (one less than cores: {default_workers()})")
    one.add_argument("--lanes", type=int, default=DEFAULT_LANES, help=f"matches at once in a worker ({DEFAULT_LANES})")
    one.add_argument("--with", dest="entrants", action="append", default=[], metavar="AGENT", help="enter this one too")

    one = commands.add_parser("play", help="play one match and tell how it went")
    one.set_defaults(run=_play)
    one.add_argument("game")
    one.add_argument("agents", nargs="+", help="one for each seat, by name (see `list`) or as kind:payload")
    one.add_argument("--seed", type=int, default=1)
    one.add_argument("--start", help="how it begins, if the game offers a choice")
    one.add_argument("--steps", type=int, help="end it after so many steps")
    one.add_argument("--option", "-o", action="append", default=[], metavar="NAME=VALUE", help="an option of the game")
    one.add_argument("--save", type=Path, metavar="FILE", help="keep it as a replay")
    one.add_argument("--here", action="store_true", help="in this process, unprotected: what a bot prints is seen")

    one = commands.add_parser("replay", help="play a saved match again and check that it leads to the same result")
    one.set_defaults(run=_replay)
    one.add_argument("file", type=Path)
    one.add_argument("--step", type=int, help="go to this step (the last one)")
    one.add_argument("--png", type=Path, metavar="FILE", help="draw it there")

    one = commands.add_parser("list", help="what is installed: games, agents, formats, trainers")
    one.set_defaults(run=_list)

    one = commands.add_parser("check", help="does a game or a kind of agent keep its promises? For plug-in authors")
    one.set_defaults(run=_check)
    one.add_argument("names", nargs="*", help="games and kinds (all)")

    one = commands.add_parser("compile", help="compile the kernels now rather than at their first use")
    one.set_defaults(run=_compile)
    return parser


# Commands


def _demo(options: argparse.Namespace) -> None:
    game = new_game("pong", points=options.points)
    agents = list(KINDS.get("pong-bot").samples(game))
    agents += [_agent(game, name) for name in options.entrants if name not in {agent.id for agent in agents}]
    per_round = len(agents) * (len(agents) - 1)
    _check_whole("--matches", options.matches, 1, 10**12)
    _check_whole("--lanes", options.lanes, 1, MOST_LANES)
    if options.workers is not None:
        _check_whole("--workers", options.workers, 1, MOST_WORKERS)
    pairs = -(-options.matches // per_round)
    total = pairs * per_round
    _check_seed(options.seed)
    console.print(
        f"[bold]Demo league[/]: {game.info.title} to {options.points}, {len(agents)} bots, "
        f"{pairs:,} side-swapped {'pair' if pairs == 1 else 'pairs'} each: {total:,} matches"
    )
    specs = demo.plan(game, agents, pairs, options.seed)
    results, signals = _play_all(specs, total, options.workers, options.lanes)
    played = sum(result.ending.kind is not EndingKind.CANCELLED for result in results)
    if played:
        rows, prior = demo.table(agents, results)
        console.print(_standings(rows))
        if prior:
            console.print("[dim]somebody has only won, only lost or not met the rest: a virtual draw bounds the Elo[/]")
    _tell_failures(results)
    if signals:
        what = f"stopped: this is the table of the {played:,} matches of {total:,} that were played"
        _stop(what if played else "stopped before anything was played", 128 + signals[0])
    odd = sum(not result.repeatable for result in results)
    same = f"not to be had again: {odd:,} matches depend on time, memory or who failed first" if odd else SAME
    console.print(f"[dim]digest {run_digest(results)}, {same}[/]")


def _play(options: argparse.Namespace) -> None:
    texts = dict(_pair(text) for text in options.option)
    game = new_game(options.game, texts)
    players = tuple(_agent(game, name) for name in options.agents)
    _check_seed(options.seed)
    spec = MatchSpec("match", game.spec, players, options.seed, options.start, Limits(options.steps))
    executor = SequentialMatchExecutor(lanes=1) if options.here else ConcurrentMatchExecutor(1)
    with executor:
        result = executor.execute_match(spec)
    _tell(game, result)
    if options.save:
        try:
            replay.save(options.save, spec, result)
        except OSError as error:
            raise BadValue("--save", str(options.save), f"a file that can be written ({error.strerror})") from None
        console.print(Text(f"saved as {options.save}"))


def _replay(options: argparse.Namespace) -> None:
    record, playback = replay.load(options.file)
    step = playback.steps if options.step is None else options.step
    if not 0 <= step <= playback.steps:
        raise BadValue("--step", step, f"from 0 to {playback.steps}")
    playback.seek(step)
    _tell(playback.game, record.result)
    told = f"Played again: the same scores and statistics. Step {step} of {playback.steps}: {playback.scene().caption}."
    console.print(Text(plain(told)))
    if options.png:
        from league_app.visual.paint import save_png  # pygame is needed for pictures only

        try:
            save_png(playback.scene(), options.png)
        except OSError as error:
            raise BadValue(
                "--png", str(options.png), f"a file name that ends in .png and can be written ({error})"
            ) from None
        console.print(Text(f"drawn to {options.png}"))


def _list(options: argparse.Namespace) -> None:
    del options
    listing = Table(box=None, pad_edge=False, header_style="dim")
    for heading in ("", "name", "what"):
        listing.add_column(heading)
    for name, game in all_games().items():
        listing.add_row("game", name, f"{game.info.title}, {game.info.seats} seats, {game.info.actions} actions")
        for field in dataclasses.fields(GAMES.get(name).Options):
            low, high = field.metadata.get("low"), field.metadata.get("high")
            limits = "" if low is None or high is None else f" ({low:g} to {high:g})"
            listing.add_row(
                "", "", Text(f"-o {field.name}={field.default}{limits}: {field.metadata.get('help')}", "dim")
            )
        for kind, agents in agents_for(game).items():
            listing.add_row("agents", kind, ", ".join(agent.id for agent in agents))
    for noun, registry in (("format", FORMATS), ("trainer", TRAINERS)):
        for name in registry.working():
            listing.add_row(noun, name, "")
    console.print(listing)
    _tell_problems()


def _check(options: argparse.Namespace) -> None:
    """Everything that is named, or everything; what does not hold is told, and the rest is still checked."""
    games, kinds, wanted = all_games(), KINDS.working(), set(options.names)
    for name in options.names:
        if name not in games and name not in kinds:
            problem = GAMES.problems.get(name) or KINDS.problems.get(name)
            raise RingsideError(problem) if problem else UnknownName("game or agent kind", name, [*games, *kinds])
    broken = 0
    for name, game in games.items():
        if not wanted or name in wanted:
            broken += not _holds(f"game {name}", check_game, game)
    for kind, one in kinds.items():
        if not wanted or kind in wanted:
            played = [name for name, game in games.items() if kind in agents_for(game)]
            for name in played:
                broken += not _holds(f"agents {kind} in {name}", check_kind, one, games[name])
            if not played:
                broken += 1
                _say(f"agents {kind}: play none of the installed games")
    _tell_problems()
    if broken or (not wanted and any(registry.problems for registry in REGISTRIES)):
        raise RingsideError(f"{broken} of the promises do not hold" if broken else "some plug-ins do not load")


def _compile(options: argparse.Namespace) -> None:
    """Every kernel is reached by short matches, in turn and all at once, their records, and their replays."""
    del options
    sweep_cache()
    for name, game in all_games().items():
        since = time.perf_counter()
        for agents in agents_for(game).values():
            players = tuple(agents[seat % len(agents)] for seat in range(game.info.seats)) if agents else ()
            spec = MatchSpec("match", game.spec, players, 1, None, Limits(40))
            try:
                with SequentialMatchExecutor(lanes=2) as executor:
                    replay.verified(spec, executor.execute_match(spec))
            except RingsideError as error:  # a plug-in that cannot be played is no reason not to start
                _say(f"{name}: {error}")
        console.print(f"kernels of {name}: {time.perf_counter() - since:.1f} s")
    compile_general_path()
    _tell_problems()


# Words and tables


class _Rate(ProgressColumn):
    """Matches a second."""

    def render(self, task: Task) -> Text:
        speed = task.finished_speed or task.speed
        return Text(f"{speed:,.0f}/s" if speed else "", "cyan")


def _play_all(
    specs: Iterable[MatchSpec], total: int, workers: int | None, lanes: int
) -> tuple[list[MatchResult], list[int]]:
    """The results, and the signals that came: the first ends it when the running matches are over, the second now."""
    columns = (TextColumn("{task.description}"), BarColumn(40), MofNCompleteColumn(), _Rate(), TimeRemainingColumn())
    results = []
    with (
        ConcurrentMatchExecutor(workers, lanes=lanes) as executor,
        Progress(*columns, console=console) as progress,
        stopping_on_signals(executor) as signals,
    ):
        task = progress.add_task("playing", total=total)
        for result in executor.run(itertools.takewhile(lambda _: not signals, specs)):
            results.append(result)
            if result.ending.kind is not EndingKind.CANCELLED:
                progress.advance(task)
            if signals:
                progress.update(task, description="finishing, Ctrl-C again stops at once", total=None)
    return results, signals


def _tell_failures(results: Iterable[MatchResult]) -> None:
    """Who broke, how often and how; one line for each, and one for the matches that are nobody's fault."""
    told: dict[tuple[str, int, str], list[str]] = {}
    for result in results:
        kind = result.ending.kind
        if kind.failure or kind in (EndingKind.ILLEGAL_ACTION, EndingKind.QUARANTINED, EndingKind.VOID):
            for name in [result.players[seat] for seat in result.ending.seats] or ["nobody's fault"]:
                place = list(EndingKind).index(kind)  # quarantine after its causes
                told.setdefault((name, place, kind.value.replace("_", " ")), []).append(result.ending.reason)
    for (name, _, kind_name), reasons in sorted(told.items()):
        times = "once" if len(reasons) == 1 else f"{len(reasons):,} times"
        console.print(Text(plain(f"{name}: {kind_name} {times}: {reasons[0]}")))


def _standings(rows: Sequence[demo.Row]) -> Table:
    """Places, games, and the share won against each of the others."""
    shown = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 2, 0, 0))
    shown.add_column("#", justify="right")
    shown.add_column("agent")
    for heading in ("w-d-l", "elo", "points"):
        shown.add_column(heading, justify="right")
    for place in range(1, len(rows) + 1):
        shown.add_column(f"v {place}", justify="right")
    for place, row in enumerate(rows, 1):
        total = row.total
        games = max(total.played, 1)
        shown.add_row(
            str(place),
            Text(row.agent, "bold"),
            f"{total.wins}-{total.draws}-{total.losses}",
            f"{row.elo:+.0f} ±{row.error:.0f}" if total.played else "-",
            f"{row.scored / games:.1f}-{row.conceded / games:.1f}",
            *(f"{row.against[one.agent].score:.0%}" if one.agent in row.against else "-" for one in rows),
        )
    return shown


def _tell(game: Game, result: MatchResult) -> None:
    """One match: who, how it ended, and the statistics of each seat."""
    shown = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 2, 0, 0))
    shown.add_column("seat")
    for seat, player in enumerate(result.players):
        shown.add_column(Text(f"{seat} {plain(player)}"), justify="right")
    shown.add_row("rank", *(str(rank) for rank in result.ranks))
    shown.add_row("score", *(f"{score:g}" for score in result.scores))
    for row, name in enumerate(game.info.stats):
        shown.add_row(name.replace("_", " "), *(f"{stats[row]:.4g}" for stats in result.stats))
    console.print(shown)
    blame = f" by seat {', '.join(map(str, result.ending.seats))}" if result.ending.seats else ""
    reason = f": {result.ending.reason}" if result.ending.reason else ""
    kind = result.ending.kind.value.replace("_", " ")
    console.print(Text(plain(f"{game.info.title}: {kind}{blame} after {result.steps} steps{reason}")))


def _tell_problems() -> None:
    for registry in REGISTRIES:
        for problem in registry.problems.values():
            _say(problem)


def _say(sentence: str) -> None:
    print(f"ringside: {plain(' '.join(sentence.splitlines()))}", file=sys.stderr)  # noqa: T201


def plain(text: str) -> str:
    """Names come from files and plug-ins: none of their control characters may reach the terminal."""
    return "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in text)


def _holds(what: str, check: Callable[..., None], *subject: object) -> bool:
    console.print(f"{what}: ", end="")  # before it is tried: it may take this program along
    sys.stdout.flush()
    try:
        check(*subject)
    except Exception as error:  # whatever a plug-in's code raises; it is told, and the next one is checked
        console.print("does not keep its promises")
        _say(f"{what}: {error}" if isinstance(error, AssertionError) else f"{what}: {type(error).__name__}: {error}")
        return False
    console.print("keeps its promises")
    return True


def _agent(game: Game, name: str) -> AgentSpec:
    """A ready-made agent by its name, or kind:payload."""
    kinds = agents_for(game)
    kind, colon, payload = name.partition(":")
    if colon:
        if kind not in kinds:
            raise UnknownName(f"agent kind for {game.spec.name}", kind, kinds)
        made = AgentSpec(name, kind, payload.encode(), KINDS.get(kind).version)
        pilot = KINDS.get(kind).pilot(game, game.info.seats)
        try:
            pilot.load(made)
        except Exception as error:  # the kind's own code says what is wrong with the payload
            raise BadValue("agent", name, f"{kind}:payload ({error})") from None
        finally:
            pilot.close()
        return made
    found = [agent for agents in kinds.values() for agent in agents if agent.id == name]
    if not found and (problem := KINDS.problems.get(name)):
        raise RingsideError(problem)
    if not found:
        raise UnknownName(f"agent for {game.spec.name}", name, [one.id for agents in kinds.values() for one in agents])
    if len(found) > 1:
        offered = " and ".join(agent.kind for agent in found)
        raise BadValue("agent", name, f"one agent, but {offered} offer one of that name; say kind:payload")
    return found[0]


def _pair(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals:
        raise BadValue("--option", text, "NAME=VALUE")
    return name, value


def _check_whole(name: str, value: int, low: int, high: int) -> None:
    if not low <= value <= high:
        raise BadValue(name, value, f"from {low:,} to {high:,}")


def _check_seed(seed: int) -> None:
    if not 0 <= seed < SEED_LIMIT:
        raise BadValue("--seed", seed, "from 0 to 2**64 - 1")
