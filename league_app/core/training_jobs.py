"""Training in a league: runs sessions in processes of their own, saves their events, and adds champions to the
league."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import fields

from agents.training.events import (
    Champion,
    Checkpoint,
    Ended,
    Event,
    How,
    Level,
    Log,
    Metrics,
    Progress,
    Resolved,
    Spans,
    Workers,
    WorkerState,
)
from agents.training.session import TrainingSession
from engine.errors import BadLeague, BadValue, LeagueError, NotNow, StorageFailed
from engine.league.records import NAME_LENGTH, Agent, RunState, content_hash
from engine.league.storage.league import League, free_name
from engine.league.storage.session_rows import Measured, SavedCheckpoint, Session, origin_of
from engine.league.storage.sessions import SessionStore
from engine.options import Value, items
from engine.play.match import AgentSpec, GameSpec
from engine.play.play_settings import MOST_WORKERS
from engine.registry import TRAINERS
from league_app.core.changes import Change, ChangeKind
from league_app.core.context import LeagueContext
from league_app.core.trainers import trainer_facts
from league_app.core.validation import resolve_game

LOGS = 1000  # log lines of a session that are kept
RETRY = 1.0  # seconds between attempts to write to a full disk
PATIENCE = 30.0  # seconds for a last checkpoint when the league is closed
ANCESTOR = "ancestor"  # saved among the settings of a session: the agent it started from


class TrainingJob:
    """A running session: called in a thread of its own, it saves the events of the training process."""

    def __init__(
        self,
        context: LeagueContext,
        session: Session,
        live: TrainingSession,
        parents: Sequence[str],
        on_end: Callable[[TrainingJob], None],
    ) -> None:
        self._context, self._live, self._parents, self._on_end = context, live, list(parents), on_end
        self._sessions = SessionStore(context.league)
        self.number, self.name = session.number, session.name
        self.progress: Progress | None = None
        self.workers: tuple[WorkerState, ...] = ()  # of the trainer, as it reported them last
        self.latest: dict[str, float] = {}  # metrics by name
        self.logs: deque[Log] = deque(maxlen=LOGS)
        self.log_count = 0  # of all log lines, also those no longer kept
        self.champions: list[Agent] = []
        self._duplicate_of = ""  # name of the agent that equals the latest champion
        self.trouble = ""  # why nothing can be saved at the moment
        self.end: Ended | None = None
        self.error: Exception | None = None
        self._give_up = threading.Event()
        self._over = threading.Event()
        self._lease = context.budget.lease(MOST_WORKERS, self._resize)

    def __call__(self) -> None:
        """The body of its thread."""
        try:
            self._live.workers = self._lease.cores
            self._live.start()
            while not self._live.over and not self._give_up.is_set():
                if events := self._live.wait(0.5):
                    self._save(events)
            if self.end is None:  # killed: its remaining events are not waited for
                self._sessions.update(self.number, RunState.STOPPED, "killed on request")
        except Exception as error:  # `wait` raises it
            self.error = error
            with suppress(LeagueError):  # the file may be what failed
                self._sessions.update(self.number, RunState.STOPPED, str(error), failed=True)
        finally:
            self._live.close()
            self._lease.release()
            self._on_end(self)
            self._over.set()

    # Control

    def warn(self, text: str) -> None:
        self._log(Log(text, Level.WARNING))

    def pause(self) -> None:
        self._live.pause()
        self._set_state(RunState.PAUSED)

    def resume(self) -> None:
        self._live.resume()
        self._set_state(RunState.RUNNING)

    def stop(self) -> None:
        """Stops after a last checkpoint."""
        self._live.stop()

    def kill(self) -> None:
        """Stops now; when it is resumed, everything after the last checkpoint is repeated."""
        self._give_up.set()
        self._live.kill()

    @property
    def paused(self) -> bool:
        return self._live.paused

    @property
    def session(self) -> Session:
        return self._sessions.session(self.number)

    @property
    def unit(self) -> str:
        """What steps are, in the singular."""
        return self._live.trainer.unit

    def wait(self, timeout: float | None = None) -> Session | None:
        """Waits for the end and returns the session, or None after the timeout. Raises the error if saving failed."""
        if not self._over.wait(timeout):
            return None
        if self.error is not None:
            raise self.error
        return self.session

    def wait_until(self, deadline: float) -> None:
        """Waits until then, kills the session if it still runs, and waits for its end."""
        if not self._over.wait(max(deadline - time.monotonic(), 0.0)):
            self.kill()
            self._over.wait()

    # Saving

    def _save(self, events: Sequence[Event]) -> None:
        """Saves events before observers are notified. While the disk is full it waits, and so does the trainer."""
        parts = deque(_parts(events))
        while parts:
            try:
                with self._context.league.file.transaction():
                    entered = self._write(parts[0])
            except StorageFailed as error:
                self.trouble = str(error)
                self._notify()
                if self._give_up.wait(RETRY):
                    raise
                continue
            parts.popleft()
            self.champions += entered
            if entered:
                self._context.changes.add(Change(ChangeKind.AGENTS))
        self.trouble = ""
        for event in events:
            match event:
                case Metrics():
                    self.latest.update(event.values)
                case Progress():
                    self.progress = event
                case Workers():
                    self.workers = event.workers
                case Log():
                    self._log(event)
                case Champion() if self._duplicate_of:
                    self._log(Log(f"the best player is identical to {self._duplicate_of}: not added to the league"))
                case Ended():
                    self.end = event
        self._notify()

    def _write(self, events: Sequence[Event]) -> list[Agent]:
        """Writes events to the file and returns the agents that joined the league."""
        now, entered = time.time(), []
        measured = [Measured(one.step, one.values, now) for one in events if isinstance(one, Metrics)]
        if measured:
            self._sessions.record_many(self.number, measured)
        for event in events:
            match event:
                case Resolved():
                    kept = [(name, value) for name, value in self.session.config if name == ANCESTOR]
                    self._sessions.update(self.number, config=[*event.settings, *kept])
                case Checkpoint():
                    self._sessions.add_checkpoint(self.number, event.step, event.state, event.players)
                case Spans():
                    self._sessions.record_spans(self.number, event.spans)
                case Champion():
                    entered += self._enter(event)
                case Ended():
                    done = event.how is How.FINISHED
                    state, failed = RunState.FINISHED if done else RunState.STOPPED, event.how is How.FAILED
                    self._sessions.update(self.number, state, event.reason, failed=failed)
        return entered

    def _enter(self, event: Champion) -> list[Agent]:
        """Adds a champion, linked to the checkpoint that has it as a player; nothing if it is in the league."""
        player, content = event.player, content_hash(event.player.payload)
        session = self.session
        for agent in self._context.league.agents(session.game.name, archived=True):
            if (agent.kind, agent.version, agent.payload) == (player.kind, player.version, content):
                self._duplicate_of = agent.name
                return []
        checkpoints, role = self._sessions.checkpoints(self.number), player.role
        same = [one for one in checkpoints for saved in one.players if (saved.role, saved.payload) == (role, content)]
        name, parents = _player_name(self._context.league, session, role), self._parents
        if role:
            before = [saved.agent for one in checkpoints for saved in one.players if saved.role == role and saved.agent]
            parents = before[-1:] or parents
        if same:
            return [self._sessions.enter(same[-1].number, name, role=role, parents=parents)]
        spec = AgentSpec(name, player.kind, player.payload, player.version)
        origin = origin_of(session, event.step, role)
        league, game = self._context.league, session.game.name
        return [league.add_agent(name, game, spec, origin=origin, parents=parents, notes=player.about)]

    def _log(self, log: Log) -> None:
        self.logs.append(log)
        self.log_count += 1

    def _set_state(self, state: RunState) -> None:
        with self._context.league.file.transaction():  # its end cannot be written in between
            if self.session.state in (RunState.RUNNING, RunState.PAUSED):
                self._sessions.update(self.number, state)
        self._notify()

    def _resize(self, cores: int) -> None:
        self._live.workers = cores

    def _notify(self) -> None:
        self._context.changes.add(Change(ChangeKind.TRAINING, self.number), now=False)


class TrainingManager:
    """The training sessions of a league; any number may run at the same time, and they share the cores."""

    def __init__(
        self,
        context: LeagueContext,
        plugins: Sequence[str],
        start_thread: Callable[[Callable[[], None]], None],
        executor: Callable[[], str],
    ) -> None:
        """`executor`: returns the name of the executor that the league plays on now."""
        self._context, self._plugins, self._start_thread = context, tuple(plugins), start_thread
        self._executor = executor
        self._jobs: dict[int, TrainingJob] = {}
        self._lock = threading.RLock()

    @property
    def sessions(self) -> SessionStore:
        return SessionStore(self._context.league)

    @property
    def jobs(self) -> list[TrainingJob]:
        """The running ones."""
        return list(self._jobs.values())

    def unfinished(self) -> list[Session]:
        """Sessions that can be resumed."""
        return [one for one in self.sessions.all() if one.state.open and one.number not in self._jobs]

    def start(
        self,
        trainer: str,
        settings: Mapping[str, object] | None = None,
        *,
        game: GameSpec | str | None = None,
        name: str | None = None,
        ancestor: str | None = None,
    ) -> TrainingJob:
        """Starts a session; wrong settings raise an error before anything is saved. `ancestor` is an agent of the
        league to start from. Without a name the session gets the title of its settings, and a number."""
        self._check_writable()
        given = dict(settings or {})
        if any(field.name == "seed" for field in fields(TRAINERS.get(trainer))):
            given.setdefault("seed", len(self.sessions.all()) + 1)  # the same seed would repeat an earlier session
        spec = resolve_game(self._context.league, game)
        agent = self._context.league.agent(ancestor, spec.name) if ancestor is not None else None
        live = TrainingSession(
            trainer,
            given,
            spec,
            workers=self._context.budget.cores,
            ancestor=self._context.league.spec(agent.id) if agent else None,
            plugins=self._plugins,
            on=self._executor(),
        )
        config: list[tuple[str, Value]] = list(items(live.trainer))
        if agent is not None:
            config.append((ANCESTOR, agent.id))
        with self._lock:
            number = len(self.sessions.all()) + 1
            default = f"{live.trainer.title} {number}"
            session = self.sessions.add(default if name is None else name, trainer, spec, config)
            return self._run(session, live, [agent.id] if agent else [])

    def resume(self, which: int | str | None = None, changes: Mapping[str, object] | None = None) -> TrainingJob:
        """Resumes from the newest checkpoint; without a name, the latest session that is not finished. `changes` are
        new values of settings, such as a larger limit: with them a finished session can be resumed too."""
        self._check_writable()
        if which is None:
            found = self.unfinished() or (self.sessions.all()[-1:] if changes else [])
            if not found:
                raise NotNow(f"{self._context.league.path.name} has no training session to resume")
            which = found[-1].number
        with self._lock:
            session = self.sessions.session(which)
            if session.number in self._jobs:
                raise NotNow(f"session {session.number} ({session.name}) is running")
            if not session.state.open and not changes:
                ends = trainer_facts(session.trainer).ends
                limits = [name for name in (ends.count, ends.minutes, ends.target) if name]
                such = f", such as {' or '.join(limits)}," if limits else ""
                reason = f"it is finished; change a setting{such} to continue"
                raise NotNow(f"session {session.number} ({session.name}) cannot be resumed: {reason}")
            settings = dict(session.config)
            ancestor = settings.pop(ANCESTOR, None)
            for one in set(changes or ()) & set(TRAINERS.get(session.trainer).fixed):
                if changes and changes[one] != settings.get(one):
                    raise BadValue(
                        one, changes[one], f"{settings.get(one)!r}, as at its start: start a new session to change it"
                    )
            saved, damaged = self._newest_state(session.number)
            spec = self._context.league.spec(str(ancestor)) if ancestor is not None and saved is None else None
            live = TrainingSession(
                session.trainer,
                {**settings, **(changes or {})},
                session.game,
                workers=self._context.budget.cores,
                state=saved[1] if saved else None,
                ancestor=spec,
                plugins=self._plugins,
                on=self._executor(),
            )
            parents = [str(ancestor)] if ancestor is not None else []
            parents = [one.id for one in self.sessions.agents(session.number)][-1:] or parents
            config: list[tuple[str, Value]] = list(items(live.trainer))
            if ancestor is not None:
                config.append((ANCESTOR, ancestor))
            with self._context.league.file.transaction():
                self.sessions.forget_after(session.number, saved[0] if saved else 0)
                self.sessions.update(session.number, RunState.RUNNING, "", config)
            job = self._run(session, live, parents)
            for warning in damaged:
                job.warn(warning)
            return job

    def _newest_state(self, number: int) -> tuple[tuple[int, bytes] | None, list[str]]:
        """The state to resume from, and warnings about newer ones that cannot be read."""
        damaged: list[str] = []
        for one in reversed(self.sessions.checkpoints(number)):
            if one.resumable:
                try:
                    return self.sessions.state(number, one.step), damaged
                except BadLeague as error:
                    damaged.append(f"{error}; the checkpoint before it is used")
        if damaged:
            raise BadLeague(damaged[-1].removesuffix("; the checkpoint before it is used"))
        return None, damaged

    def _run(self, session: Session, live: TrainingSession, parents: Sequence[str]) -> TrainingJob:
        job = self._jobs[session.number] = TrainingJob(self._context, session, live, parents, self._on_end)
        self._start_thread(job)
        self._context.changes.add(Change(ChangeKind.TRAINING, session.number))
        return job

    def enter(
        self,
        which: int | str | None = None,
        step: int | None = None,
        name: str | None = None,
        *,
        role: str | None = None,
    ) -> Agent:
        """Adds a player of a checkpoint, by default the newest, to the league. If the checkpoint has several players,
        `role` tells which."""
        session = self.sessions.session(which)
        checkpoint = self._with_player(session, step)
        parents = [str(value) for key, value in session.config if key == ANCESTOR]
        name = name or _player_name(self._context.league, session, checkpoint.player(role).role)
        agent = self.sessions.enter(checkpoint.number, name, role=role, parents=parents)
        self._context.changes.add(Change(ChangeKind.AGENTS))
        return agent

    def player(self, which: int | str | None = None, step: int | None = None, role: str | None = None) -> AgentSpec:
        """A player of a checkpoint, for an exhibition: it does not join the league, and is named after its session."""
        session = self.sessions.session(which)
        checkpoint = self._with_player(session, step)
        player, unit = checkpoint.player(role), trainer_facts(session.trainer).unit
        parts = (session.name, player.role, f"{unit} {checkpoint.step}")
        return self.sessions.spec(checkpoint, player, ", ".join(part for part in parts if part))

    def _with_player(self, session: Session, step: int | None) -> SavedCheckpoint:
        found = [one for one in self.sessions.checkpoints(session.number) if one.players and step in (None, one.step)]
        if not found:
            raise BadValue("step", step, "that of a checkpoint with a player: `ringside train show` lists them")
        return found[-1]

    def _check_writable(self) -> None:
        if self._context.league.read_only:
            raise NotNow(f"{self._context.league.path.name} was opened read-only: no training can run in it")

    def _on_end(self, job: TrainingJob) -> None:
        with self._lock:
            self._jobs.pop(job.number, None)
        self._context.changes.add(Change(ChangeKind.TRAINING, job.number))

    def close(self) -> None:
        """Stops all sessions with a last checkpoint; those that take too long are killed."""
        running = self.jobs
        for job in running:
            job.stop()
        until = time.monotonic() + PATIENCE
        for job in running:
            job.wait_until(until)


def _parts(events: Sequence[Event]) -> Iterator[list[Event]]:
    """Splits events into transactions: a champion begins one, so that it can read all that was saved before it."""
    part: list[Event] = []
    for event in events:
        if isinstance(event, Champion) and part:
            yield part
            part = []
        part.append(event)
    yield part


def _player_name(league: League, session: Session, role: str = "") -> str:
    """A free name for a player of a session, made from the session's name and the player's role."""
    name = f"{session.name[: NAME_LENGTH - 11 - len(role)].strip()} {role}" if role else session.name
    return free_name(
        name[: NAME_LENGTH - 10].strip(), (one.name for one in league.agents(session.game.name, archived=True))
    )
