"""Networks on the command line: files enter a league at a temperature, or are refused with a sentence."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from agents.nets.architecture import Architecture
from agents.nets.network import dump
from agents.nets.onnx.export import to_onnx
from engine.registry import new_game
from league_app.cli.main import main
from tests.agents.nets.onnx.files import linear, model
from tests.league_app.cli.commands import Capture, run_json, run_rejected, run_text
from tests.plugins.networks import CONV, SMALL, drawn

PONG, HUNT = new_game("pong"), new_game("treasure-hunt")
FILE = Path("net.safetensors")
ADD = ["agents", "add", "a.league", "Deep", "--game", "pong", "--kind", "net", "--payload", f"@{FILE}"]


@pytest.fixture(autouse=True)
def league(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    monkeypatch.chdir(tmp_path)
    main(["new", "a.league"])
    capsys.readouterr()


def edited(payload: bytes, edit: Callable[[dict[str, Any]], None]) -> bytes:
    """The payload with another header."""
    (length,) = struct.unpack_from("<Q", payload)
    header = json.loads(payload[8 : 8 + length])
    edit(header)
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + payload[8 + length :]


def test_a_network_is_added_at_a_temperature_and_shown_by_its_layers(capsys: Capture) -> None:
    FILE.write_bytes(dump(drawn(SMALL, PONG, temperature=1.0)))
    assert "Deep joined a.league" in run_text(capsys, *ADD, "--set", "temperature=0.5")
    shown = run_text(capsys, "agents", "show", "a.league", "Deep")
    for line in ("architecture: mlp: 8, 16, 8, 3 + value", "weights: 316", "temperature: 0.5"):
        assert line in shown
    assert "\\x" not in shown
    facts = run_json(capsys, "agents", "show", "a.league", "Deep")["facts"]
    assert (facts["Observation"], facts["Actions"]) == ("8", "3")


def test_the_name_of_a_file_as_a_payload_is_refused_with_the_sign_that_reads_it(capsys: Capture) -> None:
    FILE.write_bytes(dump(drawn(SMALL, PONG)))
    rejected = run_rejected(capsys, *ADD[:-1], str(FILE))
    assert f"--payload = '{FILE}': must be '@{FILE}' to read the file of this name" in rejected
    FILE.unlink()
    assert "must be what net can play" in run_rejected(capsys, *ADD[:-1], str(FILE))


@pytest.mark.parametrize(
    ("payload", "sentence"),
    [
        (dump(drawn(CONV, HUNT)), "network.game = 'treasure-hunt': must be pong"),
        (dump(drawn(Architecture("mlp", (600, 600)), PONG)), "the kind torch-net is faster for this network"),
        (b"hello", "file = '5 bytes': must be a network in safetensors"),
        (b"[1, 2, 3, 4, 5]", "must be a network in safetensors"),
        (dump(drawn(SMALL, PONG))[:-4] + np.float32(np.nan).tobytes(), "'nan or inf': must be finite numbers"),
        (
            edited(dump(drawn(SMALL, PONG)), lambda header: header["value.bias"].update(shape=[10**12])),
            "value.bias.shape = (1000000000000,): must be (1,)",
        ),
        (
            edited(dump(drawn(SMALL, PONG)), lambda header: header["policy.weight"].update(shape=[8, 3])),
            "policy.weight.shape = (8, 3): must be (3, 8)",
        ),
    ],
)
def test_a_file_that_cannot_play_is_refused_before_anything_changes(
    capsys: Capture, payload: bytes, sentence: str
) -> None:
    FILE.write_bytes(payload)
    assert sentence in run_rejected(capsys, *ADD)
    assert run_json(capsys, "agents", "list", "a.league") == []


@pytest.mark.parametrize(
    ("setting", "sentence"),
    [
        ("temperature=-1", "temperature = -1.0: must be from 0.0 to 1000.0"),
        ("temperature=0.0001", "temperature = 0.0001: must be 0, or from 0.001 to 1000"),
        ("temperature=warm", "temperature = 'warm'"),
        ("temprature=1", "did you mean 'temperature'?"),
        ("temperature", "must be NAME=VALUE"),
    ],
)
def test_a_bad_setting_is_refused(capsys: Capture, setting: str, sentence: str) -> None:
    FILE.write_bytes(dump(drawn(SMALL, PONG)))
    assert sentence in run_rejected(capsys, *ADD, "--set", setting)
    assert run_json(capsys, "agents", "list", "a.league") == []


def test_only_kinds_with_settings_take_them(capsys: Capture) -> None:
    add = ["agents", "add", "a.league", "Dice", "--game", "pong"]
    assert "dice has none beside its payload" in run_rejected(capsys, *add, "--kind", "dice", "--set", "a=1")
    assert "--set = 'a=1': must be used with --kind" in run_rejected(capsys, *add, "--set", "a=1")


# ONNX


def test_a_network_leaves_and_returns_as_an_onnx_file(capsys: Capture) -> None:
    """At its temperature, and under another name; its .agent file is read in another league."""
    FILE.write_bytes(dump(drawn(SMALL, PONG, temperature=1.0)))
    run_text(capsys, *ADD, "--set", "temperature=0.5")
    export = ["agents", "export", "a.league"]
    assert "Deep written to Deep.onnx" in run_text(capsys, *export, "Deep", "--onnx")
    assert "only --overwrite replaces it" in run_rejected(capsys, *export, "Deep", "Deep.onnx", "--onnx")
    run_text(capsys, *export, "Deep", "Deep.onnx", "--onnx", "--overwrite")
    add = ["agents", "add", "a.league", "--game", "pong", "--kind", "onnx", "--payload", "@Deep.onnx"]
    run_text(capsys, *add, "Guest")
    run_text(capsys, *add, "Cold", "--set", "temperature=0")
    for name, temperature in (("Guest", "0.5"), ("Cold", "0: plays the action with the largest output")):
        facts = run_json(capsys, "agents", "show", "a.league", name)["facts"]
        assert facts["Temperature"] == temperature
        assert facts["Inputs"] == "observation: float32 [free, 8]"
    run_text(capsys, *export, "Guest", "again.onnx", "--onnx")
    assert Path("again.onnx").read_bytes() == Path("Deep.onnx").read_bytes()
    run_text(capsys, *export, "Cold", "cold.agent")
    main(["new", "b.league"])
    assert "Cold joined b.league" in run_text(capsys, "agents", "import", "b.league", "cold.agent")


def test_an_agent_that_is_no_network_has_no_onnx_file(capsys: Capture) -> None:
    main(["agents", "add", "a.league", "Dice", "--game", "pong"])
    capsys.readouterr()
    error = run_rejected(capsys, "agents", "export", "a.league", "Dice", "--onnx")
    assert "agent = 'Dice': must be of kind net or onnx or torch-net to be written as onnx, not dice" in error
    assert not Path("Dice.onnx").exists()


@pytest.mark.parametrize(
    ("payload", "sentence"),
    [
        (b"hello", "must be a network in ONNX"),
        (to_onnx(drawn(CONV, HUNT)), "network.game = 'treasure-hunt': must be pong"),
        (
            model(linear(6, 3, ("n", 6))),
            "inputs = 'x: float32 [free, 6]': must be one float32 observation [1, 8] of pong",
        ),
    ],
)
def test_an_onnx_file_is_checked_before_it_is_added(capsys: Capture, payload: bytes, sentence: str) -> None:
    Path("guest.onnx").write_bytes(payload)
    add = ["agents", "add", "a.league", "Guest", "--game", "pong", "--kind", "onnx", "--payload", "@guest.onnx"]
    assert sentence in run_rejected(capsys, *add)
    assert run_json(capsys, "agents", "list", "a.league") == []
