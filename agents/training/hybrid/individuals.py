"""What a table and a picture show of a search: its candidates in words, numbers and drawings. Imports no torch."""

from __future__ import annotations

from agents.nets.facts import architecture_diagram
from agents.training.hybrid.genome import ConvGene, DenseGene, Genome
from agents.training.hybrid.members import Member
from agents.training.hybrid.search import Search
from agents.training.population import Column, Individual, Population

FITNESS = Column("Fitness", "weighted share of correct answers to the examples for selection")
COLUMNS = (
    Column("Layers", "in the order of computation; a convolution is described by channels, kernel and stride"),
    Column("Parameters", "trained parameters"),
    Column("Loss", "mean cross-entropy of the examples for selection, in the best epoch"),
    Column("Epochs", "passes over the training examples until training ended"),
    Column("Optimiser", "optimiser used in training"),
    Column("Learning rate", "of the optimiser"),
    Column("Dropout", "share of the outputs of fully connected layers that are left out in training"),
    Column("Weight decay", "of the optimiser"),
    Column("Seconds", "training time in seconds"),
    Column("Attempts", "how often its training was started"),
)


def population_of(state: bytes) -> Population:
    """The population in a state that `Search.save` returned; raises BadValue for anything else."""
    search = Search.load(state)
    members, best = {member.number for member in search.members}, search.best
    shape, outputs = search.space.shape, search.space.outputs
    individuals = tuple(
        Individual(
            member.number,
            member.candidate.generation,
            member.candidate.parents,
            member.fitness,
            _values(member, search),
            member.number in members,
            member.outcome.error if member.outcome else "",
            architecture_diagram(member.genome.architecture, shape, outputs),
        )
        for member in search.individuals
    )
    return Population(search.generation, FITNESS, COLUMNS, individuals, best.number if best else None)


def _values(member: Member, search: Search) -> tuple[int | float | str | None, ...]:
    genome, outcome = member.genome, member.outcome
    return (
        layers_text(genome),
        search.space.parameters(genome),
        outcome.loss if outcome else None,
        outcome.epochs if outcome else None,
        genome.optimiser,
        genome.learning_rate,
        genome.dropout,
        genome.weight_decay,
        outcome.seconds if outcome else None,
        outcome.attempts if outcome else None,
    )


def layers_text(genome: Genome) -> str:
    """The layers in words, such as `conv 16 3x3/2 relu, norm; 64 tanh`."""
    return "; ".join([*map(_conv_text, genome.convs), *map(_dense_text, genome.dense)])


def _conv_text(gene: ConvGene) -> str:
    stride = f"/{gene.stride}" if gene.stride > 1 else ""
    return f"conv {gene.channels} {gene.kernel}x{gene.kernel}{stride} {_function(gene)}"


def _dense_text(gene: DenseGene) -> str:
    return f"{gene.width} {_function(gene)}"


def _function(gene: ConvGene | DenseGene) -> str:
    return f"{gene.activation}, norm" if gene.normalised else gene.activation
