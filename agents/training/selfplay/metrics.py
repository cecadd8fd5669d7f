"""The metrics of the trainer `ppo`: what they mean, and how they are shown."""

from __future__ import annotations

from collections.abc import Mapping

from agents.training.trainer import Metric, Reading

_LOW, _HIGH = "lower end of its 95 % interval", "upper end of its 95 % interval"

METRICS: Mapping[str, Metric] = {
    "validation/share": Metric(
        "share of points that the network wins against the fixed bots, all of them together",
        Reading.SHARE,
        "All opponents",
        0.5,
        "even",
        interval=("validation/low", "validation/high"),
    ),
    "validation/low": Metric(_LOW, Reading.SHARE),
    "validation/high": Metric(_HIGH, Reading.SHARE),
    "validation/*": Metric(
        "share of points that it wins against this bot", Reading.SHARE, "Against {name}", 0.5, "beats {name}"
    ),
    "rating/elo": Metric(
        "Elo of the network from its validation, on the scale of the validating bots; the first of them has 0"
    ),
    "pool/share": Metric(
        "share of points in training matches against snapshots and agents of the league",
        Reading.SHARE,
        "Against the pool",
        0.5,
        "even",
        interval=("pool/low", "pool/high"),
    ),
    "pool/low": Metric(_LOW, Reading.SHARE),
    "pool/high": Metric(_HIGH, Reading.SHARE),
    "pool/snapshots": Metric("frozen snapshots in the pool", exact=True),
    "bots/share": Metric(
        "share of points in training matches against bots",
        Reading.SHARE,
        "Against bots, in training",
        0.5,
        "even",
        interval=("bots/low", "bots/high"),
    ),
    "bots/low": Metric(_LOW, Reading.SHARE),
    "bots/high": Metric(_HIGH, Reading.SHARE),
    "match/score": Metric("mean score of the network in training matches that ended"),
    "match/steps": Metric("mean length of these matches, in steps"),
    "loss/policy": Metric("clipped policy loss", Reading.LOSS),
    "loss/value": Metric("value loss: half the mean squared error of the values", Reading.LOSS),
    "policy/entropy": Metric("mean entropy of the policy over legal actions, in nats"),
    "policy/kl": Metric("how far an update moves the policy: KL divergence from the policy that played"),
    "policy/clipped": Metric("share of turns whose probability ratio was beyond the clip", Reading.SHARE),
    "policy/epochs": Metric("passes over the batch; fewer than the setting where target_kl ended the update"),
    "value/explained": Metric(
        "share of the variance of returns that the values explain; below 0 they are worse than a constant"
    ),
    "schedule/learning_rate": Metric("learning rate", exact=True),
    "schedule/entropy": Metric("weight of the entropy", exact=True),
    "speed/samples": Metric("turns per second that were played and learned from"),
    "speed/rollout": Metric("share of time spent on playing", Reading.SHARE),
    "speed/learning": Metric("share of time spent on learning", Reading.SHARE),
    "speed/sync": Metric("share of time spent on sending weights and plans to workers", Reading.SHARE),
    "speed/validation": Metric("share of time spent on validation", Reading.SHARE),
    "speed/checkpoint": Metric("share of time spent on making checkpoints", Reading.SHARE),
    "speed/other": Metric("the rest: the start, pauses, and sending results to the session", Reading.SHARE),
    "queue/staleness": Metric("mean number of updates between the weights that played a turn and those that learn it"),
    "queue/depth": Metric("batches of experience that wait for the learner; synchronous: none"),
    "queue/refused": Metric(
        "batches that were refused since the last update, because their weights were too old; synchronous: none"
    ),
    "queue/lost": Metric("batches that were lost since then with a worker that ended; synchronous: none"),
}
