"""The plain bot that the README shows: whole matches, beside its own act() called in a bare loop."""

from __future__ import annotations

import re
import statistics
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from agents.scripted.pong import KIND as SCRIPTED
from engine.game import AgentKind
from engine.games.pong.game import Pong, PongOptions
from engine.play.executors import SequentialMatchExecutor
from engine.play.march import Marching
from engine.play.match import MatchResult, MatchSpec
from engine.registry import KINDS
from engine.seeding import derive
from tests.benchmarks.measure import Figure, in_turns, ratio

GAME = Pong(PongOptions())
LANES = (64, 1024)
README = Path(__file__).parents[2] / "README.md"


def figures(quick: bool) -> Iterator[Figure]:
    names = readme_bot()
    kind: AgentKind = names["KIND"]
    KINDS.add(kind.name, kind)
    try:
        yield from whole_matches(kind, names["Chaser"], quick)
    finally:
        KINDS.remove(kind.name)


def readme_bot() -> dict[str, Any]:
    """The names that the README's example of an agent defines."""
    blocks = re.findall(r"^```python\n(.*?)^```", README.read_text(), re.M | re.S)
    names: dict[str, Any] = {}
    exec(next(block for block in blocks if "class Chaser" in block), names)
    return names


def whole_matches(kind: AgentKind, bot: Callable[[], Any], quick: bool) -> Iterator[Figure]:
    """Against a scripted bot on either side, and itself; the bare loop calls act() as often on prepared views."""
    [plain], [other] = kind.samples(GAME), [agent for agent in SCRIPTED.samples(GAME) if agent.id == "Tracker"]
    for opponent, matches in ((other, 1000), (plain, 300)):
        count = 20 if quick else matches
        specs = [
            MatchSpec(str(n), GAME.spec, (plain, opponent) if n % 2 else (opponent, plain), derive("plain", n))
            for n in range(count)
        ]
        steps = sum(result.steps for result in _play(specs, LANES[0]))  # compiles
        answers = steps * sum(player is plain for player in (plain, opponent))
        jobs: dict[str, Callable[[], object]] = {
            f"{lanes} lanes": lambda specs=specs, lanes=lanes: _play(specs, lanes)  # type: ignore[misc]
            for lanes in LANES
        }
        jobs["bare loop"] = bare_loop(bot, answers)
        taken = in_turns(jobs, 1 if quick else 5)
        for lanes in LANES:
            name = f"{lanes} lanes"
            seconds = statistics.median(taken[name])
            note = f"{seconds / steps * 1e9:,.0f} ns a step"
            against = "itself" if opponent is plain else opponent.id
            what = f"whole matches, the README's plain bot against {against}, {name}"
            yield Figure(what, count / seconds, "matches/s", ratio(taken, name, "bare loop"), "its act() alone", note)
    rate = answers / statistics.median(taken["bare loop"])
    yield Figure("the README's plain bot, act() alone in a bare loop", rate / 1e6, "million answers/s")


def _play(specs: list[MatchSpec], lanes: int) -> list[MatchResult]:
    with SequentialMatchExecutor(lanes, marching=Marching.AT_ONCE) as executor:
        return executor.execute_matches(specs)


def bare_loop(bot: Callable[[], Any], answers: int) -> Callable[[], None]:
    seen = np.random.default_rng(1).uniform(-1.0, 1.0, (1000, *GAME.info.observation)).astype(np.float32)
    pairs = [(bot(), SimpleNamespace(obs=row)) for row in seen]

    def job() -> None:
        left = answers
        while left > 0:
            for player, view in pairs[:left]:
                player.act(view)
            left -= len(pairs)

    return job
