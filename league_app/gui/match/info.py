"""Who plays in a match that is shown, and what is known of it: names, ratings, where it was played. No Qt in here."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from engine.league import standings as tables
from engine.play import replay
from engine.play.live import LiveMatch
from engine.play.match import EndingKind, MatchResult, MatchSpec
from engine.play.replay import verified
from engine.registry import is_person
from league_app.core.state import LeagueState
from league_app.core.validation import usual_info
from league_app.gui.match.player import Kind, Show
from league_app.core.formatting import listed, ordinal

SHORT = 24  # letters of a name where there is little room
RECENT = 20  # matches among which one that has just been played is looked for


@dataclass(frozen=True)
class Player:
    """Somebody at a seat."""

    id: str
    name: str
    kind: str
    colour: str = ""  # as it was given, or empty
    human: bool = False
    seat: str = ""  # what its seat is called, if the game has a name for it
    rating: float | None = None  # among those who play this game with these options
    error: float = 0.0

    @property
    def short(self) -> str:
        """Its name, where there is little room."""
        return self.name if len(self.name) <= SHORT else f"{self.name[:SHORT]}\u2026"


@dataclass(frozen=True)
class Bill:
    """What stands beside a match."""

    game: str
    players: tuple[Player, ...]
    seed: int
    options: tuple[tuple[str, str], ...] = ()
    tournament: int = 0
    event: str = ""  # the name of the tournament, or of the file
    reference: str = ""  # in the league, once it is recorded there
    league: Path | None = None

    @property
    def command(self) -> str:
        """What plays it once more, in a terminal."""
        return f"ringside reproduce {shlex.quote(str(self.league))} {self.reference}" if self.reference else ""


@dataclass(frozen=True)
class Prepared:
    """A match that is ready to be shown."""

    show: Show
    bill: Bill = field(repr=False)


def recorded(state: LeagueState, reference: str) -> Prepared:
    """A match of the league, played again."""
    found = tables.match(state.league, reference)
    show = Show(found.spec, playback=verified(found.spec, found.result), result=found.result)
    return Prepared(show, bill_of(state, found.spec, found.tournament, found.reference))


def filed(state: LeagueState | None, path: Path) -> Prepared:
    """A replay file; there need not be a league."""
    one, playback = replay.load(path)
    bill = replace(bill_of(state, one.match), event=path.name)
    return Prepared(Show(one.match, playback=playback, result=one.result), bill)


def living(state: LeagueState, live: LiveMatch, kind: Kind, tournament: int = 0) -> Prepared:
    """A match that is being played."""
    playing = any(map(is_person, live.spec.players))
    return Prepared(Show(live.spec, kind, live=live, tight=playing), bill_of(state, live.spec, tournament))


def bill_of(state: LeagueState | None, spec: MatchSpec, tournament: int = 0, reference: str = "") -> Bill:
    known = {one.id: one for one in state.league.agents(spec.game.name, archived=True)} if state is not None else {}
    info = usual_info(spec.game)
    names = info.seat_names if info is not None else ()
    players = []
    for place, one in enumerate(spec.players):
        agent = known.get(one.id)
        human, seat = is_person(one), names[place] if place < len(names) else ""
        if agent is not None and agent.kind == one.kind:
            players.append(Player(one.id, agent.name, one.kind, agent.colour, human, seat))
        else:
            players.append(Player(one.id, one.id, one.kind, human=human, seat=seat))
    options = tuple((readable(name), _told(value)) for name, value in spec.game.options)
    event = state.league.tournament(tournament).name if state is not None and tournament else ""
    path = state.league.path if state is not None else None
    title = info.title if info is not None else spec.game.name
    return Bill(title, tuple(players), spec.seed, options, tournament, event, reference, path)


def ratings(state: LeagueState, spec: MatchSpec) -> dict[str, tuple[float, float]]:
    """By id, of those who have played in this pool."""
    rows = tables.standings(state.league, spec.game).rows
    wanted = {one.id for one in spec.players}
    return {row.agent: (row.rating, row.error) for row in rows if row.agent in wanted and row.total.played}


def rated(bill: Bill, found: dict[str, tuple[float, float]]) -> Bill:
    players = [
        replace(one, rating=found[one.id][0], error=found[one.id][1]) if one.id in found else one
        for one in bill.players
    ]
    return replace(bill, players=tuple(players))


def named(bill: Bill, reference: str) -> Bill:
    return replace(bill, reference=reference)


def pairing(bill: Bill) -> str:
    """Who plays, in a few words."""
    return " \u2013 ".join(one.short for one in bill.players)


def reference_of(state: LeagueState, tournament: int, match: str) -> str:
    """What a match is called that has been played a moment ago; nothing if it is not recorded yet."""
    for one in tables.history(state.league, tournament=tournament, limit=RECENT):
        if one.spec.id == match:
            return one.reference
    return ""


ENDINGS = {
    EndingKind.FINISHED: "Finished by the rules",
    EndingKind.STEP_LIMIT: "Called off at the step limit",
    EndingKind.RESIGNED: "{who} resigned",
    EndingKind.NO_CONTEST: "No contest: a draw by the rules",
    EndingKind.ILLEGAL_ACTION: "{who} forfeits: it tried what is not allowed",
    EndingKind.EXCEPTION: "{who} forfeits: its code raised an error",
    EndingKind.CRASH: "{who} forfeits: its process died",
    EndingKind.TIMEOUT: "{who} forfeits: it took too long",
    EndingKind.MEMORY: "{who} forfeits: it took too much memory",
    EndingKind.CANNOT_START: "{who} forfeits: it could not be started",
    EndingKind.PROTOCOL: "{who} forfeits: it answered what is no action",
    EndingKind.QUARANTINED: "Not played: {who} failed too often",
    EndingKind.VOID: "Not played to an end, and nobody's fault",
    EndingKind.CANCELLED: "Broken off",
}


def ending_words(bill: Bill, result: MatchResult) -> str:
    """How it ended, in a sentence."""
    who = " and ".join(dict.fromkeys(bill.players[seat].short for seat in result.ending.seats)) or "somebody"
    return ENDINGS[result.ending.kind].format(who=who)


def outcome_words(bill: Bill, result: MatchResult) -> str:
    """Who won."""
    if not result.ending.kind.rated:
        return "No result"
    best = [bill.players[seat].short for seat, rank in enumerate(result.ranks) if rank == 1]
    if len(best) == len(bill.players) and len(best) > 1:
        return "A draw"
    return f"{best[0]} wins" if len(best) == 1 else f"{listed(best)} share the win"


def result_words(bill: Bill, result: MatchResult, how: str = "") -> str:
    """Who won and how, in a sentence or two; of what the rules ended, a board may know more."""
    if how and result.ending.kind.rated and not result.ending.seats:
        return f"{outcome_words(bill, result)} by {how}."
    return f"{outcome_words(bill, result)}. {ending_words(bill, result)}."


def verdict(bill: Bill, result: MatchResult) -> str:
    """Who won where the scores do not say it, because somebody gave up or failed."""
    if not result.ending.seats or not result.ending.kind.rated:
        return ""
    why = "resignation" if result.ending.kind is EndingKind.RESIGNED else "forfeit"
    return f"{outcome_words(bill, result)}: {why}"


def marks_of(result: MatchResult) -> list[tuple[str, str]]:
    """What came of it for each seat, as a word and its tone."""
    if not result.ending.kind.rated:
        return []
    first = sum(rank == 1 for rank in result.ranks)
    marks = []
    for seat, rank in enumerate(result.ranks):
        if seat in result.ending.seats:
            marks.append(("resigned" if result.ending.kind is EndingKind.RESIGNED else "forfeit", "bad"))
        elif rank == 1:
            tied = "draw" if first == len(result.ranks) else "shares the win"
            marks.append(("winner", "good") if first == 1 else (tied, "muted"))
        else:
            marks.append((ordinal(rank), "muted") if len(result.ranks) > 2 else ("", ""))
    return marks


def leaders(scores: Sequence[float]) -> set[int]:
    """Seats that are ahead; nobody is while all are level."""
    best = max(scores, default=0.0)
    return {seat for seat, score in enumerate(scores) if score == best} if min(scores, default=best) < best else set()


def readable(name: str) -> str:
    """A name of ours as a person writes it."""
    return name.replace("_", " ").capitalize()


def _told(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:,}" if isinstance(value, int) else f"{value:g}" if isinstance(value, float) else str(value)
