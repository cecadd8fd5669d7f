"""The network that learns, with the scale of its inputs, its optimiser and its checkpoints."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from agents.nets.architecture import MLP, RESNET, Architecture
from agents.nets.modules import PolicyValueNet
from agents.nets.network import Network
from agents.nets.pilot import is_small
from agents.training.selfplay.config import AUTO, PpoConfig
from agents.training.selfplay.loss import Batch, Diverged, Loss
from agents.training.selfplay.mlp_step import MlpStep
from agents.training.selfplay.torch_step import MOMENTS, Step, TorchStep
from engine.errors import BadValue
from engine.game import Game
from engine.seeding import derive

LEAST_DEVIATION = 0.1  # of an input: the lower limit of what it is divided by


class InputScale:
    """Mean and deviation of each input over all observations so far; of images, the deviation of each plane.

    Convolutions pad images with zeros, which must stay zeros: images are not shifted.
    """

    def __init__(self, observation: tuple[int, ...], flat: bool) -> None:
        self._flat = flat
        size = int(np.prod(observation)) if flat else observation[0]
        self.count = 0
        self.mean, self.squares = np.zeros((2, size))  # squares: sum of squared differences from the mean

    def add(self, obs: NDArray[np.float32]) -> None:
        """Adds observations [rows, ...] (Chan et al. 1979)."""
        wide = obs.reshape(len(obs), -1) if self._flat else obs.reshape(len(obs), len(self.mean), -1).swapaxes(1, 2)
        rows = wide.reshape(-1, len(self.mean)).astype(np.float64)
        if not len(rows):
            return
        mean, total = rows.mean(axis=0), self.count + len(rows)
        apart = mean - self.mean
        self.squares = self.squares + ((rows - mean) ** 2).sum(axis=0) + apart**2 * (self.count * len(rows) / total)
        self.mean, self.count = self.mean + apart * (len(rows) / total), total

    @property
    def factor(self) -> NDArray[np.float32]:
        deviation = np.sqrt(self.squares / self.count) if self.count else np.ones_like(self.mean)
        return (1 / np.maximum(deviation, LEAST_DEVIATION)).astype(np.float32)

    @property
    def shift(self) -> NDArray[np.float32]:
        """Subtracted after multiplication."""
        return (self.mean if self._flat else np.zeros_like(self.mean)).astype(np.float32) * self.factor


class Learner:
    """The network with its optimiser."""

    def __init__(self, settings: PpoConfig, game: Game, architecture: Architecture) -> None:
        self._settings, self.game_name, self.architecture = settings, game.spec.name, architecture
        self.device = device_of(settings.device)
        self._observation, self._flat = tuple(game.info.observation), architecture.is_dense
        self.net = PolicyValueNet(architecture, self._observation, game.info.actions)
        self.net.draw_tensors(torch.Generator().manual_seed(derive(settings.seed, "ppo weights") >> 1))
        self.net.to(self.device)
        self.scale = InputScale(self._observation, self._flat)
        self._inherited = False  # whether the network has played before
        small = architecture.type == MLP and is_small(architecture, self._observation, game.info.actions)
        written_out = small and self.device.type == "cpu"
        self._step: Step = MlpStep(self.net, settings) if written_out else TorchStep(self.net, settings)

    # The network as a player

    @property
    def weights(self) -> int:
        return sum(parameter.numel() for parameter in self.net.parameters())

    def network(self, temperature: float) -> Network:
        """The network as it is now, with the scale of its inputs in its first layer."""
        tensors = self.net.tensors()
        for weight, bias in self._first_layers:
            tensors[weight], tensors[bias] = self._unscaled(tensors[weight], tensors[bias])
        return Network(self.game_name, self._observation, self.net.actions, self.architecture, tensors, temperature)

    def start_from(self, network: Network) -> None:
        """Takes the weights of another network with the same layers."""
        self.net.set_tensors(network.tensors)
        self._inherited = True

    def add_to_scale(self, obs: NDArray[np.float32]) -> None:
        """Adds observations to the scale of the inputs. The first layer is changed with it, so that the network plays
        as before, unless it is new: drawn weights expect scaled inputs."""
        if not self._settings.scale_observations:
            return
        tensors = self.net.tensors()
        plain = [self._unscaled(tensors[weight], tensors[bias]) for weight, bias in self._first_layers]
        keep = self._inherited or self.scale.count > 0
        self.scale.add(obs)
        if keep:
            for (weight, bias), (unscaled, offset) in zip(self._first_layers, plain, strict=True):
                scaled: NDArray[Any] = unscaled / self._wide(self.scale.factor, unscaled.ndim)
                tensors[weight] = scaled
                tensors[bias] = offset + scaled @ self.scale.shift if self._flat else offset
            self.net.set_tensors(tensors)

    @property
    def _first_layers(self) -> list[tuple[str, str]]:
        """Weights and bias of each layer that sees the observation."""
        if self.architecture.type == RESNET:
            names = ["stem"]
        elif not self.architecture.is_dense:
            names = ["convs.0"]
        else:
            names = ["layers.0"] if self.architecture.hidden else ["policy", "value"]
        return [(f"{name}.weight", f"{name}.bias") for name in names]

    def _unscaled(self, weight: NDArray[Any], bias: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
        """Weights and bias of the first layer for inputs as the game gives them."""
        if not self._settings.scale_observations or not self.scale.count:
            return weight, bias
        return weight * self._wide(
            self.scale.factor, weight.ndim
        ), bias - weight @ self.scale.shift if self._flat else bias

    def _wide(self, factor: NDArray[np.float32], dimensions: int) -> NDArray[np.float32]:
        return factor.reshape(1, -1, *[1] * (dimensions - 2))

    # Learning

    def tensor(self, array: NDArray[Any]) -> Tensor:
        return torch.from_numpy(np.ascontiguousarray(array)).to(self.device)

    def update(
        self, batch: Batch, seed: int, learning_rate: float, entropy: float, attend: Callable[[], object]
    ) -> dict[str, float]:
        """Learns from a batch: `epochs` times in minibatches, drawn by `seed`. Returns metrics. `attend` is called
        before each minibatch. If it raises Diverged, a checkpoint has what was learned before."""
        before = self.tensors()
        try:
            return self._update(batch, seed, learning_rate, entropy, attend)
        except Diverged:
            self.set_tensors(before)
            raise

    def _update(
        self, batch: Batch, seed: int, learning_rate: float, entropy: float, attend: Callable[[], object]
    ) -> dict[str, float]:
        settings = self._settings
        generator = torch.Generator().manual_seed(seed >> 1)
        self._step.begin(batch._replace(obs=self._scaled(batch.obs)), learning_rate)
        parts = max(round(batch.size / settings.minibatch), 1)
        losses: list[Loss[float]] = []
        for _ in range(settings.epochs):
            order = torch.randperm(batch.size, generator=generator).to(self.device)
            for chosen in order.tensor_split(parts):
                attend()
                losses.append(self._step.step(chosen, entropy))
            moved = sum(loss.kl for loss in losses[-parts:]) / parts
            if settings.target_kl and moved > settings.target_kl:
                break
        if not all(bool(torch.isfinite(parameter).all()) for parameter in self.net.parameters()):
            raise Diverged("the weights are no longer finite")
        means = np.mean(losses, axis=0).tolist()
        names = ("loss/policy", "loss/value", "policy/entropy", "policy/kl", "policy/clipped")
        return dict(zip(names, means, strict=True)) | {"policy/epochs": len(losses) / parts}

    def _scaled(self, obs: Tensor) -> Tensor:
        if not self._settings.scale_observations or not self.scale.count:
            return obs
        shape = (1, -1) if self._flat else (1, -1, 1, 1)
        if self._flat:
            obs = obs.flatten(1)
        return obs * self.tensor(self.scale.factor).reshape(shape) - self.tensor(self.scale.shift).reshape(shape)

    # Checkpoints

    def tensors(self) -> dict[str, NDArray[Any]]:
        """Everything that it has learned, by name."""
        found: dict[str, NDArray[Any]] = {f"net.{name}": tensor for name, tensor in self.net.tensors().items()}
        for name, moments in self._step.moments().items():
            found |= {f"adam.{key}.{name}": moment for key, moment in moments.items()}
        scale: dict[str, NDArray[Any]] = {"scale.mean": self.scale.mean, "scale.squares": self.scale.squares}
        scale["scale.inherited"] = np.array(self._inherited)
        return found | scale | {"scale.count": np.array(self.scale.count, np.int64)}

    def set_tensors(self, tensors: Mapping[str, NDArray[Any]]) -> None:
        """Restores what `tensors` returned; raises BadValue for anything else."""
        own = {name: tensor for name, tensor in tensors.items() if name.startswith(("net.", "adam.", "scale."))}
        self._check(own)
        self.net.set_tensors({name: tensors[f"net.{name}"] for name, _ in self.net.named_parameters()})
        names = [name for name, _ in self.net.named_parameters() if f"adam.step.{name}" in tensors]
        self._step.set_moments({name: {key: tensors[f"adam.{key}.{name}"] for key in MOMENTS} for name in names})
        self.scale.mean, self.scale.squares = tensors["scale.mean"].copy(), tensors["scale.squares"].copy()
        self.scale.count, self._inherited = int(tensors["scale.count"]), bool(tensors["scale.inherited"])

    def _check(self, tensors: Mapping[str, NDArray[Any]]) -> None:
        own = self.tensors().items()
        expected = {name: tensor.shape for name, tensor in own if not name.startswith("adam.")}
        if any(name.startswith("adam.") for name in tensors):  # there is none before the first update
            for name, parameter in self.net.named_parameters():
                expected |= {f"adam.step.{name}": ()}
                expected |= {f"adam.{key}.{name}": tuple(parameter.shape) for key in ("exp_avg", "exp_avg_sq")}
        for name in expected.keys() | tensors.keys():
            if name not in tensors or name not in expected or tensors[name].shape != expected[name]:
                given = tensors[name].shape if name in tensors else None
                raise BadValue(f"checkpoint.{name}", given, f"a tensor of shape {expected.get(name)}")
            if not np.isfinite(tensors[name]).all():
                raise BadValue(f"checkpoint.{name}", "nan or inf", "finite numbers")


def device_of(name: str) -> torch.device:
    """The device of that name; raises BadValue if it is not there."""
    if name == "cuda" and not torch.cuda.is_available():
        raise BadValue("device", name, "cpu or auto: this torch finds no CUDA device")
    return torch.device("cuda" if name == "cuda" or (name == AUTO and torch.cuda.is_available()) else "cpu")


def explained_variance(values: NDArray[np.float32], returns: NDArray[np.float32]) -> float:
    """1 if the values predicted the returns, 0 if they did no better than their mean."""
    spread = float(returns.var(dtype=np.float64))
    return 1 - float((returns - values).var(dtype=np.float64)) / spread if spread else 0.0
