"""Plays networks of ONNX files, by onnxruntime on one thread.

onnxruntime is imported when the first match begins, so that a payload can be checked without it.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import re
import shlex
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from agents.nets.facts import NetSettings
from agents.nets.onnx.model import TEMPERATURE, read_model, with_metadata
from agents.nets.onnx.signature import match_game
from agents.nets.sampling import CHOICE, INVALID, answer_rows, choice_of
from engine.errors import BadValue
from engine.game import BROKEN, AgentKind, Game, Indices, Ints, Seeds, Views
from engine.play.match import AgentSpec, MatchResult

if TYPE_CHECKING:
    from agents.nets.onnx.session import Session

LIBRARY = "onnxruntime"
INSTALL = f'{shlex.quote(sys.executable)} -m pip install "ringside[onnx]"'
TOO_NEW = (1, 29)  # from this version on onnxruntime sends usage data
os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")  # if it is imported all the same, as a worker's library
MOST_OPERATORS = 6  # that are listed


def check_library() -> None:
    """Raise BadValue unless a version of onnxruntime is installed that can be used; does not import it."""
    if LIBRARY not in sys.modules and importlib.util.find_spec(LIBRARY) is None:
        raise BadValue(LIBRARY, None, f"installed to play networks in ONNX: run {INSTALL}")
    try:
        version = importlib.metadata.version(LIBRARY)
    except importlib.metadata.PackageNotFoundError:  # another build, such as that for GPUs
        return
    if tuple(map(int, re.findall(r"\d+", version)[:2])) >= TOO_NEW:
        raise BadValue(LIBRARY, version, f"below 1.29, because newer versions send usage data: run {INSTALL}")


class OnnxPilot:
    """Plays every network of a group of lanes, one position after the other."""

    capacity = None

    def __init__(self, game: Game, slots: int) -> None:
        self._game, self._actions = game, game.info.actions
        self._agents: list[AgentSpec] = []
        self._sessions: dict[int, Session] = {}  # of networks that have played
        self._choices = np.zeros(0, CHOICE)
        self._seeds: Seeds = np.zeros(slots, np.uint64)
        self._all = np.ones((1, self._actions), np.bool_)
        self._chances = np.zeros(self._actions)
        self._logits = np.zeros((1, self._actions), np.float32)
        self._value, self._log_prob = np.zeros(1, np.float32), np.zeros(1, np.float32)

    def load(self, agent: AgentSpec) -> int:
        model = read_model(agent.payload)
        match_game(model, self._game)
        check_library()
        self._agents.append(agent)
        self._choices = np.append(self._choices, np.array([choice_of(self._actions, model.temperature)], CHOICE))
        return len(self._agents) - 1

    def begin(self, slots: Indices, agents: Indices, seeds: Seeds) -> None:
        self._seeds[slots] = seeds
        for number in np.unique(agents).tolist():  # here, because it may take longer than a clock allows
            self._session(number)

    def act(self, views: Views) -> Ints:
        legal = views.legal
        actions = np.zeros(len(views), np.int64)
        for row in range(len(views)):
            views.asking(row)
            session = self._session(int(views.agents[row]))
            mask = self._all if legal is None else legal[row : row + 1]
            if session.signature.chooses:
                actions[row] = session.choose(views.obs[row], mask)
            else:
                self._logits[0] = session.evaluate(views.obs[row], mask)
                self._answer(views, row, mask, actions)
        return actions

    def _answer(self, views: Views, row: int, mask: np.ndarray, actions: Ints) -> None:
        """Choose the action of one row from its logits."""
        at = slice(row, row + 1)
        asked = views.agents[at], views.slots[at], views.plies[at]
        answer_rows(
            self._choices, self._seeds, asked, self._logits, self._value, mask.view(np.uint8), True, self._chances,
            actions[at], self._log_prob,
        )  # fmt: skip
        if actions[row] == BROKEN:
            raise FloatingPointError(INVALID)

    def _session(self, number: int) -> Session:
        from agents.nets.onnx.session import Session

        found = self._sessions.get(number)
        if found is None:
            payload = self._agents[number].payload
            found = Session(payload, match_game(read_model(payload), self._game), self._actions)
            self._sessions[number] = found
        return found

    def end(self, slots: Indices, results: Sequence[MatchResult] | None) -> None:
        pass

    def close(self) -> None:
        self._sessions.clear()


def settings(payload: bytes) -> NetSettings:
    return NetSettings(read_model(payload).temperature)


def configure(payload: bytes, chosen: NetSettings) -> bytes:
    """The same network with other settings, which are in the metadata of the file."""
    if chosen.temperature == read_model(payload).temperature:
        return payload
    return with_metadata(payload, TEMPERATURE, f"{chosen.temperature!r}")


def describe(agent: AgentSpec) -> list[tuple[str, str]]:
    """Inputs, outputs, size, operators and temperature, as names and values."""
    model = read_model(agent.payload)
    listed = [f"{name} ({count})" if count > 1 else name for name, count in model.operators[:MOST_OPERATORS]]
    others = len(model.operators) - len(listed)
    facts = [
        ("Inputs", "; ".join(map(str, model.inputs))),
        ("Outputs", "; ".join(map(str, model.outputs))),
        ("Weights", f"{model.weights:,}"),
        ("Operators", ", ".join(listed) + (f" and {others} more" if others else "")),
        ("Opset", str(model.opset)),
        (
            "Temperature",
            f"{model.temperature:g}" if model.temperature else "0: plays the action with the largest output",
        ),
    ]
    return facts + ([("Written by", model.producer)] if model.producer else [])


ONNX = AgentKind(
    name="onnx",
    version=1,
    pilot=OnnxPilot,
    plays=lambda game: True,
    samples=lambda game: [],
    preload=(LIBRARY,),
    describe=describe,
    settings=settings,
    configure=configure,
    formats={"onnx": lambda agent: agent.payload},
)
