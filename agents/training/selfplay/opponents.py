"""The opponents of a learning network: itself, frozen snapshots of it, bots, and agents of the league.

Opponents are drawn by prioritised fictitious self-play (Vinyals et al. 2019): those that the network beats less often
come more often. A snapshot is the bytes of a network, so nothing that is learned later can change it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from engine.options import Value
from engine.play.match import AgentSpec, GameSpec, Limits, MatchResult, MatchSpec
from engine.seeding import chance, derive, purpose

LEARNER = "learner"  # id of the learning network
LEARNING_KINDS = ("net", "torch-net")
SNAPSHOT, BOT, LEAGUE = GROUPS = ("snapshot", "bot", "league")  # ids are "group name"
SQUARED, VARIANCE, LINEAR, CAPPED = SAMPLING = ("squared", "variance", "linear", "capped")
MEMORY = 0.99  # factor of the counts of an opponent for each further match against it
OPPONENT = purpose("ppo.opponent")


def priorities(shares: Sequence[float], sampling: str) -> list[float]:
    """The chance of each opponent to be drawn, from the share of points that the network wins against it."""
    weights = [_weight(share, sampling) for share in shares]
    total = sum(weights)
    if total <= 0.0:
        return [1 / len(shares)] * len(shares)
    return [weight / total for weight in weights]


def _weight(x: float, sampling: str) -> float:
    return {SQUARED: (1 - x) ** 2, VARIANCE: x * (1 - x), LINEAR: 1 - x, CAPPED: min(0.5, 1 - x)}[sampling]


@dataclass
class Opponent:
    """An opponent, and the points that the network has won against it, old matches counting less."""

    agent: AgentSpec
    points: float = 0.0
    games: float = 0.0

    @property
    def group(self) -> str:
        return group_of(self.agent.id)

    @property
    def share(self) -> float:
        return self.points / self.games if self.games else 0.5

    def count(self, points: float) -> None:
        self.points, self.games = self.points * MEMORY + points, self.games * MEMORY + 1.0


@dataclass
class Retired:
    """A snapshot that has left the pool, and the streams whose match may still be against it."""

    agent: AgentSpec
    streams: set[int]


@dataclass
class OpponentPool:
    """All opponents but the current network, in the order in which they joined."""

    members: dict[str, Opponent] = field(default_factory=dict)  # by id
    retired: dict[str, Retired] = field(default_factory=dict)

    def add(self, group: str, name: str, agent: AgentSpec) -> AgentSpec:
        """Adds an agent; returns it with the id that it has in matches."""
        own = AgentSpec(f"{group} {name}", agent.kind, agent.payload, agent.version)
        self.members[own.id] = Opponent(own)
        return own

    def retire(self, most: int, streams: Iterable[int]) -> None:
        """Removes the oldest snapshots, so that at most `most` are left."""
        snapshots = [id for id, member in self.members.items() if member.group == SNAPSHOT]
        for id in snapshots[: max(len(snapshots) - most, 0)]:
            self.retired[id] = Retired(self.members.pop(id).agent, set(streams))

    @property
    def agents(self) -> list[AgentSpec]:
        """All that may take part in a match that is running or begins."""
        return [member.agent for member in self.members.values()] + [gone.agent for gone in self.retired.values()]

    def count(self, results: Iterable[MatchResult]) -> dict[str, list[float]]:
        """Counts the results of training matches. Returns the points of the network in each match, by opponent."""
        points: dict[str, list[float]] = {}
        for result in results:
            stream = stream_of(result)
            for id in [id for id, retired in self.retired.items() if stream in retired.streams]:
                self.retired[id].streams.discard(stream)
            if not result.ending.kind.rated:
                continue
            own = [rank for rank, player in zip(result.ranks, result.players, strict=True) if player == LEARNER]
            for rank, player in zip(result.ranks, result.players, strict=True):
                if player == LEARNER or not own:
                    continue
                won = sum((mine < rank) + 0.5 * (mine == rank) for mine in own) / len(own)
                points.setdefault(player, []).append(won)
                if player in self.members:
                    self.members[player].count(won)
        for id in [id for id, retired in self.retired.items() if not retired.streams]:
            del self.retired[id]
        return points

    def plan_settings(self, sampling: str) -> dict[str, Any]:
        """The settings of `match` that change during training: ids and chances of the bots, and of all others."""
        bots = [opponent for opponent in self.members.values() if opponent.group == BOT]
        others = [opponent for opponent in self.members.values() if opponent.group != BOT]
        return {name: _chances(group, sampling) for name, group in (("bots", bots), ("pool", others))}


def _chances(group: Sequence[Opponent], sampling: str) -> list[list[Any]]:
    chances = priorities([opponent.share for opponent in group], sampling) if group else []
    return [[opponent.agent.id, chance] for opponent, chance in zip(group, chances, strict=True)]


def match(
    agents: Mapping[str, AgentSpec],
    stream: int,
    k: int,
    *,
    game: tuple[str, int, Sequence[tuple[str, Value]]],
    seats: int,
    seed: int,
    steps: int,
    self_share: float,
    bot_share: float,
    bots: Sequence[tuple[str, float]],
    pool: Sequence[tuple[str, float]],
) -> MatchSpec:
    """The k-th match of a stream: the network sits on each seat in turn, and every other seat draws its player. All
    settings are JSON; `game` is name, version and options."""
    own = derive(seed, "ppo match", stream, k)
    first = (stream + k) % seats
    players = []
    for seat in range(seats):
        mark = chance(own, OPPONENT, seat)
        group = pool if mark >= self_share + bot_share else bots if mark >= self_share else ()
        drawn = LEARNER if seat == first or not group else _drawn(group, chance(own, OPPONENT, seat, k=1))
        players.append(agents[drawn])
    name, version, options = game
    spec = GameSpec(name, version, tuple((key, value) for key, value in options))
    return MatchSpec(f"{stream}.{k}", spec, tuple(players), own, None, Limits(steps or None))


def _drawn(group: Sequence[tuple[str, float]], mark: float) -> str:
    for id, share in group:
        mark -= share
        if mark < 0.0:
            return id
    return group[-1][0]


def group_of(id: str) -> str:
    """The group of an opponent in matches."""
    return id.partition(" ")[0]


def stream_of(result: MatchResult) -> int:
    return int(result.id.partition(".")[0])
