"""The trainer `hybrid`: evolution chooses the architectures of networks, and each of them learns by gradient.

- `config.py` has the settings of the trainer, `trainer.py` its loop, `run.py` and `state.py` its checkpoints.
- `lessons/` makes examples from a league: recorded matches, and matches that agents play for it.
- `genome.py` describes a model, `space.py` which models there are, `variation.py` how they are drawn and bred.
- `search.py` says which models are trained next; it knows neither torch nor processes.
- `fitting.py` trains one model (`module.py`), `evaluators.py` several at a time, `process_workers.py` in processes.
- `neuroevolution.py` searches for any two data loaders, with the configuration of `neuroevolution_config.py`.

To add a gene, add a field in `genome.py`, draw and change it in `variation.py`, and use it in `module.py`. The names
below are imported at their first use, so that settings can be read without heavy libraries.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agents.training.lazy_names import lazy_names

if TYPE_CHECKING:
    from agents.training.hybrid.data import Examples, Task
    from agents.training.hybrid.genome import Genome
    from agents.training.hybrid.neuroevolution import HybridNeuroevolution
    from agents.training.hybrid.neuroevolution_config import CONFIG

__all__ = ["CONFIG", "Examples", "Genome", "HybridNeuroevolution", "Task"]

__getattr__ = lazy_names(
    __name__,
    {
        "CONFIG": "neuroevolution_config",
        "Examples": "data",
        "Genome": "genome",
        "HybridNeuroevolution": "neuroevolution",
        "Task": "data",
    },
)
