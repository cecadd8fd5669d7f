"""Self-play: the trainer `ppo`, and the collection of experience in worker processes.

- `config.py` has the settings of the trainer, `ppo.py` its loop.
- `parallel_config.py` has the settings of the collection, `manager.py` its interface for training loops of all kinds.
- `worker.py` plays in a worker process; `slots.py` is the memory through which it passes experience.
- `communicator.py` exchanges messages with workers, `synchronizer.py` passes weights, `supervision.py` restarts them.

The names below are imported at their first use, so that settings can be read without heavy libraries.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from agents.training.selfplay.communicator import WorkerCommunicator
    from agents.training.selfplay.manager import ParallelManager
    from agents.training.selfplay.parallel_config import ParallelConfig
    from agents.training.selfplay.synchronizer import ModelSynchronizer
    from agents.training.selfplay.worker import SelfPlayWorker

__all__ = ["ModelSynchronizer", "ParallelConfig", "ParallelManager", "SelfPlayWorker", "WorkerCommunicator"]

_MODULES = {
    "ModelSynchronizer": "synchronizer",
    "ParallelConfig": "parallel_config",
    "ParallelManager": "manager",
    "SelfPlayWorker": "worker",
    "WorkerCommunicator": "communicator",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
