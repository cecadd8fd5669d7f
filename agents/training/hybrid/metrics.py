"""The metrics of the trainer `hybrid`: what they mean, and how they are shown."""

from __future__ import annotations

from collections.abc import Mapping

from agents.training.trainer import Metric, Reading

METRICS: Mapping[str, Metric] = {
    "fitness/best": Metric(
        "share of the positions for selection in which the best model so far agrees with its teacher, by weight",
        Reading.SHARE,
        title="Fitness",
        together=True,
        exact=True,
    ),
    "fitness/generation": Metric(
        "fitness of the best model of the generation", Reading.SHARE, together=True, exact=True
    ),
    "fitness/mean": Metric("mean fitness of the generation", Reading.SHARE, together=True, exact=True),
    "fitness/spread": Metric("standard deviation of fitness in the generation", title="Spread of fitness", exact=True),
    "validation/share": Metric(
        "share of the points that the best model so far takes from all validation bots",
        Reading.SHARE,
        title="Points against bots",
        reference=0.5,
        reference_label="as strong as the bots",
        interval=("validation/low", "validation/high"),
    ),
    "validation/low": Metric("lower end of its 95 % interval", Reading.SHARE),
    "validation/high": Metric("upper end of its 95 % interval", Reading.SHARE),
    "validation/*": Metric("share of the points that it takes from one of the bots", Reading.SHARE, together=True),
    "population/diversity": Metric("mean distance of two genomes of the generation, from 0 to 1", exact=True),
    "population/mutation": Metric(
        "probability that each property of a child changes", Reading.SHARE, title="Mutation rate", exact=True
    ),
    "population/species": Metric("species that parents are chosen within", exact=True),
    "population/parameters": Metric("trained parameters of the best model so far", exact=True),
    "models/trained": Metric("models trained so far", exact=True),
    "models/known": Metric("genomes of the generation that were met before, and not trained again", exact=True),
    "models/failed": Metric("models of the generation that could not be trained", Reading.LOSS, exact=True),
    "speed/models": Metric("models trained a minute while the generation was trained"),
    "speed/concurrent": Metric("models that were trained at the same time, on average"),
}
