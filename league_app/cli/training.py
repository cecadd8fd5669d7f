"""Training: `ringside train neat` and whatever other trainers are installed, resuming them, and what came of them."""

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
from engine.errors import BadValue
from engine.files import check_path
from engine.league.storage.database import SUFFIX
from engine.league.records import State
from engine.league.storage.session_rows import Series, Session
from engine.league.storage.sessions import Sessions
from engine.options import parse
from engine.play.concurrent import MOST_WORKERS, default_workers
from engine.registry import TRAINERS, new_game
from league_app.cli.common import check_whole, command, looking, pairs_of
from league_app.cli.leagues import csv_lines, write_lines
from league_app.core.state import LeagueState
from league_app.core.tensorboard import export
from league_app.cli.output import Answer, console, lasting, line, many, progress, say, show_curves, table, words
from league_app.core.training_jobs import TrainingJob

SAID = ("mode", "seed")  # settings that are told even if they are the usual ones
USUAL = f"training{SUFFIX}"
LINES = 10.0  # seconds between two lines of progress where there is no terminal


class _Late(argparse.ArgumentParser):
    """A parser that learns its arguments when it is used: those of a trainer are the fields of its class, and loading
    all trainers for every other command would take a while."""

    fill: Callable[[], None] | None = None

    def parse_known_args(self, *args: Any, **kwargs: Any) -> Any:
        fill, self.fill = self.fill, None
        if fill is not None:
            fill()
        return super().parse_known_args(*args, **kwargs)

    def error(self, message: str) -> Any:
        say(f"{message} (`{self.prog} --help` shows how)")
        sys.exit(2)


def add(commands: Any) -> None:
    about = "train agents, resume, list and show training sessions of a league"
    one = commands.add_parser("train", help=about, description=about[0].upper() + about[1:] + ".")
    under = one.add_subparsers(title="commands", metavar="COMMAND", required=True, parser_class=_Late)
    for name in TRAINERS.names():
        examples = [f"train {name} my.league", f"train {name} my.league --game pong --name first --workers 2"]
        if name == "neat":
            examples += ["train neat my.league --mode self-play --minutes 10", "train neat --preset '60 seconds'"]
        parser: Any = command(under, name, f"train with {name}; Ctrl-C saves a checkpoint first", train, examples)
        parser.set_defaults(trainer=name)
        parser.fill = lambda parser=parser, name=name: describe(parser, name)
    add_rest(under)


def add_rest(under: Any) -> None:
    one = command(
        under,
        "resume",
        "go on from the last checkpoint",
        resume,
        ["train resume my.league", "train resume my.league 3 --set generations=400"],
    )
    which(one)
    one.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="a setting that is another now")
    one.add_argument("--workers", type=int, help="worker processes")
    command(under, "list", "all sessions of a league", listing, ["train list my.league"]).add_argument("league")
    one = command(
        under,
        "show",
        "a session: settings, metrics, checkpoints",
        show,
        ["train show my.league", "train show my.league 3"],
    )
    which(one)
    one = command(
        under,
        "enter",
        "put the best player of a checkpoint into the league",
        enter,
        ["train enter my.league 3", "train enter my.league 3 --step 40 --name Early"],
    )
    which(one)
    one.add_argument("--step", type=int, help="of the checkpoint (the newest)")
    one.add_argument("--name", help="what it is called (as the session)")
    one = command(
        under,
        "export",
        "the metrics of a session for TensorBoard, as CSV where the name ends in .csv",
        export_metrics,
        ["train export my.league 3 --to runs/third", "train export my.league 3 --to third.csv"],
    )
    which(one)
    one.add_argument("--to", required=True, metavar="FOLDER|FILE.csv")


def which(one: argparse.ArgumentParser) -> None:
    one.add_argument("league")
    one.add_argument("session", nargs="?", help="by number or name (the latest)")


