"""Who sits where: the learning and the frozen agents of an experiment."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from agents.training.independent.config import role_of, stacked_frames
from agents.training.independent.experiment import ExperimentSettings
from agents.training.independent.learner_settings import LearnerSettings
from engine.errors import BadValue
from engine.game import Game
from engine.play.match import AgentSpec

Agents = int | Sequence[LearnerSettings | AgentSpec]


@dataclass(frozen=True)
class SeatedAgent:
    """An agent at its seat."""

    role: str  # its name in metrics and checkpoints
    seat: int
    settings: LearnerSettings | None = None  # of an agent with a network and a buffer of its own
    player: AgentSpec | None = None  # any other agent
    frozen: bool = False  # whether a learning agent keeps its weights

    @property
    def learns(self) -> bool:
        return self.settings is not None and not self.frozen


def members_of(game: Game, agents: Agents, settings: ExperimentSettings) -> tuple[SeatedAgent, ...]:
    """The agents by seat; raises BadValue if they do not fit the game. A number stands for so many learners."""
    number = isinstance(agents, int) and not isinstance(agents, bool)
    if not number and (not isinstance(agents, Sequence) or isinstance(agents, str | bytes)):
        raise BadValue("agents", agents, "a number of learners, or a sequence with one entry for each seat")
    count = agents if isinstance(agents, int) else len(agents)
    if count != game.info.seats:
        hint = f"; or set its option seats={count}" if "seats" in dict(game.spec.options) and count > 1 else ""
        raise BadValue("agents", count, f"{game.info.seats}, one for each seat of {game.spec.name}{hint}")
    if isinstance(agents, int):
        agents = [LearnerSettings()] * count
    members = [_member(game, seat, one) for seat, one in enumerate(agents)]
    roles = [one.role for one in members if one.settings is not None]
    if not roles:
        raise BadValue("agents", [one.role for one in members], "at least one learner")
    if len(frames := {one.settings.frames for one in members if one.settings is not None}) > 1:
        raise BadValue("frames", sorted(frames), "the same for all learners")
    for one in members:
        if one.settings is not None:
            settings.check_learner(one.settings)
    frozen = settings.check_frozen(roles)
    return tuple(replace(one, frozen=one.role in frozen) for one in members)


def _member(game: Game, seat: int, one: object) -> SeatedAgent:
    if isinstance(one, AgentSpec):
        return SeatedAgent(one.id, seat, player=one)
    if not isinstance(one, LearnerSettings):
        raise BadValue(f"agents[{seat}]", one, "LearnerSettings, or the AgentSpec of an agent that does not learn")
    own = stacked_frames(game)
    if one.frames not in (1, own):
        needed = "1" if own == 1 else f"1 or {own}, as the game stacks them"
        raise BadValue("frames", one.frames, f"{needed}: the network must play what the game shows")
    return SeatedAgent(role_of(seat), seat, one)
