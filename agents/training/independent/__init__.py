"""The trainer `independent`: several agents share a game, and each learns on its own.

- `config.py` has the settings of the trainer, `trainer.py` its loop, `environment.py` the experiment behind it.
- `parallel.py` has the switches of the three accelerations, `experiment.py` all other settings of an experiment.
- `roster.py` says who sits where, `population.py` holds learners, buffers and players, `evaluation.py` compares them.
- `actor.py` plays; `buffer.py` keeps what an agent has seen; `learner.py` learns from it by `dqn.py` or `iqn.py`.
- `learning.py` chooses how: `training.py` has the ways to update many agents at once, `asynchronous.py` learns while
  the actor plays on.
- `state.py` has checkpoints, `timeline.py` and `speedup.py` what takes how long.

To add a method, write a loss beside `dqn.py` and `iqn.py`, name it in `learner_settings.py`, and use it in
`learner.py`. The names below are imported at their first use, so that settings can be read without heavy libraries.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agents.training.lazy_names import lazy_names

if TYPE_CHECKING:
    from agents.training.independent.environment import ParallelEnvironment
    from agents.training.independent.learner_settings import LearnerSettings
    from agents.training.independent.parallel import ParallelSettings

__all__ = ["LearnerSettings", "ParallelEnvironment", "ParallelSettings"]

__getattr__ = lazy_names(
    __name__,
    {
        "LearnerSettings": "learner_settings",
        "ParallelEnvironment": "environment",
        "ParallelSettings": "parallel",
    },
)
