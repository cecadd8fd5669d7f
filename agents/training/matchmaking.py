"""Who meets whom in training: shuffled groups of a population, a hall of fame, and a curriculum of bots."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from agents.neat.pilot import KIND
from engine.errors import BadValue, UnknownName
from engine.game import Game
from engine.options import Value
from engine.play.match import AgentSpec, GameSpec, Limits, MatchResult, MatchSpec
from engine.registry import agents_for, new_game
from engine.seeding import derive, pick, purpose

RAMP = 5  # levels of a curriculum of options
SHUFFLE, HALL = purpose("training.shuffle"), purpose("training.hall")


@dataclass(frozen=True)
class Encounter:
    """Some players who meet, once from every seat, with one seed."""

    players: tuple[AgentSpec, ...]
    seed: int
    game: GameSpec


def matches(encounters: Sequence[Encounter], limits: Limits) -> list[MatchSpec]:
    """Each encounter from every seat: the players move on by one seat each time. Ids are "encounter.seating"."""
    found = []
    for number, one in enumerate(encounters):
        for turn in range(len(one.players)):
            seated = one.players[turn:] + one.players[:turn]
            found.append(MatchSpec(f"{number}.{turn}", one.game, seated, one.seed, None, limits))
    return found


def encounter_of(match: MatchSpec | MatchResult) -> int:
    return int(match.id.partition(".")[0])


def shuffled(count: int, seed: int) -> list[int]:
    """0 to count - 1 in an order of that seed (Fisher and Yates)."""
    order = list(range(count))
    for i in range(count - 1, 0, -1):
        j = pick(i + 1, seed, SHUFFLE, ply=i)
        order[i], order[j] = order[j], order[i]
    return order


def groups(count: int, size: int, meetings: int, seed: int) -> list[list[tuple[int, ...]]]:
    """Rounds of groups in which everybody meets so many others. Pairs are drawn by the circle method, so that they are
    others in each round until everybody has met everybody; larger groups are drawn anew each round. Who is left over in
    a round is joined by some who play once more."""
    found = []
    for turn in range(-(-meetings // (size - 1))):
        if size == 2:
            whole, place = divmod(turn, count - 1 + count % 2)
            order = shuffled(count, derive(seed, "circle", whole))
            found.append(_circle(order, place))
            continue
        order = shuffled(count, derive(seed, "round", turn))
        while len(order) % size:
            order.append(order[len(order) - count])
        found.append([tuple(order[at : at + size]) for at in range(0, len(order), size)])
    return found


def _circle(order: Sequence[int], turn: int) -> list[tuple[int, ...]]:
    """One round of everybody against everybody: the first stays, the others move on by one each time. With an odd
    number it is an empty place that stays, and who sits opposite meets its neighbour, who plays twice."""
    ring = list(order) if len(order) % 2 else list(order[1:])
    ring = ring[turn:] + ring[:turn]
    first = (ring[0], ring[1]) if len(order) % 2 else (order[0], ring[0])
    rest = ring[1:]
    return [first, *((rest[i], rest[-1 - i]) for i in range(len(rest) // 2))]


def share_of(meetings: int, share: float, seed: int, who: int) -> int:
    """How many of somebody's meetings a share of them is; fractions are drawn."""
    exact = meetings * share
    whole = int(exact)
    return whole + (pick(1_000_000, seed, HALL, ply=who) < (exact - whole) * 1_000_000)


def ready_bots(game: Game, names: str) -> list[AgentSpec]:
    """Ready-made agents by name, separated by commas; without names all that do not learn, weakest first."""
    offered = {one.id: one for kind, agents in agents_for(game).items() if kind != KIND.name for one in agents}
    wanted = [name.strip() for name in names.split(",") if name.strip()] if names.strip() else list(offered)
    for name in wanted:
        if name not in offered:
            raise UnknownName(f"ready-made agent for {game.spec.name}", name, offered)
    if not wanted:
        raise BadValue("bots", names, f"somebody to play against, and {game.spec.name} comes with nobody")
    return [offered[name] for name in dict.fromkeys(wanted)]


@dataclass(frozen=True)
class Curriculum:
    """What is learned first: one bot after the other, on a game whose options approach their usual values."""

    bots: tuple[AgentSpec, ...]
    games: tuple[GameSpec, ...]  # one for each level

    @property
    def top(self) -> int:
        return len(self.games) - 1

    def bot(self, level: int) -> AgentSpec:
        return self.bots[level * len(self.bots) // len(self.games)]

    def at(self, level: int) -> list[tuple[AgentSpec, GameSpec]]:
        """Whom to play and on what: the bot of that level, and the one before so that it is not unlearned."""
        newest = self.bot(level)
        before = self.bots[: self.bots.index(newest)][-1:]
        return [(one, self.games[level]) for one in (*before, newest)]


def curriculum(game: Game, bots: Sequence[AgentSpec], ramp: str) -> Curriculum:
    """`ramp` says where options of the game begin, such as "serve_speed=4"; they reach the game's own value at the last
    level, in equal steps. There is a level for each bot, with a ramp at least so many."""
    own = dict(game.spec.options)
    starts: dict[str, Value] = {}
    for part in filter(None, (one.strip() for one in ramp.split(","))):
        name, _, text = part.partition("=")
        if name not in own:
            raise UnknownName(f"option of {game.spec.name}", name, own)
        if type(own[name]) not in (int, float):
            raise BadValue("ramp", part, "an option that is a number")
        try:
            starts[name] = type(own[name])(text)
        except ValueError:
            raise BadValue("ramp", part, "NAME=NUMBER, where the game's option begins") from None
    levels = max(len(bots), RAMP if starts else 1)
    made = []
    for level in range(levels):
        far = level / max(levels - 1, 1) if levels > 1 else 1.0
        values: dict[str, Any] = {name: _between(start, own[name], far) for name, start in starts.items()}
        made.append(new_game(game.spec.name, **{**own, **values}).spec)
    return Curriculum(tuple(bots), tuple(made))


def _between(start: Value, end: Value, far: float) -> Value:
    value = float(start) + (float(end) - float(start)) * far
    return round(value) if isinstance(end, int) else value
