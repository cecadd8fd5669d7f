"""A league: agents, tournaments and settings in a file. Matches are in `book`, what they amount to in `tables`."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import sqlite3
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from engine import codec
from engine.errors import BadLeague, BadValue, NotNow, UnknownName
from engine.league.file import SUFFIX, LeagueFile, create
from engine.league.plan import Plan, check_entrants
from engine.league.records import (
    Agent,
    Lineup,
    Settings,
    State,
    Tournament,
    check_colour,
    check_name,
    check_tags,
    check_text,
)
from engine.play.match import AgentSpec, GameSpec
from engine.registry import game_of, kind_of

LARGEST_PAYLOAD = 512 << 20
COLUMNS = "number, pool, name, settings, lineups, state, created, finished, played, total, note, seal"


class League:
    """An open league. It may be used from any thread; `close` it, or use it in a `with`."""

    def __init__(self, path: Path | str, read_only: bool = False) -> None:
        self.file = LeagueFile(Path(path), read_only)
        self._specs: dict[str, AgentSpec] = {}  # by id: payloads do not change
        self._numbers: dict[str, int] = {}

    @classmethod
    def new(cls, path: Path | str) -> League:
        path = Path(path)
        if path.suffix != SUFFIX:
            raise BadValue("file", str(path), f"a name that ends in {SUFFIX}")
        create(path)
        return cls(path)

    @property
    def path(self) -> Path:
        return self.file.path

    @property
    def name(self) -> str:
        return self.path.stem

    @property
    def read_only(self) -> bool:
        return self.file.read_only

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        self.file.close()

    def backup(self, target: Path | str) -> None:
        self.file.backup(Path(target))

    # Settings last used

    def setting(self, name: str, default: Any = None) -> Any:
        found = self.file.read("SELECT value FROM settings WHERE name = ?", name)
        return json.loads(found[0][0]) if found else default

    def remember(self, name: str, value: Any) -> None:
        with self.file.transaction() as db:
            db.execute("INSERT OR REPLACE INTO settings VALUES (?, ?)", (name, json.dumps(value, allow_nan=False)))

    # Agents

    def add_agent(
        self,
        name: str,
        game: str,
        spec: AgentSpec,
        *,
        notes: str = "",
        colour: str = "",
        tags: Sequence[str] = (),
        parents: Sequence[str] = (),
        origin: str = "",
        created: float | None = None,
    ) -> Agent:
        """Enter somebody. The kind must be installed, or nobody could tell whether it can play."""
        kind_of(spec)
        name = check_name("name", name)
        if len(spec.payload) > LARGEST_PAYLOAD:
            raise BadValue("payload", f"{len(spec.payload):,} bytes", f"at most {LARGEST_PAYLOAD:,} bytes")
        made = time.time() if created is None else created
        agent = Agent(
            self._free_id(name, game),
            name,
            game,
            spec.kind,
            spec.version,
            content_hash(spec.payload),
            check_text("notes", notes),
            check_colour(colour),
            check_tags(tags),
            made,
            tuple(check_name("parents", parent) for parent in parents),
            check_text("origin", origin, 1000),
        )
        self._check_free(game, name)
        with self.file.transaction() as db:
            db.execute("INSERT OR IGNORE INTO payloads VALUES (?, ?)", (agent.payload, spec.payload))
            row = (agent.id, name, game, agent.payload, *_sealed(agent))
            db.execute(
                "INSERT INTO agents (id, name, game, payload, record, archived, seal) VALUES (?,?,?,?,?,?,?)", row
            )
        return agent

    def agents(self, game: str | None = None, archived: bool = False) -> list[Agent]:
        """In the order in which they came."""
        sql = "SELECT record, archived, seal FROM agents WHERE (? IS NULL OR game = ?) AND (? OR archived IS NULL)"
        return [self._agent(*row) for row in self.file.read(f"{sql} ORDER BY number", game, game, archived)]

    def agent(self, name: str, game: str | None = None) -> Agent:
        """By its name or id, archived ones included; among several games the name may need one."""
        sql = "SELECT record, archived, seal FROM agents WHERE (name = ? OR id = ?) AND (? IS NULL OR game = ?)"
        found = [self._agent(*row) for row in self.file.read(sql, name, name, game, game)]
        if len(found) > 1:
            exact = [agent for agent in found if agent.name == name]
            if len(exact) != 1:
                games = " and ".join(agent.game for agent in found)
                raise BadValue("agent", name, f"one agent, but {games} have one of that name: say which game")
            found = exact
        if not found:
            noun = f"agent of {self.path.name}" + (f" for {game}" if game else "")
            raise UnknownName(noun, name, [agent.name for agent in self.agents(game, archived=True)])
        return found[0]

    def change_agent(self, id: str, **changes: Any) -> Agent:
        """What is said about it: name, notes, colour, tags."""
        checks: dict[str, Callable[[object], Any]] = {
            "name": lambda it: check_name("name", it),
            "notes": lambda it: check_text("notes", it),
            "colour": check_colour,
            "tags": check_tags,
        }
        for field in changes:
            if field not in checks:
                raise UnknownName("changeable field of an agent", field, checks)
        agent = self.agent(id)
        changed = dataclasses.replace(agent, **{field: checks[field](value) for field, value in changes.items()})
        if changed.name != agent.name:
            self._check_free(agent.game, changed.name)
        return self._put(changed)

    def archive(self, id: str, undo: bool = False) -> Agent:
        """Put it away, or fetch it back; its matches and its payload stay."""
        agent = self.agent(id)
        if (agent.archived is None) == undo:
            raise NotNow(f"{agent.name} is {'not archived' if undo else 'archived already'}")
        busy = [one.name for one in self.tournaments() if one.state.open and agent.id in one.entrants]
        if busy and not undo:
            raise NotNow(f"{agent.name} takes part in {busy[0]!r}, which is not over: withdraw it there first")
        return self._put(dataclasses.replace(agent, archived=None if undo else time.time()))

    def spec(self, id: str) -> AgentSpec:
        """Everything that is needed to have it play; the payload is checked against its hash."""
        if id not in self._specs:
            agent = self.agent(id)
            self._specs[agent.id] = AgentSpec(agent.id, agent.kind, self.payload(agent.payload), agent.version)
        return self._specs[id]

    def payload(self, content: str) -> bytes:
        found = self.file.read("SELECT data FROM payloads WHERE hash = ?", content)
        if not found or content_hash(found[0][0]) != content:
            raise BadLeague(f"{self.path}: the payload {content} is damaged: import its agent again, or take a backup")
        data: bytes = found[0][0]
        return data

    def number(self, id: str) -> int:
        """What the tables call an agent."""
        if id not in self._numbers:
            self._numbers |= {name: number for number, name in self.file.read("SELECT number, id FROM agents")}
        return self._numbers[id]

    def ids(self) -> dict[int, str]:
        return dict(self.file.read("SELECT number, id FROM agents"))

    def names(self) -> dict[str, str]:
        """By id, archived ones included."""
        return dict(self.file.read("SELECT id, name FROM agents"))

    def _put(self, agent: Agent) -> Agent:
        with self.file.transaction() as db:
            values = (agent.name, *_sealed(agent), agent.id)
            db.execute("UPDATE agents SET name = ?, record = ?, archived = ?, seal = ? WHERE id = ?", values)
        return agent

    def _agent(self, record: str, archived: float | None, seal: bytes) -> Agent:
        if seal_of(record, archived) != seal:
            raise BadLeague(f"{self.path}: the record of an agent is damaged: {record[:200]}")
        agent = codec.load(Agent, record)
        return dataclasses.replace(agent, archived=archived)

    def _free_id(self, name: str, game: str) -> str:
        """The name itself, unless somebody had it before."""
        taken = set(self.ids().values())
        tries = (name, f"{name} ({game})", *(f"{name} ({game} {n})" for n in range(2, len(taken) + 3)))
        return next(one for one in tries if one not in taken)

    def _check_free(self, game: str, name: str) -> None:
        found = self.file.read("SELECT archived FROM agents WHERE game = ? AND name = ?", game, name)
        if found:
            told = "an archived agent has it; restore that one or" if found[0][0] is not None else "it is taken:"
            raise BadValue("name", name, f"a new one for {game}: {told} choose another")

    # Tournaments

    def add_tournament(self, name: str, settings: Settings, entrants: Iterable[str]) -> Tournament:
        """Nothing is played yet; whatever is wrong with it is told now."""
        agents = [self.agent(entrant) for entrant in entrants]
        self._check_agents(agents, settings.game)
        lineup = Lineup(1, 0, tuple(agent.id for agent in agents))
        plan = Plan(settings, [lineup])
        plan.extend(lambda *_: ())
        name = check_name("name", name)
        with self.file.transaction() as db:
            row = (self._pool(db, settings.game), name, codec.dump(settings), _dump([lineup]), State.PLANNED.value)
            row += (time.time(), None, 0, plan.length, "")  # type: ignore[assignment]
            marks = ",".join("?" * 12)
            number = db.execute(f"INSERT INTO tournaments VALUES ({marks})", (None, *row, b"")).lastrowid
            seal = seal_of(number, *row[:4])
            db.execute("UPDATE tournaments SET seal = ? WHERE number = ?", (seal, number))
        assert number is not None
        return self.tournament(number)

    def tournaments(self) -> list[Tournament]:
        return [self._tournament(row) for row in self.file.read(f"SELECT {COLUMNS} FROM tournaments ORDER BY number")]

    def tournament(self, which: int | str) -> Tournament:
        """By number, or by name if that is unique."""
        number = int(which) if isinstance(which, int) or which.isdecimal() else -1
        sql = f"SELECT {COLUMNS} FROM tournaments WHERE number = ? OR name = ? ORDER BY number = ? DESC, number"
        found = [self._tournament(row) for row in self.file.read(sql, number, str(which), number)]
        if not found:
            known = [f"{one.number} ({one.name})" for one in self.tournaments()]
            raise UnknownName(f"tournament of {self.path.name}", which, known)
        if len(found) > 1 and found[0].number != number:
            numbers = " and ".join(str(one.number) for one in found)
            raise BadValue("tournament", which, f"one of the numbers {numbers}, which share that name")
        return found[0]

    def update_tournament(
        self, number: int, state: State | None = None, note: str | None = None, total: int | None = None
    ) -> None:
        with self.file.transaction() as db:
            if state is not None:
                done = None if state.open else time.time()
                db.execute(
                    "UPDATE tournaments SET state = ?, finished = ? WHERE number = ?", (state.value, done, number)
                )
            if note is not None:
                db.execute("UPDATE tournaments SET note = ? WHERE number = ?", (note, number))
            if total is not None:
                db.execute("UPDATE tournaments SET total = ? WHERE number = ?", (total, number))

    def change_entrants(self, number: int, join: Iterable[str], leave: Iterable[str]) -> Tournament:
        """From the next round on; rounds of which something has been played are finished by those who began them."""
        from engine.league.book import Book  # it needs this module

        tournament = self.tournament(number)
        if tournament.state is State.RUNNING:
            raise NotNow(f"{tournament.name!r} is being played: pause it first")
        if not tournament.state.open:
            raise NotNow(f"{tournament.name!r} is {tournament.state.value}: nobody can join or leave any more")
        joining, leaving = [self.agent(one) for one in join], [self.agent(one).id for one in leave]
        for one in leaving:
            if one not in tournament.entrants:
                raise BadValue("withdraw", one, f"one of {', '.join(tournament.entrants)}")
        self._check_agents(joining, tournament.settings.game)
        entrants = tuple(one for one in tournament.entrants if one not in leaving) + tuple(one.id for one in joining)
        check_entrants(entrants, game_of(tournament.settings.game))
        with self.file.transaction() as db:
            first = Book(self, number).next_round()
            kept = [one for one in tournament.lineups if one.first_round < first or (one.version == 1 and first == 0)]
            if first == 0:
                kept = []  # nothing played: as if it had been so from the start
            lineups = [*kept, Lineup(tournament.lineups[-1].version + bool(kept), first, entrants)]
            self._put_lineups(db, tournament, lineups)
        book = Book(self, number)
        self.update_tournament(number, total=book.plan.length)
        return self.tournament(number)

    def _put_lineups(self, db: sqlite3.Connection, tournament: Tournament, lineups: list[Lineup]) -> None:
        text = _dump(lineups)
        [(pool,)] = db.execute("SELECT pool FROM tournaments WHERE number = ?", (tournament.number,))
        seal = seal_of(tournament.number, pool, tournament.name, codec.dump(tournament.settings), text)
        db.execute("UPDATE tournaments SET lineups = ?, seal = ? WHERE number = ?", (text, seal, tournament.number))

    def pools(self) -> dict[int, GameSpec]:
        """Ratings of different games, or of one game with different options, are never mixed."""
        return {number: codec.load(GameSpec, text) for number, text in self.file.read("SELECT * FROM pools")}

    def pool(self, game: GameSpec) -> int | None:
        found = self.file.read("SELECT number FROM pools WHERE game = ?", codec.dump(game))
        return found[0][0] if found else None

    def _pool(self, db: sqlite3.Connection, game: GameSpec) -> int:
        text = codec.dump(game)
        db.execute("INSERT OR IGNORE INTO pools (game) VALUES (?)", (text,))
        [(number,)] = db.execute("SELECT number FROM pools WHERE game = ?", (text,))
        return int(number)

    def _tournament(self, row: Sequence[Any]) -> Tournament:
        number, pool, name, settings, lineups, state, created, finished, played, total, note, seal = row
        if seal_of(number, pool, name, settings, lineups) != seal:
            raise BadLeague(
                f"{self.path}: the record of tournament {number} is damaged: take a backup, if there is one"
            )
        line = codec.load(_Lineups, lineups).lineups
        made = codec.load(Settings, settings)
        return Tournament(number, name, made, line, State(state), created, finished, played, total, note)

    def _check_agents(self, agents: Sequence[Agent], game: GameSpec) -> None:
        for agent in agents:
            if agent.game != game.name:
                raise BadValue("entrants", agent.name, f"an agent for {game.name}, and this one plays {agent.game}")
            if agent.archived is not None:
                raise BadValue("entrants", agent.name, "somebody who is not archived: restore it first")
            kind = kind_of(self.spec(agent.id))
            if not kind.plays(game_of(game)):
                raise BadValue("entrants", agent.name, f"able to play {game.name}, and {agent.kind} is not")


@dataclasses.dataclass(frozen=True)
class _Lineups:
    lineups: tuple[Lineup, ...]


def _dump(lineups: Sequence[Lineup]) -> str:
    return codec.dump(_Lineups(tuple(lineups)))


def _sealed(agent: Agent) -> tuple[str, float | None, bytes]:
    record = codec.dump(dataclasses.replace(agent, archived=None))
    return record, agent.archived, seal_of(record, agent.archived)


def seal_of(*parts: object) -> bytes:
    """Eight bytes that change when anything in a record does."""
    return hashlib.blake2b(repr(parts).encode(), digest_size=8).digest()


def content_hash(payload: bytes) -> str:
    return hashlib.blake2b(payload, digest_size=16).hexdigest()
