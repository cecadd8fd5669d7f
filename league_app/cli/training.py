"""Commands that train: one for each trainer, and resume."""

from __future__ import annotations

import argparse
import dataclasses
import shlex
import signal
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import FrameType
from typing import Any

from rich.progress import Progress as Bar
from rich.progress import TaskID

from agents.training.events import Level, Progress
from agents.training.trainer import presets_for
from engine.errors import BadValue
from engine.league.records import RunState
from engine.league.storage.database import SUFFIX
from engine.options import parse
from engine.play.play_settings import MOST_WORKERS, default_workers
from engine.registry import TRAINERS, agents_for, game_of, new_game
from league_app.cli import training_sessions
from league_app.cli.common import add_executor_option, check_whole, command, parse_pairs, to_play
from league_app.cli.output import (
    CommandResult,
    announce_compilation,
    console,
    duration,
    print_error,
    print_line,
    program_name,
    progress,
    show_curves,
)
from league_app.cli.training_sessions import add_session_arguments, metric_names, summary
from league_app.core.state import LeagueState
from league_app.core.trainers import SEED, trainer_facts
from league_app.core.training_job import ANCESTOR, TrainingJob
from league_app.core.validation import rename_ancestor, resolve_game_name

DEFAULT_LEAGUE = f"training{SUFFIX}"
HIDDEN = argparse.SUPPRESS  # accepted, so that the trainer can say why it refuses it
LINES = 10.0  # seconds between two progress lines without a terminal


class _LazyParser(argparse.ArgumentParser):
    """Adds its arguments when it is used: those of a trainer are the fields of its class, and importing all trainers
    would slow down every other command."""

    fill: Callable[[], None] | None = None

    def parse_known_args(self, *args: Any, **kwargs: Any) -> Any:
        fill, self.fill = self.fill, None
        if fill is not None:
            fill()
        return super().parse_known_args(*args, **kwargs)

    def error(self, message: str) -> Any:
        print_error(f"{message} (see `{self.prog} --help`)")
        sys.exit(2)


def add(commands: Any) -> None:
    about = "train agents, resume, list and show training sessions of a league"
    train_parser = commands.add_parser("train", help=about, description=about[0].upper() + about[1:] + ".")
    under = train_parser.add_subparsers(title="commands", metavar="COMMAND", required=True, parser_class=_LazyParser)
    for name in TRAINERS.names():
        examples = [f"train {name} my.league", f"train {name} my.league --game pong --name first --workers 2"]
        parser: Any = command(under, name, f"train with {name}; Ctrl-C saves a checkpoint and stops", train, examples)
        parser.set_defaults(trainer=name)
        parser.fill = lambda parser=parser, name=name: add_trainer_arguments(parser, name)
    add_resume(under)
    training_sessions.add(under)


def add_resume(under: Any) -> None:
    parser = command(
        under,
        "resume",
        "resume a session from its last checkpoint",
        resume,
        ["train resume my.league", "train resume my.league 3 --set NAME=VALUE"],
    )
    add_session_arguments(parser)
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="change a setting; repeatable")
    parser.add_argument("--workers", type=int, help="worker processes")
    add_executor_option(parser)


def add_trainer_arguments(parser: argparse.ArgumentParser, name: str) -> None:
    """Adds the arguments of a trainer: the fields of its class."""
    kind: Any = TRAINERS.get(name)
    parser.description = f"{kind.about}. {parser.description}"
    parser.add_argument(
        "league",
        nargs="?",
        help=f"an existing league; by default {DEFAULT_LEAGUE} in this folder, which is created if missing",
    )
    parser.add_argument("--game", help="the game (default: the league's game; pong in a new league)")
    help_text = "an option of the game"
    parser.add_argument("--option", "-o", action="append", default=[], metavar="NAME=VALUE", help=help_text)
    parser.add_argument("--name", dest="session_name", help="name of the session")
    start_text = "start from this agent of the league instead of random networks"
    parser.add_argument(
        "--from",
        dest="ancestor",
        metavar="AGENT",
        help=start_text if trainer_facts(name).starts_from_agent else HIDDEN,
    )
    parser.add_argument("--workers", type=int, help=f"worker processes (default: cores - 1 = {default_workers()})")
    add_executor_option(parser)
    games = {preset: f" ({', '.join(some)})" for preset, some in getattr(kind, "preset_games", {}).items()}
    listed = ", ".join(f"{preset!r}{games.get(preset, '')}" for preset in kind.presets) or "this trainer has none"
    parser.add_argument("--preset", help=f"predefined settings: {listed}".replace("%", "%%"))
    presets = "".join(
        f"\n  {program_name()} train {name} my.league --preset {shlex.quote(preset)}" for preset in kind.presets
    )
    explained = "\n".join(f"  {metric}: {declared.about}" for metric, declared in kind.metrics.items())
    parser.epilog = f"{parser.epilog}{presets}\n\nmetrics:\n{explained}"
    group = parser.add_argument_group(f"settings of {name}")
    for field in dataclasses.fields(kind):
        rules = field.metadata
        choices = f" ({', '.join(map(str, rules['choices']))})" if rules.get("choices") else ""
        usual = f" (default {field.default})" if field.default != "" else ""
        usual = " (default: the number of the session)" if field.name == SEED else usual
        help_text = f"{rules.get('help', '')}{choices}{usual}".replace("%", "%%")
        bare: Any = {} if rules.get("bare") is None else {"nargs": "?", "const": rules["bare"]}
        name_of = f"--{field.name.replace('_', '-')}"
        group.add_argument(name_of, dest=f"set_{field.name}", metavar="VALUE", help=help_text, **bare)


