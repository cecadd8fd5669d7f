"""Searches for an architecture that learns to play as the agents of a league do: the loop of the trainer `hybrid`.

Lessons are what models learn, a search says which models are trained, and an evaluator trains several at once. `run`
has the state, `config` the settings.
"""

from __future__ import annotations

import math
import time
from collections.abc import Collection, Generator, Iterator, Sequence

from agents.training.events import (
    Champion,
    Ended,
    Event,
    How,
    Level,
    Log,
    Metrics,
    Progress,
    Span,
    Spans,
    Workers,
)
from agents.training.hybrid.config import LEARNING_KINDS, HybridConfig
from agents.training.hybrid.evaluation import Evaluator
from agents.training.hybrid.evaluators import check_available, device_names, new_evaluator
from agents.training.hybrid.lessons.lessons import Lessons, lessons_from
from agents.training.hybrid.members import Generation
from agents.training.hybrid.run import Run
from agents.training.hybrid.search import CONVERGED, TARGET
from agents.training.hybrid.search_settings import SPECIES
from agents.training.matchmaking import ready_bots
from agents.training.pace import Pace
from agents.training.trainer import Context
from agents.training.validation import share_metrics, share_of, validate
from engine.clock import now
from engine.game import Game
from engine.registry import game_of

EVERY = 1.0  # seconds between two reports of workers and spans
TRAINER = "trainer"  # the row of the timeline for what it does itself
SAVE_EVERY = 60.0  # seconds between two checkpoints in a generation


def train(settings: HybridConfig, context: Context) -> Iterator[Event]:
    game, console = game_of(context.game), Console(context)
    console.begin_span()
    if context.state is not None:
        run = Run.resumed(settings, game, context.state)
    else:
        check_available(device_names(settings.devices))  # before lessons, which may take long
        lessons = _lessons(settings, context, game, console)
        console.end_span("lessons")
        if lessons is None:
            yield Ended(How.STOPPED, "stopped before its examples were complete; it begins again when it is resumed")
            return
        run = Run(settings, game, lessons)
        yield run.checkpoint()
    task = run.lessons.task(game)
    yield Log(f"models learn from {len(task.train):,} positions, and are compared on {len(task.select):,} others")
    with new_evaluator(
        task,
        settings.plan(),
        settings.concurrency(),
        cores=context.workers,
        note=console.note,
        span=console.add_trained,
    ) as evaluator:
        console.evaluator = evaluator
        reason = yield from _generations(run, context, evaluator, console)
        console.report(whole=True)
    yield run.checkpoint()
    done = run.search.generation
    if reason is None:
        yield Ended(How.STOPPED, f"stopped after {_count_of(done)}{run.unfinished}")
        return
    if run.best is not None:
        yield Champion(done, run.player(run.best))
    yield Ended(How.FINISHED, reason)


def _lessons(settings: HybridConfig, context: Context, game: Game, console: Console) -> Lessons | None:
    """The positions and answers that models learn; None if it was stopped."""

    def show(done: int, total: int) -> None:
        context.send(Progress(0, settings.max_generations, f"{done:,} of {total:,} positions to learn from"))

    return lessons_from(
        context.records,
        context.agents,
        game,
        settings.lessons(),
        seed=settings.seed,
        stop=console.attend,
        progress=show,
        note=console.note,
    )


def _generations(
    run: Run, context: Context, evaluator: Evaluator, console: Console
) -> Generator[Event, None, str | None]:
    """Breeds and trains generations; returns why that ended, None if it was stopped."""
    search, settings = run.search, run.settings
    pace = Pace(settings, search.generation, time.monotonic)
    resumed = search.generation > 0
    while True:
        if search.completed:
            if run.unvalidated is not None:
                if settings.validate_pairs and not resumed:
                    yield run.checkpoint()  # matches may take longer than the generation
                console.begin_span()
                if not (yield from _validate(run, context)):
                    return None
                console.end_span("validate")
            if not resumed:
                yield run.checkpoint()
            if (reason := _end_reason(run, pace)) is not None:
                return reason
        elif search.end_reason() is not None:  # the limit was lowered at a resume
            return _end_reason(run, pace)
        resumed = False
        waiting = {genome.key for genome in search.pending()}
        if not (yield from _train_models(run, evaluator, console, pace)):
            return None
        generation = search.advance()
        values = _metrics(run, generation) | _speed(run, waiting, console.take_trained())
        yield Metrics(generation.number, tuple(values.items()))
        yield pace.progress(generation.number, _progress_text(run), generation.best)


def _train_models(run: Run, evaluator: Evaluator, console: Console, pace: Pace) -> Generator[Event, None, bool]:
    """Trains the models of a generation that have no outcome yet; returns False if it was stopped."""
    search, saved = run.search, time.monotonic()
    pending = search.pending()
    numbers = {member.genome.key: member.number for member in reversed(search.members)}
    for done, outcome in enumerate(evaluator.evaluate(pending, console.attend), 1):
        search.tell(outcome)
        if outcome.error:
            yield Log(f"model {numbers[outcome.key]} could not be trained: {outcome.error}", Level.WARNING)
        text = f"{done} of {len(pending)} models of generation {search.generation + 1}"
        yield pace.progress(search.generation, f"{text}, {_progress_text(run)}")
        if time.monotonic() - saved >= SAVE_EVERY and done < len(pending):
            saved = time.monotonic()
            yield run.checkpoint()
    console.report(whole=True)  # its workers are idle while the best model is validated
    return not search.pending()


