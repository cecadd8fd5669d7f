"""Selects recorded matches of a pool to learn from: those of the strongest agents, the newest ones of each line-up."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import chain, zip_longest
from typing import NamedTuple

from engine.errors import BadLeague
from engine.league.played_matches import span
from engine.league.records import PlayedMatch
from engine.league.standings import standings
from engine.league.storage.league import League
from engine.league.storage.match_rows import COLUMNS, unpack_match, unpack_players
from engine.league.storage.schema import PLACES
from engine.play.match import UNRATED, AgentSpec, GameSpec

NEWEST = 200_000  # matches of a pool that are considered
FEWEST = 4  # matches that an agent should have played to count as strong
CHUNK = 500  # rows that are read at once


class MatchCandidate(NamedTuple):
    """A match that may be selected."""

    number: int
    players: tuple[int, ...]
    size: int  # bytes of actions


@dataclass(frozen=True)
class Selection:
    """Selected matches, newest first. The payloads of their players are left out."""

    matches: tuple[PlayedMatch, ...]
    available: int  # how many there were to choose from
    too_large: int = 0  # how many were left out because they would take too many bytes


def strongest(league: League, game: GameSpec, count: int) -> list[str]:
    """The ids of the strongest agents by the lower ends of their rating intervals, best first. Archived agents, and
    those with few matches if others have more, are left out."""
    table = standings(league, game)
    archived = {agent.id for agent in league.agents(game.name, archived=True) if agent.archived is not None}
    played = [row for row in table.rows if row.total.played and row.agent not in archived]
    enough = [row for row in played if row.total.played >= FEWEST * (table.seats - 1)]  # counted by opponent
    best = sorted(enough or played, key=lambda row: (row.error - row.rating, row.name))
    return [row.agent for row in best[:count]]


def select_matches(
    league: League, game: GameSpec, agents: Collection[str] | None, most: int, most_bytes: int
) -> Selection:
    """At most `most` rated matches with recorded actions in which one of these agents played (by id; None: any agent).
    Line-ups take turns, each with its newest match, so that none takes the place of the others. Of identical games, one
    is selected."""
    candidates = _candidates(league, game, agents)
    chosen, size, too_large = list[int](), 0, 0
    for candidate in _in_turns(candidates):
        if len(chosen) == most:
            break
        if size + candidate.size > most_bytes:
            too_large += 1
            continue
        chosen.append(candidate.number)
        size += candidate.size
    return Selection(tuple(_read(league, sorted(chosen, reverse=True))), len(candidates), too_large)


def _candidates(league: League, game: GameSpec, agents: Collection[str] | None) -> list[MatchCandidate]:
    """Newest first."""
    found: list[MatchCandidate] = []
    games: set[int] = set()
    wanted = None if agents is None else [league.number(agent) for agent in agents]
    unrated = [kind.value for kind in UNRATED]
    sql = "SELECT m.number, m.players, m.game, length(a.data) FROM matches m JOIN actions a ON a.match = m.number"
    sql += f" WHERE m.number BETWEEN ? AND ? AND m.ending NOT IN ({_marks(unrated)})"
    if wanted is not None:
        sql += f" AND m.number IN (SELECT match FROM seats WHERE agent IN ({_marks(wanted)}) AND match BETWEEN ? AND ?)"
    sql += " ORDER BY m.number DESC LIMIT ?"
    for tournament in reversed(league.tournaments()):
        if tournament.settings.game != game or len(found) >= NEWEST:
            continue
        places = span(tournament.number)
        values = (*places, *unrated, *((*wanted, *places) if wanted is not None else ()), NEWEST - len(found))
        for number, players, same, size in league.file.read(sql, *values):
            if same == 0 or same not in games:
                games.add(same)
                found.append(MatchCandidate(number, unpack_players(players), size))
    return found


def _in_turns(candidates: Sequence[MatchCandidate]) -> list[MatchCandidate]:
    lineups: dict[frozenset[int], list[MatchCandidate]] = {}
    for candidate in candidates:
        lineups.setdefault(frozenset(candidate.players), []).append(candidate)
    return [candidate for candidate in chain.from_iterable(zip_longest(*lineups.values())) if candidate is not None]


def _read(league: League, numbers: Sequence[int]) -> list[PlayedMatch]:
    """In this order."""
    own = league.numbers()
    specs = {
        own[agent.id]: AgentSpec(agent.id, agent.kind, version=agent.version) for agent in league.agents(archived=True)
    }
    settings = {tournament.number: tournament.settings for tournament in league.tournaments()}
    found = dict[int, PlayedMatch]()
    for first in range(0, len(numbers), CHUNK):
        some = numbers[first : first + CHUNK]
        sql = f"WHERE match IN ({_marks(some)})"
        actions = dict(league.file.read(f"SELECT match, data FROM actions {sql}", *some))
        for row in league.file.read(f"SELECT {COLUMNS} FROM matches {sql.replace('match', 'number')}", *some):
            of = settings.get(row[0] // PLACES)
            if of is None:
                raise BadLeague(f"{league.path} is damaged: match {row[0]} belongs to no tournament")
            found[row[0]] = unpack_match(row, actions.get(row[0], b""), of, specs, league.path)
    return [found[number] for number in numbers]


def _marks(values: Collection[object]) -> str:
    return ",".join("?" * len(values))
