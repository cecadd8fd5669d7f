"""The networks that genomes describe: any number of them in flat arrays, evaluated in one compiled call.

What they compute equals neat-python's `FeedForwardNetwork` and `RecurrentNetwork` to the bit: the same clamps, the same
order of additions, the same functions of the C library, nothing fused or reordered. From Python 3.12 on `sum()` makes
up for rounding (Neumaier 1974), so there these networks do too.
"""

from __future__ import annotations

import math
import sys
from typing import Any

import numpy as np
from numba import uint32
from numpy.typing import NDArray

from agents.neat.functions import SQUARE, SUM, activation, aggregated
from agents.neat.genome import ACTIVATIONS, AGGREGATIONS, Genome
from agents.neat.wiring import wire
from engine.errors import BadValue
from engine.game import Floats, Indices, Observations
from engine.kernels import kernel

COMPENSATED = sys.version_info >= (3, 12)
NET = np.dtype(
    [("inputs", "u4"), ("outputs", "u4"), ("node", "u4"), ("nodes", "u4"), ("out", "u4"), ("recurrent", "u4")],
    align=True,
)  # the first of its nodes and of its outputs, and how many there are
NODE = np.dtype(
    [("bias", "f8"), ("response", "f8"), ("link", "u4"), ("links", "u4"), ("activation", "u1"), ("aggregation", "u1")],
    align=True,
)
LINK = np.dtype([("weight", "f8"), ("source", "u4")], align=True)
"""A source is a place among a network's values: first its inputs, then one that is always 0, then its nodes."""


@kernel
def _activate(nets, nodes, links, outs, agents, slots, obs, state, values, fresh, terms, compensated, powers, out):  # type: ignore[no-untyped-def]
    """Evaluate a network for each row; the first row in which neat-python would raise OverflowError, or -1."""
    two, three = powers[0], powers[1]
    failed = -1
    for row in range(agents.size):
        net = nets[agents[row]]
        zero = net.inputs
        for i in range(net.inputs):
            values[i] = obs[row, i]
        values[zero] = 0.0
        first = zero + uint32(1)
        recurrent = net.recurrent != uint32(0)
        if recurrent:
            for i in range(net.nodes):
                values[first + uint32(i)] = state[slots[row], i]
        for i in range(net.nodes):
            node = nodes[net.node + uint32(i)]
            last = node.link + node.links
            s = 0.0
            if node.aggregation == SUM and not compensated:
                for at in range(node.link, last):
                    s += values[links[at].source] * links[at].weight
            else:
                for at in range(node.links):
                    link = links[node.link + uint32(at)]
                    terms[at] = values[link.source] * link.weight
                s = aggregated(node.aggregation, terms, node.links, compensated)
            z = node.bias + node.response * s
            made = activation(node.activation, z, two, three)
            if node.activation >= SQUARE and math.isinf(made) and math.isfinite(z) and failed < 0:
                failed = row
            if recurrent:
                fresh[i] = made
            else:
                values[first + uint32(i)] = made
        if recurrent:
            for i in range(net.nodes):
                values[first + uint32(i)] = fresh[i]
                state[slots[row], i] = fresh[i]
        for i in range(net.outputs):
            out[row, i] = values[outs[net.out + uint32(i)]]
    return failed


@kernel
def choose(out, legal, masked, actions):  # type: ignore[no-untyped-def]
    """The legal action with the largest output, the first one of equals."""
    for row in range(actions.size):
        best = -1
        for action in range(out.shape[1]):
            if masked and not legal[row, action]:
                continue
            if best < 0 or out[row, action] > out[row, best]:
                best = action
        actions[row] = best


class Networks:
    """Networks by number, for the slots 0 to n-1 of their players; recurrent ones keep their state by slot."""

    def __init__(self, slots: int, compensated: bool = COMPENSATED) -> None:
        self._nets, self._nodes = Grown(NET), Grown(NODE)
        self._links, self._outs = Grown(LINK), Grown(np.dtype(np.uint32))
        self._state: Floats = np.zeros((slots, 0))
        self._values, self._fresh, self._terms = np.zeros(1), np.zeros(1), np.zeros(1)
        self._powers: Floats = np.array([2.0, 3.0])
        self._compensated = compensated

    def add(self, genome: Genome) -> int:
        """The network of a genome; its number."""
        wiring = wire(genome)
        if not wiring.complete:
            raise BadValue("genome.connections", "a cycle", "without cycles, since it says it is feed-forward")
        first, rows = len(self._links), []
        for number, links in zip(wiring.nodes, wiring.links, strict=True):
            functions = ACTIVATION_NUMBERS[genome.activation[number]], AGGREGATION_NUMBERS[genome.aggregation[number]]
            rows.append((genome.bias[number], genome.response[number], first, len(links), *functions))
            first += len(links)
        nodes = np.array(rows, NODE)
        wires = np.array(
            [(genome.weight[link], wiring.places[genome.source[link]]) for links in wiring.links for link in links],
            LINK,
        )
        outs = np.array([wiring.places[key] for key in range(genome.outputs)], np.uint32)
        net = (genome.inputs, genome.outputs, len(self._nodes), len(nodes), len(self._outs), not genome.feed_forward)
        self._links.extend(wires)
        self._nodes.extend(nodes)
        self._outs.extend(outs)
        self._nets.extend(np.array([net], NET))
        self._make_room(genome.inputs + 1 + len(nodes), int(nodes["links"].max(initial=0)))
        if not genome.feed_forward and self._state.shape[1] < len(nodes):
            wider = np.zeros((len(self._state), len(nodes)))
            wider[:, : self._state.shape[1]] = self._state
            self._state = wider
        return len(self._nets) - 1

    def _make_room(self, values: int, terms: int) -> None:
        if len(self._values) < values:
            self._values, self._fresh = np.zeros(values), np.zeros(values)
        if len(self._terms) < terms:
            self._terms = np.zeros(terms)

    def reset(self, slots: Indices) -> None:
        """Recurrent networks on these slots have seen nothing yet."""
        self._state[slots] = 0.0

    def activate(self, agents: Indices, slots: Indices, obs: Observations, out: Floats) -> int:
        """What the networks of these rows make of what they see; recurrent ones remember it. The first row that
        neat-python would refuse with an OverflowError, or -1."""
        return int(_activate(
            self._nets.all, self._nodes.all, self._links.all, self._outs.all, agents, slots, obs, self._state,
            self._values, self._fresh, self._terms, self._compensated, self._powers, out,
        ))  # fmt: skip


ACTIVATION_NUMBERS = {name: number for number, name in enumerate(ACTIVATIONS)}
AGGREGATION_NUMBERS = {name: number for number, name in enumerate(AGGREGATIONS)}


class Grown:
    """An array to which more is added, without copying everything each time."""

    def __init__(self, kind: np.dtype[Any]) -> None:
        self.all: NDArray[Any] = np.zeros(64, kind)
        self._size = 0

    def __len__(self) -> int:
        return self._size

    def extend(self, rows: NDArray[Any]) -> None:
        size = self._size + len(rows)
        if size > len(self.all):
            larger = np.zeros(max(size, 2 * len(self.all)), self.all.dtype)
            larger[: self._size] = self.all[: self._size]
            self.all = larger
        self.all[self._size : size] = rows
        self._size = size
