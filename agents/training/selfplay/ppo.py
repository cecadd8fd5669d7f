"""Trains a network by proximal policy optimisation (Schulman et al. 2017) in self-play.

The loop of `_updates` is the whole method: play, estimate advantages, learn, publish, validate. `loss` has the loss,
`learner` the network, `opponents` draws who plays whom, `config` has the settings.
"""

from __future__ import annotations

import time
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import closing

import numpy as np
import torch

from agents.nets.pilot import agent
from agents.training.advantages import estimate, margins
from agents.training.events import Champion, Current, Ended, Event, How, Log, Metrics, Progress
from agents.training.matchmaking import ready_bots
from agents.training.pace import Pace
from agents.training.schedules import Schedule
from agents.training.selfplay.asynchronous import AsynchronousCollector
from agents.training.selfplay.collector import CollectionStopped, Collector, SynchronousCollector
from agents.training.selfplay.config import ASYNCHRONOUS, MARGIN, PpoConfig
from agents.training.selfplay.learner import Learner, explained_variance
from agents.training.selfplay.loss import Batch, Diverged
from agents.training.selfplay.opponents import BOT, LEARNER, LEARNING_KINDS, SNAPSHOT, group_of
from agents.training.selfplay.rating import bot_table, elo_of
from agents.training.selfplay.state import Best, PpoRun
from agents.training.selfplay.timing import CHECKPOINT, LEARNING, ROLLOUT, SYNC, VALIDATION, Timing
from agents.training.trainer import Context
from agents.training.validation import share_metrics, share_of, validate
from engine.errors import BadValue, RingsideError
from engine.game import Game
from engine.play.match import MatchResult
from engine.play.rollout import Trajectories
from engine.registry import game_of
from engine.seeding import derive


def train(settings: PpoConfig, context: Context) -> Iterator[Event]:
    torch.set_num_threads(settings.threads)
    game = game_of(context.game)
    run = _start(settings, context, game)
    reason: str | None = None
    failure: RingsideError | None = None
    kind = AsynchronousCollector if settings.mode == ASYNCHRONOUS else SynchronousCollector
    with closing(kind(settings, context, run)) as collector:
        try:
            reason = yield from _updates(settings, context, game, run, collector)
            yield from run.checkpoint(collector.save())
        except RingsideError as error:
            failure = error
            if run.update > (run.saved or 0):  # what was learned is kept
                yield from run.checkpoint(collector.save_after_error())
    yield from collector.take_logs()
    if isinstance(failure, Diverged):
        yield Ended(How.FAILED, _divergence(settings, run, failure))
    elif failure is not None:
        raise failure
    elif reason is None:
        yield Ended(
            How.STOPPED, ": ".join(filter(None, (f"stopped after {_count_of(run.update)}", collector.unfinished)))
        )
    else:
        if run.best is not None:
            yield Champion(run.best.update, run.best.player())
        yield Ended(How.FINISHED, reason)


