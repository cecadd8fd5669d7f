"""Training in a league: sessions that run in processes of their own, what they tell brought into the file, and their
champions among the agents."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import fields
from typing import TYPE_CHECKING

from agents.training.events import Champion, Checkpoint, Ended, Event, How, Level, Log, Metrics, Progress
from agents.training.session import TrainingSession
from engine.errors import BadLeague, BadValue, LeagueError, NotNow, StorageFailed
from engine.league.records import NAME_LENGTH, Agent, State, content_hash
from engine.league.storage.session_rows import Measured, SavedCheckpoint, Session
from engine.league.storage.sessions import Sessions
from engine.league.storage.league import League
from engine.options import Value, items
from engine.play.concurrent import MOST_WORKERS
from engine.play.match import AgentSpec, GameSpec
from engine.registry import TRAINERS
from league_app.core.changes import Change

if TYPE_CHECKING:
    from league_app.core.state import LeagueState

LOGS = 1000  # remarks of a session that are remembered
RETRY = 1.0  # seconds until a full disk is tried again
PATIENCE = 30.0  # seconds that a trainer has for its last checkpoint when the league is closed
ANCESTOR = "ancestor"  # kept among the settings of a session: the agent it started from


class TrainingJob:
    """A session that runs: a thread that brings what it tells to the disk."""

    def __init__(self, state: LeagueState, session: Session, live: TrainingSession, parents: Sequence[str]) -> None:
        self._state, self._live, self._parents = state, live, list(parents)
        self._sessions = Sessions(state.league)
        self.number, self.name = session.number, session.name
        self.progress: Progress | None = None
        self.latest: dict[str, float] = {}  # metrics by name
        self.logs: deque[Log] = deque(maxlen=LOGS)
        self.remarks = 0  # logs there have been
        self.champions: list[Agent] = []
        self._still = ""  # the agent that a champion turned out to be
        self.trouble = ""  # why nothing gets to the disk
        self.end: Ended | None = None
        self.error: Exception | None = None
        self._give_up = threading.Event()
        self._over = threading.Event()
        self._lease = state.budget.lease(MOST_WORKERS, self._resize)

    def __call__(self) -> None:
        """The body of its thread."""
        try:
            self._live.workers = self._lease.cores
            self._live.start()
            while not self._live.over and not self._give_up.is_set():
                if events := self._live.wait(0.5):
                    self._keep(events)
            if self.end is None:  # what it still had to tell is not waited for
                self._sessions.update(self.number, State.STOPPED, "ended at once, on request")
        except Exception as error:  # whoever waits is told
            self.error = error
            with suppress(LeagueError):  # the file may be what failed
                self._sessions.update(self.number, State.STOPPED, f"failed: {error}")
        finally:
            self._live.close()
            self._lease.release()
            self._state.training.ended(self)
            self._over.set()

    # Asking

    def warn(self, text: str) -> None:
        self._log(Log(text, Level.WARNING))

    def pause(self) -> None:
        self._live.pause()
        self._note(State.PAUSED)

    def resume(self) -> None:
        self._live.resume()
        self._note(State.RUNNING)

    def stop(self) -> None:
        """With a last checkpoint."""
        self._live.stop()

    def kill(self) -> None:
        """Now: what came after the last checkpoint is done again when it is resumed."""
        self._give_up.set()
        self._live.kill()

    @property
    def paused(self) -> bool:
        return self._live.paused

    @property
    def session(self) -> Session:
        return self._sessions.session(self.number)

    def wait(self, timeout: float | None = None) -> Session | None:
        """The session at its end; None when that takes longer. What failed in keeping it is raised."""
        if not self._over.wait(timeout):
            return None
        if self.error is not None:
            raise self.error
        return self.session

    def end_by(self, moment: float) -> None:
        """Wait until then, kill what still runs, and wait for that."""
        if not self._over.wait(max(moment - time.monotonic(), 0.0)):
            self.kill()
            self._over.wait()

    # Keeping

    def _keep(self, events: Sequence[Event]) -> None:
        """On the disk before anybody hears of it. A disk that is full is waited for: the trainer waits too."""
        parts = deque(_parts(events))
        while parts:
            try:
                with self._state.league.file.transaction():
                    entered = self._write(parts[0])
            except StorageFailed as error:
                self.trouble = str(error)
                self._tell()
                if self._give_up.wait(RETRY):
                    raise
                continue
            parts.popleft()
            self.champions += entered
            if entered:
                self._state.notices.add(Change("agents"))
        self.trouble = ""
        for event in events:
            match event:
                case Metrics():
                    self.latest.update(event.values)
                case Progress():
                    self.progress = event
                case Log():
                    self._log(event)
                case Champion() if self._still:
                    self._log(Log(f"its best player is the same as {self._still}, who is in the league: nobody enters"))
                case Ended():
                    self.end = event
        self._tell()

    def _write(self, events: Sequence[Event]) -> list[Agent]:
        """Who entered the league by it."""
        now, entered = time.time(), []
        measured = [Measured(one.step, one.values, now) for one in events if isinstance(one, Metrics)]
        if measured:
            self._sessions.record_many(self.number, measured)
        for event in events:
            match event:
                case Checkpoint():
                    about = event.best.about if event.best else ""
                    self._sessions.add_checkpoint(self.number, event.step, event.state, event.best, about)
                case Champion():
                    entered += self._enter(event)
                case Ended():
                    done = event.how is How.FINISHED
                    note = event.reason if event.how is not How.FAILED else f"failed: {event.reason}"
                    self._sessions.update(self.number, State.FINISHED if done else State.STOPPED, note)
        return entered

    def _enter(self, event: Champion) -> list[Agent]:
        """Through the checkpoint that has it as its best, so that one leads to the other; nobody enters twice."""
        player, content = event.player, content_hash(event.player.payload)
        session = self.session
        for agent in self._state.league.agents(session.game.name, archived=True):
            if (agent.kind, agent.version, agent.payload) == (player.kind, player.version, content):
                self._still = agent.name
                return []
        same = [one for one in self._sessions.checkpoints(self.number) if one.payload == content]
        name = free_name(self._state.league, session)
        if same:
            return [self._sessions.enter(same[-1].number, name, parents=self._parents)]
        spec = AgentSpec(name, player.kind, player.payload, player.version)
        where = f"step {event.step} of training session {session.number} ({session.name})"
        origin, said = f"trained by {session.trainer}, {where}", {"parents": self._parents, "notes": player.about}
        return [self._state.league.add_agent(name, session.game.name, spec, origin=origin, **said)]  # type: ignore[arg-type]

    def _log(self, log: Log) -> None:
        self.logs.append(log)
        self.remarks += 1

    def _note(self, state: State) -> None:
        with self._state.league.file.transaction():  # nobody writes its end meanwhile
            if self.session.state in (State.RUNNING, State.PAUSED):
                self._sessions.update(self.number, state)
        self._tell()

    def _resize(self, cores: int) -> None:
        self._live.workers = cores

    def _tell(self) -> None:
        self._state.notices.add(Change("training", self.number), now=False)


class Trainings:
    """The training sessions of a league; any number may run at the same time, and share the cores."""

    def __init__(self, state: LeagueState, plugins: Sequence[str]) -> None:
        self._state, self._plugins = state, tuple(plugins)
        self._jobs: dict[int, TrainingJob] = {}
        self._lock = threading.RLock()

    @property
    def sessions(self) -> Sessions:
        return Sessions(self._state.league)

    @property
    def jobs(self) -> list[TrainingJob]:
        """What runs now."""
        return list(self._jobs.values())

    def unfinished(self) -> list[Session]:
        """What can be resumed."""
        return [one for one in self.sessions.every() if one.state.open and one.number not in self._jobs]

    def start(
        self,
        trainer: str,
        settings: Mapping[str, object] | None = None,
        *,
        game: GameSpec | str | None = None,
        name: str | None = None,
        ancestor: str | None = None,
    ) -> TrainingJob:
        """Begin a session. Whatever is wrong with it is told before anything is kept; `ancestor` is an agent of the
        league to start from, and without a name the session is called by its mode or its trainer."""
        self._check_writable()
        given = dict(settings or {})
        if any(field.name == "seed" for field in fields(TRAINERS.get(trainer))):
            given.setdefault("seed", len(self.sessions.every()) + 1)  # or two sessions would be one and the same
        spec = self._state.game_of(game)
        agent = self._state.league.agent(ancestor, spec.name) if ancestor is not None else None
        live = TrainingSession(
            trainer,
            given,
            spec,
            workers=self._state.budget.cores,
            ancestor=self._state.league.spec(agent.id) if agent else None,
            plugins=self._plugins,
        )
        kept: list[tuple[str, Value]] = list(items(live.trainer))
        if agent is not None:
            kept.append((ANCESTOR, agent.id))
        with self._lock:
            number = len(self.sessions.every()) + 1
            usual = f"{getattr(live.trainer, 'mode', trainer)} {number}"
            session = self.sessions.add(usual if name is None else name, trainer, spec, kept)
            return self._run(session, live, [agent.id] if agent else [])

    def resume(self, which: int | str | None = None, changes: Mapping[str, object] | None = None) -> TrainingJob:
        """Go on from the newest checkpoint; without a name, with the latest session that is not finished. `changes` are
        settings that are others from now on, such as more generations: with them a finished one goes on too."""
        self._check_writable()
        if which is None:
            found = self.unfinished() or (self.sessions.every()[-1:] if changes else [])
            if not found:
                raise NotNow(f"{self._state.league.path.name} has no training session that could be resumed")
            which = found[-1].number
        with self._lock:
            session = self.sessions.session(which)
            if session.number in self._jobs:
                raise NotNow(f"session {session.number} ({session.name}) is running")
            if not session.state.open and not changes:
                told = "it is finished; change a setting, such as generations, to go on"
                raise NotNow(f"session {session.number} ({session.name}) cannot be resumed: {told}")
            settings = dict(session.config)
            ancestor = settings.pop(ANCESTOR, None)
            for one in set(changes or ()) & set(getattr(TRAINERS.get(session.trainer), "fixed", ())):
                if changes and changes[one] != settings.get(one):
                    raise BadValue(one, changes[one], f"{settings.get(one)!r}, as the session began: begin another one")
            kept, damaged = self._newest_state(session.number)
            spec = self._state.league.spec(str(ancestor)) if ancestor is not None and kept is None else None
            live = TrainingSession(
                session.trainer,
                {**settings, **(changes or {})},
                session.game,
                workers=self._state.budget.cores,
                state=kept[1] if kept else None,
                ancestor=spec,
                plugins=self._plugins,
            )
            parents = [str(ancestor)] if ancestor is not None else []
            came = f" of training session {session.number} ({session.name})"
            before = self._state.league.agents(session.game.name, archived=True)
            parents = [one.id for one in before if one.origin.endswith(came)][-1:] or parents
            config: list[tuple[str, Value]] = list(items(live.trainer))
            if ancestor is not None:
                config.append((ANCESTOR, ancestor))
            with self._state.league.file.transaction():
                self.sessions.forget_after(session.number, kept[0] if kept else 0)
                self.sessions.update(session.number, State.RUNNING, "", config)
            job = self._run(session, live, parents)
            for told in damaged:
                job.warn(told)
            return job

    def _newest_state(self, number: int) -> tuple[tuple[int, bytes] | None, list[str]]:
        """From which to go on, and what is to be said about newer ones that cannot be read."""
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
        job = self._jobs[session.number] = TrainingJob(self._state, session, live, parents)
        self._state.start(job)
        self._state.notices.add(Change("training", session.number))
        return job

    def enter(self, which: int | str | None = None, step: int | None = None, name: str | None = None) -> Agent:
        """The best player of a checkpoint, the newest if no step is said, enters the league."""
        session = self.sessions.session(which)
        checkpoint = self._with_player(session, step)
        parents = [str(value) for key, value in session.config if key == ANCESTOR]
        agent = self.sessions.enter(checkpoint.number, name or free_name(self._state.league, session), parents=parents)
        self._state.notices.add(Change("agents"))
        return agent

    def player(self, which: int | str | None = None, step: int | None = None) -> AgentSpec:
        """The same one, to be shown in an exhibition: it does not enter the league, and goes by its session."""
        session = self.sessions.session(which)
        checkpoint = self._with_player(session, step)
        return self.sessions.player(checkpoint, f"{session.name}, step {checkpoint.step}")

    def _with_player(self, session: Session, step: int | None) -> SavedCheckpoint:
        found = [one for one in self.sessions.checkpoints(session.number) if one.kind and step in (None, one.step)]
        if not found:
            raise BadValue("step", step, "that of a checkpoint with a player: `ringside train show` lists them")
        return found[-1]

    def _check_writable(self) -> None:
        if self._state.league.read_only:
            raise NotNow(f"{self._state.league.path.name} was opened read-only: nothing can be trained in it")

    def ended(self, job: TrainingJob) -> None:
        with self._lock:
            self._jobs.pop(job.number, None)
        self._state.notices.add(Change("training", job.number))

    def close(self) -> None:
        """Stop what runs, with a last checkpoint; what takes too long is killed."""
        running = self.jobs
        for job in running:
            job.stop()
        until = time.monotonic() + PATIENCE
        for job in running:
            job.end_by(until)


def _parts(events: Sequence[Event]) -> Iterator[list[Event]]:
    """What is written at once: a champion begins a part, so that all before it can be read when it enters."""
    part: list[Event] = []
    for event in events:
        if isinstance(event, Champion) and part:
            yield part
            part = []
        part.append(event)
    yield part


def free_name(league: League, session: Session) -> str:
    """What a player of a session is called: as the session, with a number if somebody has that name."""
    taken = {one.name for one in league.agents(session.game.name, archived=True)}
    short = session.name[: NAME_LENGTH - 10].strip()
    tries = (short, *(f"{short} ({count})" for count in range(2, len(taken) + 3)))
    return next(name for name in tries if name not in taken)
