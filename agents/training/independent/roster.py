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
    members = [_member(game, seat, agent) for seat, agent in enumerate(agents)]
    roles = [member.role for member in members if member.settings is not None]
    if not roles:
        raise BadValue("agents", [member.role for member in members], "at least one learner")
    if len(frames := {member.settings.frames for member in members if member.settings is not None}) > 1:
        raise BadValue("frames", sorted(frames), "the same for all learners")
    for member in members:
        if member.settings is not None:
            settings.check_learner(member.settings)
    frozen = settings.check_frozen(roles)
    return tuple(replace(member, frozen=member.role in frozen) for member in members)


def _member(game: Game, seat: int, agent: object) -> SeatedAgent:
    if isinstance(agent, AgentSpec):
        return SeatedAgent(agent.id, seat, player=agent)
    if not isinstance(agent, LearnerSettings):
        raise BadValue(f"agents[{seat}]", agent, "LearnerSettings, or the AgentSpec of an agent that does not learn")
    own = stacked_frames(game)
    if agent.frames not in (1, own):
        needed = "1" if own == 1 else f"1 or {own}, as the game stacks them"
        raise BadValue("frames", agent.frames, f"{needed}: the network must play what the game shows")
    return SeatedAgent(role_of(seat), seat, agent)
