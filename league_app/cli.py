"""The command line: every job without a window. It imports neither Qt nor torch."""

from __future__ import annotations

import argparse
import dataclasses
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, Task, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from engine.checks import check_game, check_kind
from engine.errors import BadValue, RingsideError, UnknownName
from engine.game import Game
from engine.kernels import sweep_cache
from engine.play import replay
from engine.play.arena import DEFAULT_LANES
from engine.play.executors import SequentialMatchExecutor
from engine.play.match import SEED_LIMIT, AgentSpec, Limits, MatchResult, MatchSpec, run_digest
from engine.registry import FORMATS, GAMES, KINDS, TRAINERS, new_game
from league_app import demo

console = Console(highlight=False)


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


def _stop(sentence: str, status: int) -> None:
    print(f"ringside: {sentence}", file=sys.stderr)  # noqa: T201
    sys.exit(status)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="ringside", description="A league for game-playing agents.")
    parser.set_defaults(run=_demo, matches=3000, points=5, seed=1, lanes=DEFAULT_LANES)
    commands = parser.add_subparsers(title="commands", metavar="")

    one = commands.add_parser("demo", help="a league of scripted Pong bots (this is what runs without a command)")
    one.set_defaults(run=_demo)
    one.add_argument("--matches", type=int, default=3000, help="how many, rounded up to whole rounds (3000)")
    one.add_argument("--points", type=int, default=5, help="points that win a match (5)")
    one.add_argument("--seed", type=int, default=1, help="another seed, another league (1)")
    one.add_argument("--lanes", type=int, default=DEFAULT_LANES, help=f"matches at once ({DEFAULT_LANES})")

    one = commands.add_parser("play", help="play one match and tell how it went")
    one.set_defaults(run=_play)
    one.add_argument("game")
    one.add_argument("agents", nargs="+", help="one for each seat, by name (see `list`) or as kind:payload")
    one.add_argument("--seed", type=int, default=1)
    one.add_argument("--start", help="how it begins, if the game offers a choice")
    one.add_argument("--steps", type=int, help="end it after so many steps")
    one.add_argument("--option", "-o", action="append", default=[], metavar="NAME=VALUE", help="an option of the game")
    one.add_argument("--save", type=Path, metavar="FILE", help="keep it as a replay")

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
    per_round = len(agents) * (len(agents) - 1)
    if options.matches < 1:
        raise BadValue("matches", options.matches, "at least 1")
    pairs = -(-options.matches // per_round)
    total = pairs * per_round
    _check_seed(options.seed)
    console.print(
        f"[bold]Demo league[/]: {game.info.title} to {options.points}, {len(agents)} bots, "
        f"{pairs} side-swapped pairs each: {total:,} matches"
    )
    results = _play_all(demo.plan(game, agents, pairs, options.seed), total, options.lanes)
    console.print(_standings(demo.table(agents, results)))
    console.print(f"[dim]digest {run_digest(results)}, the same however it is run[/]")


def _play(options: argparse.Namespace) -> None:
    texts = dict(_pair(text) for text in options.option)
    game = new_game(options.game, texts)
    players = tuple(_agent(game, name) for name in options.agents)
    _check_seed(options.seed)
    spec = MatchSpec("match", game.spec, players, options.seed, options.start, Limits(options.steps))
    with SequentialMatchExecutor(lanes=1) as executor:
        result = executor.execute_match(spec)
    _tell(game, result)
    if options.save:
        try:
            replay.save(options.save, spec, result)
        except OSError as error:
            raise BadValue("--save", str(options.save), f"a file that can be written ({error.strerror})") from None
        console.print(f"saved as {options.save}")


def _replay(options: argparse.Namespace) -> None:
    record, playback = replay.load(options.file)
    step = playback.steps if options.step is None else options.step
    if not 0 <= step <= playback.steps:
        raise BadValue("--step", step, f"from 0 to {playback.steps}")
    playback.seek(step)
    _tell(playback.game, record.result)
    console.print(f"Played again: the same scores and statistics. {playback.scene().caption}.")
    if options.png:
        from league_app.visual.paint import save_png  # pygame is needed for pictures only

        save_png(playback.scene(), options.png)
        console.print(f"drawn to {options.png}")


def _list(options: argparse.Namespace) -> None:
    del options
    listing = Table(box=None, pad_edge=False, header_style="dim")
    for heading in ("", "name", "what"):
        listing.add_column(heading)
    for name, made in GAMES.working().items():
        game = made(made.Options())
        listing.add_row("game", name, f"{game.info.title}, {game.info.seats} seats, {game.info.actions} actions")
        for field in dataclasses.fields(made.Options):
            listing.add_row("", "", Text(f"-o {field.name}={field.default}: {field.metadata.get('help', '')}", "dim"))
        for kind, one in KINDS.working().items():
            if one.plays(game):
                listing.add_row("agents", kind, ", ".join(agent.id for agent in one.samples(game)))
    for noun, registry in (("format", FORMATS), ("trainer", TRAINERS)):
        for name in registry.working():
            listing.add_row(noun, name, "")
    console.print(listing)
    _tell_problems()


def _check(options: argparse.Namespace) -> None:
    games, kinds = GAMES.working(), KINDS.working()
    for name in options.names:
        if name not in games and name not in kinds:
            raise UnknownName("game or agent kind", name, [*games, *kinds])
    for name, made in games.items():
        game = made(made.Options())
        if not options.names or name in options.names:
            _checked(f"game {name}", check_game, game)
        for kind, one in kinds.items():
            if one.plays(game) and (not options.names or kind in options.names):
                _checked(f"agents {kind} in {name}", check_kind, one, game)
    _tell_problems()


def _compile(options: argparse.Namespace) -> None:
    """Every kernel is reached by a short match, its record, and its replay."""
    del options
    sweep_cache()
    for name, made in GAMES.working().items():
        since = time.perf_counter()
        game = made(made.Options())
        for kind in KINDS.working().values():
            agents = list(kind.samples(game)) if kind.plays(game) else []
            if agents:
                players = tuple(agents[seat % len(agents)] for seat in range(game.info.seats))
                spec = MatchSpec("match", game.spec, players, 1, None, Limits(40))
                with SequentialMatchExecutor(lanes=2) as executor:
                    replay.verified(spec, executor.execute_match(spec))
        console.print(f"kernels of {name}: {time.perf_counter() - since:.1f} s")
    _tell_problems()


# Words and tables


class _Rate(ProgressColumn):
    """Matches a second."""

    def render(self, task: Task) -> Text:
        speed = task.finished_speed or task.speed
        return Text(f"{speed:,.0f}/s" if speed else "", "cyan")


def _play_all(specs: Iterable[MatchSpec], total: int, lanes: int) -> list[MatchResult]:
    columns = (TextColumn("{task.description}"), BarColumn(40), MofNCompleteColumn(), _Rate(), TimeRemainingColumn())
    results = []
    with SequentialMatchExecutor(lanes) as executor, Progress(*columns, console=console) as progress:
        task = progress.add_task("playing", total=total)
        for result in executor.run(specs):
            results.append(result)
            progress.advance(task)
    return results


def _standings(rows: Sequence[demo.Row]) -> Table:
    """Places, games, and the share won against each of the others."""
    shown = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 2, 0, 0))
    shown.add_column("#", justify="right")
    shown.add_column("agent")
    for heading in ("won-drawn-lost", "score", "points"):
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
            f"{total.score:.1%}",
            f"{row.scored / games:.1f}-{row.conceded / games:.1f}",
            *(f"{row.against[one.agent].score:.0%}" if one.agent in row.against else "-" for one in rows),
        )
    return shown


