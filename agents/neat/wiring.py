"""Which nodes of a genome count, in which order they are evaluated, and what leads to each: compiled, because a trainer
makes thousands of networks."""

from __future__ import annotations

import numpy as np

from engine.kernels import inline, kernel


@inline
def _grouped(group, kept, groups):  # type: ignore[no-untyped-def]
    """Where each group stands, in order, as members[starts[g] : starts[g + 1]]; what is not kept is left out."""
    starts = np.zeros(groups + 1, np.int64)
    for i in range(group.size):
        if kept[i] and group[i] >= 0:
            starts[group[i] + 1] += 1
    for g in range(groups):
        starts[g + 1] += starts[g]
    ends = starts.copy()
    members = np.empty(starts[groups], np.int64)
    for i in range(group.size):
        if kept[i] and group[i] >= 0:
            members[ends[group[i]]] = i
            ends[group[i]] += 1
    return starts, members


@kernel
def _needed(outputs, source, target, counts):  # type: ignore[no-untyped-def]
    """The nodes that these outputs depend on through the connections that count."""
    n = outputs[0]
    needed = np.zeros(n, np.bool_)
    starts, into = _grouped(target, counts, n)
    pending = np.empty(n, np.int64)
    waiting = 0
    for i in range(1, outputs.size):
        needed[outputs[i]] = True
        pending[waiting] = outputs[i]
        waiting += 1
    while waiting:
        waiting -= 1
        node = pending[waiting]
        for at in range(starts[node], starts[node + 1]):
            one = source[into[at]]
            if one >= 0 and not needed[one]:
                needed[one] = True
                pending[waiting] = one
                waiting += 1
    return needed


@kernel
def _ordered(needed, source, target, kept):  # type: ignore[no-untyped-def]
    """The needed nodes, each after all that lead to it; those on a cycle, and what hangs on them, are left out."""
    n = needed.size
    waits = np.zeros(n, np.int64)  # connections from nodes that are not placed yet
    for i in range(source.size):
        if kept[i] and source[i] >= 0:
            waits[target[i]] += 1
    starts, out_of = _grouped(source, kept, n)
    order = np.empty(n, np.int64)
    placed = 0
    for i in range(n):
        if needed[i] and waits[i] == 0:
            order[placed] = i
            placed += 1
    done = 0
    while done < placed:
        for at in range(starts[order[done]], starts[order[done] + 1]):
            one = target[out_of[at]]
            waits[one] -= 1
            if waits[one] == 0:
                order[placed] = one
                placed += 1
        done += 1
    return order[:placed]


@kernel
def arrange(inputs, outputs, feed_forward, keys, sources, targets, enabled):  # type: ignore[no-untyped-def]
    """Which nodes are evaluated, in which order; where each one's connections begin and which they are; the place of
    every node among the values; where the outputs are. Feed-forward networks with a cycle lack some node.

    Feed-forward: nodes that an output depends on through enabled connections, each after all that lead to it.
    Recurrent: nodes with an enabled connection from or to what an output depends on by any connection; their order does
    not matter, since all of them see what the others were one step before.
    """
    n, m = keys.size, sources.size
    by_key = np.argsort(keys)
    sorted_keys = keys[by_key]
    target = by_key[np.searchsorted(sorted_keys, targets)]
    source = np.full(m, -1)
    for i in range(m):
        if sources[i] >= 0:
            source[i] = by_key[np.searchsorted(sorted_keys, sources[i])]
    ends = np.empty(outputs + 1, np.int64)
    ends[0] = n
    for i in range(outputs):
        ends[i + 1] = by_key[np.searchsorted(sorted_keys, i)]
    needed = _needed(ends, source, target, enabled if feed_forward else np.ones(m, np.bool_))
    kept = np.zeros(m, np.bool_)
    fed = np.zeros(n, np.bool_)
    for i in range(m):
        kept[i] = enabled[i] and (needed[target[i]] or (not feed_forward and source[i] >= 0 and needed[source[i]]))
        fed[target[i]] |= kept[i]
    order = _ordered(needed, source, target, kept) if feed_forward else np.flatnonzero(fed)
    complete = not feed_forward or order.size == needed.sum()
    places = np.full(n, inputs)  # what is not evaluated is always 0
    rank = np.full(n, -1)
    for i in range(order.size):
        places[order[i]] = inputs + 1 + i
        rank[order[i]] = i
    starts, links = _grouped(rank[target], kept, order.size)
    from_places = np.empty(links.size, np.uint32)
    for i in range(links.size):
        key = sources[links[i]]
        from_places[i] = -1 - key if key < 0 else places[source[links[i]]]
    return complete, order, starts, links, from_places, places[ends[1:]].astype(np.uint32)
