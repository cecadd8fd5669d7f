"""Draws opponents for training: shuffled groups of a population, a hall of fame, and a curriculum of bots."""

from __future__ import annotations

import csv
import io
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from engine.errors import BadValue, UnknownName
from engine.game import Game
from engine.options import Value
from engine.play.match import AgentSpec, GameSpec, Limits, MatchResult, MatchSpec
from engine.registry import KINDS, agents_for, kind_of, new_game
from engine.seeding import derive, pick, purpose

RAMP = 5  # fewest levels of a curriculum that changes options of the game
SHUFFLE, HALL = purpose("training.shuffle"), purpose("training.hall")


@dataclass(frozen=True)
class Encounter:
    """Players who meet once from every seat, with the same seed."""

    players: tuple[AgentSpec, ...]
    seed: int
    game: GameSpec


def matches(encounters: Sequence[Encounter], limits: Limits) -> list[MatchSpec]:
    """The matches of each encounter: players rotate by one seat from match to match. Ids are "encounter.rotation"."""
    specs = []
    for number, encounter in enumerate(encounters):
        for turn in range(len(encounter.players)):
            seated = encounter.players[turn:] + encounter.players[:turn]
            specs.append(MatchSpec(f"{number}.{turn}", encounter.game, seated, encounter.seed, None, limits))
    return specs


def encounter_of(match: MatchSpec | MatchResult) -> int:
    """Index of the encounter that a match belongs to."""
    return int(match.id.partition(".")[0])


def shuffled(count: int, seed: int) -> list[int]:
    """0 to count - 1 in random order (Fisher and Yates)."""
    order = list(range(count))
    for i in range(count - 1, 0, -1):
        j = pick(i + 1, seed, SHUFFLE, ply=i)
        order[i], order[j] = order[j], order[i]
    return order


