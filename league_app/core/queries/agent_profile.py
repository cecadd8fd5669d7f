"""All that a league knows about one agent, read in one go. No Qt in here."""

from __future__ import annotations

from dataclasses import dataclass

from engine.errors import RingsideError
from engine.league import standings as tables
from engine.league.records import Agent
from engine.league.storage.league import League
from engine.league.standings import Row
from engine.play.match import GameSpec
from engine.registry import new_game
from league_app.core.queries import matches as looks
from league_app.core.usi_engines import engine_in
from league_app.core.queries.matches import Failed, Found, Statistics, Wanted
from league_app.core.state import LeagueState
from league_app.core.validation import usual_info

LAST = 12  # matches
RUNNING = 5000  # matches of a tournament that running Elo is followed through
CHILDREN = 60
PREVIEW = 400  # bytes of a payload that are shown


@dataclass(frozen=True)
class Opponent:
    """What somebody has made of the matches against one other."""

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
class Kin:
    """Somebody in the family: with an id if it is in this league, and those it comes from in turn."""

    name: str
    id: str = ""
    colour: str = ""
    above: tuple[Kin, ...] = ()


@dataclass(frozen=True)
class Course:
    """A rating over time: at the ends of tournaments, or game by game within one."""

    x: tuple[float, ...] = ()
    y: tuple[float, ...] = ()
    error: tuple[float, ...] = ()
    dated: bool = True
    title: str = ""


@dataclass(frozen=True)
class Portrait:
    agent: Agent
    game: GameSpec
    title: str  # of the game
    size: int  # bytes that it is made of
    preview: str
    settings: tuple[tuple[str, str], ...]  # of an external engine: name and value
    row: Row | None  # of the table, if it has played
    place: int
    rated: int  # how many have a place
    seats: int
    opponents: tuple[Opponent, ...]
    course: Course
    parents: tuple[Kin, ...]
    children: tuple[Kin, ...]
    statistics: Statistics
    matches: Found
    failures: tuple[Failed, ...]


def portrait(state: LeagueState, pool: GameSpec | None, id: str) -> Portrait:
    """In the pool that is looked at or, if that is of another game, in the one it played in last."""
    league = state.league
    agent = league.by_id(id)
    game = pool if pool is not None and pool.name == agent.game else _last_pool(league, agent.game)
    table = tables.standings(league, game)
    played = [row for row in table.rows if row.total.played]
    row = next((one for one in played if one.agent == id), None)
    known = {one.id: one for one in league.agents(agent.game, archived=True)}
    against = [
        Opponent(other, known[other].name, known[other].kind, known[other].colour, one.wins, one.draws, one.losses)
        for other, one in (row.against.items() if row else ())
        if other in known
    ]
    info = usual_info(game)  # where its rules are not installed, what is in the file can still be shown
    title, names = (info.title, info.stats) if info is not None else (agent.game, ())
    [(size, begin)] = league.file.read(
        f"SELECT length(data), substr(data, 1, {PREVIEW + 1}) FROM payloads WHERE hash = ?", agent.payload
    )
    return Portrait(
        agent,
        game,
        title,
        size,
        _preview(begin or b"") if size <= PREVIEW else "",
        _settings(league, agent),
        row,
        played.index(row) + 1 if row else 0,
        len(played),
        table.seats,
        tuple(sorted(against, key=lambda one: -(one.wins + one.draws + one.losses))),
        course(league, game, agent),
        tuple(_kin(parent, known, 2) for parent in agent.parents),
        tuple(_children(agent, known)),
        looks.statistics(league, game, id, names),
        looks.matches(league, game, Wanted(agent=id), limit=LAST),
        tuple(looks.failures(league, game, id)),
    )


def _last_pool(league: League, game: str) -> GameSpec:
    """Or the game with its usual options; with none, if it is not even installed."""
    for one in reversed(league.tournaments()):
        if one.settings.game.name == game:
            return one.settings.game
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


def _settings(league: League, agent: Agent) -> tuple[tuple[str, str], ...]:
    """What an external engine runs, and how; nothing of others, who are no more than their payload."""
    try:
        engine = engine_in(league, agent)
    except RingsideError:  # of another kind, or damaged, which is told where it is to play
        return ()
    limit = f"{engine.nodes:,} nodes a move" if engine.nodes else f"{engine.movetime:g} s a move"
    memory = f"{engine.memory:,} MB at most"
    return (("Command", engine.line), ("Limit", limit), *engine.options, ("Memory", memory))


def course(league: League, game: GameSpec, agent: Agent) -> Course:
    """From tournament to tournament; with fewer than two of them, game by game through the last one."""
    number, pool = league.number(agent.id), league.pool(game)
    sql = "SELECT at, rating, error FROM ratings WHERE pool = ? AND agent = ? ORDER BY at"
    found = league.file.read(sql, pool, number)
    if len(found) > 1:
        at, rating, error = zip(*found, strict=True)
        return Course(at, rating, error, True, "Rating after each tournament")
    sql = "SELECT number, played FROM tournaments WHERE pool = ? AND played > 0 ORDER BY number DESC"
    for tournament, played in league.file.read(sql, pool):
        if played > RUNNING:
            continue
        line = tables.elo_lines(league, tournament).get(agent.id, [])
        if len(line) > 1:
            steps = tuple(float(place) for place in range(len(line)))
            return Course(steps, tuple(line), (), False, f"Running Elo through tournament {tournament}")
    return Course()


def _kin(given: str, known: dict[str, Agent], depth: int) -> Kin:
    """A parent is known by its id or, where it comes from another league, by its name."""
    one = known.get(given) or next((other for other in known.values() if other.name == given), None)
    if one is None:
        return Kin(given)
    above = tuple(_kin(parent, known, depth - 1) for parent in one.parents) if depth > 1 else ()
    return Kin(one.name, one.id, one.colour, above)


def _children(agent: Agent, known: dict[str, Agent]) -> list[Kin]:
    names = {agent.id, agent.name}
    found = [one for one in known.values() if names & set(one.parents) and one.id != agent.id]
    return [Kin(one.name, one.id, one.colour) for one in found[:CHILDREN]]
