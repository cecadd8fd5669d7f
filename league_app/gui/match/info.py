"""Loading a match to show, and what is known of it: players, ratings, tournament, result. Does not use Qt."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from engine.league import played_matches, standings
from engine.play import replay
from engine.play.live import LiveMatch
from engine.play.match import EndingKind, MatchResult, MatchSpec
from engine.play.replay import verified
from engine.registry import is_person
from league_app.core.formatting import join_names, ordinal, shorten
from league_app.core.state import LeagueState
from league_app.core.validation import game_info
from league_app.gui.match.player import Kind, MatchPlayer

SHORT = 25  # characters of a short name
RECENT = 20  # latest matches among which a match that has just ended is looked up


@dataclass(frozen=True)
class SeatInfo:
    """The player of one seat."""

    id: str
    name: str
    kind: str
    colour: str = ""  # chosen by the user, or empty
    human: bool = False
    seat_name: str = ""  # such as Black, if the game names its seats
    rating: float | None = None  # in this game with these options
    error: float = 0.0

    @property
    def short(self) -> str:
        return shorten(self.name, SHORT)


@dataclass(frozen=True)
class MatchInfo:
    """What the page shows about a match beside the board."""

    game: str
    players: tuple[SeatInfo, ...]
    seed: int
    options: tuple[tuple[str, str], ...] = ()
    tournament: int = 0
    event: str = ""  # the name of the tournament, or of the file
    reference: str = ""  # such as 2.17, once the match is recorded in the league
    league: Path | None = None

    @property
    def command(self) -> str:
        """The shell command that plays the match again and compares the results."""
        return f"ringside reproduce {shlex.quote(str(self.league))} {self.reference}" if self.reference else ""


@dataclass(frozen=True)
class LoadedMatch:
    """A match that is ready to be shown."""

    player: MatchPlayer
    info: MatchInfo = field(repr=False)


def load_recorded(state: LeagueState, reference: str) -> LoadedMatch:
    """Load a match of the league and verify it against its record."""
    found = played_matches.match(state.league, reference)
    player = MatchPlayer(found.spec, playback=verified(found.spec, found.result), result=found.result)
    return LoadedMatch(player, match_info(state, found.spec, found.tournament, found.reference))


def load_replay_file(state: LeagueState | None, path: Path) -> LoadedMatch:
    """Load a replay file; needs no league."""
    played, playback = replay.load(path)
    info = replace(match_info(state, played.match), event=path.name)
    return LoadedMatch(MatchPlayer(played.match, playback=playback, result=played.result), info)


def load_live(state: LeagueState, live: LiveMatch, kind: Kind, tournament: int = 0) -> LoadedMatch:
    """Load a match that is being played."""
    player = MatchPlayer(live.spec, kind, live=live, low_latency=any(map(is_person, live.spec.players)))
    return LoadedMatch(player, match_info(state, live.spec, tournament))


def match_info(state: LeagueState | None, spec: MatchSpec, tournament: int = 0, reference: str = "") -> MatchInfo:
    known = (
        {agent.id: agent for agent in state.league.agents(spec.game.name, archived=True)} if state is not None else {}
    )
    info = game_info(spec.game)
    names = info.seat_names if info is not None else ()
    players = []
    for seat, player in enumerate(spec.players):
        agent = known.get(player.id)
        human, seat_name = is_person(player), names[seat] if seat < len(names) else ""
        if agent is not None and agent.kind == player.kind:
            players.append(SeatInfo(player.id, agent.name, player.kind, agent.colour, human, seat_name))
        else:
            players.append(SeatInfo(player.id, player.id, player.kind, human=human, seat_name=seat_name))
    options = tuple((readable(name), _value_text(value)) for name, value in spec.game.options)
    event = state.league.tournament(tournament).name if state is not None and tournament else ""
    path = state.league.path if state is not None else None
    title = info.title if info is not None else spec.game.name
    return MatchInfo(title, tuple(players), spec.seed, options, tournament, event, reference, path)


def load_ratings(state: LeagueState, spec: MatchSpec) -> dict[str, tuple[float, float]]:
    """Return rating and error by id, of the players that have rated matches in this pool."""
    rows = standings.standings(state.league, spec.game).rows
    players = {player.id for player in spec.players}
    return {row.agent: (row.rating, row.error) for row in rows if row.agent in players and row.total.played}


def with_ratings(info: MatchInfo, found: dict[str, tuple[float, float]]) -> MatchInfo:
    players = [
        replace(player, rating=found[player.id][0], error=found[player.id][1]) if player.id in found else player
        for player in info.players
    ]
    return replace(info, players=tuple(players))


def with_reference(info: MatchInfo, reference: str) -> MatchInfo:
    return replace(info, reference=reference)


def pairing(info: MatchInfo) -> str:
    """Return the short names of the players as one text."""
    return " \u2013 ".join(player.short for player in info.players)


def find_reference(state: LeagueState, tournament: int, match: str) -> str:
    """Return the reference of a match that has just ended; empty if it is not recorded yet."""
    for played in played_matches.history(state.league, tournament=tournament, limit=RECENT):
        if played.spec.id == match:
            return played.reference
    return ""


ENDINGS = {
    EndingKind.FINISHED: "Finished by the rules",
    EndingKind.STEP_LIMIT: "Stopped at the step limit",
    EndingKind.RESIGNED: "{who} resigned",
    EndingKind.NO_CONTEST: "No contest: a draw by the rules",
    EndingKind.ILLEGAL_ACTION: "{who} forfeited: illegal action",
    EndingKind.EXCEPTION: "{who} forfeited: its code raised an error",
    EndingKind.CRASH: "{who} forfeited: its process crashed",
    EndingKind.TIMEOUT: "{who} forfeited: time limit exceeded",
    EndingKind.MEMORY: "{who} forfeited: memory limit exceeded",
    EndingKind.CANNOT_START: "{who} forfeited: could not be started",
    EndingKind.PROTOCOL: "{who} forfeited: the answer is not an action",
    EndingKind.QUARANTINED: "Not played: quarantined after too many failures: {who}",
    EndingKind.VOID: "Void: not finished, and no player is at fault",
    EndingKind.CANCELLED: "Cancelled",
}


def ending_text(info: MatchInfo, result: MatchResult) -> str:
    """Return how the match ended, without a full stop."""
    who = " and ".join(dict.fromkeys(info.players[seat].short for seat in result.ending.seats)) or "a player"
    return ENDINGS[result.ending.kind].format(who=who)


def outcome_text(info: MatchInfo, result: MatchResult) -> str:
    """Return who won."""
    if not result.ending.kind.rated:
        return "No result"
    best = [info.players[seat].short for seat, rank in enumerate(result.ranks) if rank == 1]
    if len(best) == len(info.players) and len(best) > 1:
        return "Draw"
    return f"{best[0]} won" if len(best) == 1 else f"{join_names(best)} shared the win"


def result_text(info: MatchInfo, result: MatchResult, how: str = "") -> str:
    """Return who won and how, in one or two sentences; `how` is the game's own description of the ending."""
    if how and result.ending.kind.rated and not result.ending.seats:
        return f"{outcome_text(info, result)} by {how}."
    return f"{outcome_text(info, result)}. {ending_text(info, result)}."


def verdict(info: MatchInfo, result: MatchResult) -> str:
    """Return who won if the scores do not show it: after a resignation or a forfeit."""
    if not result.ending.seats or not result.ending.kind.rated:
        return ""
    why = "resignation" if result.ending.kind is EndingKind.RESIGNED else "forfeit"
    return f"{outcome_text(info, result)}: {why}"


def outcome_marks(result: MatchResult) -> list[tuple[str, str]]:
    """Return the outcome of each seat, as a word and its tone."""
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
    """Return the seats that are ahead; none while all are level."""
    best = max(scores, default=0.0)
    return {seat for seat, score in enumerate(scores) if score == best} if min(scores, default=best) < best else set()


def readable(name: str) -> str:
    """Turn an identifier into a label."""
    return name.replace("_", " ").capitalize()


def _value_text(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:,}" if isinstance(value, int) else f"{value:g}" if isinstance(value, float) else str(value)
