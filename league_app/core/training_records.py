"""Finds the recorded matches of a league that a trainer asks for."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, replace

from agents.training.matchmaking import joined_names
from agents.training.records import MatchRecord, RecordQuery
from engine.errors import BadValue, RingsideError
from engine.league.records import PlayedMatch
from engine.league.selected_matches import Selection, select_matches, strongest
from engine.league.storage.league import League
from engine.play.match import AgentSpec, EndingKind, GameSpec
from engine.registry import kind_of

MOST_BYTES = 64 << 20  # of actions that a training process gets
NAMED = 4  # the most agents or pools that a message names


@dataclass(frozen=True)
class FoundRecords:
    """The answer to a query."""

    records: tuple[MatchRecord, ...]
    players: tuple[AgentSpec, ...]  # the chosen agents, with their names as ids, if the trainer needs them
    settings: dict[str, str]  # of the trainer, with the names of the agents that were chosen as the strongest
    note: str  # what was chosen, for the log
    warning: str = ""


def find_records(league: League, query: RecordQuery, game: GameSpec, value: object) -> FoundRecords:
    """The matches that a trainer asks for; raises an error if there are none, but it needs some. `value`: of its
    setting that says which agents."""
    named = [league.agent(name, game.name).id for name in query.agents]  # archived ones too: they need not play
    best = strongest(league, game, query.strongest) if not named and query.strongest else []
    agents = named or best or None
    found = select_matches(league, game, agents, query.matches, MOST_BYTES)
    if found.matches and query.strongest and not agents:
        needed = f"names of agents: all agents of {league.path.name} with rated matches of {game.name} are archived"
        raise BadValue(query.setting, value, f"{needed}. Name some of them, or restore one")
    if not found.matches and query.required:
        raise BadValue(query.setting, value, _needed(league, query, game, found))
    names = league.names()
    chosen = [names[agent] for agent in agents or ()]
    settings = {query.setting: joined_names(chosen)} if best and found.matches else {}
    records = tuple(_record(match, agents, names) for match in found.matches)
    players = _players(league, agents or ()) if query.players else ()
    return FoundRecords(records, players, settings, _note(found, chosen), _warning(found, query))


def _players(league: League, agents: Iterable[str]) -> tuple[AgentSpec, ...]:
    """Without those that are not installed: their matches can be learned from all the same."""
    found = []
    for agent in agents:
        spec = replace(league.spec(agent), id=league.names()[agent])
        with suppress(RingsideError):
            kind_of(spec)
            found.append(spec)
    return tuple(found)


def _record(match: PlayedMatch, agents: list[str] | None, names: dict[str, str]) -> MatchRecord:
    spec, result = match.spec, match.result
    failed = result.ending.seats if result.ending.kind is not EndingKind.RESIGNED else ()
    return MatchRecord(
        match.reference,
        tuple(names[player.id] for player in spec.players),
        tuple(seat for seat, player in enumerate(spec.players) if agents is None or player.id in agents),
        spec.seed,
        spec.start,
        result.steps,
        result.ranks,
        failed,
        result.actions,
    )


def _note(found: Selection, chosen: list[str]) -> str:
    rest = len(chosen) - NAMED
    shown = [*chosen[:NAMED], *([f"{rest} others"] if rest > 0 else [])]
    who = f" of {' and '.join(filter(None, (', '.join(shown[:-1]), shown[-1])))}" if shown else ""
    return f"{len(found.matches):,} of {found.available:,} recorded matches{who} to learn from"


def _warning(found: Selection, query: RecordQuery) -> str:
    if not found.too_large or len(found.matches) == query.matches:
        return ""
    left = f"{found.too_large:,} matches are left out"
    return f"{left}: the actions of all matches may take at most {MOST_BYTES >> 20} MiB"


def _needed(league: League, query: RecordQuery, game: GameSpec, found: Selection) -> str:
    """What the setting must be, if nothing was found."""
    if found.too_large:
        return f"agents with matches of at most {MOST_BYTES >> 20} MiB of actions"
    by = f" by {joined_names(query.agents)}" if query.agents else ""
    needed = f"for a game with recorded matches: {league.path.name} has none of {_game_text(game)}{by}"
    others = [
        tournament.settings.game
        for tournament in league.tournaments()
        if tournament.played and tournament.settings.game.name == game.name and tournament.settings.game != game
    ]
    if others and not query.agents:
        known = "; ".join(_difference(other, game) for other in list(dict.fromkeys(others))[:NAMED])
        needed += f", only of {known}"
    return f"{needed}. Play a tournament first{f', or {query.hint}' if query.hint else ''}"


def _game_text(game: GameSpec) -> str:
    return f"{game.name}, version {game.version}, with these options"


def _difference(other: GameSpec, game: GameSpec) -> str:
    """How a game differs from the one that is wanted."""
    if other.version != game.version:
        return f"version {other.version} of its rules"
    own = dict(game.options)
    changed = [f"{name}={value}" for name, value in other.options if own.get(name) != value]
    return f"{game.name} with {', '.join(changed) or 'other options'}"
