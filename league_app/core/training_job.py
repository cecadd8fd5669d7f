"""A running training session: saves the events of its process in the league, and adds its champions as agents."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Any

from agents.training.events import (
    Champion,
    Checkpoint,
    Current,
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
from engine.clock import now
from engine.errors import LeagueError, LeagueGone, NotNow, StorageFailed
from engine.league.records import NAME_LENGTH, Agent, RunState, content_hash
from engine.league.storage.league import League, free_name
from engine.league.storage.session_rows import Measured, Session, origin_of
from engine.league.storage.sessions import SessionStore
from engine.play.match import AgentSpec
from engine.play.play_settings import MOST_WORKERS
from league_app.core.changes import Change, ChangeKind
from league_app.core.context import LeagueContext, LogLine

LOGS = 1000  # log lines of a session that are kept
RETRY = 1.0  # seconds between attempts to write to a full disk
LOOK = 0.5  # seconds to wait for events, before it looks whether the file is still there
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
        self._journal = context.session_logs.setdefault(session.number, deque(maxlen=LOGS))
        if self._journal:
            self._journal.append(LogLine(now(), "Resumed"))
        self.champions: list[Agent] = []
        self.current: Current | None = None  # the answer to the latest `request_player`
        self._duplicate_of = ""  # name of the agent that equals the latest champion
        self.trouble = ""  # why nothing can be saved at the moment
        self.end: Ended | None = None
        self.error: Exception | None = None
        self._give_up = threading.Event()
        self._stopping = threading.Event()  # a failed write is not tried again
        self._pause_wanted = False  # by the user; while nothing can be saved it is paused too
        self._over = threading.Event()
        self._lease = context.budget.lease(MOST_WORKERS, self._resize)

    def __call__(self) -> None:
        """The body of its thread."""
        try:
            self._live.workers = self._lease.cores
            self._live.start()
            while not self._live.over and not self._give_up.is_set():
                if events := self._live.wait(LOOK):
                    self._save(events)
                self._context.league.file.check_in_place()
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

    def note(self, text: str) -> None:
        self._log(Log(text))

    def warn(self, text: str) -> None:
        self._log(Log(text, Level.WARNING))

    def pause(self) -> None:
        self._pause_wanted = True
        self._live.pause()
        self._set_state(RunState.PAUSED)

    def resume(self) -> None:
        self._pause_wanted = False
        if not self.trouble:
            self._live.resume()
        self._set_state(RunState.RUNNING)

    def request_player(self) -> None:
        """Asks for the player as it is now: `current` has it after the step that is in progress."""
        if not self.shows_current:
            raise NotNow(f"{self._live.trainer.name} cannot show its current player: watch one of its checkpoints")
        if self.paused:
            raise NotNow(f"{self.name!r} is paused: resume it to watch its current player")
        self.current = None
        self._live.request_player()

    @property
    def shows_current(self) -> bool:
        """Whether `request_player` is possible."""
        return bool(getattr(self._live.trainer, "shows_current", False))

    def current_spec(self) -> AgentSpec | None:
        """The player that was requested, as an agent for an exhibition; None until it is there."""
        if self.current is None:
            return None
        player = self.current.player
        parts = (self.name, player.role, f"{self.unit} {self.current.step}")
        return AgentSpec(", ".join(filter(None, parts)), player.kind, player.payload, player.version)

    def stop(self) -> None:
        """Stops after a last checkpoint; at once if nothing can be saved."""
        self._stopping.set()
        self._live.stop()

    def kill(self) -> None:
        """Stops now; when it is resumed, everything after the last checkpoint is repeated."""
        self._give_up.set()
        self._stopping.set()
        self._live.kill()

    @property
    def paused(self) -> bool:
        """Whether a pause was requested."""
        return self._pause_wanted and self._live.paused

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
        """Saves events before observers are notified. While the disk is full it waits, and the trainer is paused. When
        the session is stopped meanwhile, or the file is gone, this raises an error."""
        parts = deque(_parts(events))
        while parts:
            try:
                with self._context.league.file.transaction():
                    entered = self._write(parts[0])
            except LeagueGone:
                raise
            except StorageFailed as error:
                self._live.pause()
                self.trouble = f"{error}. Training is paused until it can be saved"
                self._notify()
                if self._stopping.wait(RETRY):
                    raise StorageFailed(f"{error}. {self._resumable()}") from error
                continue
            parts.popleft()
            self.champions += entered
            if entered:
                self._context.changes.add(Change(ChangeKind.AGENTS))
        if self.trouble:
            self.trouble = ""
            if not self._pause_wanted:
                self._live.resume()
        for event in events:
            match event:
                case Metrics():
                    self.latest.update(event.values)
                case Progress():
                    self.progress = event
                case Workers():
                    self.workers = event.workers
                case Current():
                    self.current = event
                case Log():
                    self._log(event)
                case Champion() if self._duplicate_of:
                    self._log(Log(f"the best player is identical to {self._duplicate_of}: not added to the league"))
                case Ended():
                    self.end = event
        self._notify()

    def _resumable(self) -> str:
        """Where a session that cannot save its last events can be resumed."""
        steps = [checkpoint.step for checkpoint in self._sessions.checkpoints(self.number) if checkpoint.resumable]
        if not steps:
            return (
                f"Session {self.number} ({self.name}) has no checkpoint: when there is room, resume it from its start"
            )
        where = f"its last checkpoint, {self.unit} {steps[-1]}"
        return f"When there is room, resume session {self.number} ({self.name}) from {where}"

    def _write(self, events: Sequence[Event]) -> list[Agent]:
        """Writes events to the file and returns the agents that joined the league."""
        at, entered = now(), []
        measured = [Measured(event.step, event.values, at) for event in events if isinstance(event, Metrics)]
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
        same = [
            checkpoint
            for checkpoint in checkpoints
            for saved in checkpoint.players
            if (saved.role, saved.payload) == (role, content)
        ]
        name, parents = player_name(self._context.league, session, role), self._parents
        if role:
            before = [
                saved.agent
                for checkpoint in checkpoints
                for saved in checkpoint.players
                if saved.role == role and saved.agent
            ]
            parents = before[-1:] or parents
        if same:
            return [self._sessions.enter(same[-1].number, name, role=role, step=event.step, parents=parents)]
        spec = AgentSpec(name, player.kind, player.payload, player.version)
        origin = origin_of(session, event.step, role)
        league, game = self._context.league, session.game.name
        known: dict[str, Any] = {"origin": origin, "parents": parents, "notes": player.about}
        return [league.add_agent(name, game, spec, session=session.number, **known)]

    def _log(self, log: Log) -> None:
        self.logs.append(log)
        self._journal.append(LogLine(now(), log.text, log.level is Level.WARNING))
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


def _parts(events: Sequence[Event]) -> Iterator[list[Event]]:
    """Splits events into transactions: a champion begins one, so that it can read all that was saved before it."""
    part: list[Event] = []
    for event in events:
        if isinstance(event, Champion) and part:
            yield part
            part = []
        part.append(event)
    yield part


def player_name(league: League, session: Session, role: str = "") -> str:
    """A free name for a player of a session, made from the session's name and the player's role."""
    name = f"{session.name[: NAME_LENGTH - 11 - len(role)].strip()} {role}" if role else session.name
    return free_name(
        name[: NAME_LENGTH - 10].strip(), (agent.name for agent in league.agents(session.game.name, archived=True))
    )