def _updates(
    settings: PpoConfig, context: Context, game: Game, run: PpoRun, collector: Collector
) -> Generator[Event, None, str | None]:
    """Learns until the end; returns why it ends, or None if it was stopped."""
    pace, timing = Pace(settings, run.first_update, time.monotonic), Timing()
    while True:
        reason = _end_reason(settings, run, pace)
        if run.update > run.validated and (reason or run.update % settings.validate_every == 0):
            if not run.validated:
                yield Log("the first validation may begin with compilation, which takes up to a minute or two")
            yield from timing.events(VALIDATION, "validating", run.update, collector.workers)
            with timing.part(VALIDATION):
                validated = _validate(settings, run, game, context)
            if validated is None:
                return None
            yield Metrics(run.update, tuple(validated.items()))
            reason = reason or _target_reached(settings, validated)
        if reason is None and run.update > run.first_update and run.update % settings.checkpoint_every == 0:
            with timing.part(CHECKPOINT):
                saved = run.checkpoint(collector.save())
            yield from saved
        if context.player_wanted():
            yield Current(run.update, run.player(settings.temperature))
        if context.attend() or reason is not None:
            return reason
        yield from timing.events(ROLLOUT, "playing" if collector.threads else "waiting", run.update, collector.workers)
        try:
            with timing.part(ROLLOUT):
                collected = collector.collect()
        except CollectionStopped:
            return None
        yield from collector.take_logs()
        yield from timing.events(LEARNING, "learning", run.update, collector.workers)
        with timing.part(LEARNING):
            batch = batch_of(collected.played, settings, game, run.learner)
            values = _learn(settings, run, batch, context)
        with timing.part(SYNC):
            values |= _count(run, collected.played.results)
            if settings.snapshots and run.update % settings.snapshot_every == 0:
                run.pool.add(SNAPSHOT, str(run.update), run.spec())
                run.pool.retire(settings.snapshots, collector.streams)
            collector.publish()
        values |= timing.metrics(batch.size) | collected.metrics()
        yield Metrics(run.update, tuple(values.items()))
        yield _progress(run, values, pace)


def _start(settings: PpoConfig, context: Context, game: Game) -> PpoRun:
    if context.state is None:
        run = PpoRun.start(settings, game, context.ancestor, context.agents)
    else:
        run = PpoRun.from_checkpoint(context.state, settings, game)
    if settings.bot_share and not any(member.group == BOT for member in run.pool.members.values()):
        for bot in ready_bots(game, settings.bots, LEARNING_KINDS):  # also where `bot_share` was 0 until now
            run.pool.add(BOT, bot.id, bot)
    others = sum(len(member.agent.payload) for member in run.pool.members.values() if member.group != SNAPSHOT)
    settings.check_size(run.learner.weights, others)
    return run


def batch_of(played: Trajectories, settings: PpoConfig, game: Game, learner: Learner) -> Batch:
    """The turns that can be learned from, with their advantages."""
    if not np.isfinite(played.obs).all():  # otherwise the loss would be blamed
        raise BadValue("observation", "nan or inf", f"finite numbers: check the observations of {game.spec.name}")
    if not np.isfinite(played.rewards).all():
        raise BadValue("rewards", "nan or inf", f"finite numbers: check the scores of {game.spec.name}")
    rewards = margins(played.rewards) if settings.reward == MARGIN else played.rewards
    rewards = rewards * np.float32(settings.reward_scale)
    together = game.info.simultaneous or game.info.together
    advantages, returns, known = estimate(played, rewards, settings.discount, settings.trace, together=together)
    if not known.any():
        raise BadValue("steps", settings.steps, "more: no seat had two turns in a segment, so nothing can be learned")
    chosen = advantages[known]
    if settings.normalise_advantages:
        chosen = (chosen - chosen.mean(dtype=np.float64)) / (chosen.std(dtype=np.float64) + 1e-8)
    rows = known[played.acted]
    return Batch(
        obs=learner.tensor(played.obs[rows]),
        legal=None if played.legal is None else learner.tensor(played.legal[rows]),
        actions=learner.tensor(played.actions[known]),
        log_probs=learner.tensor(played.log_probs[known]),
        values=learner.tensor(played.values[known]),
        advantages=learner.tensor(chosen.astype(np.float32)),
        returns=learner.tensor(returns[known]),
    )


def _learn(settings: PpoConfig, run: PpoRun, batch: Batch, context: Context) -> dict[str, float]:
    """Updates the network and the scale of its inputs; returns metrics."""
    last = settings.schedule_updates or settings.updates
    rate = Schedule(settings.learning_rate, settings.last_learning_rate, last, settings.schedule).at(run.update)
    entropy = Schedule(settings.entropy, settings.last_entropy, last, settings.schedule).at(run.update)
    seed = derive(settings.seed, "ppo minibatches", run.update)
    values = run.learner.update(batch, seed, rate, entropy, context.attend)
    run.learner.add_to_scale(batch.obs.cpu().numpy())
    run.update, run.samples = run.update + 1, run.samples + batch.size
    explained = explained_variance(batch.values.cpu().numpy(), batch.returns.cpu().numpy())
    scheduled = {"schedule/learning_rate": rate, "schedule/entropy": entropy}
    return values | {"value/explained": explained} | scheduled


