"""The training sessions of a league: starts and resumes them, and adds players of their checkpoints as agents."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields

from agents.training.matchmaking import check_is_no_person, check_rolls_out, split_names
from agents.training.records import RecordQuery
from agents.training.session import TrainingSession
from engine.errors import BadLeague, BadValue, NotNow, UnknownName
from engine.league.records import Agent, RunState
from engine.league.storage.session_rows import SavedCheckpoint, Session
from engine.league.storage.sessions import SessionStore
from engine.options import Value, build, items
from engine.play.executors import check_executor_name
from engine.play.match import AgentSpec, GameSpec
from engine.registry import TRAINERS, agents_for, game_of
from league_app.core.changes import Change, ChangeKind
from league_app.core.context import LeagueContext
from league_app.core.trainers import SEED, trainer_facts
from league_app.core.training_job import ANCESTOR, TrainingJob, player_name
from league_app.core.training_records import FoundRecords, find_records
from league_app.core.validation import resolve_game

PATIENCE = 30.0  # seconds for a last checkpoint when the league is closed


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
        return [session for session in self.sessions.all() if session.state.open and session.number not in self._jobs]

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
        if any(field.name == SEED for field in fields(TRAINERS.get(trainer))):
            given.setdefault(SEED, len(self.sessions.all()) + 1)
        spec = resolve_game(self._context.league, game)
        agent = self._context.league.agent(ancestor, spec.name) if ancestor is not None else None
        found = self._find_records(trainer, given, spec)
        agents = self._named_agents(trainer, given, spec, found)
        live = TrainingSession(
            trainer,
            {**given, **(found.settings if found else {})},
            spec,
            workers=self._context.budget.cores,
            ancestor=self._context.league.spec(agent.id) if agent else None,
            agents=agents,
            records=found.records if found else (),
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
            return self._run(session, live, [agent.id] if agent else [], found)

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
            for name in set(changes or ()) & set(TRAINERS.get(session.trainer).fixed):
                if changes and changes[name] != (first := settings.get(name)):
                    raise BadValue(name, changes[name], f"{first!r}, as at its start: start a new session to change it")
            saved, damaged = self._newest_state(session.number)
            spec = self._context.league.spec(str(ancestor)) if ancestor is not None and saved is None else None
            given = {**settings, **(changes or {})}
            records = self._find_records(session.trainer, given, session.game) if saved is None else None
            agents = self._named_agents(session.trainer, given, session.game, records) if saved is None else []
            live = TrainingSession(
                session.trainer,
                {**given, **(records.settings if records else {})},
                session.game,
                workers=self._context.budget.cores,
                state=saved[1] if saved else None,
                ancestor=spec,
                agents=agents,
                records=records.records if records else (),
                plugins=self._plugins,
                on=self._executor(),
            )
            parents = [str(ancestor)] if ancestor is not None else []
            parents = [agent.id for agent in self.sessions.agents(session.number)][-1:] or parents
            config: list[tuple[str, Value]] = list(items(live.trainer))
            if ancestor is not None:
                config.append((ANCESTOR, ancestor))
            with self._context.league.file.transaction():
                self.sessions.forget_after(session.number, saved[0] if saved else 0)
                self.sessions.update(session.number, RunState.RUNNING, "", config)
            job = self._run(session, live, parents, records)
            for warning in damaged:
                job.warn(warning)
            return job

    def _newest_state(self, number: int) -> tuple[tuple[int, bytes] | None, list[str]]:
        """The state to resume from, and warnings about newer ones that cannot be read."""
        damaged: list[str] = []
        for checkpoint in reversed(self.sessions.checkpoints(number)):
            if checkpoint.resumable:
                try:
                    return self.sessions.state(number, checkpoint.step), damaged
                except BadLeague as error:
                    damaged.append(f"{error}; the checkpoint before it is used")
        if damaged:
            raise BadLeague(damaged[-1].removesuffix("; the checkpoint before it is used"))
        return None, damaged

    def _named_agents(
        self, trainer: str, settings: Mapping[str, object], game: GameSpec, records: FoundRecords | None
    ) -> list[AgentSpec]:
        """The agents that settings of the trainer name, and those of its records, with their names as ids."""
        kind = TRAINERS.get(trainer)
        ready = getattr(kind, "ready_settings", ())  # a plug-in need not inherit from `Trainer`
        rolled_out = getattr(kind, "rollout_settings", ())
        found = {}
        for key in kind.agent_settings:
            for name in _names(settings, key):
                spec = self._named_agent(key, name, game, key in ready)
                check_is_no_person(key, spec)
                if key in rolled_out:
                    check_rolls_out(key, spec)
                found[spec.id] = spec
        for spec in records.players if records is not None else ():
            found.setdefault(spec.id, spec)
        return list(found.values())

    def _named_agent(self, setting: str, name: str, game: GameSpec, ready: bool) -> AgentSpec:
        league = self._context.league
        try:
            agent = league.agent(name, game.name)
        except UnknownName:
            found = agents_for(game_of(game)) if ready else {}
            offered = {agent.id: agent for agents in found.values() for agent in agents}
            if name in offered:
                return offered[name]
            if ready:
                known = {*offered, *(agent.name for agent in league.agents(game.name))}
                raise UnknownName(f"agent of {league.path.name} or ready-made agent", name, known) from None
            raise
        if agent.archived is not None:  # as in a tournament
            raise BadValue(setting, agent.name, "an agent that is not archived: restore it first")
        spec = league.spec(agent.id)
        return AgentSpec(agent.name, spec.kind, spec.payload, spec.version)

    def _find_records(self, trainer: str, settings: Mapping[str, object], game: GameSpec) -> FoundRecords | None:
        """The recorded matches that the trainer asks for; None if it asks for none."""
        given = build(TRAINERS.get(trainer), settings, f"setting of {trainer}")
        ask = getattr(given, "records", None)  # a plug-in need not inherit from `Trainer`
        query: RecordQuery | None = ask() if ask is not None else None
        if query is None:
            return None
        return find_records(self._context.league, query, game, getattr(given, query.setting))

    def _run(
        self, session: Session, live: TrainingSession, parents: Sequence[str], found: FoundRecords | None
    ) -> TrainingJob:
        job = self._jobs[session.number] = TrainingJob(self._context, session, live, parents, self._on_end)
        if found is not None:
            job.note(found.note)
            if found.warning:
                job.warn(found.warning)
        on, cores = self._executor(), self._context.budget.cores
        if (most := check_executor_name(on)[0].most_workers) < cores:
            job.warn(f"this league plays on {on!r}, so that training uses {most} of {cores} cores: `local` uses all")
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
        name = name or player_name(self._context.league, session, checkpoint.player(role).role)
        agent = self.sessions.enter(checkpoint.number, name, role=role, parents=parents)
        self._context.changes.add(Change(ChangeKind.AGENTS))
        return agent

    def roles(self, which: int | str | None = None, step: int | None = None) -> list[str]:
        """The roles of the players of a checkpoint, by default the newest with a player."""
        return [player.role for player in self._with_player(self.sessions.session(which), step).players]

    def player(self, which: int | str | None = None, step: int | None = None, role: str | None = None) -> AgentSpec:
        """A player of a checkpoint, for an exhibition: it does not join the league, and is named after its session."""
        session = self.sessions.session(which)
        checkpoint = self._with_player(session, step)
        player, unit = checkpoint.player(role), trainer_facts(session.trainer).unit
        parts = (session.name, player.role, f"{unit} {checkpoint.step}")
        return self.sessions.spec(checkpoint, player, ", ".join(part for part in parts if part))

    def _with_player(self, session: Session, step: int | None) -> SavedCheckpoint:
        found = [
            checkpoint
            for checkpoint in self.sessions.checkpoints(session.number)
            if checkpoint.players and step in (None, checkpoint.step)
        ]
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


def _names(settings: Mapping[str, object], key: str) -> Sequence[str]:
    return split_names(str(settings.get(key, "")))
