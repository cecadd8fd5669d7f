"""neat-python's genes with faster mutation and crossover: the same draws in the same order, and the same results.

neat-python looks up every attribute and rate by name, for each gene of each genome. The classes have the names of
neat-python's, which genes print.
"""

from __future__ import annotations

import random
from typing import Any

from neat import genes

BIAS, RESPONSE, _, _, TIME_CONSTANT = genes.DefaultNodeGene._gene_attributes
WEIGHT, _ = genes.DefaultConnectionGene._gene_attributes


class DefaultNodeGene(genes.DefaultNodeGene):  # type: ignore[misc]
    """A node gene."""

    key: int
    bias: float
    response: float
    time_constant: float
    activation: str
    aggregation: str

    def mutate(self, config: Any) -> None:
        draw = random.random
        drawn, rate = draw(), config.bias_mutate_rate
        if drawn < rate:
            changed = self.bias + random.gauss(0.0, config.bias_mutate_power)
            self.bias = max(min(changed, config.bias_max_value), config.bias_min_value)
        elif drawn < config.bias_replace_rate + rate:
            self.bias = BIAS.init_value(config)
        drawn, rate = draw(), config.response_mutate_rate
        if drawn < rate:
            changed = self.response + random.gauss(0.0, config.response_mutate_power)
            self.response = max(min(changed, config.response_max_value), config.response_min_value)
        elif drawn < config.response_replace_rate + rate:
            self.response = RESPONSE.init_value(config)
        rate = config.activation_mutate_rate
        if rate > 0 and draw() < rate:
            self.activation = random.choice(config.activation_options)
        rate = config.aggregation_mutate_rate
        if rate > 0 and draw() < rate:
            self.aggregation = random.choice(config.aggregation_options)
        self.time_constant = TIME_CONSTANT.mutate_value(self.time_constant, config)

    def copy(self) -> DefaultNodeGene:
        copied = DefaultNodeGene.__new__(DefaultNodeGene)
        copied.key, copied.bias, copied.response, copied.time_constant = (
            self.key,
            self.bias,
            self.response,
            self.time_constant,
        )
        copied.activation, copied.aggregation = self.activation, self.aggregation
        return copied

    def crossover(self, other: Any) -> DefaultNodeGene:
        assert self.key == other.key
        draw = random.random
        child = DefaultNodeGene.__new__(DefaultNodeGene)
        child.key = self.key
        child.bias = self.bias if draw() > 0.5 else other.bias
        child.response = self.response if draw() > 0.5 else other.response
        child.activation = self.activation if draw() > 0.5 else other.activation
        child.aggregation = self.aggregation if draw() > 0.5 else other.aggregation
        child.time_constant = self.time_constant if draw() > 0.5 else other.time_constant
        return child


class DefaultConnectionGene(genes.DefaultConnectionGene):  # type: ignore[misc]
    """A connection gene."""

    key: tuple[int, int]
    innovation: int
    weight: float
    enabled: bool

    def mutate(self, config: Any) -> None:
        draw = random.random
        drawn, rate = draw(), config.weight_mutate_rate
        if drawn < rate:
            changed = self.weight + random.gauss(0.0, config.weight_mutate_power)
            self.weight = max(min(changed, config.weight_max_value), config.weight_min_value)
        elif drawn < config.weight_replace_rate + rate:
            self.weight = WEIGHT.init_value(config)
        rate = config.enabled_mutate_rate
        rate += config.enabled_rate_to_false_add if self.enabled else config.enabled_rate_to_true_add
        if rate > 0 and draw() < rate:
            self.enabled = draw() < 0.5

    def copy(self) -> DefaultConnectionGene:
        copied = DefaultConnectionGene.__new__(DefaultConnectionGene)
        copied.key, copied.innovation, copied.weight, copied.enabled = (
            self.key,
            self.innovation,
            self.weight,
            self.enabled,
        )
        return copied

    def crossover(self, other: Any) -> DefaultConnectionGene:
        assert self.key == other.key
        assert self.innovation == other.innovation, (self.key, self.innovation, other.innovation)
        draw = random.random
        child = DefaultConnectionGene.__new__(DefaultConnectionGene)
        child.key, child.innovation = self.key, self.innovation
        child.weight = self.weight if draw() > 0.5 else other.weight
        child.enabled = self.enabled if draw() > 0.5 else other.enabled
        # Three of four children of a disabled gene have it disabled (Stanley & Miikkulainen 2002).
        if not (self.enabled and other.enabled) and draw() < 0.75:
            child.enabled = False
        return child
