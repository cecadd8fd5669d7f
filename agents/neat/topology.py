"""Which nodes of a genome count, in which order they are evaluated, and what leads to each.

In plain Python: for genomes of a usual size a compiled version was no faster, and took half a minute to compile.
"""

from __future__ import annotations

from dataclasses import dataclass

from agents.neat.genome import Genome


@dataclass(frozen=True)
class Wiring:
    """Places among a network's values: first its inputs, then one that is always 0, then the nodes in this order."""

    nodes: list[int]  # which of the genome's, in the order of evaluation
    links: list[list[int]]  # by node: which of the genome's connections lead to it, in the genome's order
    places: dict[int, int]  # by key; a node that is not evaluated has the place that is always 0
    complete: bool  # False if some node that is needed is on a cycle of a feed-forward network


def wire(genome: Genome) -> Wiring:
    """Feed-forward: nodes that an output depends on through enabled connections, each after all that lead to it.
    Recurrent: nodes with an enabled connection from or to what an output depends on by any connection; their order does
    not matter, since all of them see what the others were one step before."""
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
    return Wiring([number_of[key] for key in order], [leading.get(key, []) for key in order], places, complete)


def _needed(genome: Genome) -> set[int]:
    """The nodes that the outputs depend on: of a feed-forward network, by what is enabled."""
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
    """Each after all that lead to it (Kahn 1962); nodes on a cycle, and what hangs on them, are left out."""
    waits = dict.fromkeys(needed, 0)
    led_to: dict[int, list[int]] = {}
    for target, links in leading.items():
        for link in links:
            if genome.source[link] >= 0:
                waits[target] += 1
                led_to.setdefault(genome.source[link], []).append(target)
    order = [key for key in genome.key if waits.get(key) == 0]
    for key in order:  # it grows meanwhile
        for target in led_to.get(key, ()):
            waits[target] -= 1
            if waits[target] == 0:
                order.append(target)
    return order
