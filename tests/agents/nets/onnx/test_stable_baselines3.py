"""A policy of Stable-Baselines3, trained on the exported PettingZoo Pong, enters a league and plays a tournament."""

from __future__ import annotations

import csv
import io
import os
import warnings
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from agents.nets.onnx.model import read_model
from agents.nets.onnx.pilot import OnnxPilot
from agents.nets.onnx.signature import match_game
from engine.play.match import AgentSpec, EndingKind
from engine.registry import new_game
from league_app.cli.main import main
from league_app.core.export import match_lines
from league_app.core.state import LeagueState
from tests.league_app.cli.commands import Capture, run_json, run_text

needed = import_module if os.environ.get("RINGSIDE_TESTS") == "all" else pytest.importorskip  # "all": none is skipped
for name in ("stable_baselines3", "onnxruntime", "onnxscript", "pettingzoo"):
    needed(name)

PONG = new_game("pong")


class Actions(torch.nn.Module):
    """The whole policy: actions, values and log-probabilities, as the documentation of Stable-Baselines3 exports it."""

    def __init__(self, policy: Any) -> None:
        super().__init__()
        self.policy = policy

    def forward(self, obs: torch.Tensor) -> Any:
        return self.policy(obs, deterministic=True)


class Logits(Actions):
    """The logits alone, which can be sampled from."""

    def forward(self, obs: torch.Tensor) -> Any:
        latent, _ = self.policy.mlp_extractor(self.policy.extract_features(obs))
        return self.policy.action_net(latent)


@pytest.fixture(scope="module")
def policy() -> Any:
    from tests.benchmarks.sb3 import ExportedPong, new_model

    model = new_model(ExportedPong(8), (64, 64), steps=64, minibatch=256, epochs=4)
    model.learn(8 * 2 * 64 * 8)
    return model.policy.eval()


def exported(module: torch.nn.Module, dynamo: bool) -> bytes:
    """By one of torch's two exporters. The newer one, dynamo, cannot export the checks of torch's distributions."""
    file = io.BytesIO()
    example = torch.zeros(1, *PONG.info.observation)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the exporter, about its own future
        if dynamo:
            program = torch.onnx.export(module, (example,), input_names=["obs"], opset_version=18, dynamo=True)
            assert program is not None
            program.save(file, external_data=False)
        else:
            axes = {"obs": {0: "batch"}}
            torch.onnx.export(
                module, (example,), file, input_names=["obs"], opset_version=17, dynamo=False, dynamic_axes=axes
            )
    return file.getvalue()


@pytest.mark.slow
@pytest.mark.parametrize(("form", "dynamo"), [(Actions, False), (Logits, False), (Logits, True)])
def test_a_policy_of_stable_baselines3_plays_what_it_predicts(policy: Any, form: type[Actions], dynamo: bool) -> None:
    payload = exported(form(policy), dynamo)
    assert match_game(read_model(payload), PONG).chooses == (form is Actions)
    pilot = OnnxPilot(PONG, 1)
    pilot.load(AgentSpec("a", "onnx", payload))
    session = pilot._session(0)
    obs = np.random.default_rng(1).uniform(-1, 1, (300, *PONG.info.observation)).astype(np.float32)
    allowed = np.ones((1, PONG.info.actions), np.bool_)
    if form is Actions:
        found = [session.choose(row, allowed) for row in obs]
    else:
        found = [int(session.evaluate(row, allowed).argmax()) for row in obs]
    assert found == policy.predict(obs, deterministic=True)[0].tolist()
    assert len(set(found)) > 1


@pytest.mark.slow
@pytest.mark.usefixtures("only_ours")
def test_a_policy_of_stable_baselines3_plays_a_tournament_and_is_rated(
    policy: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("guest.onnx").write_bytes(exported(Actions(policy), dynamo=False))
    Path("logits.onnx").write_bytes(exported(Logits(policy), dynamo=True))
    main(["new", "a.league", "--game", "pong"])
    add = ["agents", "add", "a.league", "--game", "pong", "--kind", "onnx"]
    main([*add, "Guest", "--payload", "@guest.onnx"])
    main([*add, "Sampled", "--payload", "@logits.onnx", "--set", "temperature=1"])
    capsys.readouterr()
    run_text(capsys, "tournament", "run", "a.league", "--workers", "2")
    rows = {row["name"]: row for row in run_json(capsys, "standings", "a.league")["rows"]}
    for name in ("Guest", "Sampled"):
        assert sum(rows[name]["total"][part] for part in ("wins", "draws", "losses")) == 2 * (len(rows) - 1)
        assert 0 < rows[name]["error"] < 1000
    with LeagueState("a.league", read_only=True) as state:
        endings = [line["ending"] for line in csv.DictReader(match_lines(state.league, None, "csv"))]
    assert len(endings) == len(rows) * (len(rows) - 1)
    assert not any(EndingKind(ending).failure for ending in endings)
