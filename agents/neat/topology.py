"""The nodes of a genome that its outputs depend on, their order of evaluation, and the connections to each.

In plain Python: for genomes of usual size a compiled version was no faster, and took half a minute to compile.
"""

from __future__ import annotations

from dataclasses import dataclass

from agents.neat.genome import Genome


@dataclass(frozen=True)
class Topology:
    """A network's values are its inputs, a constant 0, then the nodes in order of evaluation."""

    nodes: list[int]  # indices of the genome's nodes, in order of evaluation
    links: list[list[int]]  # by node: indices of the connections to it, in the genome's order
    places: dict[int, int]  # index of the value by key; nodes that are not evaluated share the constant 0
    complete: bool  # False if a needed node of a feed-forward network is on a cycle


def wire(genome: Genome) -> Topology:
    """Feed-forward: the nodes that an output depends on through enabled connections, in topological order.
    Recurrent: nodes with an enabled connection to, or from, a node that an output depends on; their order does not
    matter, because each uses the values of the previous step."""
    needed = _needed(genome)
    leading: dict[int, list[int]] = {}  # by target
    for number, (source, target, enabled) in enumerate(zip(genome.source, genome.target, genome.enabled, strict=True)):
        if enabled and (target in needed or (source in needed and not genome.feed_forward)):
            leading.setdefault(target, []).append(number)
    number_of = {key: number for number, key in enumerate(genome.key)}
    order = _ordered(genome, needed, leading) if genome.feed_forward else [key for key in genome.key if key in leading]
    places = dict.fromkeys(genome.key, genome.inputs)
    places.update({-1 - place: place for place in range(genome.inputs)})
    places.update({key: genome.inputs + 1 + place for place, key in enumerate(order)})
    complete = not genome.feed_forward or len(order) == len(needed)
    return Topology([number_of[key] for key in order], [leading.get(key, []) for key in order], places, complete)


def _needed(genome: Genome) -> set[int]:
    """The nodes that the outputs depend on; in a feed-forward network only through enabled connections."""
    sources: dict[int, list[int]] = {}
    for source, target, enabled in zip(genome.source, genome.target, genome.enabled, strict=True):
        if source >= 0 and (enabled or not genome.feed_forward):
            sources.setdefault(target, []).append(source)
    found = set(range(genome.outputs))
    waiting = list(found)
    while waiting:
        for source in sources.get(waiting.pop(), ()):
            if source not in found:
                found.add(source)
                waiting.append(source)
    return found


def _ordered(genome: Genome, needed: set[int], leading: dict[int, list[int]]) -> list[int]:
    """Topological order (Kahn 1962); nodes on a cycle, and those that depend on them, are left out."""
    waits = dict.fromkeys(needed, 0)
    led_to: dict[int, list[int]] = {}
    for target, links in leading.items():
        for link in links:
            if genome.source[link] >= 0:
                waits[target] += 1
                led_to.setdefault(genome.source[link], []).append(target)
    order = [key for key in genome.key if waits.get(key) == 0]
    for key in order:  # grows during the loop
        for target in led_to.get(key, ()):
            waits[target] -= 1
            if waits[target] == 0:
                order.append(target)
    return order
