"""Somebody at the screen: exhibitions that nobody records, taking over a seat, and tournaments that need a person."""

from __future__ import annotations

import itertools
import secrets
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from agents.human import person
from engine.errors import BadSpec, BadValue, NotNow
from engine.league import standings as tables
from engine.league.storage.tournaments import UNFINISHED, Book
from engine.league.storage.league import League
from engine.play.match import AgentSpec, GameSpec, MatchSpec
from engine.registry import game_of, is_person, kind_of

if TYPE_CHECKING:
    from league_app.core.state import LeagueState

EXHIBITION = "exhibition"  # id of a match that nobody records
MANY = 1_000_000  # seeds to draw from: a person can read one, and seldom meets it twice
ELSEWHERE = "play it in the window, from here nobody can"


def any_seed() -> int:
    """For a match that nobody asked for by its seed: another one each time."""
    return 1 + secrets.randbelow(MANY)


def exhibition(
    state: LeagueState, players: Sequence[str | AgentSpec], game: GameSpec | str | None, seed: int
) -> MatchSpec:
    """A match of agents of the league, by name or id, and of anybody else who is given whole. Seats that are left over
    are taken by the same agents, in turn: two are enough to watch a game of ten."""
    if game is None:
        named = [state.league.agent(one) for one in players if isinstance(one, str)]
        game = named[0].game if named else None
    spec = state.game_of(game)
    seated: list[AgentSpec] = []
    agents = [one for one in players if isinstance(one, str) or not is_person(one)]
    left = game_of(spec).info.seats - len(players) if len(players) > 1 and agents else 0
    for player in (*players, *itertools.islice(itertools.cycle(agents), max(left, 0))):
        one = player
        if isinstance(one, str):
            one = state.league.spec(state.league.agent(one, spec.name).id)
        seated.append(_distinct(one, seated))
    return MatchSpec(EXHIBITION, spec, tuple(seated), seed)


def taken_over(spec: MatchSpec, seat: int, actions: Sequence[int]) -> MatchSpec:
    """The same match, in which a person sits at this seat and has done the same so far."""
    seats = len(spec.players)
    if isinstance(seat, bool) or not isinstance(seat, int) or not 0 <= seat < seats:
        raise BadValue("seat", seat, f"a whole number from 0 to {seats - 1}")
    others = [one for place, one in enumerate(spec.players) if place != seat]
    for one in others:
        if not kind_of(one).repeats(one):
            raise BadSpec(f"{one.id!r} does not play the same way twice: this position would not come again")
    you = _distinct(person(script=actions), others)
    return replace(spec, id=EXHIBITION, players=(*spec.players[:seat], you, *spec.players[seat + 1 :]))


def _distinct(player: AgentSpec, others: Sequence[AgentSpec]) -> AgentSpec:
    """Within a match one id is one agent; a checkpoint's player may be called like somebody in the league."""
    taken = {one.id for one in others if one != player}
    ids = (player.id, *(f"{player.id} ({count})" for count in range(2, len(others) + 3)))
    return replace(player, id=next(one for one in ids if one not in taken))


# Tournaments


def check_nobody_needed(league: League, number: int, lifted: bool = False) -> None:
    """Raise NotNow if a person plays in what remains of a tournament; `lifted`: and in what was quarantined or void."""
    one = league.tournament(number)
    people = {id for id in one.everybody if is_person(league.spec(id))}
    if not people or not (one.state.open or lifted):
        return
    coming = [planned.spec for planned in Book(league, number).missing()]
    if lifted:
        played = tables.every_match(league, number)
        coming += [match.spec for match in played if match.result.ending.kind.value in UNFINISHED]
    count = sum(any(player.id in people for player in spec.players) for spec in coming)
    if count:
        matches = f"{count:,} remaining {'match' if count == 1 else 'matches'}"
        raise NotNow(f"a person plays in {matches} of {one.name!r}: {ELSEWHERE}")


def check_entrants(league: League, name: str, entrants: Iterable[str]) -> None:
    """The same, before a tournament is drawn up at all."""
    seated = [one for one in entrants if is_person(league.spec(one))]
    if seated:
        who = league.by_id(seated[0]).name
        raise NotNow(f"{who!r}, who plays in {name!r}, is a person: {ELSEWHERE}")