def _divergence(settings: PpoConfig, run: PpoRun, error: Diverged) -> str:
    advice = f"lower learning_rate (now {settings.learning_rate:g}) or reward_scale"
    where = f"update {run.update + 1}: {error}"
    if run.saved is None:
        return f"{where}; there is no checkpoint yet: {advice} and start again"
    return f"{where}; the last checkpoint is that of update {run.saved}: {advice} and resume it"


def _count(run: PpoRun, results: Sequence[MatchResult]) -> dict[str, float]:
    """Counts the training matches that ended; returns metrics."""
    points = run.pool.count(results)
    values = {"pool/snapshots": float(sum(member.group == SNAPSHOT for member in run.pool.members.values()))}
    for group, of_bots in (("pool", False), ("bots", True)):
        some = {id: scores for id, scores in points.items() if (group_of(id) == BOT) == of_bots}
        if some:
            share, low, high = share_of(some)
            values |= {f"{group}/share": share, f"{group}/low": low, f"{group}/high": high}
    scores = [
        score for result in results for score, id in zip(result.scores, result.players, strict=True) if id == LEARNER
    ]
    if scores:
        values["match/score"] = float(np.mean(scores))
        values["match/steps"] = float(np.mean([result.steps for result in results]))
    return values


def _count_of(count: int) -> str:
    return f"{count} update{'s' * (count != 1)}"


def _end_reason(settings: PpoConfig, run: PpoRun, pace: Pace) -> str | None:
    """Why training ends before the next update; None if it does not."""
    if run.update >= settings.updates:
        done = _count_of(run.update)
        return done if run.update == settings.updates else f"it already has {done}"
    return f"{settings.minutes:.3g} min" if pace.out_of_time else None


def _target_reached(settings: PpoConfig, values: Mapping[str, float]) -> str | None:
    share = values["validation/share"]
    if settings.target_share and share >= settings.target_share:
        return f"validation/share {share:.3g} reached {settings.target_share:g}"
    return None


def _validate(settings: PpoConfig, run: PpoRun, game: Game, context: Context) -> dict[str, float] | None:
    """Plays against fixed bots, always in the same matches; None if training was stopped."""
    bots = ready_bots(game, settings.validate_bots, LEARNING_KINDS)
    if not run.bot_points:
        table = bot_table(bots, settings.validate_pairs, settings.seed, game, context)
        if table is None:
            return None
        run.bot_points = table
    player = agent(LEARNER, run.learner.network(settings.temperature))
    found = validate([player], bots, settings.validate_pairs, settings.seed, game, context)
    if found is None:
        return None
    run.validated = run.update
    values = share_metrics(found[player.id])
    share, low, high = (values[f"validation/{name}"] for name in ("share", "low", "high"))
    if run.best is None or share > run.best.share:
        about = f"ppo, update {run.update}, {run.samples:,} turns; validated at {share:.0%} ({low:.0%} to {high:.0%})"
        run.best = Best(run.update, share, about, player.kind, player.version, player.payload)
    return values | {"rating/elo": elo_of(run.bot_points, found[player.id])}


def _progress(run: PpoRun, values: Mapping[str, float], pace: Pace) -> Progress:
    text = f"entropy {values['policy/entropy']:.3g}, value explained {values['value/explained']:.0%}, "
    text += f"{values['speed/samples']:,.0f} samples/s"
    if run.best is not None:
        text += f", validated {run.best.share:.0%}"
    return pace.progress(run.update, text, run.best.share if run.best else None)
