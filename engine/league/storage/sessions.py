"""SessionStore: the training sessions of a league file, with their settings, metrics, checkpoints and timelines.

A checkpoint has a small part that stays, its players, and a large one, the trainer's state, of which a session keeps
the newest few. Reads inside a transaction use its connection, so that every method can be part of a larger
transaction.
"""

from __future__ import annotations

import dataclasses
import itertools
import sqlite3
import unicodedata
from collections.abc import Iterable, Sequence
from typing import Any

from engine.clock import now
from engine.errors import BadValue, NotNow, UnknownName
from engine.league.records import Agent, RunState, check_name, content_hash
from engine.league.storage.league import League
from engine.league.storage.recovery import INTERRUPTED
from engine.league.storage.session_rows import (
    SESSION,
    STATES,
    Measured,
    PlayerSpec,
    SavedCheckpoint,
    SavedPlayer,
    Series,
    Session,
    check_config,
    check_metric,
    check_players,
    check_step,
    checkpoint_of,
    checkpoint_row,
    clean_note,
    damaged,
    metric_rows,
    names_session,
    origin_of,
    pack_state,
    player_row,
    series_of,
    session_of,
    session_row,
    unpack_state,
    update_session,
)
from engine.league.storage.spans import (
    MOST_SPANS,
    SavedSpan,
    SpanRecord,
    has_spans,
    load_new_spans,
    load_spans,
    save_spans,
)
from engine.options import Value
from engine.play.match import AgentSpec, GameSpec
from engine.registry import game_of

KEPT = 3  # states of a session: the newest to resume from, the others in case that one is damaged
PART = 500  # metrics written by one statement; see `insert_columns`
CHECKPOINTS = """
SELECT c.number, c.session, c.step, c.at, c.state, c.size, c.players, c.seal,
p.checkpoint, p.place, p.payload, p.agent, p.record, p.seal, agents.id
FROM checkpoints AS c LEFT JOIN players AS p ON p.checkpoint = c.number LEFT JOIN agents ON agents.number = p.agent
{} ORDER BY c.step, c.number, p.place
"""
UNUSED = """
DELETE FROM payloads WHERE hash = :hash AND NOT EXISTS (SELECT 1 FROM agents WHERE payload = :hash)
AND NOT EXISTS (SELECT 1 FROM players WHERE payload = :hash)
AND NOT EXISTS (SELECT 1 FROM checkpoints WHERE state = :hash)
"""
STRAY_PLAYERS = "SELECT DISTINCT checkpoint FROM players WHERE checkpoint NOT IN (SELECT number FROM checkpoints)"


