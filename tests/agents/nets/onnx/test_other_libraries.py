"""Networks in the shapes that CleanRL and RLlib give them, exported by torch. Neither library is needed."""

from __future__ import annotations

import io
import os
import warnings
from collections.abc import Sequence
from importlib import import_module

import numpy as np
import pytest
import torch

from agents.nets.onnx.model import read_model
from agents.nets.onnx.pilot import ONNX, OnnxPilot
from agents.nets.onnx.signature import match_game
from engine.errors import BadValue
from engine.play.match import AgentSpec, EndingKind, MatchSpec
from engine.play.sequential import SequentialMatchExecutor
from engine.registry import new_game

needed = import_module if os.environ.get("RINGSIDE_TESTS") == "all" else pytest.importorskip  # "all": none is skipped
for name in ("onnxruntime", "onnxscript"):
    needed(name)

PONG = new_game("pong", points=1, step_limit=200)


class CleanAgent(torch.nn.Module):
    """As in CleanRL's ppo.py: critic and actor are plain sequences of layers, and the actor's outputs are logits."""

    def __init__(self) -> None:
        super().__init__()
        self.critic = layers(1)
        self.actor = layers(PONG.info.actions)


class RayModel(torch.nn.Module):
    """As RLlib's models are called: with a state, which a network without memory returns as it was."""

    def __init__(self) -> None:
        super().__init__()
        self.logits = layers(PONG.info.actions)

    def forward(self, obs: torch.Tensor, state_ins: torch.Tensor, seq_lens: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return self.logits(obs), state_ins + 0.0 * seq_lens


def layers(outputs: int) -> torch.nn.Sequential:
    linear, tanh = torch.nn.Linear, torch.nn.Tanh
    return torch.nn.Sequential(linear(8, 64), tanh(), linear(64, 64), tanh(), linear(64, outputs))


def exported(module: torch.nn.Module, inputs: Sequence[str], outputs: Sequence[str]) -> bytes:
    """With a batch dimension of any size."""
    file, examples = io.BytesIO(), [torch.zeros(1, 8), *[torch.ones(1)] * (len(inputs) - 1)]
    axes = {name: {0: "batch_size"} for name in (*inputs, *outputs)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the exporter, about its own future
        torch.onnx.export(
            module.eval(), tuple(examples), file, input_names=list(inputs), output_names=list(outputs),
            dynamic_axes=axes, opset_version=17, dynamo=False,
        )  # fmt: skip
    return file.getvalue()


def check_plays(payload: bytes, module: torch.nn.Module) -> None:
    """It chooses the actions with the largest logits of the module, and plays a match."""
    pilot = OnnxPilot(PONG, 1)
    pilot.load(AgentSpec("a", "onnx", payload))
    session, allowed = pilot._session(0), np.ones((1, PONG.info.actions), np.bool_)
    obs = np.random.default_rng(1).uniform(-1, 1, (100, 8)).astype(np.float32)
    found = [int(session.evaluate(row, allowed).argmax()) for row in obs]
    assert found == module(torch.from_numpy(obs)).argmax(1).tolist()
    assert len(set(found)) > 1
    players = tuple(AgentSpec(id, "onnx", payload) for id in ("a", "b"))
    with SequentialMatchExecutor(1) as executor:
        result = executor.execute_match(MatchSpec("m", PONG.spec, players, 1))
    assert result.ending.kind in (EndingKind.FINISHED, EndingKind.STEP_LIMIT), result.ending


def test_the_actor_of_cleanrl_plays_its_logits() -> None:
    torch.manual_seed(1)
    actor = CleanAgent().actor
    payload = exported(actor, ["obs"], ["logits"])
    signature = match_game(read_model(payload), PONG)
    assert (signature.chooses, signature.probabilities) == (False, False)
    check_plays(payload, actor)


def test_a_model_of_rllib_is_refused_with_its_state_and_plays_without_it() -> None:
    torch.manual_seed(1)
    model = RayModel()
    payload = exported(model, ["obs", "state_ins", "seq_lens"], ["output", "state_outs"])
    with pytest.raises(BadValue) as error:
        ONNX.pilot(PONG, 1).load(AgentSpec("a", "onnx", payload))
    given = "obs: float32 [free, 8]; state_ins: float32 [free]; seq_lens: float32 [free]"
    assert str(error.value).startswith(f"inputs = '{given}': must be one float32 observation [1, 8] of pong")
    assert str(error.value).endswith("export the network without its other inputs, such as a state")
    check_plays(exported(model.logits, ["obs"], ["output"]), model.logits)