def describe(parser: argparse.ArgumentParser, name: str) -> None:
    """The arguments of a trainer: the fields of its class."""
    kind: Any = TRAINERS.get(name)
    parser.description = f"{kind.about}. {parser.description}"
    parser.add_argument("league", nargs="?", help=f"the league (without one, {USUAL} in this folder, made if need be)")
    parser.add_argument("--game", help="what to learn (what the league plays; in a new one, pong)")
    told = "an option of the game"
    parser.add_argument("--option", "-o", action="append", default=[], metavar="NAME=VALUE", help=told)
    parser.add_argument("--name", dest="session_name", help="what the session is called")
    parser.add_argument("--from", dest="ancestor", metavar="AGENT", help="an agent of the league to start from")
    parser.add_argument("--workers", type=int, help=f"worker processes (one less than cores: {default_workers()})")
    told = f"settings that go well together: {', '.join(map(repr, kind.presets)) or 'this trainer has none'}"
    parser.add_argument("--preset", help=told.replace("%", "%%"))
    explained = "\n".join(f"  {metric}: {what}" for metric, what in kind.metrics.items())
    parser.epilog = f"{parser.epilog}\n\nmetrics:\n{explained}"
    group = parser.add_argument_group(f"settings of {name}")
    for field in dataclasses.fields(kind):
        rules = field.metadata
        choices = f" ({', '.join(map(str, rules['choices']))})" if rules.get("choices") else ""
        usual = f" ({field.default})" if field.default != "" else ""
        told = f"{rules.get('help', '')}{choices}{usual}".replace("%", "%%")
        group.add_argument(f"--{field.name.replace('_', '-')}", dest=f"set_{field.name}", metavar="VALUE", help=told)


# Running


def train(options: argparse.Namespace) -> Answer:
    kind: Any = TRAINERS.get(options.trainer)
    settings: dict[str, object] = {}
    if options.preset is not None:
        if options.preset not in kind.presets:
            raise BadValue(
                "--preset", options.preset, f"one of {', '.join(map(repr, kind.presets)) or 'none: it has no'}"
            )
        settings |= kind.presets[options.preset]
    texts = {field.name: getattr(options, f"set_{field.name}") for field in dataclasses.fields(kind)}
    given = {name: text for name, text in texts.items() if text is not None}
    parsed = parse(kind, given, f"setting of {options.trainer}")
    settings |= {name: getattr(parsed, name) for name in given}
    if options.workers is not None:
        check_whole("--workers", options.workers, 1, MOST_WORKERS)
    with opened(options.league, options.game or "pong") as state:
        if options.workers is not None:
            state.budget.cores = options.workers
        game: Any = options.game or (None if state.agents() else "pong")
        if options.option:
            game = new_game(game or state.game_of().name, pairs_of(options.option, "--option")).spec
        job = state.training.start(
            options.trainer, settings, game=game, name=options.session_name, ancestor=options.ancestor
        )
        return finish(state, job, follow(job, options.json), options.json)


def opened(path: str | None, game: str) -> LeagueState:
    """The league; the usual one is made if it is not there, with somebody to beat."""
    if path is not None or Path(USUAL).exists():
        return LeagueState(path or USUAL)
    new_game(game)
    state = LeagueState.new(USUAL)
    state.add_samples(game)
    return state


def resume(options: argparse.Namespace) -> Answer:
    with LeagueState(options.league) as state:
        if options.workers is not None:
            check_whole("--workers", options.workers, 1, MOST_WORKERS)
            state.budget.cores = options.workers
        texts = pairs_of(options.set, "--set")
        changes: dict[str, object] = {}
        if texts:
            unfinished = state.training.unfinished()
            latest = unfinished[-1].number if options.session is None and unfinished else options.session
            session = state.training.sessions.session(latest)
            made = parse(TRAINERS.get(session.trainer), texts, f"setting of {session.trainer}")
            changes = {name: getattr(made, name) for name in texts}
            options.session = session.number
        job = state.training.resume(options.session, changes)
        return finish(state, job, follow(job, options.json), options.json)