def _tell(game: Game, result: MatchResult) -> None:
    """One match: who, how it ended, and the statistics of each seat."""
    shown = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 2, 0, 0))
    shown.add_column("seat")
    for seat, player in enumerate(result.players):
        shown.add_column(Text(f"{seat} {player}"), justify="right")
    shown.add_row("rank", *(str(rank) for rank in result.ranks))
    shown.add_row("score", *(f"{score:g}" for score in result.scores))
    for row, name in enumerate(game.info.stats):
        shown.add_row(name.replace("_", " "), *(f"{stats[row]:.4g}" for stats in result.stats))
    console.print(shown)
    blame = f" by seat {', '.join(map(str, result.ending.seats))}" if result.ending.seats else ""
    reason = f": {result.ending.reason}" if result.ending.reason else ""
    console.print(Text(f"{game.info.title}: {result.ending.kind.value}{blame} after {result.steps} steps{reason}"))


def _tell_problems() -> None:
    for registry in (GAMES, KINDS, FORMATS, TRAINERS):
        for problem in registry.problems.values():
            print(f"ringside: {problem}", file=sys.stderr)  # noqa: T201


def _checked(what: str, check: Callable[..., None], *subject: object) -> None:
    try:
        check(*subject)
    except AssertionError as error:
        raise RingsideError(f"{what}: {error}") from None
    console.print(f"{what}: keeps its promises")


def _agent(game: Game, name: str) -> AgentSpec:
    """A ready-made agent by its name, or kind:payload."""
    kinds = {kind: one for kind, one in KINDS.working().items() if one.plays(game)}
    kind, colon, payload = name.partition(":")
    if colon:
        if kind not in kinds:
            raise UnknownName(f"agent kind for {game.spec.name}", kind, kinds)
        return AgentSpec(name, kind, payload.encode(), kinds[kind].version)
    known = {agent.id: agent for one in kinds.values() for agent in one.samples(game)}
    if name not in known:
        raise UnknownName(f"agent for {game.spec.name}", name, known)
    return known[name]


def _pair(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals:
        raise BadValue("--option", text, "NAME=VALUE")
    return name, value


def _check_seed(seed: int) -> None:
    if not 0 <= seed < SEED_LIMIT:
        raise BadValue("--seed", seed, "from 0 to 2**64 - 1")
