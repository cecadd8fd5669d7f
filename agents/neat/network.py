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

from agents.neat.activations import SQUARE, SUM, TANH, activation, aggregated, between
from agents.neat.genome import ACTIVATIONS, AGGREGATIONS, Genome
from agents.neat.topology import wire
from engine.errors import BadValue
from engine.game import BROKEN, Bools, Floats, Indices, Ints, Observations
from engine.kernels import bare, row

ALL = np.ones((1, 1), np.bool_)  # stands for masks where there are none
COMPENSATED = sys.version_info >= (3, 12)
NET = np.dtype(
    [(name, "u4") for name in ("inputs", "outputs", "node", "nodes", "out", "recurrent", "late")], align=True
)  # the first of its nodes and of its outputs, and how many there are; whether all its outputs are late
NODE = np.dtype(
    [
        ("bias", "f8"),
        ("response", "f8"),
        ("link", "u4"),
        ("links", "u4"),
        ("activation", "u1"),
        ("aggregation", "u1"),
        ("late", "u1"),
    ],
    align=True,
)  # late: its tanh may wait, since nothing but the choice of an action depends on it
LINK = np.dtype([("weight", "f8"), ("source", "u4")], align=True)
"""A source is a place among a network's values: first its inputs, then one that is always 0, then its nodes."""


@row
def _evaluate(state, slot, agent, obs, late, out):  # type: ignore[no-untyped-def]
    """Evaluate one network; False where neat-python would raise OverflowError."""
    nets, nodes, links, outs, memory, values, fresh, terms, powers, flags = state
    two, three, compensated = powers[0], powers[1], flags[0]
    fine = True
    net = nets[agent]
    zero = net.inputs
    for i in range(net.inputs):
        values[i] = obs[i]
    values[zero] = 0.0
    first = zero + uint32(1)
    recurrent = net.recurrent != uint32(0)
    if recurrent:
        for i in range(net.nodes):
            values[first + uint32(i)] = memory[slot, i]
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
        made = between(-60.0, 60.0, 2.5 * z) if late and node.late else activation(node.activation, z, two, three)
        if node.activation >= SQUARE and math.isinf(made) and math.isfinite(z):
            fine = False
        if recurrent:
            fresh[i] = made
        else:
            values[first + uint32(i)] = made
    if recurrent:
        for i in range(net.nodes):
            values[first + uint32(i)] = fresh[i]
            memory[slot, i] = fresh[i]
    for i in range(net.outputs):
        out[i] = values[outs[net.out + uint32(i)]]
    return fine


@row
def _choose(late, out, legal, masked):  # type: ignore[no-untyped-def]
    """The legal action with the largest output, the first one of equals.

    tanh rises, so what goes into it decides as well as what comes out, and half of the time of a network is tanh. Only
    where two are so close, or so far out, that they might come out equal, it is computed. With second <= 10, top >= -10
    and 0.001 between them, the results are at least 4e-12 apart: 10,000 times what tanh may be off.
    """
    best = -1
    top = second = -math.inf
    for action in range(out.shape[0]):
        if masked and not legal[action]:
            continue
        value = out[action]
        if best < 0 or value > top:
            second = top
            top = value
            best = action
        elif value > second:
            second = value
    if late and not (top - second > 0.001 and second < 10.0 and top > -10.0):
        best = -1
        for action in range(out.shape[0]):
            if masked and not legal[action]:
                continue
            value = math.tanh(out[action])
            if best < 0 or value > top:
                top = value
                best = action
    return best


@bare
def _evaluate_all(state, agents, slots, obs, late, out):  # type: ignore[no-untyped-def]
    """Evaluate a network for each row; the first row in which neat-python would raise OverflowError, or -1."""
    failed = -1
    for i in range(agents.size):
        if not _evaluate(state, slots[i], agents[i], obs[i], late, out[i]) and failed < 0:
            failed = i
    return failed


@bare
def _choose_all(nets, agents, out, legal, masked, actions):  # type: ignore[no-untyped-def]
    for i in range(actions.size):
        actions[i] = _choose(nets[agents[i]].late != uint32(0), out[i], legal[i if masked else 0], masked)


@row
def act_row(arrays, slot, agent, ply, obs, legal, position):  # type: ignore[no-untyped-def]
    """The action of one network; BROKEN where neat-python would raise OverflowError."""
    networks, outputs = arrays
    action = BROKEN
    if _evaluate(networks, slot, agent, obs.reshape(obs.size), True, outputs):
        action = _choose(networks[0][agent].late != uint32(0), outputs, legal, True)
    return action


class Networks:
    """Networks by number, for the slots 0 to n-1 of their players; recurrent ones keep their state by slot."""

    def __init__(self, slots: int, compensated: bool = COMPENSATED) -> None:
        self._nets, self._nodes = Grown(NET), Grown(NODE)
        self._links, self._outs = Grown(LINK), Grown(np.dtype(np.uint32))
        self._state: Floats = np.zeros((slots, 0))
        self._values, self._fresh, self._terms = np.zeros(1), np.zeros(1), np.zeros(1)
        self._powers: Floats = np.array([2.0, 3.0])
        self._flags = np.array([compensated, False])

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
        outs = np.array([wiring.places[key] for key in range(genome.outputs)], np.uint32)
        used = {wiring.places[genome.source[link]] for links in wiring.links for link in links}
        numbers = [place - genome.inputs - 1 for place in outs.tolist()]
        late = genome.feed_forward and used.isdisjoint(outs.tolist()) and all(rows[n][4] == TANH for n in numbers)
        nodes = np.array([(*row, late and n in numbers) for n, row in enumerate(rows)], NODE)
        wires = np.array(
            [(genome.weight[link], wiring.places[genome.source[link]]) for links in wiring.links for link in links],
            LINK,
        )
        net = (
            genome.inputs,
            genome.outputs,
            len(self._nodes),
            len(nodes),
            len(self._outs),
            not genome.feed_forward,
            late,
        )
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
        return int(_evaluate_all(self.arrays, agents, slots, obs, False, out))

    def act(
        self, agents: Indices, slots: Indices, obs: Observations, legal: Bools | None, out: Floats, actions: Ints
    ) -> int:
        """The legal action of each row with the largest output, the first one of equals; None if all are legal. As
        `activate` otherwise, but what it leaves in `out` is of no use."""
        failed = int(_evaluate_all(self.arrays, agents, slots, obs, True, out))
        if failed < 0:
            _choose_all(self._nets.all, agents, out, ALL if legal is None else legal, legal is not None, actions)
        return failed

    @property
    def arrays(self) -> tuple[NDArray[Any], ...]:
        """What row functions read and write; adding a network may replace some of them."""
        return (
            self._nets.all, self._nodes.all, self._links.all, self._outs.all, self._state,
            self._values, self._fresh, self._terms, self._powers, self._flags,
        )  # fmt: skip


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
