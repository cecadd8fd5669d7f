"""load_profile: everything that a league records about one agent."""

from __future__ import annotations

from dataclasses import dataclass

from engine.diagram import Diagram
from engine.errors import RingsideError
from engine.game import AgentKind
from engine.league import standings
from engine.league.records import Agent
from engine.league.standings import Row
from engine.league.storage.league import League
from engine.play.match import AgentSpec, GameSpec
from engine.registry import describe_agent, draw_agent, new_game, person_kind, usual_game
from league_app.core.queries import matches as match_queries
from league_app.core.queries.agents import Statistics, statistics
from league_app.core.queries.matches import FailureRow, MatchFilter, MatchRows
from league_app.core.state import LeagueState
from league_app.core.validation import game_info

LAST = 12  # matches
RUNNING = 5000  # the most matches of a tournament for which running Elo is computed
CHILDREN = 60
PREVIEW = 400  # bytes of a payload that are shown


@dataclass(frozen=True)
class OpponentRecord:
    """An agent's record against one opponent."""

    id: str
    name: str
    kind: str
    colour: str
    wins: int
    draws: int
    losses: int

    @property
    def score(self) -> float:
        return (self.wins + self.draws / 2) / max(self.wins + self.draws + self.losses, 1)


@dataclass(frozen=True)
class Relative:
    """A parent or child of an agent, and its own parents; the id is empty if it is not in this league."""

    name: str
    id: str = ""
    colour: str = ""
    parents: tuple[Relative, ...] = ()


@dataclass(frozen=True)
class RatingCurve:
    """A rating over time: at the end of each tournament, or game by game within one."""

    x: tuple[float, ...] = ()
    y: tuple[float, ...] = ()
    error: tuple[float, ...] = ()
    dated: bool = True
    title: str = ""


@dataclass(frozen=True)
class AgentProfile:
    agent: Agent
    game: GameSpec
    person: AgentKind | None  # the kind by which a person plays against it, if there is one
    title: str  # of the game
    size: int  # of the payload, in bytes
    preview: str
    facts: tuple[tuple[str, str], ...]  # what its kind says of it: name and value
    diagram: Diagram | None
    row: Row | None  # of the standings; None without games
    place: int
    rated: int  # number of agents with a place
    seats: int
    opponents: tuple[OpponentRecord, ...]
    rating_curve: RatingCurve
    parents: tuple[Relative, ...]
    children: tuple[Relative, ...]
    statistics: Statistics
    matches: MatchRows
    failures: tuple[FailureRow, ...]


def load_profile(state: LeagueState, pool: GameSpec | None, id: str) -> AgentProfile:
    """Reads the profile in this pool or, if it is of another game, in the latest pool of the agent's game."""
    league = state.league
    agent = league.by_id(id)
    game = pool if pool is not None and pool.name == agent.game else _last_pool(league, agent.game)
    table = standings.standings(league, game)
    played = [row for row in table.rows if row.total.played]
    row = next((record for record in played if record.agent == id), None)
    known = {other.id: other for other in league.agents(agent.game, archived=True)}
    against = [
        OpponentRecord(
            other, known[other].name, known[other].kind, known[other].colour, tally.wins, tally.draws, tally.losses
        )
        for other, tally in (row.against.items() if row else ())
        if other in known
    ]
    info = game_info(game)  # None if the game is not installed; the file can still be shown
    title, names = (info.title, info.stats) if info is not None else (agent.game, ())
    usual = usual_game(agent.game) if info is not None else None  # a game of a match's options may take long to make
    spec = _spec(league, agent)
    size, begin = _payload(league, agent, spec)
    return AgentProfile(
        agent,
        game,
        person_kind(usual) if usual is not None else None,
        title,
        size,
        _preview(begin) if size <= PREVIEW else "",
        describe_agent(spec) if spec is not None else (),
        draw_agent(spec) if spec is not None else None,
        row,
        played.index(row) + 1 if row else 0,
        len(played),
        table.seats,
        tuple(sorted(against, key=lambda record: -(record.wins + record.draws + record.losses))),
        load_rating_curve(league, game, agent),
        tuple(_relative(parent, known, 2) for parent in agent.parents),
        tuple(_children(agent, known)),
        statistics(league, game, id, names),
        match_queries.matches(league, game, MatchFilter(agent=id), limit=LAST),
        tuple(match_queries.failures(league, game, id)),
    )


def _last_pool(league: League, game: str) -> GameSpec:
    """The pool of the latest tournament, or else the game with its default options, or without any if not installed."""
    for tournament in reversed(league.tournaments()):
        if tournament.settings.game.name == game:
            return tournament.settings.game
    try:
        return new_game(game).spec
    except RingsideError:
        return GameSpec(game, 1)


def _preview(data: bytes) -> str:
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return repr(data)[2:-1]
    return "".join(letter if letter.isprintable() or letter == "\n" else "?" for letter in text)


def _spec(league: League, agent: Agent) -> AgentSpec | None:
    """The agent with its payload; None if that is damaged, which is reported when it plays."""
    try:
        return league.spec(agent.id)
    except RingsideError:
        return None


def _payload(league: League, agent: Agent, spec: AgentSpec | None) -> tuple[int, bytes]:
    """Size and beginning of its payload, also of a damaged one."""
    if spec is not None:
        return len(spec.payload), spec.payload[: PREVIEW + 1]
    sql = f"SELECT length(data), substr(data, 1, {PREVIEW + 1}) FROM payloads WHERE hash = ?"
    [(size, begin)] = league.file.read(sql, agent.payload)
    return size, begin or b""


def load_rating_curve(league: League, game: GameSpec, agent: Agent) -> RatingCurve:
    """After each tournament; with fewer than two tournaments, game by game within the latest."""
    number, pool = league.number(agent.id), league.pool(game)
    sql = "SELECT at, rating, error FROM ratings WHERE pool = ? AND agent = ? ORDER BY at"
    found = league.file.read(sql, pool, number)
    if len(found) > 1:
        at, rating, error = zip(*found, strict=True)
        return RatingCurve(at, rating, error, True, "Rating after each tournament")
    sql = "SELECT number, played FROM tournaments WHERE pool = ? AND played > 0 ORDER BY number DESC"
    for tournament, played in league.file.read(sql, pool):
        if played > RUNNING:
            continue
        line = standings.elo_lines(league, tournament).get(agent.id, [])
        if len(line) > 1:
            steps = tuple(float(place) for place in range(len(line)))
            return RatingCurve(steps, tuple(line), (), False, f"Running Elo in tournament {tournament}")
    return RatingCurve()


def _relative(given: str, known: dict[str, Agent], depth: int) -> Relative:
    """A parent is given by its id or, if it comes from another league, by its name."""
    relative = known.get(given) or next((other for other in known.values() if other.name == given), None)
    if relative is None:
        return Relative(given)
    above = tuple(_relative(parent, known, depth - 1) for parent in relative.parents) if depth > 1 else ()
    return Relative(relative.name, relative.id, relative.colour, above)


def _children(agent: Agent, known: dict[str, Agent]) -> list[Relative]:
    names = {agent.id, agent.name}
    found = [child for child in known.values() if names & set(child.parents) and child.id != agent.id]
    return [Relative(child.name, child.id, child.colour) for child in found[:CHILDREN]]
