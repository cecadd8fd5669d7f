"""Exhibitions, which are not recorded, taking over a seat, and tournaments that need a person."""

from __future__ import annotations

import itertools
import secrets
from collections.abc import Iterable, Sequence
from dataclasses import replace

from agents.human import person
from engine.errors import BadSpec, BadValue, NotNow
from engine.league import played_matches
from engine.league.storage.league import League
from engine.league.storage.tournaments import UNFINISHED, TournamentStore
from engine.play.match import AgentSpec, GameSpec, MatchSpec
from engine.registry import game_of, is_person, kind_of
from league_app.core.validation import resolve_game

EXHIBITION = "exhibition"  # id of a match that is not recorded
SEEDS = 1_000_000  # to draw from: short enough to read, and seldom drawn twice
IN_WINDOW = "play it in the window: the command line has no controls for human players"


def random_seed() -> int:
    """For a match without a given seed."""
    return 1 + secrets.randbelow(SEEDS)


def exhibition(league: League, players: Sequence[str | AgentSpec], game: GameSpec | str | None, seed: int) -> MatchSpec:
    """A match of agents of the league, by name or id, and of specs. The same agents, in turn, take the seats that are
    left over, so two are enough for a game with ten seats."""
    if game is None:
        named = [league.agent(entrant) for entrant in players if isinstance(entrant, str)]
        game = named[0].game if named else None
    spec = resolve_game(league, game)
    seated: list[AgentSpec] = []
    agents = [entrant for entrant in players if isinstance(entrant, str) or not is_person(entrant)]
    left = game_of(spec).info.seats - len(players) if len(players) > 1 and agents else 0
    for player in (*players, *itertools.islice(itertools.cycle(agents), max(left, 0))):
        entrant = player
        if isinstance(entrant, str):
            entrant = league.spec(league.agent(entrant, spec.name).id)
        seated.append(_distinct(entrant, seated))
    return MatchSpec(EXHIBITION, spec, tuple(seated), seed)


def taken_over(spec: MatchSpec, seat: int, actions: Sequence[int]) -> MatchSpec:
    """The same match with a person at this seat, who has made the same actions so far."""
    seats = len(spec.players)
    if isinstance(seat, bool) or not isinstance(seat, int) or not 0 <= seat < seats:
        raise BadValue("seat", seat, f"a whole number from 0 to {seats - 1}")
    others = [other for place, other in enumerate(spec.players) if place != seat]
    for other in others:
        if not kind_of(other).repeats(other):
            raise BadSpec(f"{other.id!r} is not deterministic, so this position cannot be reached again")
    you = _distinct(person(script=actions), others)
    return replace(spec, id=EXHIBITION, players=(*spec.players[:seat], you, *spec.players[seat + 1 :]))


def _distinct(player: AgentSpec, others: Sequence[AgentSpec]) -> AgentSpec:
    """Ids are unique within a match; a player from a checkpoint may have the name of an agent in the league."""
    taken = {other.id for other in others if other != player}
    ids = (player.id, *(f"{player.id} ({count})" for count in range(2, len(others) + 3)))
    return replace(player, id=next(free for free in ids if free not in taken))


# Tournaments


def check_no_human_needed(league: League, number: int, lifted: bool = False) -> None:
    """Raise NotNow if a person plays in the remaining matches of a tournament; with `lifted`, also in those that were
    quarantined or void."""
    tournament = league.tournament(number)
    people = {id for id in tournament.all_entrants if is_person(league.spec(id))}
    if not people or not (tournament.state.open or lifted):
        return
    remaining = [planned.spec for planned in TournamentStore(league, number).missing()]
    if lifted:
        played = played_matches.every_match(league, number)
        remaining += [match.spec for match in played if match.result.ending.kind.value in UNFINISHED]
    count = sum(any(player.id in people for player in spec.players) for spec in remaining)
    if count:
        matches = f"{count:,} remaining {'match' if count == 1 else 'matches'}"
        raise NotNow(f"a human player plays in {matches} of {tournament.name!r}: {IN_WINDOW}")


def check_entrants(league: League, name: str, entrants: Iterable[str]) -> None:
    """Raise NotNow if one of these entrants is a person, before the tournament is created."""
    seated = [entrant for entrant in entrants if is_person(league.spec(entrant))]
    if seated:
        player = league.by_id(seated[0]).name
        raise NotNow(f"{player!r}, an entrant of {name!r}, is a human player: {IN_WINDOW}")
