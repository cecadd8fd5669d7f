"""The population of an evolutionary search, as tables and pictures show it: all individuals and their parents."""

from __future__ import annotations

from dataclasses import dataclass

from engine.diagram import Diagram
from engine.options import Value


@dataclass(frozen=True)
class Column:
    """A property of individuals."""

    title: str
    about: str


@dataclass(frozen=True)
class Individual:
    """One candidate of a search. `values` has one entry for each column; None where it is unknown."""

    number: int  # in the order in which they were made, from 1
    generation: int  # the first one that it was a member of
    parents: tuple[int, ...]  # their numbers; empty if it was drawn at random
    fitness: float | None  # None: not evaluated yet, or it failed
    values: tuple[Value | None, ...]
    member: bool  # of the current generation
    error: str = ""  # why its evaluation failed
    diagram: Diagram | None = None


@dataclass(frozen=True)
class Population:
    """What a checkpoint has of a population."""

    generation: int  # the last completed one
    fitness: Column
    columns: tuple[Column, ...]
    individuals: tuple[Individual, ...]  # by number
    best: int | None  # the number of the best one so far

    def ancestors(self, number: int) -> set[int]:
        """The numbers of all its ancestors, and its own."""
        parents = {individual.number: individual.parents for individual in self.individuals}
        found, left = {number}, [number]
        while left:
            new = set(parents.get(left.pop(), ())) - found
            found |= new
            left += new
        return found
