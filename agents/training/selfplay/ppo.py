"""Trains a network by proximal policy optimisation (Schulman et al. 2017) in self-play.

The loop of `train` is the whole method: play, estimate advantages, learn, publish, validate. `loss` has the loss,
`learner` the network, `opponents` draws who plays whom, `config` has the settings.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing

import numpy as np
import torch

from agents.nets.pilot import agent
from agents.training.advantages import estimate, margins
from agents.training.events import Champion, Current, Ended, Event, How, Metrics, Progress
from agents.training.matchmaking import ready_bots
from agents.training.pace import Pace
from agents.training.schedules import Schedule
from agents.training.selfplay.collector import CollectionStopped, new_collector
from agents.training.selfplay.config import MARGIN, PpoConfig
from agents.training.selfplay.learner import Learner, explained_variance
from agents.training.selfplay.loss import Batch, Diverged
from agents.training.selfplay.opponents import BOT, LEARNER, LEARNING_KINDS, SNAPSHOT, group_of
from agents.training.selfplay.rating import bot_table, elo_of
from agents.training.selfplay.state import Best, PpoRun
from agents.training.selfplay.timing import Timing
from agents.training.trainer import Context
from agents.training.validation import share_metrics, share_of, validate
from engine.errors import BadValue
from engine.game import Game
from engine.play.match import MatchResult
from engine.play.rollout import Trajectories
from engine.registry import game_of
from engine.seeding import derive


def train(settings: PpoConfig, context: Context) -> Iterator[Event]:
    torch.set_num_threads(settings.threads)
    game = game_of(context.game)
    run = _start(settings, context, game)
    pace, timing = Pace(settings, run.first_update, time.monotonic), Timing()
    with closing(new_collector(settings, context, run)) as collector:
        while True:
            reason = _end_reason(settings, run, pace)
            if run.update > run.validated and (reason or run.update % settings.validate_every == 0):
                with timing.part("validation"):
                    validated = _validate(settings, run, game, context)
                if validated is None:
                    reason = None
                    break
                yield Metrics(run.update, tuple(validated.items()))
                reason = reason or _target_reached(settings, validated)
            if reason is None and run.update > run.first_update and run.update % settings.checkpoint_every == 0:
                yield run.checkpoint(collector.save())
            if context.player_wanted():
                yield Current(run.update, run.player(settings.temperature))
            if context.attend() or reason is not None:
                break
            try:
                with timing.part("rollout"):
                    played, staleness, waiting = collector.collect()
            except CollectionStopped:
                break
            with timing.part("learning"):
                batch = batch_of(played, settings, game, run.learner)
                try:
                    values = _learn(settings, run, batch, context)
                except Diverged as error:
                    yield Ended(How.FAILED, _divergence(settings, run, error))
                    return
            with timing.part("sync"):
                values |= _count(run, played.results)
                if settings.snapshots and run.update % settings.snapshot_every == 0:
                    run.pool.add(SNAPSHOT, str(run.update), run.spec())
                    run.pool.retire(settings.snapshots, collector.streams)
                collector.publish()
            values |= timing.metrics(batch.size) | {"queue/staleness": staleness, "queue/depth": float(waiting)}
            yield Metrics(run.update, tuple(values.items()))
            yield from timing.events(run.update, collector.workers)
            yield _progress(run, values, pace)
        yield run.checkpoint(collector.save())
    if reason is None:
        yield Ended(How.STOPPED, ": ".join(filter(None, (f"stopped after {run.update} updates", collector.unfinished))))
        return
    if run.best is not None:
        yield Champion(run.best.update, run.best.player())
    yield Ended(How.FINISHED, reason)


def _start(settings: PpoConfig, context: Context, game: Game) -> PpoRun:
    if context.state is None:
        run = PpoRun.start(settings, game, context.ancestor, context.agents)
    else:
        run = PpoRun.from_checkpoint(context.state, settings, game)
    if settings.bot_share and not any(one.group == BOT for one in run.pool.members.values()):
        for bot in ready_bots(game, settings.bots, LEARNING_KINDS):  # also where `bot_share` was 0 until now
            run.pool.add(BOT, bot.id, bot)
    others = sum(len(one.agent.payload) for one in run.pool.members.values() if one.group != SNAPSHOT)
    settings.check_size(run.learner.weights, others)
    return run


def batch_of(played: Trajectories, settings: PpoConfig, game: Game, learner: Learner) -> Batch:
    """The turns that can be learned from, with their advantages."""
    if not np.isfinite(played.rewards).all():  # otherwise the loss would be blamed
        raise BadValue("rewards", "nan or inf", f"finite numbers: check the scores of {game.spec.name}")
    rewards = margins(played.rewards) if settings.reward == MARGIN else played.rewards
    rewards = rewards * np.float32(settings.reward_scale)
    advantages, returns, known = estimate(
        played, rewards, settings.discount, settings.trace, simultaneous=game.info.simultaneous
    )
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
    values = {"pool/snapshots": float(sum(one.group == SNAPSHOT for one in run.pool.members.values()))}
    for group, of_bots in (("pool", False), ("bots", True)):
        some = {id: scores for id, scores in points.items() if (group_of(id) == BOT) == of_bots}
        if some:
            share, low, high = share_of(some)
            values |= {f"{group}/share": share, f"{group}/low": low, f"{group}/high": high}
    scores = [score for one in results for score, id in zip(one.scores, one.players, strict=True) if id == LEARNER]
    if scores:
        values["match/score"] = float(np.mean(scores))
        values["match/steps"] = float(np.mean([one.steps for one in results]))
    return values


def _end_reason(settings: PpoConfig, run: PpoRun, pace: Pace) -> str | None:
    """Why training ends before the next update; None if it does not."""
    if run.update >= settings.updates:
        return f"{run.update} updates" if run.update == settings.updates else f"it already has {run.update} updates"
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