# Running


def train(options: argparse.Namespace) -> CommandResult:
    kind: Any = TRAINERS.get(options.trainer)
    settings: dict[str, object] = {}
    if options.preset is not None:
        if options.preset not in kind.presets:
            raise BadValue(
                "--preset",
                options.preset,
                f"one of {', '.join(map(repr, kind.presets)) or 'none: it has no presets'}",
            )
        settings |= kind.presets[options.preset]
    texts = {field.name: getattr(options, f"set_{field.name}") for field in dataclasses.fields(kind)}
    given = {name: text for name, text in texts.items() if text is not None}
    parsed = parse(kind, given, f"setting of {options.trainer}")
    settings |= {name: getattr(parsed, name) for name in given}
    if options.workers is not None:
        check_whole("--workers", options.workers, 1, MOST_WORKERS)
    with to_play(open_or_create(options.league, options.game or "pong", options.on)) as state:
        if options.workers is not None:
            state.budget.cores = options.workers
        game: Any = options.game or (None if state.agents() else "pong")
        name = game or resolve_game_name(state.league)
        _check_preset_game(kind, options.preset, name, options.json)
        if options.option:
            game = new_game(name, parse_pairs(options.option, "--option")).spec
        try:
            job = state.training.start(
                options.trainer, settings, game=game, name=options.session_name, ancestor=options.ancestor
            )
        except BadValue as error:
            raise rename_ancestor(error, "--from", options.ancestor) from None
        return finish(state, job, follow(job, options.json), options.json)


def _check_preset_game(kind: Any, preset: str | None, game: str, quiet: bool) -> None:
    """Raises BadValue if the preset is for other games; names the presets for this game if none was chosen."""
    fitting = list(presets_for(kind, game))
    if preset is not None and preset not in fitting:
        needed = f"one for {game}: {', '.join(map(repr, fitting)) or 'there is none'}"
        raise BadValue("--preset", preset, needed)
    own = [name for name in fitting if getattr(kind, "preset_games", {}).get(name)]
    if preset is None and own and not quiet:
        print_line(f"`--preset {shlex.quote(own[0])}` has settings for {game}; this session has the defaults", "dim")


def open_or_create(path: str | None, game: str, on: str | None) -> LeagueState:
    """Opens the league; the default one is created if missing, with ready-made opponents."""
    if path is not None or Path(DEFAULT_LEAGUE).exists():
        return LeagueState(path or DEFAULT_LEAGUE, on=on)
    new_game(game)
    state = LeagueState.new(DEFAULT_LEAGUE, on=on)
    state.add_samples(game)
    return state


def resume(options: argparse.Namespace) -> CommandResult:
    with to_play(LeagueState(options.league, on=options.on)) as state:
        if options.workers is not None:
            check_whole("--workers", options.workers, 1, MOST_WORKERS)
            state.budget.cores = options.workers
        texts = parse_pairs(options.set, "--set")
        changes: dict[str, object] = {}
        if texts:
            unfinished = state.training.unfinished()
            latest = unfinished[-1].number if options.session is None and unfinished else options.session
            session = state.training.sessions.session(latest)
            now = {name: value for name, value in session.config if name != ANCESTOR}
            parsed = parse(TRAINERS.get(session.trainer), texts, f"setting of {session.trainer}", now)
            changes = {name: getattr(parsed, name) for name in texts}
            options.session = session.number
        job = state.training.resume(options.session, changes)
        return finish(state, job, follow(job, options.json), options.json)