def _validate(run: Run, context: Context) -> Generator[Event, None, bool]:
    """Lets the best model play fixed bots, always in the same matches; returns False if it was stopped."""
    settings, member = run.settings, run.unvalidated
    assert member is not None
    spec = run.spec_of(member)
    if not settings.validate_pairs:
        run.add_player(member, spec, None)
        return True
    if not run.validated:
        yield Log("the first validation may begin with compilation, which takes up to a minute or two")
    bots = ready_bots(run.game, settings.validate_bots, LEARNING_KINDS)
    found = validate([spec], bots, settings.validate_pairs, settings.seed, run.game, context)
    if found is None:
        return False
    points = found[spec.id]
    run.add_player(member, spec, share_of(points))
    yield Metrics(run.search.generation, tuple(share_metrics(points).items()))
    return True


# Reports


def _metrics(run: Run, generation: Generation) -> dict[str, float]:
    best, search = run.search.best, run.search
    assert best is not None
    assert best.outcome is not None
    values: dict[str, float] = {
        "fitness/best": best.fitness or 0.0,
        "fitness/generation": generation.best,
        "fitness/mean": generation.mean,
        "fitness/spread": generation.spread,
        "population/diversity": generation.diversity,
        "population/mutation": generation.mutation_rate,
        "population/parameters": best.outcome.parameters,
        "models/trained": search.trained,
        "models/known": generation.cached,
        "models/failed": generation.failed,
    }
    if run.settings.selection == SPECIES:
        values["population/species"] = generation.species
    return {name: float(value) for name, value in values.items()}


def _speed(run: Run, keys: Collection[str], spans: Sequence[Span]) -> dict[str, float]:
    """Of the models with these keys: a session that is resumed has trained others of the generation earlier. `spans`:
    when they were trained."""
    outcomes = {member.genome.key: member.outcome for member in run.search.members if member.genome.key in keys}
    if not outcomes or not spans:
        return {}
    seconds = max(covered(spans), 1e-9)
    return {
        "speed/models": 60 * len(outcomes) / seconds,
        "speed/concurrent": sum(span.seconds for span in spans) / seconds,
    }


def covered(spans: Sequence[Span]) -> float:
    """The seconds in which at least one of them lasts."""
    found, end = 0.0, -math.inf
    for span in sorted(spans, key=lambda span: span.start):
        found += max(span.start + span.seconds - max(span.start, end), 0.0)
        end = max(end, span.start + span.seconds)
    return found


def _progress_text(run: Run) -> str:
    best = run.search.best
    text = f"best {best.fitness:.1%}" if best is not None and best.fitness is not None else "no model trained yet"
    return text if run.best is None or run.best.share is None else f"{text}, validated {run.best.share:.0%}"


class Console:
    """Sends notes at once, and states of workers and spans about once a second: each time that `attend` is called."""

    def __init__(self, context: Context) -> None:
        self._context, self._reported, self._began, self._since = context, time.monotonic(), 0.0, 0.0
        self.evaluator: Evaluator | None = None  # as soon as there is one
        self._spans: list[Span] = []
        self._trained: list[Span] = []  # of models, since the last call of `take_trained`

    def begin_span(self) -> None:
        """What the trainer does itself begins now."""
        self._began, self._since = now(), time.monotonic()

    def end_span(self, name: str) -> None:
        self._spans.append(Span(TRAINER, name, self._began, time.monotonic() - self._since))

    def add_trained(self, span: Span) -> None:
        """A model was trained."""
        self._spans.append(span)
        self._trained.append(span)

    def take_trained(self) -> list[Span]:
        found, self._trained = self._trained, []
        return found

    def attend(self) -> bool:
        """Whether training should stop; blocks while it is paused."""
        self.report()
        return self._context.attend()

    def note(self, text: str, warning: bool) -> None:
        self._context.send(Log(text, Level.WARNING if warning else Level.INFO))

    def report(self, *, whole: bool = False) -> None:
        """`whole`: whenever the last report was made."""
        now = time.monotonic()
        if self.evaluator is None or (now - self._reported < EVERY and not whole):
            return
        self._reported = now
        self.evaluator.set_cores(self._context.workers)
        self._context.send(Workers(self.evaluator.states()))
        if self._spans:
            self._context.send(Spans(tuple(self._spans)))
            self._spans.clear()


# The end


def _count_of(count: int) -> str:
    return f"{count} generation{'s' * (count != 1)}"


def _end_reason(run: Run, pace: Pace) -> str | None:
    """Why training ends before the next generation; None if it does not."""
    search, settings = run.search, run.settings
    reason, done = search.end_reason(), _count_of(search.generation)
    if reason is None:
        return f"{settings.minutes:.3g} min" if pace.out_of_time else None
    if reason == TARGET:
        return f"fitness/best reached {settings.target_fitness:g} after {done}"
    if reason == CONVERGED:
        return f"no better model in {_count_of(settings.search_patience)}, after {done}"
    return done if search.generation == settings.max_generations else f"it already has {done}"