def groups(count: int, size: int, opponents: int, seed: int) -> list[list[tuple[int, ...]]]:
    """Rounds of groups in which each player meets at least `opponents` others. Pairs are drawn by the circle method, so
    no pair meets twice before all pairs have met; larger groups are drawn anew in each round. If players are left over
    in a round, some others play twice to fill the last group."""
    rounds = []
    for turn in range(-(-opponents // (size - 1))):
        if size == 2:
            cycle, place = divmod(turn, count - 1 + count % 2)
            order = shuffled(count, derive(seed, "circle", cycle))
            rounds.append(_circle(order, place))
            continue
        order = shuffled(count, derive(seed, "round", turn))
        while len(order) % size:
            order.append(order[len(order) - count])
        rounds.append([tuple(order[at : at + size]) for at in range(0, len(order), size)])
    return rounds


def _circle(order: Sequence[int], turn: int) -> list[tuple[int, ...]]:
    """One round of a round robin: the first player stays, the others rotate by one place. With an odd number of players
    an empty place stays instead, and the player opposite meets its neighbour, who plays twice."""
    ring = list(order) if len(order) % 2 else list(order[1:])
    ring = ring[turn:] + ring[:turn]
    first = (ring[0], ring[1]) if len(order) % 2 else (order[0], ring[0])
    rest = ring[1:]
    return [first, *((rest[i], rest[-1 - i]) for i in range(len(rest) // 2))]


def share_of(meetings: int, share: float, seed: int, player: int) -> int:
    """A share of the meetings as a whole number; the fraction is rounded up or down at random."""
    exact = meetings * share
    whole = int(exact)
    return whole + (pick(1_000_000, seed, HALL, ply=player) < (exact - whole) * 1_000_000)


def ready_bots(game: Game, names: str, learning_kinds: Collection[str] = ()) -> list[AgentSpec]:
    """Ready-made agents by name, separated by commas; by default all, weakest first. Agents of `learning_kinds`
    are excluded. Of two with one name, that of Ringside itself is used, whatever plug-ins are installed."""
    offered: dict[str, AgentSpec] = {}
    own = set(KINDS.own())
    for kind, agents in agents_for(game).items():
        for agent in agents if kind not in learning_kinds else ():
            if agent.id not in offered or (kind in own and offered[agent.id].kind not in own):
                offered[agent.id] = agent
    chosen = split_names(names) or list(offered)
    for name in chosen:
        if name not in offered:
            raise UnknownName(f"ready-made agent for {game.spec.name}", name, offered)
    if not chosen:
        raise BadValue("bots", names, f"at least one opponent, but {game.spec.name} has no ready-made agents")
    return [offered[name] for name in dict.fromkeys(chosen)]


def check_is_no_person(setting: str, agent: AgentSpec) -> None:
    """Raises BadValue if a person plays this agent of a setting."""
    if kind_of(agent).live:
        raise BadValue(setting, agent.id, "an agent that plays by itself, not a person")


def check_rolls_out(setting: str, agent: AgentSpec) -> None:
    """Raises BadValue if this agent of a setting cannot play in rollouts, as `engine.play.rollout` does later. Creates
    no pilot, because that may import a heavy library."""
    most = getattr(kind_of(agent).pilot, "capacity", None)
    if isinstance(most, int):
        needed = f"an agent that can play all training matches at once; kind {agent.kind!r} plays at most {most} seats"
        raise BadValue(setting, agent.id, needed)


def split_names(names: str) -> list[str]:
    """Names that are separated by commas; one with a comma is quoted."""
    rows = csv.reader([names], skipinitialspace=True)
    return [name.strip() for row in rows for name in row if name.strip()]


def joined_names(names: Iterable[str]) -> str:
    """Names in the form that `split_names` reads."""
    line = io.StringIO()
    csv.writer(line, lineterminator="").writerow(names)
    return line.getvalue()


def bot_names(game: Game, names: str, learning_kinds: Collection[str] = ()) -> str:
    """The names of `ready_bots`, in the form that it reads."""
    return joined_names(bot.id for bot in ready_bots(game, names, learning_kinds))


@dataclass(frozen=True)
class Curriculum:
    """Bots of increasing strength, on a game whose options approach their usual values."""

    bots: tuple[AgentSpec, ...]
    games: tuple[GameSpec, ...]  # by level

    @property
    def top(self) -> int:
        return len(self.games) - 1

    def bot(self, level: int) -> AgentSpec:
        return self.bots[level * len(self.bots) // len(self.games)]

    def at(self, level: int) -> list[tuple[AgentSpec, GameSpec]]:
        """Opponents and games of a level: its bot, and the bot before it so that what was learned is not lost."""
        newest = self.bot(level)
        before = self.bots[: self.bots.index(newest)][-1:]
        return [(bot, self.games[level]) for bot in (*before, newest)]


def curriculum(game: Game, bots: Sequence[AgentSpec], ramp: str) -> Curriculum:
    """A level for each bot. `ramp` has values of the game's options at the first level, such as "serve_speed=4"; they
    reach the game's own values at the last level, in equal steps. With a ramp there are at least RAMP levels."""
    own = dict(game.spec.options)
    starts: dict[str, Value] = {}
    for part in filter(None, (part.strip() for part in ramp.split(","))):
        name, _, text = part.partition("=")
        if name not in own:
            raise UnknownName(f"option of {game.spec.name}", name, own)
        if type(own[name]) not in (int, float):
            raise BadValue("ramp", part, "an option that is a number")
        try:
            starts[name] = type(own[name])(text)
        except ValueError:
            raise BadValue("ramp", part, "NAME=NUMBER, an option of the game and its first value") from None
    levels = max(len(bots), RAMP if starts else 1)
    games = []
    for level in range(levels):
        progress = level / max(levels - 1, 1) if levels > 1 else 1.0
        values: dict[str, Any] = {name: _between(start, own[name], progress) for name, start in starts.items()}
        games.append(new_game(game.spec.name, **{**own, **values}).spec)
    return Curriculum(tuple(bots), tuple(games))


def _between(start: Value, end: Value, progress: float) -> Value:
    value = float(start) + (float(end) - float(start)) * progress
    return round(value) if isinstance(end, int) else value