def follow(job: TrainingJob, quiet: bool) -> list[int]:
    """Waits for the end and returns the signals: the first saves a checkpoint and stops, the second stops now."""
    received: list[int] = []

    def note(number: int, frame: FrameType | None) -> None:
        """Only records the signal, as in `tournaments.play`."""
        received.append(number)

    numbers = [signal.SIGINT, signal.SIGTERM, *([signal.SIGHUP] if hasattr(signal, "SIGHUP") else [])]
    before = {number: signal.signal(number, note) for number in numbers}
    try:
        if not quiet:
            print_line(f"{job.number}: {job.name}")
        game = game_of(job.session.game)
        opponents = [agent for agents in agents_for(game).values() for agent in agents]
        announce_compilation(game.spec.name, opponents, quiet)
        with progress(quiet, rate=False) as bar:
            task, handled, printed, trouble, lines = bar.add_task("starting", total=None), 0, 0, "", ProgressLines()
            while job.wait(0.1) is None:
                if len(received) > handled:
                    handled = len(received)
                    job.kill() if handled > 1 else job.stop()
                printed = _print_logs(job, printed, quiet)
                if job.trouble != trouble:
                    trouble = job.trouble
                    print_error(trouble or "saving works again")
                now = job.progress
                saving = "saving a checkpoint; press Ctrl-C again to stop at once"
                text = saving if received else progress_text(now, job.unit)
                advance(bar, task, now, text)
                if now and not quiet and not console.is_terminal and lines.due(text):
                    print_line(text)  # a pipe shows no progress bar
            _print_logs(job, printed, quiet)
            advance(bar, task, job.progress, "trained" if not received else "stopped")
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    return received


class ProgressLines:
    """Which progress lines are printed: one at a time, and none twice in a row."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock, self._printed, self._next = clock, "", 0.0

    def due(self, text: str) -> bool:
        """Whether to print this line now; if so, it counts as printed."""
        if text == self._printed or (now := self._clock()) < self._next:
            return False
        self._printed, self._next = text, now + LINES
        return True


def advance(bar: Bar, task: TaskID, now: Progress | None, text: str) -> None:
    done = now.fraction if now else None
    total, shown = (None, 0.0) if done is None else (1.0, done)
    bar.update(task, description=text, total=total, completed=shown, visible=now is not None or text != "trained")


def progress_text(now: Progress | None, unit: str) -> str:
    """Progress and remaining time."""
    if now is None:
        return "starting"
    left = f", {duration(now.seconds_left)} left" if now.seconds_left is not None else ""
    total = f" of {now.total:,}" if now.total else ""
    return f"{unit} {now.step:,}{total}: {now.text}{left}"


def _print_logs(job: TrainingJob, printed: int, quiet: bool) -> int:
    count, logs = job.log_count, list(job.logs)
    for log in logs[max(len(logs) - (count - printed), 0) :]:
        for text in log.text.splitlines() if not quiet else ():
            print_line(text, "yellow" if log.level is Level.WARNING else "dim")
    return count


def finish(state: LeagueState, job: TrainingJob, signals: Sequence[int], quiet: bool) -> CommandResult:
    session, path = job.session, state.league.path.name
    report = summary(state.training.sessions, session)
    status = 0 if session.state is RunState.FINISHED else 1 if session.failed else 128 + signals[0] if signals else 3

    def show() -> None:
        show_curves(metric_names(session.trainer), report["metrics"])
        if session.state is RunState.FINISHED:
            print_line(f"finished: {session.note}")
        for agent in job.champions:
            print_line(f"{agent.name} joined {path}: {agent.notes}")
            seats, who = new_game(agent.game).info.seats, f"{shlex.quote(agent.name)} OPPONENT"
            several = f"tournament run {shlex.quote(path)} --agents {who}{' OPPONENT' * (seats - 2)} --rounds 10"
            pairs = f"match {shlex.quote(path)} {who} --pairs 100"
            command_line = several if seats > 2 else pairs  # pairs are for two seats
            print_line(f"`ringside {command_line}` tests its strength", "dim")
        if session.state is not RunState.FINISHED:
            sys.stdout.flush()
            resumable = [checkpoint.step for checkpoint in report["checkpoints"] if checkpoint.resumable]
            where = f"{shlex.quote(path)} {session.number}"
            step = f"{job.unit} {resumable[-1]}" if resumable else ""
            at = f"; `ringside train resume {where}` resumes from {step}" if resumable else ""
            roles = [player.role for checkpoint in report["checkpoints"][-1:] for player in checkpoint.players]
            which = f" --role {shlex.quote(roles[0])}" if len(roles) > 1 else ""
            player = f", `ringside train enter {where}{which}` adds its best player so far" if roles else ""
            print_error(f"{session.ending or 'stopped'}{at}{player}")

    report |= {"champions": job.champions, "logs": list(job.logs)}
    return CommandResult(report, show, status)
