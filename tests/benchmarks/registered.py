"""Registers the network players, here and in whatever worker imports it."""

from engine.registry import KINDS
from tests.benchmarks.players import SIX_NODES

KINDS.add(SIX_NODES.name, SIX_NODES)
