"""What training a model will need, from its genome alone: memory, and multiplications."""

from __future__ import annotations

import math
from collections.abc import Iterator

from agents.training.hybrid.genome import Genome

FLOAT = 4  # bytes
COPIES = 10  # of the parameters: gradient, two moments, the network that plays, the best one, and the file of it
ACTIVATIONS = 6  # copies of all outputs of a minibatch: gradients, normalisation, dropout, and space for convolutions
CHUNK = 256  # rows are evaluated at once, if a minibatch is smaller
IMAGES = 4  # dimensions of the weights of convolutions
BASE = 48 << 20  # bytes: what torch's libraries allocate at their first use


def memory_needed(genome: Genome, shape: tuple[int, ...], outputs: int, batch_size: int) -> int:
    """Bytes that training needs, roughly and rather too many."""
    numbers = COPIES * genome.parameters(shape, outputs)
    numbers += ACTIVATIONS * max(batch_size, CHUNK) * (math.prod(shape) + sum(_outputs(genome, shape, outputs)))
    return BASE + FLOAT * numbers


def multiplications(genome: Genome, shape: tuple[int, ...], outputs: int) -> int:
    """Multiplications for one example, to begin with the models that take longest."""
    found = 0
    for name, size in genome.architecture.shapes(shape, outputs).items():
        if name.endswith(".weight") and not name.startswith("value."):
            found += math.prod(size) * (_places(genome, shape, name) if len(size) == IMAGES else 1)
    return found


def _outputs(genome: Genome, shape: tuple[int, ...], outputs: int) -> Iterator[int]:
    """The number of outputs of every layer."""
    for k, gene in enumerate(genome.convs):
        yield gene.channels * _places(genome, shape, f"convs.{k}.weight")
    yield from (gene.width for gene in genome.dense)
    yield outputs


def _places(genome: Genome, shape: tuple[int, ...], name: str) -> int:
    """At how many places of the image a convolution is evaluated: one of the genome, or the policy after them."""
    count = int(name.split(".")[1]) + 1 if name.startswith("convs.") else len(genome.convs)
    sizes = shape[1:]
    for gene in genome.convs[:count]:
        sizes = tuple(-(-size // gene.stride) for size in sizes)
    return math.prod(sizes)