def follow(job: TrainingJob, quiet: bool) -> list[int]:
    """Until it is over; the signals that came: the first asks for a last checkpoint, the second ends it now."""
    came: list[int] = []

    def note(number: int, frame: FrameType | None) -> None:
        """No more than that, as with tournaments."""
        came.append(number)

    numbers = [signal.SIGINT, signal.SIGTERM, *([signal.SIGHUP] if hasattr(signal, "SIGHUP") else [])]
    before = {number: signal.signal(number, note) for number in numbers}
    try:
        with progress(quiet, rate=False) as bar:
            if not quiet:
                line(f"{job.number}: {job.name}")
            task, heeded, told, trouble, shown = bar.add_task("starting", total=None), 0, 0, "", 0.0
            while job.wait(0.1) is None:
                if len(came) > heeded:
                    heeded = len(came)
                    job.kill() if heeded > 1 else job.stop()
                told = _tell_logs(job, told, quiet)
                if job.trouble != trouble:
                    trouble = job.trouble
                    say(trouble or "the disk takes it again")
                now = job.progress
                text = "saving a checkpoint, Ctrl-C again ends it at once" if came else in_words(now)
                advance(bar, task, now, text)
                if now and not quiet and not console.is_terminal and time.monotonic() - shown > LINES:
                    line(f"{now.step}: {text}")  # a pipe shows no bar
                    shown = time.monotonic()
            _tell_logs(job, told, quiet)
            advance(bar, task, job.progress, "trained" if not came else "stopped")
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    return came


def advance(bar: Bar, task: TaskID, now: Progress | None, text: str) -> None:
    done, total = (now.step, now.total or None) if now else (0, None)
    bar.update(task, description=text, total=total, completed=done, visible=now is not None or text != "trained")


def in_words(now: Progress | None) -> str:
    """How far it is, and how long it will take."""
    if now is None:
        return "starting (the first time, kernels are compiled)"
    left = f", {lasting(now.seconds_left)} left" if now.seconds_left is not None else ""
    return f"{now.text}{left}"


def _tell_logs(job: TrainingJob, told: int, quiet: bool) -> int:
    count, logs = job.remarks, list(job.logs)
    for log in logs[max(len(logs) - (count - told), 0) :]:
        for text in log.text.splitlines() if not quiet else ():
            line(text, "yellow" if log.level is Level.WARNING else "dim")
    return count


def finish(state: LeagueState, job: TrainingJob, signals: Sequence[int], quiet: bool) -> Answer:
    session, path = job.session, state.league.path.name
    told = summary(state.training.sessions, session)
    failed = session.note.startswith("failed")
    status = 0 if session.state is State.FINISHED else 1 if failed else 128 + signals[0] if signals else 3

    def show() -> None:
        show_curves(explained(session.trainer), told["metrics"])
        if session.state is State.FINISHED:
            line(f"finished: {session.note}")
        for agent in job.champions:
            line(f"{agent.name} has entered {path}: {agent.notes}")
            what = f"match {shlex.quote(path)} {shlex.quote(agent.name)} OPPONENT --pairs 100"
            line(f"`ringside {what}` shows what it can do", "dim")
        if session.state is not State.FINISHED:
            sys.stdout.flush()
            kept = [one.step for one in told["checkpoints"] if one.resumable]
            where = f"{shlex.quote(path)} {session.number}"
            at = f"; `ringside train resume {where}` goes on from step {kept[-1]}" if kept else ""
            best = any(one.kind for one in told["checkpoints"])
            player = f", `ringside train enter {where}` enters its best player so far" if best else ""
            say(f"{session.note or 'stopped'}{at}{player}")

    told |= {"champions": job.champions, "logs": list(job.logs)}
    return Answer(told, show, status)


# Looking