class SessionStore:
    """The training sessions of an open league. It has no state of its own, so any number may be in use."""

    def __init__(self, league: League) -> None:
        self.league = league

    def add(self, name: str, trainer: str, game: GameSpec, config: Iterable[tuple[str, Value]]) -> Session:
        """Adds a session in the state `RUNNING`."""
        game_of(game)
        checked, name, trainer = check_config(config), check_name("name", name), check_name("trainer", trainer)
        with self.league.file.transaction() as db:
            [(last,)] = db.execute("SELECT coalesce(max(number), 0) FROM sessions")
            session = Session(last + 1, name, trainer, game, checked, RunState.RUNNING, now())
            db.execute(f"INSERT INTO sessions ({SESSION}) VALUES (?,?,?,?,?,?,?,?,?,?)", session_row(session))
        return session

    def all(self) -> list[Session]:
        """In the order in which they were started."""
        file = self.league.file
        rows = self.league.kept("sessions", lambda: file.read(f"SELECT {SESSION} FROM sessions ORDER BY number"))
        return [self._session(row) for row in rows]

    def session(self, which: int | str | None = None) -> Session:
        """By number, or by name if that is unique; by default the latest."""
        every = self.all()
        if which is None and not every:
            raise NotNow(f"{self.league.path.name} has no training session yet")
        text = unicodedata.normalize("NFC", str(every[-1].number if which is None else which))
        found = [session for session in every if str(session.number) == text] or [
            session for session in every if session.name == text
        ]
        if not found:
            raise self._unknown(which, every)
        if len(found) > 1:
            shared = " and ".join(str(session.number) for session in found)
            raise BadValue("session", which, f"one of the numbers {shared}: these share the name")
        return found[0]

    def update(
        self,
        number: int,
        state: RunState | None = None,
        note: str | None = None,
        config: Iterable[tuple[str, Value]] | None = None,
        *,
        failed: bool = False,
    ) -> Session:
        """Sets state, note and settings. Characters of the note that a file cannot hold are replaced. `failed`: the
        note is the reason of a failure."""
        if state not in (None, *STATES):
            raise BadValue("state", state, f"one of {', '.join(known_state.value for known_state in STATES)}")
        with self.league.file.transaction() as db:
            new = self._one(number, db)
            if state is not None:
                new = dataclasses.replace(new, state=state, finished=None if state.open else now())
            if note is not None:
                new = dataclasses.replace(new, note=clean_note(note), failed=failed)
            if config is not None:
                new = dataclasses.replace(new, config=check_config(config))
            update_session(db, new)
        return new

    # Metrics

    def record(self, number: int, step: int, values: Sequence[tuple[str, float]], at: float | None = None) -> None:
        self.record_many(number, [Measured(step, values, at)])

    def record_many(self, number: int, batch: Iterable[Measured]) -> None:
        """Saves metrics in one transaction. Values at the same step are replaced: a session that resumes from a
        checkpoint repeats the steps after it."""
        rows = list(metric_rows(number, batch, now()).values())
        with self.league.file.transaction() as db:
            self._one(number, db)
            for at in range(0, len(rows), PART):
                part = rows[at : at + PART]
                marks = ",".join(["(?,?,?,?,?)"] * len(part))
                db.execute(f"INSERT OR REPLACE INTO metrics VALUES {marks}", list(itertools.chain(*part)))

    def metrics(self, number: int, names: Iterable[str] | None = None) -> dict[str, Series]:
        """All metrics, or the existing ones among these names."""
        self._one(number)
        sql = "SELECT name, step, at, value FROM metrics WHERE session = ?"
        if names is None:
            rows = self._rows(None, f"{sql} ORDER BY name, step", number)
        else:
            unique = dict.fromkeys(check_metric(name) for name in names)
            rows = [
                row for name in unique for row in self._rows(None, f"{sql} AND name = ? ORDER BY step", number, name)
            ]
        groups = itertools.groupby(rows, lambda row: row[0])
        return {name: series_of(name, [row[1:] for row in group], self.league.path, number) for name, group in groups}

    def steps(self, number: int) -> int:
        """The last step with a metric; 0 if there is none."""
        [(last,)] = self._rows(None, "SELECT max(step) FROM metrics WHERE session = ?", number)
        return 0 if last is None else int(last)

    def forget_after(self, number: int, step: int) -> None:
        """Deletes metrics and states after this step, before a session resumes from it."""
        with self.league.file.transaction() as db:
            self._one(number, db)
            db.execute("DELETE FROM metrics WHERE session = ? AND step > ?", (number, check_step(step)))
            for checkpoint in self._checkpoints(number, db):
                if checkpoint.step > step and checkpoint.resumable:
                    self._strip(db, checkpoint)

    # Checkpoints

    def add_checkpoint(
        self, number: int, step: int, state: bytes, players: Sequence[PlayerSpec] = ()
    ) -> SavedCheckpoint:
        """Saves a checkpoint; it replaces one of the same step. Only the newest few states are kept, and older
        checkpoints without a player are deleted."""
        step, packed, checked = check_step(step), pack_state(state), check_players(players)
        content = content_hash(packed)
        with self.league.file.transaction() as db:
            self._one(number, db)
            others = self._replaceable(number, step, db)
            old = next((other for other in others if other.step == step), None)
            known = (
                {dataclasses.replace(player, agent=None, about=""): player.agent for player in old.players}
                if old
                else {}
            )
            saved = [
                dataclasses.replace(player, agent=known.get(dataclasses.replace(player, about="")))
                for player, _ in checked
            ]
            [(last,)] = db.execute("SELECT coalesce(max(number), 0) FROM checkpoints")
            place = (old.number if old else last + 1, number, step, now())
            new = SavedCheckpoint(*place, content, len(state), tuple(saved))
            stored = [(content, packed), *((player.payload, data) for player, data in checked)]
            db.executemany("INSERT OR IGNORE INTO payloads VALUES (?, ?)", stored)
            self._write_checkpoint(db, new)
            if old:
                self._drop(db, old.state, *(player.payload for player in old.players))
            resumable = [other for other in others if other.resumable and other is not old]
            for other in resumable[: max(0, len(resumable) - (KEPT - 1))]:
                self._strip(db, other)
        return new

    def checkpoints(self, number: int) -> list[SavedCheckpoint]:
        """By step."""
        self._one(number)
        return self._checkpoints(number)

    def state(self, number: int, step: int | None = None) -> tuple[int, bytes] | None:
        """Step and state of the newest checkpoint with a state, or of the one at this step; None if there is none."""
        with self.league.file.snapshot():
            for checkpoint in reversed(self.checkpoints(number)):
                if checkpoint.resumable and step in (None, checkpoint.step):
                    return checkpoint.step, self._unpacked(checkpoint)
        return None

    def enter(
        self,
        number: int,
        name: str,
        *,
        role: str | None = None,
        step: int | None = None,
        parents: Sequence[str] = (),
        notes: str | None = None,
        colour: str = "",
        tags: Sequence[str] = (),
    ) -> Agent:
        """Adds a player of this checkpoint to the league, by its role if there are several. `step`: when it was
        found, if not at the checkpoint. The default notes are what the trainer says about it."""
        with self.league.file.transaction() as db:
            found = self._load_checkpoints(db, "WHERE c.number = ?", number)
            if not found:
                raise UnknownName(f"checkpoint of {self.league.path.name}", number, ())
            checkpoint = found[0]
            session = self._one(checkpoint.session, db)
            where = f"step {checkpoint.step} of training session {session.number} ({session.name})"
            if not checkpoint.players:
                raise NotNow(f"there is no player to add at {where}")
            player = checkpoint.player(role)
            if player.agent is not None:
                [(entered,)] = db.execute("SELECT name FROM agents WHERE id = ?", (player.agent,))
                who = f"the player {player.role}" if player.role else "the best player"
                raise NotNow(f"{who} at {where} has joined the league already, as {entered}")
            spec = self.spec(checkpoint, player, name, db)
            origin = origin_of(session, checkpoint.step if step is None else step, player.role)
            notes = player.about if notes is None else notes
            fields: dict[str, Any] = {"notes": notes, "colour": colour, "tags": tags, "parents": parents}
            agent = self.league.add_agent(
                name, session.game.name, spec, origin=origin, session=session.number, **fields
            )
            joined = dataclasses.replace(player, agent=agent.id)
            players = tuple(joined if other is player else other for other in checkpoint.players)
            self._write_checkpoint(db, dataclasses.replace(checkpoint, players=players))
        return agent

    def agents(self, number: int) -> list[Agent]:
        """The agents of the league that this session has trained, in the order in which they were added."""
        session = self.session(number)
        entered = {
            player.agent
            for checkpoint in self.checkpoints(number)
            for player in checkpoint.players
            if player.agent is not None
        }
        known = self.league.agents(session.game.name, archived=True)
        return [
            agent
            for agent in known
            if agent.id in entered
            or agent.session == number
            or (agent.session is None and names_session(agent.origin, session))
        ]

    def spec(
        self, checkpoint: SavedCheckpoint, player: SavedPlayer, name: str, db: sqlite3.Connection | None = None
    ) -> AgentSpec:
        """A player of a checkpoint as an agent."""
        return AgentSpec(name, player.kind, self._content(checkpoint, player.payload, db), player.version)

    # Spans of time

    def record_spans(self, number: int, spans: Sequence[SpanRecord]) -> None:
        """Saves spans of time; a session keeps the latest ones."""
        self._one(number)
        save_spans(self.league.file, number, spans)

    def spans(self, number: int) -> list[SavedSpan]:
        """The spans of time that the trainer has reported, by start."""
        self._one(number)
        return load_spans(self.league.file, number)

    def new_spans(self, number: int, after: int = 0, most: int = MOST_SPANS) -> tuple[list[SavedSpan], int]:
        """Spans that were saved after the batch `after`, and the last batch that was read; there may be more if there
        are at least `most`."""
        return load_new_spans(self.league.file, number, after, most)

    def has_spans(self, number: int) -> bool:
        return has_spans(self.league.file, number)

    def audit(self) -> list[str]:
        """Messages about rows that contradict each other; a row that is damaged raises BadLeague."""
        with self.league.file.snapshot():
            known = {session.number for session in self.all()}
            payloads = {agent.id: agent.payload for agent in self.league.agents(archived=True)}
            problems, seen = list[str](), set[tuple[int, int]]()
            for checkpoint in self._checkpoints():
                if checkpoint.session not in known or (checkpoint.session, checkpoint.step) in seen:
                    problems.append(f"checkpoint {checkpoint.number} belongs to no session, or is a duplicate")
                seen.add((checkpoint.session, checkpoint.step))
                for player in checkpoint.players:
                    if player.agent is not None and payloads.get(player.agent) != player.payload:
                        problems.append(
                            f"a player of checkpoint {checkpoint.number} differs from its agent {player.agent}"
                        )
                    self._content(checkpoint, player.payload)
                if checkpoint.resumable:
                    self._unpacked(checkpoint)
            for number in sorted(known):
                self.metrics(number)
                self.spans(number)
            for table, what in (("metrics", "metrics"), ("spans", "spans of time")):
                for (number,) in self._rows(None, f"SELECT DISTINCT session FROM {table}"):
                    if number not in known:
                        problems.append(f"there are {what} of session {number}, but no such session")
            for (number,) in self._rows(None, STRAY_PLAYERS):
                problems.append(f"there are players of checkpoint {number}, but no such checkpoint")
        return problems

    # Rows

    def _rows(self, db: sqlite3.Connection | None, sql: str, *values: object) -> list[tuple[Any, ...]]:
        return self.league.file.read(sql, *values) if db is None else db.execute(sql, values).fetchall()

    def _unknown(self, which: object, every: Sequence[Session]) -> UnknownName:
        known = [f"{session.number} ({session.name})" for session in every]
        return UnknownName(f"training session of {self.league.path.name}", which, known)

    def _one(self, number: int, db: sqlite3.Connection | None = None) -> Session:
        found = self._rows(db, f"SELECT {SESSION} FROM sessions WHERE number = ?", number)
        if not found:
            raise self._unknown(number, self.all())
        return self._session(found[0])

    def _session(self, row: Sequence[Any]) -> Session:
        found = session_of(row, self.league.path)
        interrupted = found.state in INTERRUPTED and self.league.no_writer
        return dataclasses.replace(found, state=RunState.STOPPED) if interrupted else found

    def _checkpoints(self, number: int | None = None, db: sqlite3.Connection | None = None) -> list[SavedCheckpoint]:
        if number is None:
            return self._load_checkpoints(db, "")
        return self._load_checkpoints(db, "WHERE c.session = ?", number)

    def _replaceable(self, number: int, step: int, db: sqlite3.Connection) -> list[SavedCheckpoint]:
        """The checkpoint of this step, and those with a state: few, however many have only a player."""
        return self._load_checkpoints(db, "WHERE c.session = ? AND (c.step = ? OR c.state IS NOT NULL)", number, step)

    def _load_checkpoints(self, db: sqlite3.Connection | None, where: str, *values: object) -> list[SavedCheckpoint]:
        found = []
        for _, group in itertools.groupby(self._rows(db, CHECKPOINTS.format(where), *values), lambda row: row[0]):
            rows = list(group)
            players = [row[8:] for row in rows if row[8] is not None]
            found.append(checkpoint_of(rows[0][:8], players, self.league.path))
        return found

    def _write_checkpoint(self, db: sqlite3.Connection, checkpoint: SavedCheckpoint) -> None:
        db.execute("DELETE FROM players WHERE checkpoint = ?", (checkpoint.number,))
        db.execute("INSERT OR REPLACE INTO checkpoints VALUES (?,?,?,?,?,?,?,?)", checkpoint_row(checkpoint))
        for place, player in enumerate(checkpoint.players):
            found = db.execute("SELECT number FROM agents WHERE id = ?", (player.agent,)).fetchone()
            row = player_row(checkpoint.number, place, player, found and found[0])
            db.execute("INSERT INTO players VALUES (?,?,?,?,?,?)", row)

    def _strip(self, db: sqlite3.Connection, checkpoint: SavedCheckpoint) -> None:
        """Deletes the state of a checkpoint, and the checkpoint if it has no player either."""
        if checkpoint.players:
            self._write_checkpoint(db, dataclasses.replace(checkpoint, state="", size=0))
        else:
            db.execute("DELETE FROM checkpoints WHERE number = ?", (checkpoint.number,))
        self._drop(db, checkpoint.state)

    def _drop(self, db: sqlite3.Connection, *contents: str) -> None:
        """Deletes payloads, unless an agent or another checkpoint uses them."""
        db.executemany(UNUSED, [{"hash": content} for content in contents if content])

    def _content(self, checkpoint: SavedCheckpoint, content: str, db: sqlite3.Connection | None = None) -> bytes:
        found = self._rows(db, "SELECT data FROM payloads WHERE hash = ?", content)
        if not found or not isinstance(found[0][0], bytes) or content_hash(found[0][0]) != content:
            what = f"checkpoint {checkpoint.number} of training session {checkpoint.session}"
            raise damaged(self.league.path, what, f"its payload {content}")
        data: bytes = found[0][0]
        return data

    def _unpacked(self, checkpoint: SavedCheckpoint) -> bytes:
        return unpack_state(self._content(checkpoint, checkpoint.state), checkpoint, self.league.path)
