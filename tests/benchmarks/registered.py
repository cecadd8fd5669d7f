"""Registers the network players in every process that imports it."""

from engine.registry import KINDS
from tests.benchmarks.players import SIX_NODES

KINDS.add(SIX_NODES.name, SIX_NODES)
