"""Imported once, by the fork server of model processes: they start with everything imported that they need."""

from __future__ import annotations

import gc
import os

# The library reads it when torch is imported, after this module. Threads that wait for each other in a loop, as they do
# otherwise, took several times as long on a machine that was busy with other programs.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

import agents.training.hybrid.model_process  # noqa: F401

gc.collect()
