"""Who meets whom in training: shuffled groups of a population, a hall of fame, and a curriculum of bots."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from engine.errors import BadValue, UnknownName
from engine.game import Game
from engine.options import Value
from engine.play.match import AgentSpec, GameSpec, Limits, MatchResult, MatchSpec
from engine.registry import agents_for, new_game
from engine.seeding import derive, pick, purpose

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


def encounter_of(result: MatchResult) -> int:
    return int(result.id.partition(".")[0])


def shuffled(count: int, seed: int) -> list[int]:
    """0 to count - 1 in an order of that seed (Fisher and Yates)."""
    order = list(range(count))
    for i in range(count - 1, 0, -1):
        j = pick(i + 1, seed, SHUFFLE, ply=i)
        order[i], order[j] = order[j], order[i]
    return order


def groups(count: int, size: int, meetings: int, seed: int) -> list[tuple[int, ...]]:
    """Groups of `size` in which everybody meets at least `meetings` others, drawn anew each round. Who is left over in
    a round is joined by some who play once more."""
    found = []
    for turn in range(-(-meetings // (size - 1))):
        order = shuffled(count, derive(seed, "round", turn))
        while len(order) % size:
            order.append(order[len(order) - count])
        found += [tuple(order[at : at + size]) for at in range(0, len(order), size)]
    return found


def share_of(meetings: int, share: float, seed: int, who: int) -> int:
    """How many of somebody's meetings a share of them is; fractions are drawn."""
    exact = meetings * share
    whole = int(exact)
    return whole + (pick(1_000_000, seed, HALL, ply=who) < (exact - whole) * 1_000_000)


def ready_bots(game: Game, names: str) -> list[AgentSpec]:
    """Ready-made agents by name, separated by commas; without names all that do not learn, weakest first."""
    offered = {one.id: one for kind, agents in agents_for(game).items() if kind != "neat" for one in agents}
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

    def at(self, level: int) -> list[tuple[AgentSpec, GameSpec]]:
        """Whom to play and on what: the bot of that level, and the one before so that it is not unlearned."""
        return [(self.bots[one], self.games[level]) for one in range(max(level - 1, 0), level + 1)]


def curriculum(game: Game, bots: Sequence[AgentSpec], ramp: str) -> Curriculum:
    """`ramp` says where options of the game begin, such as "serve_speed=4"; they reach the game's own value at the last
    level, in equal steps."""
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
    last = max(len(bots) - 1, 1)
    made = []
    for level in range(len(bots)):
        far = 1.0 if len(bots) == 1 else level / last
        values: dict[str, Any] = {name: _between(start, own[name], far) for name, start in starts.items()}
        made.append(new_game(game.spec.name, **{**own, **values}).spec)
    return Curriculum(tuple(bots), tuple(made))


def _between(start: Value, end: Value, far: float) -> Value:
    value = float(start) + (float(end) - float(start)) * far
    return round(value) if isinstance(end, int) else value
