"""A league: agents, tournaments and settings in a file. Matches are in `book`, what they amount to in `tables`."""

from __future__ import annotations

import dataclasses
import json
import sqlite3
import time
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from engine import codec
from engine.errors import BadLeague, BadValue, NotNow, RingsideError, UnknownName
from engine.league.storage.database import SUFFIX, LeagueFile, create
from engine.league.storage.lock import held
from engine.league.schedule import Plan
from engine.league.records import (Agent, Lineup, Settings, State, Tournament, check_colour, check_name, check_tags, check_text, content_hash)
from engine.league.storage.checksums import Numbered, agent_row, seal_of
from engine.play.match import AgentSpec, GameSpec
from engine.registry import game_of, kind_of

LARGEST_PAYLOAD = 512 << 20
COLUMNS = "number, pool, name, settings, lineups, state, created, finished, played, total, note, seal"
LINEUPS, STATE, FINISHED, PLAYED, TOTAL, NOTE = 4, 5, 7, 8, 9, 10  # places in such a row


class League:
    """An open league. It may be used from any thread; `close` it, or use it in a `with`."""

    def __init__(self, path: Path | str, read_only: bool = False) -> None:
        self.file = LeagueFile(Path(path), read_only)
        self._specs: dict[str, AgentSpec] = {}  # by id: payloads do not change
        self._known: dict[tuple[Any, ...], Agent] = {}  # by row, so that each is read with care only once
        self.alone = read_only and not held(self.path)  # nobody plays, whatever the file says
        if not read_only:
            try:
                self._after_a_crash()
            except BaseException:  # nobody could let go of the file later
                self.close()
                raise

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

    def _after_a_crash(self) -> None:
        """Nobody else writes, so what is said to be played is not: its program ended before it did."""
        for one in self.tournaments():
            if one.state in (State.RUNNING, State.PAUSED):
                self.update_tournament(one.number, State.STOPPED, "the program ended before it did")
        from engine.league.storage.sessions import Sessions  # it needs this module

        Sessions(self).after_a_crash()

    # Settings last used

    def setting(self, name: str, default: Any = None) -> Any:
        found = self.file.read("SELECT value FROM settings WHERE name = ?", name)
        try:
            return json.loads(found[0][0]) if found else default
        except ValueError:
            raise BadLeague(f"{self.path}: the setting {name!r} is damaged") from None

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
        with self.file.transaction() as db:
            self._check_free(game, name)
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
            db.execute("INSERT OR IGNORE INTO payloads VALUES (?, ?)", (agent.payload, spec.payload))
            [(last,)] = db.execute("SELECT coalesce(max(number), 0) FROM agents")
            db.execute("INSERT INTO agents VALUES (?,?,?,?,?,?,?,?)", agent_row(last + 1, agent))
        return agent

    def agents(self, game: str | None = None, archived: bool = False) -> list[Agent]:
        """In the order in which they came."""
        every = self._everybody().values()
        return [one for one in every if game in (None, one.game) and (archived or one.archived is None)]

    def agent(self, name: str, game: str | None = None) -> Agent:
        """By its name, as a person says it, archived ones included; by its id if nobody has that name now."""
        every = self.agents(game, archived=True)
        name = unicodedata.normalize("NFC", name)
        found = [one for one in every if one.name == name] or [one for one in every if one.id == name]
        if len(found) > 1:
            games = " and ".join(agent.game for agent in found)
            raise BadValue("agent", name, f"one agent, but {games} have one of that name: say which game")
        if not found:
            noun = f"agent of {self.path.name}" + (f" for {game}" if game else "")
            raise UnknownName(noun, name, [agent.name for agent in every])
        return found[0]

    def by_id(self, id: str) -> Agent:
        """Ids stay when agents are renamed, and a name that has become free may be another's."""
        for one in self._everybody().values():
            if one.id == id:
                return one
        raise UnknownName(f"agent id in {self.path.name}", id, self.names())

    def _everybody(self) -> Numbered[Agent]:
        """By number; each record as it was written."""
        found = Numbered[Agent](self.path)
        for row in self.file.read("SELECT * FROM agents ORDER BY number"):
            if row not in self._known:
                self._known[row] = self._agent(row)
            found[row[0]] = self._known[row]
        return found

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
        checked = {field: checks[field](value) for field, value in changes.items()}
        with self.file.transaction() as db:
            agent = self.by_id(id)
            changed = dataclasses.replace(agent, **checked)
            if changed.name != agent.name:
                self._check_free(agent.game, changed.name)
            return self._put(db, changed)

    def archive(self, id: str, undo: bool = False) -> Agent:
        """Put it away, or fetch it back; its matches and its payload stay."""
        with self.file.transaction() as db:
            agent = self.by_id(id)
            if (agent.archived is None) == undo:
                raise NotNow(f"{agent.name} is {'not archived' if undo else 'archived already'}")
            busy = [one.name for one in self.tournaments() if one.state.open and agent.id in one.entrants]
            if busy and not undo:
                raise NotNow(f"{agent.name} takes part in {busy[0]!r}, which is not over: withdraw it there first")
            return self._put(db, dataclasses.replace(agent, archived=None if undo else time.time()))

    def spec(self, id: str) -> AgentSpec:
        """Everything that is needed to have it play; the payload is checked against its hash."""
        if id not in self._specs:
            agent = self.by_id(id)
            self._specs[agent.id] = AgentSpec(agent.id, agent.kind, self.payload(agent.payload), agent.version)
        return self._specs[id]

    def payload(self, content: str) -> bytes:
        found = self.file.read("SELECT data FROM payloads WHERE hash = ?", content)
        if not found or not isinstance(found[0][0], bytes) or content_hash(found[0][0]) != content:
            raise BadLeague(f"{self.path}: the payload {content} is damaged: import its agent again, or take a backup")
        data: bytes = found[0][0]
        return data

    def number(self, id: str) -> int:
        """What the tables call an agent."""
        return self.numbers()[id]

    def numbers(self) -> dict[str, int]:
        return {one.id: number for number, one in self._everybody().items()}

    def ids(self) -> Numbered[str]:
        found = Numbered[str](self.path)
        found.update({number: one.id for number, one in self._everybody().items()})
        return found

    def names(self) -> dict[str, str]:
        """By id, archived ones included."""
        return {one.id: one.name for one in self._everybody().values()}

    def _put(self, db: sqlite3.Connection, agent: Agent) -> Agent:
        row = agent_row(self.number(agent.id), agent)
        db.execute("INSERT OR REPLACE INTO agents VALUES (?,?,?,?,?,?,?,?)", row)
        return agent

    def _agent(self, row: tuple[Any, ...]) -> Agent:
        number, *_, record, archived, _ = row
        try:
            agent = dataclasses.replace(codec.load(Agent, record), archived=archived)
            sound = agent_row(number, agent) == row
        except (RingsideError, TypeError, ValueError):
            sound = False
        if not sound:
            raise BadLeague(f"{self.path}: the record of agent {number} is damaged: take a backup, if there is one")
        return agent

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
        """Of these agents, by id. Nothing is played yet; whatever is wrong with it is told now."""
        lineup = Lineup(1, 0, tuple(entrants))
        plan = Plan(settings, [lineup])
        self.check_agents(lineup.entrants, settings.game)
        plan.extend(lambda *_: ())
        name = check_name("name", name)
        with self.file.transaction() as db:
            [(last,)] = db.execute("SELECT coalesce(max(number), 0) FROM tournaments")
            pool = self._pool(db, settings.game)
            row = (last + 1, pool, name, codec.dump(settings), _dump([lineup]), State.PLANNED.value, time.time())
            self._write(db, (*row, None, 0, plan.length, ""))
        return self.tournament(last + 1)

    def tournaments(self) -> list[Tournament]:
        return [self._tournament(row) for row in self.file.read(f"SELECT {COLUMNS} FROM tournaments ORDER BY number")]

    def tournament(self, which: int | str) -> Tournament:
        """By number, or by name if that is unique."""
        every = self.tournaments()
        text = unicodedata.normalize("NFC", str(which))
        found = [one for one in every if str(one.number) == text] or [one for one in every if one.name == text]
        if not found:
            known = [f"{one.number} ({one.name})" for one in every]
            raise UnknownName(f"tournament of {self.path.name}", which, known)
        if len(found) > 1:
            numbers = " and ".join(str(one.number) for one in found)
            raise BadValue("tournament", which, f"one of the numbers {numbers}, which share that name")
        return found[0]

    def update_tournament(
        self,
        number: int,
        state: State | None = None,
        note: str | None = None,
        total: int | None = None,
        played: int = 0,
    ) -> None:
        """Its new state, note and total; `played` so many more."""
        with self.file.transaction() as db:
            row = list(db.execute(f"SELECT {COLUMNS} FROM tournaments WHERE number = ?", (number,)).fetchone()[:-1])
            self._tournament_row(row)
            if state is not None:
                row[STATE], row[FINISHED] = state.value, None if state.open else time.time()
            row[PLAYED] += played
            row[TOTAL] = row[TOTAL] if total is None else total
            row[NOTE] = row[NOTE] if note is None else note
            self._write(db, row)

    def change_entrants(self, number: int, join: Iterable[str], leave: Iterable[str]) -> Tournament:
        """By id, from the next round on; rounds of which something was played are finished by those who began them."""
        from engine.league.storage.tournaments import Book  # it needs this module

        with self.file.transaction() as db:
            tournament, book = self.tournament(number), Book(self, number)
            if not tournament.state.open:
                raise NotNow(f"{tournament.name!r} is {tournament.state.value}: nobody can join or leave any more")
            joining, leaving = tuple(join), tuple(leave)
            for one in leaving:
                if one not in tournament.entrants:
                    raise BadValue("leave", one, f"one of {', '.join(tournament.entrants)}")
            self.check_agents(joining, tournament.settings.game)
            entrants = tuple(one for one in tournament.entrants if one not in leaving) + joining
            first = book.next_round()
            book.check_change(first, entrants)
            kept = [one for one in tournament.lineups if one.first_round < first]
            lineups = [*kept, Lineup(tournament.lineups[-1].version + bool(kept), first, entrants)]
            row = list(db.execute(f"SELECT {COLUMNS} FROM tournaments WHERE number = ?", (number,)).fetchone()[:-1])
            row[LINEUPS] = _dump(lineups)
            self._write(db, row)
        self.update_tournament(number, total=Book(self, number).plan.length)
        return self.tournament(number)

    def _write(self, db: sqlite3.Connection, row: Sequence[Any]) -> None:
        marks = ",".join("?" * 12)
        db.execute(f"INSERT OR REPLACE INTO tournaments ({COLUMNS}) VALUES ({marks})", (*row, seal_of(*row)))

    def pools(self) -> dict[int, GameSpec]:
        """Ratings of different games, or of one game with different options, are never mixed."""
        try:
            return {number: codec.load(GameSpec, text) for number, text in self.file.read("SELECT * FROM pools")}
        except BadValue as error:
            raise BadLeague(f"{self.path}: its pools are damaged: {error}") from None

    def pool(self, game: GameSpec) -> int | None:
        found = self.file.read("SELECT number FROM pools WHERE game = ?", codec.dump(game))
        return found[0][0] if found else None

    def _pool(self, db: sqlite3.Connection, game: GameSpec) -> int:
        text = codec.dump(game)
        db.execute("INSERT OR IGNORE INTO pools (game) VALUES (?)", (text,))
        [(number,)] = db.execute("SELECT number FROM pools WHERE game = ?", (text,))
        return int(number)

    def _tournament(self, row: Sequence[Any]) -> Tournament:
        *kept, seal = row
        if seal_of(*kept) != seal:
            raise BadLeague(f"{self.path}: tournament {row[0]} is damaged: take a backup, if there is one")
        return self._tournament_row(kept)

    def _tournament_row(self, row: Sequence[Any]) -> Tournament:
        number, _, name, settings, lineups, state, created, finished, played, total, note = row
        try:
            made, line = codec.load(Settings, settings), codec.load(_Lineups, lineups).lineups
            now = State(state)
            if self.alone and now in (State.RUNNING, State.PAUSED):
                now = State.STOPPED
            return Tournament(number, name, made, line, now, created, finished, played, total, note)
        except (RingsideError, ValueError) as error:
            raise BadLeague(f"{self.path}: tournament {number} is damaged: {error}") from None

    def check_agents(self, ids: Sequence[str], game: GameSpec) -> None:
        """Raise BadValue unless they can all play this game here."""
        for agent in map(self.by_id, ids):
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