def summary(sessions: Sessions, session: Session) -> dict[str, Any]:
    return {
        "session": session,
        "metrics": sessions.metrics(session.number),
        "checkpoints": sessions.checkpoints(session.number),
    }


def listing(options: argparse.Namespace) -> Answer:
    with looking(options.league) as league:
        sessions = Sessions(league)
        every = sessions.every()
        shares = {one.number: sessions.metrics(one.number, ["validation/share"]) for one in every}
        steps = {one.number: sessions.steps(one.number) for one in every}

    def show() -> None:
        shown = table(">number", "name", "trainer", "game", ">steps", "state", ">best", "note")
        for one in every:
            share = shares[one.number].get("validation/share")
            best = f"{share.values.max():.0%}" if share is not None and len(share.values) else "-"
            told = (words(one.name), words(one.trainer), words(one.game.name))
            shown.add_row(str(one.number), *told, str(steps[one.number]), one.state.value, best, words(one.note))
        console.print(shown)

    return Answer(every, show if every else lambda: line("no training sessions yet"))


def show(options: argparse.Namespace) -> Answer:
    with looking(options.league) as league:
        sessions, names = Sessions(league), league.names()
        session = sessions.session(options.session)
        told = summary(sessions, session)

    def shown() -> None:
        line(f"{session.number}: {session.name}, {session.trainer} on {session.game.name}, {session.state.value}")
        if session.note:
            line(session.note, "yellow" if session.note.startswith("failed") else "")
        usual = _defaults(session.trainer)
        told_of = [(name, value) for name, value in session.config if name in SAID or usual.get(name) != value]
        line(f"settings: {', '.join(f'{name} {value}' for name, value in told_of)} (the others are as usual)", "dim")
        show_curves(explained(session.trainer), told["metrics"])
        for one in told["checkpoints"]:
            entered = f", in the league as {names.get(one.agent, one.agent)}" if one.agent else ""
            state = f", {one.size / 1e6:.1f} MB to resume from" if one.resumable else ""
            line(f"checkpoint {one.step}: {one.about or 'no player yet'}{state}{entered}")

    return Answer(told, shown)


def explained(trainer: str) -> list[str]:
    """The names of its metrics, in its order."""
    return list(TRAINERS.get(trainer).metrics) if trainer in TRAINERS.names() else []


def _defaults(trainer: str) -> dict[str, object]:
    if trainer not in TRAINERS.names():
        return {}
    return {field.name: field.default for field in dataclasses.fields(TRAINERS.get(trainer))}


def enter(options: argparse.Namespace) -> Answer:
    with LeagueState(options.league) as state:
        agent = state.training.enter(options.session, options.step, options.name)
    return Answer(agent, lambda: line(f"{agent.name} has entered {options.league}: {agent.notes}"))


def export_metrics(options: argparse.Namespace) -> Answer:
    with looking(options.league) as league:
        sessions = Sessions(league)
        session = sessions.session(options.session)
        metrics = sessions.metrics(session.number)
    if not metrics:
        raise BadValue("session", session.number, "one that has measured something")
    table = options.to.lower().endswith(".csv")
    target = write_csv(metrics, options.to) if table else export(metrics, session.created, options.to)
    count = sum(len(series.steps) for series in metrics.values())
    told = f"{many(count, 'value')} of {many(len(metrics), 'metric')} written to {target}"
    shows = (
        ""
        if table
        else f"; `tensorboard --logdir {shlex.quote(options.to)}`, which is not part of Ringside, shows them"
    )
    return Answer({"file": str(target), "values": count}, lambda: line(told + shows))


def write_csv(metrics: dict[str, Series], path: str) -> Path:
    rows = (
        {"metric": name, "step": step, "at": at, "value": value}
        for name, series in metrics.items()
        for step, at, value in zip(series.steps.tolist(), series.at.tolist(), series.values.tolist(), strict=True)
    )
    write_lines(check_path("--to", path), csv_lines(rows))
    return Path(path)
