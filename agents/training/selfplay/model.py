"""The learner of self-play: its current weights, as a torch module once that is asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agents.nets.network import Network, Tensors
from agents.nets.pilot import agent
from agents.training.selfplay.parallel_config import ModelConfig
from engine.game import Game
from engine.play.match import AgentSpec

if TYPE_CHECKING:
    from agents.nets.modules import PolicyValueNet


class LearnerModel:
    """Given weights are kept as arrays until `module` is used, so that they need no torch."""

    def __init__(self, config: ModelConfig, game: Game, id: str) -> None:
        self._config, self._game, self._id = config, game, id
        self._tensors: Tensors | None = None  # before there is a module
        self._module: PolicyValueNet | None = None

    @property
    def module(self) -> PolicyValueNet:
        """The network that is trained."""
        if self._module is None:
            import torch

            from agents.nets.modules import PolicyValueNet

            info = self._game.info
            module = PolicyValueNet(self._config.architecture, info.observation, info.actions)
            if self._tensors is None:
                module.draw_tensors(torch.Generator().manual_seed(self._config.seed))
            else:
                module.set_tensors(self._tensors)
            self._module, self._tensors = module, None
        return self._module

    def load(self, tensors: Tensors) -> None:
        """Set the weights, by name."""
        self._network(tensors)  # checks them
        if self._module is not None:
            self._module.set_tensors(tensors)
        else:
            self._tensors = {name: tensor.copy() for name, tensor in tensors.items()}

    def agent(self) -> AgentSpec:
        """The learner with its current weights."""
        return agent(self._id, self._network(self.module.tensors() if self._tensors is None else self._tensors))

    def _network(self, tensors: Tensors) -> Network:
        info, architecture = self._game.info, self._config.architecture
        return Network(self._game.spec.name, info.observation, info.actions, architecture, tensors, temperature=1.0)
