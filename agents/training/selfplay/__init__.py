"""Self-play: the trainer `ppo`, and the collection of experience in worker processes.

- `config.py` has the settings of the trainer, `ppo.py` its loop.
- `parallel_config.py` has the settings of the collection, `manager.py` its interface for training loops of all kinds.
- `worker.py` plays in a worker process; `slots.py` is the memory through which it passes experience.
- `communicator.py` exchanges messages with workers, `synchronizer.py` passes weights, `supervision.py` restarts them.

The names below are imported at their first use, so that settings can be read without heavy libraries.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agents.training.lazy_names import lazy_names

if TYPE_CHECKING:
    from agents.training.selfplay.communicator import WorkerCommunicator
    from agents.training.selfplay.manager import ParallelManager
    from agents.training.selfplay.parallel_config import ParallelConfig
    from agents.training.selfplay.synchronizer import ModelSynchronizer
    from agents.training.selfplay.worker import SelfPlayWorker

__all__ = ["ModelSynchronizer", "ParallelConfig", "ParallelManager", "SelfPlayWorker", "WorkerCommunicator"]

__getattr__ = lazy_names(
    __name__,
    {
        "ModelSynchronizer": "synchronizer",
        "ParallelConfig": "parallel_config",
        "ParallelManager": "manager",
        "SelfPlayWorker": "worker",
        "WorkerCommunicator": "communicator",
    },
)
