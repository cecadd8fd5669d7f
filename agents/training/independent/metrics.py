"""The metrics of the trainer `independent`: what they mean, and how they are shown. Most have one value for each agent,
under its role."""

from __future__ import annotations

from collections.abc import Mapping

from agents.training.trainer import Metric, Reading

METRICS: Mapping[str, Metric] = {
    "evaluation/score": Metric(
        "mean score of all learning agents in matches without exploration, which are always the same",
        title="Score without exploration",
        interval=("evaluation/low", "evaluation/high"),
    ),
    "evaluation/low": Metric("lower end of its 95 % interval"),
    "evaluation/high": Metric("upper end of its 95 % interval"),
    "evaluation/*": Metric(
        "mean score without exploration of an agent; of a bot: if it takes all seats of the learning agents",
        together=True,
    ),
    "score/*": Metric("mean score of an agent in the latest training matches, with exploration", together=True),
    "loss/*": Metric("mean loss of an agent in its latest updates", Reading.LOSS, together=True),
    "epsilon/*": Metric("share of random actions of an agent", together=True, exact=True),
    "updates/*": Metric("updates that an agent has made", together=True, exact=True),
    "staleness/*": Metric(
        "updates that an agent has made since the weights that play: 0 where learning waits for playing",
        Reading.LOSS,
        together=True,
    ),
    "buffer/turns": Metric("turns that each agent keeps to learn from", exact=True),
    "speed/epochs": Metric("epochs per second, without evaluations and checkpoints"),
    "speed/turns": Metric("turns per second of all agents together"),
    "speed/updates": Metric("updates per second of all agents together"),
    "speed/collect": Metric("share of the actor's time for the rules and for writing to buffers", Reading.SHARE),
    "speed/act": Metric("share of the actor's time for observing agents and asking their networks", Reading.SHARE),
    "speed/learn": Metric("share of the actor's time for updates; asynchronous: none", Reading.SHARE),
    "speed/wait": Metric("share of time in which the actor waits for learners that are behind", Reading.SHARE),
    "speed/publish": Metric("share of the actor's time for taking new weights", Reading.SHARE),
    "speedup/measured": Metric(
        "epochs per second over those of the sequential calibration at the beginning of this run",
        reference=1.0,
        reference_label="sequential",
        together=True,
    ),
    "speedup/predicted": Metric(
        "the speed-up that Amdahl's law predicts from the shares of collecting, acting and learning in the calibration",
        together=True,
    ),
    "faults/restarts": Metric(
        "learner processes that ended or stalled and were started again", Reading.LOSS, exact=True
    ),
}
