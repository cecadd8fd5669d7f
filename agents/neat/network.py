"""The networks of genomes: any number of them in flat arrays, evaluated in one compiled call.

The outputs equal those of neat-python's `FeedForwardNetwork` and `RecurrentNetwork` bit for bit: the same clamps, the
same order of additions, the same functions of the C library, nothing fused or reordered. From Python 3.12 on `sum()`
compensates for rounding (Neumaier 1974), and so do these networks there.
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

ALL = np.ones((1, 1), np.bool_)  # placeholder where there is no mask
COMPENSATED = sys.version_info >= (3, 12)
NET = np.dtype(
    [(name, "u4") for name in ("inputs", "outputs", "node", "nodes", "out", "recurrent", "late")], align=True
)  # index of the first node and output, and their numbers; late: whether all outputs are late
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
)  # late: its tanh can be skipped, because only the choice of an action depends on it
LINK = np.dtype([("weight", "f8"), ("source", "u4")], align=True)
"""`source` is an index into a network's values: inputs, a constant 0, then nodes."""


@row
def _evaluate(state, slot, agent, obs, late, out):  # type: ignore[no-untyped-def]
    """Evaluates one network; False where neat-python would raise OverflowError."""
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
        value = between(-60.0, 60.0, 2.5 * z) if late and node.late else activation(node.activation, z, two, three)
        if node.activation >= SQUARE and math.isinf(value) and math.isfinite(z):
            fine = False
        if recurrent:
            fresh[i] = value
        else:
            values[first + uint32(i)] = value
    if recurrent:
        for i in range(net.nodes):
            values[first + uint32(i)] = fresh[i]
            memory[slot, i] = fresh[i]
    for i in range(net.outputs):
        out[i] = values[outs[net.out + uint32(i)]]
    return fine


@row
def _choose(late, out, legal, masked):  # type: ignore[no-untyped-def]
    """The legal action with the largest output, the first of equals.

    tanh is monotonic, so its arguments are compared instead of its values: half of a network's time is tanh. It is
    computed only where two arguments are so close, or so large, that the values may be equal. With second <= 10,
    top >= -10 and 0.001 between them, the values differ by at least 4e-12: 10,000 times the error of tanh.
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
    """Evaluates a network for each row; returns the first row in which neat-python would raise OverflowError, or -1."""
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
    """Networks by number, for slots 0 to n-1; recurrent networks keep their state by slot."""

    def __init__(self, slots: int, compensated: bool = COMPENSATED) -> None:
        self._nets, self._nodes = GrowingArray(NET), GrowingArray(NODE)
        self._links, self._outs = GrowingArray(LINK), GrowingArray(np.dtype(np.uint32))
        self._state: Floats = np.zeros((slots, 0))
        self._values, self._fresh, self._terms = np.zeros(1), np.zeros(1), np.zeros(1)
        self._powers: Floats = np.array([2.0, 3.0])
        self._flags = np.array([compensated, False])

    def add(self, genome: Genome) -> int:
        """Adds the network of a genome; returns its number."""
        topology = wire(genome)
        if not topology.complete:
            raise BadValue("genome.connections", "a cycle", "without cycles, because feed_forward is true")
        first, rows = len(self._links), []
        for number, links in zip(topology.nodes, topology.links, strict=True):
            functions = ACTIVATION_NUMBERS[genome.activation[number]], AGGREGATION_NUMBERS[genome.aggregation[number]]
            rows.append((genome.bias[number], genome.response[number], first, len(links), *functions))
            first += len(links)
        outs = np.array([topology.places[key] for key in range(genome.outputs)], np.uint32)
        used = {topology.places[genome.source[link]] for links in topology.links for link in links}
        numbers = [place - genome.inputs - 1 for place in outs.tolist()]
        late = genome.feed_forward and used.isdisjoint(outs.tolist()) and all(rows[n][4] == TANH for n in numbers)
        nodes = np.array([(*row, late and n in numbers) for n, row in enumerate(rows)], NODE)
        wires = np.array(
            [(genome.weight[link], topology.places[genome.source[link]]) for links in topology.links for link in links],
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
        """Clears the state of recurrent networks on these slots."""
        self._state[slots] = 0.0

    def activate(self, agents: Indices, slots: Indices, obs: Observations, out: Floats) -> int:
        """Writes the outputs of each row to `out`, and updates the state of recurrent networks. Returns the first
        row in which neat-python would raise OverflowError, or -1."""
        return int(_evaluate_all(self.arrays, agents, slots, obs, False, out))

    def act(
        self, agents: Indices, slots: Indices, obs: Observations, legal: Bools | None, out: Floats, actions: Ints
    ) -> int:
        """Writes the legal action with the largest output of each row to `actions`. `legal` is None if all are legal.
        Like `activate` otherwise, but the values in `out` are undefined."""
        failed = int(_evaluate_all(self.arrays, agents, slots, obs, True, out))
        if failed < 0:
            _choose_all(self._nets.all, agents, out, ALL if legal is None else legal, legal is not None, actions)
        return failed

    @property
    def arrays(self) -> tuple[NDArray[Any], ...]:
        """The arrays that row functions use; adding a network may replace some of them."""
        return (
            self._nets.all, self._nodes.all, self._links.all, self._outs.all, self._state,
            self._values, self._fresh, self._terms, self._powers, self._flags,
        )  # fmt: skip


ACTIVATION_NUMBERS = {name: number for number, name in enumerate(ACTIVATIONS)}
AGGREGATION_NUMBERS = {name: number for number, name in enumerate(AGGREGATIONS)}


class GrowingArray:
    """An array that grows by doubling its capacity."""

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
