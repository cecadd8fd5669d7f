"""League: the agents, tournaments and settings of a league file. `TournamentStore` has its matches, `SessionStore` its
training sessions."""

from __future__ import annotations

import dataclasses
import json
import sqlite3
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

from engine import codec
from engine.clock import now
from engine.closing import Closing
from engine.errors import BadLeague, BadValue, BrokenPlugin, NotNow, RingsideError, UnknownName
from engine.league.records import (
    LARGEST_PAYLOAD,
    NAME_LENGTH,
    Agent,
    Lineup,
    RunState,
    Tournament,
    TournamentSettings,
    check_colour,
    check_name,
    check_tags,
    check_text,
    content_hash,
)
from engine.league.schedule import Schedule, fingerprint
from engine.league.storage import tournament_rows
from engine.league.storage.checksums import ById, agent_row, checksum
from engine.league.storage.database import SUFFIX, Database
from engine.league.storage.lock import is_locked
from engine.league.storage.new_database import create
from engine.league.storage.recovery import INTERRUPTED, stop_interrupted_runs
from engine.play.match import AgentSpec, GameSpec
from engine.registry import game_of, kind_of, plays

T = TypeVar("T")


class League(Closing):
    """An open league file, for use from any thread. Close it, or use it in a `with` statement."""

    def __init__(self, path: Path | str, read_only: bool = False) -> None:
        self.file = Database(Path(path), read_only)
        self._specs: dict[str, AgentSpec] = {}  # by id: payloads never change
        self._plan: tuple[str, Schedule] | None = None  # of the tournament that was planned last
        self._decoded: dict[tuple[Any, ...], Agent] = {}  # by row, so that each is checked only once
        self._agents: tuple[int, ById[Agent]] | None = None  # the version of the file, and its agents
        self._tournaments: tuple[int, list[Tournament]] | None = None
        self._kept: tuple[int, dict[object, Any]] | None = None  # the version of the file, and what was read of it
        if not read_only:
            try:
                stop_interrupted_runs(self.file)
            except BaseException:  # the caller gets no object to close
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

    @property
    def no_writer(self) -> bool:
        """Whether no program writes now, so that nothing runs, whatever state the file records."""
        return self.read_only and not is_locked(self.path)

    def close(self) -> None:
        self.file.close()

    def backup(self, target: Path | str) -> None:
        self.file.backup(Path(target))

    def kept(self, key: object, load: Callable[[], T]) -> T:
        """What `load` reads of the file, once for each version of it. Callers must not change it."""
        version, kept = self.file.version(), self._kept
        if version is None:
            return load()
        if kept is None or kept[0] != version:
            kept = self._kept = version, {}
        if key not in kept[1]:
            kept[1][key] = load()
        found: T = kept[1][key]
        return found

    # Settings

    def setting(self, name: str, default: Any = None) -> Any:
        found = self.file.read("SELECT value FROM settings WHERE name = ?", name)
        try:
            return json.loads(found[0][0]) if found else default
        except ValueError:
            raise BadLeague(f"{self.path}: the setting {name!r} is damaged") from None

    def save_setting(self, name: str, value: Any) -> None:
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
        session: int | None = None,
    ) -> Agent:
        """Adds an agent. Its kind must be installed, which is needed to check that it can play."""
        kind_of(spec)
        name = check_name("name", name)
        if len(spec.payload) > LARGEST_PAYLOAD:
            raise BadValue("payload", f"{len(spec.payload):,} bytes", f"at most {LARGEST_PAYLOAD:,} bytes")
        with self.file.transaction() as db:
            self._check_name_free(game, name)
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
                now() if created is None else created,
                tuple(check_name("parents", parent) for parent in parents),
                check_text("origin", origin, 1000),
                session=session,
            )
            db.execute("INSERT OR IGNORE INTO payloads VALUES (?, ?)", (agent.payload, spec.payload))
            [(last,)] = db.execute("SELECT coalesce(max(number), 0) FROM agents")
            db.execute("INSERT INTO agents VALUES (?,?,?,?,?,?,?,?)", agent_row(last + 1, agent))
        return agent

    def agents(self, game: str | None = None, archived: bool = False) -> list[Agent]:
        """In the order in which they were added."""
        return [
            agent
            for agent in self._all_agents().values()
            if game in (None, agent.game) and (archived or agent.archived is None)
        ]

    def agent(self, name: str, game: str | None = None) -> Agent:
        """By name, archived agents included; by id if no agent has that name."""
        every = self.agents(game, archived=True)
        name = unicodedata.normalize("NFC", name)
        found = [agent for agent in every if agent.name == name] or [agent for agent in every if agent.id == name]
        if len(found) > 1:
            games = " and ".join(agent.game for agent in found)
            raise BadValue("agent", name, f"a unique name, but {games} have an agent of that name: give the game")
        if not found:
            noun = f"agent of {self.path.name}" + (f" for {game}" if game else "")
            raise UnknownName(noun, name, [agent.name for agent in every])
        return found[0]

    def by_id(self, id: str) -> Agent:
        """An id stays the same when its agent is renamed; a name may be reused by another agent."""
        for agent in self._all_agents().values():
            if agent.id == id:
                return agent
        raise UnknownName(f"agent id in {self.path.name}", id, self.names())

    def _all_agents(self) -> ById[Agent]:
        """By number; each row is checked against its checksum."""
        version, kept = self.file.version(), self._agents
        if kept is not None and kept[0] == version:
            return kept[1]
        found = ById[Agent](self.path)
        for row in self.file.read("SELECT * FROM agents ORDER BY number"):
            if row not in self._decoded:
                self._decoded[row] = self._agent(row)
            found[row[0]] = self._decoded[row]
        if version is not None:
            self._agents = version, found
        return found

    def change_agent(self, id: str, **changes: Any) -> Agent:
        """Changes name, notes, colour or tags."""
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
                self._check_name_free(agent.game, changed.name)
            return self._write_agent(db, changed)

    def archive(self, id: str, undo: bool = False) -> Agent:
        """Archives an agent, or restores it; its matches and its payload stay."""
        with self.file.transaction() as db:
            agent = self.by_id(id)
            if (agent.archived is None) == undo:
                raise NotNow(f"{agent.name} is {'not archived' if undo else 'already archived'}")
            busy = [
                tournament.name
                for tournament in self.tournaments()
                if tournament.state.open and agent.id in tournament.entrants
            ]
            if busy and not undo:
                raise NotNow(f"{agent.name} takes part in {busy[0]!r}, which is not finished: withdraw it there first")
            return self._write_agent(db, dataclasses.replace(agent, archived=None if undo else now()))

    def spec(self, id: str) -> AgentSpec:
        """The spec of an agent, for a match; the payload is checked against its hash."""
        if id not in self._specs:
            agent = self.by_id(id)
            self._specs[agent.id] = AgentSpec(agent.id, agent.kind, self.payload(agent.payload), agent.version)
        return self._specs[id]

    def payload(self, content: str) -> bytes:
        found = self.file.read("SELECT data FROM payloads WHERE hash = ?", content)
        if not found or not isinstance(found[0][0], bytes) or content_hash(found[0][0]) != content:
            raise BadLeague(f"{self.path}: payload {content} is damaged: import its agent again, or restore a backup")
        data: bytes = found[0][0]
        return data

    def number(self, id: str) -> int:
        """The number of an agent in the tables of the file."""
        return self.numbers()[id]

    def numbers(self) -> dict[str, int]:
        return {agent.id: number for number, agent in self._all_agents().items()}

    def ids(self) -> ById[str]:
        found = ById[str](self.path)
        found.update({number: agent.id for number, agent in self._all_agents().items()})
        return found

    def names(self) -> dict[str, str]:
        """By id, archived agents included."""
        return {agent.id: agent.name for agent in self._all_agents().values()}

    def _write_agent(self, db: sqlite3.Connection, agent: Agent) -> Agent:
        row = agent_row(self.number(agent.id), agent)
        db.execute("INSERT OR REPLACE INTO agents VALUES (?,?,?,?,?,?,?,?)", row)
        return agent

    def _agent(self, row: tuple[Any, ...]) -> Agent:
        number, *columns, record, archived, seal = row
        try:
            agent = dataclasses.replace(codec.load(Agent, record), archived=archived)
            intact = checksum(*row[:-1]) == seal and [agent.id, agent.name, agent.game, agent.payload] == columns
        except (RingsideError, TypeError, ValueError):
            intact = False
        if not intact:
            raise BadLeague(f"{self.path}: the record of agent {number} is damaged: restore a backup")
        return agent

    def _free_id(self, name: str, game: str) -> str:
        """The name itself if no agent has or had it, else a variant."""
        taken = set(self.ids().values())
        candidates = (name, f"{name} ({game})", *(f"{name} ({game} {n})" for n in range(2, len(taken) + 3)))
        return next(candidate for candidate in candidates if candidate not in taken)

    def _check_name_free(self, game: str, name: str) -> None:
        found = self.file.read("SELECT archived FROM agents WHERE game = ? AND name = ?", game, name)
        if found:
            archived = found[0][0] is not None
            hint = "an archived agent has it; restore that one or" if archived else "it is taken:"
            raise BadValue("name", name, f"a new one for {game}: {hint} choose another")

    # Tournaments

    def add_tournament(self, name: str, settings: TournamentSettings, entrants: Iterable[str]) -> Tournament:
        """Adds a tournament of these agents, by id, without playing it; raises an error if it cannot be played."""
        lineup = Lineup(1, 0, tuple(entrants))
        plan = self.plan(settings, lineup.entrants)
        name = check_name("name", name)
        with self.file.transaction() as db:
            [(last,)] = db.execute("SELECT coalesce(max(number), 0) FROM tournaments")
            pool = self._pool(db, settings.game)
            lineups = tournament_rows.dump_lineups([lineup])
            row = (last + 1, pool, name, codec.dump(settings), lineups, RunState.PLANNED.value, now())
            tournament_rows.write_row(db, (*row, None, 0, plan.length, ""))
        return self.tournament(last + 1)

    def plan(self, settings: TournamentSettings, entrants: Sequence[str]) -> Schedule:
        """The schedule of a new tournament; raises an error if it cannot be played. The latest one is kept, because a
        form, the file and the run need the same one in turn, and a large one takes seconds."""
        key, kept = fingerprint(settings, entrants), self._plan
        if kept is None or kept[0] != key:
            made = Schedule(settings, [Lineup(1, 0, tuple(entrants))])
            self.check_agents(entrants, settings.game)
            made.extend(lambda *_: ())
            kept = self._plan = key, made
        else:
            self.check_agents(entrants, settings.game)
        return kept[1]

    def take_plan(self, tournament: Tournament) -> Schedule:
        """The schedule of a tournament, for a caller that extends it by results."""
        kept, one = self._plan, tournament
        if kept is not None and len(one.lineups) == 1 and kept[0] == fingerprint(one.settings, one.entrants):
            self._plan = None
            return kept[1]
        return Schedule(one.settings, one.lineups)

    def tournaments(self) -> list[Tournament]:
        version, kept = self.file.version(), self._tournaments
        if kept is not None and kept[0] == version:
            return list(kept[1])
        sql = f"SELECT {tournament_rows.COLUMNS} FROM tournaments ORDER BY number"
        found = [self._tournament(row) for row in self.file.read(sql)]
        if version is not None:
            self._tournaments = version, found
        return list(found)

    def tournament(self, which: int | str) -> Tournament:
        """By number, or by name if that is unique."""
        every = self.tournaments()
        text = unicodedata.normalize("NFC", str(which))
        found = [tournament for tournament in every if str(tournament.number) == text] or [
            tournament for tournament in every if tournament.name == text
        ]
        if not found:
            known = [f"{tournament.number} ({tournament.name})" for tournament in every]
            raise UnknownName(f"tournament of {self.path.name}", which, known)
        if len(found) > 1:
            numbers = " and ".join(str(tournament.number) for tournament in found)
            raise BadValue("tournament", which, f"one of the numbers {numbers}: these share the name")
        return found[0]

    def update_tournament(
        self,
        number: int,
        state: RunState | None = None,
        note: str | None = None,
        total: int | None = None,
        played: int = 0,
    ) -> None:
        """Sets state, note and total; adds `played` to the number of matches played."""
        with self.file.transaction() as db:
            row = tournament_rows.read_row(db, number)
            tournament_rows.tournament_of(row, self.path)  # raises if it is damaged
            if state is not None:
                tournament_rows.set_state(row, state)
            row[tournament_rows.PLAYED] += played
            if total is not None:
                row[tournament_rows.TOTAL] = total
            if note is not None:
                row[tournament_rows.NOTE] = note
            tournament_rows.write_row(db, row)

    def set_lineups(self, number: int, lineups: Sequence[Lineup]) -> None:
        """Replaces the lineups of a tournament; `engine.league.storage.tournaments.change_entrants` checks them."""
        with self.file.transaction() as db:
            row = tournament_rows.read_row(db, number)
            row[tournament_rows.LINEUPS] = tournament_rows.dump_lineups(lineups)
            tournament_rows.write_row(db, row)

    def pools(self) -> dict[int, GameSpec]:
        """By number. A pool is a game with its options: ratings of different pools are never mixed."""
        try:
            return {number: codec.load(GameSpec, text) for number, text in self.file.read("SELECT * FROM pools")}
        except BadValue as error:
            raise BadLeague(f"{self.path}: its pools are damaged: {error}") from None

    def pool(self, game: GameSpec) -> int | None:
        text = codec.dump(game)
        found = self.kept(("pool", text), lambda: self.file.read("SELECT number FROM pools WHERE game = ?", text))
        return found[0][0] if found else None

    def _pool(self, db: sqlite3.Connection, game: GameSpec) -> int:
        text = codec.dump(game)
        db.execute("INSERT OR IGNORE INTO pools (game) VALUES (?)", (text,))
        [(number,)] = db.execute("SELECT number FROM pools WHERE game = ?", (text,))
        return int(number)

    def _tournament(self, row: Sequence[Any]) -> Tournament:
        found = tournament_rows.checked_tournament(row, self.path)
        interrupted = found.state in INTERRUPTED and self.no_writer
        return dataclasses.replace(found, state=RunState.STOPPED) if interrupted else found

    def check_agents(self, ids: Sequence[str], game: GameSpec) -> None:
        """Raises BadValue unless all of them can play this game."""
        rules = game_of(game)
        for agent in map(self.by_id, ids):
            if agent.game != game.name:
                raise BadValue("entrants", agent.name, f"an agent for {game.name}; this one plays {agent.game}")
            if agent.archived is not None:
                raise BadValue("entrants", agent.name, "an agent that is not archived: restore it first")
            with suppress(BrokenPlugin):  # its matches end as `cannot_start`, and those of others are played
                if not plays(self.spec(agent.id), rules):
                    raise BadValue("entrants", agent.name, f"able to play {game.name}; {agent.kind} is not")


def free_name(name: str, taken: Iterable[str]) -> str:
    """The name itself or, if it is taken, with a number after it."""
    known = set(taken)
    candidates = (name, *(f"{name[: NAME_LENGTH - 8].strip()} ({n})" for n in range(2, len(known) + 3)))
    return next(candidate for candidate in candidates if candidate not in known)
