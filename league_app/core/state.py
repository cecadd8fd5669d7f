"""LeagueState: the open league, its running jobs and settings; the model behind the window and the command line."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from agents.usi.transcript import FOLDER
from engine.closing import Closing
from engine.errors import NotNow
from engine.league import standings as tables
from engine.league.records import Agent, Tournament
from engine.league.storage.league import League
from engine.league.storage.tournaments import change_entrants
from engine.league.tournament_runner import clear_quarantine
from engine.play.arena import DEFAULT_LANES
from engine.play.executors import DEFAULT, Executor, check_executor_name
from engine.play.live import LiveMatch
from engine.play.match import AgentSpec, GameSpec, MatchSpec
from engine.registry import KINDS, game_of, new_game
from engine.telemetry import Status
from league_app.core import exhibitions, validation
from league_app.core.changes import Change, ChangeFeed, ChangeKind
from league_app.core.context import LeagueContext
from league_app.core.cpu_budget import CpuBudget
from league_app.core.league_executor import IN_PROCESS, LeagueExecutor
from league_app.core.tournament_job import TournamentJob
from league_app.core.tournament_plan import make_plan
from league_app.core.training_manager import TrainingManager


class LeagueState(Closing):
    """An open league. It may be used from any thread; observers of `notices` are called in the thread that made a
    change."""

    def __init__(
        self,
        path: Path | str,
        *,
        read_only: bool = False,
        lanes: int = DEFAULT_LANES,
        plugins: Sequence[str] = (),
        on: str | None = None,
    ) -> None:
        """`on`: the executor to play on instead of that of the league; see `engine.play.executors.new_executor`."""
        if on is not None:
            check_executor_name(on)
        self.league = League(path, read_only)
        self.budget = CpuBudget()
        self._plugins = tuple(plugins)
        self.notices = ChangeFeed()
        self._context = LeagueContext(self.league, self.notices, self.budget)
        self.session_logs = self._context.session_logs  # since the league was opened
        self._lock = threading.RLock()
        self._job: TournamentJob | None = None
        self.latest_job: TournamentJob | None = None  # also after it has ended
        self._closed = False
        self.locked = ""  # why it was opened read-only although that was not asked for
        self.training = TrainingManager(
            self._context, self._plugins, lambda job: self.start(job), lambda: self.executor
        )
        used = self.league.setting("play", {})
        self._show_visuals = bool(used.get("show_visuals", False))
        self._playing = LeagueExecutor(used, lanes, self._plugins, on)
        self.person = False  # whether a person can play here; a window sets it
        self._exhibits: list[LiveMatch] = []
        self.start: Callable[[Callable[[], None]], None] = _start_thread  # runs a job; a window sets its own

    @classmethod
    def new(cls, path: Path | str, **settings: object) -> LeagueState:
        League.new(path).close()
        return cls(path, **settings)  # type: ignore[arg-type]

    def close(self) -> None:
        """Stop everything that runs; it can be resumed after the league is opened again. Training saves a last
        checkpoint."""
        with self._lock:  # another thread has started its job by now, or is refused
            self._closed = True
            job = self._job
        try:
            if job is not None:
                job.stop()
            self.training.close()
            if job is not None:
                job.join()
        finally:
            self._playing.close()
            self.league.close()

    # Settings

    @property
    def show_visuals(self) -> bool:
        """Whether a tournament is played one live match at a time. It may be changed at any moment, but not switched
        off while a person still has matches to play."""
        job = self._job
        return self._show_visuals if job is None else job.run.visual

    @show_visuals.setter
    def show_visuals(self, on: bool) -> None:
        with self._lock:
            job = self._job
            if job is None:
                self._show_visuals = bool(on)
        if job is not None:
            job.run.visual = bool(on)  # may raise NotNow
            self._show_visuals = job.run.visual
        self._remember_use()
        self.notices.add(Change(ChangeKind.SETTINGS))

    @property
    def executor(self) -> str:
        """The name of the executor that plays tournaments and the matches of training, such as `local`. It is saved in
        the league. A training session that runs keeps the one that it was started with."""
        return self._playing.name

    @executor.setter
    def executor(self, on: str) -> None:
        self.use_executor(on)
        self._playing.saved_name = on
        self._remember_use()

    def use_executor(self, on: str) -> None:
        """Play on this executor until the league is closed; the league keeps its own choice."""
        check_executor_name(on)
        self._set_play_option("executor", partial(setattr, self._playing, "name_now", on))

    @property
    def use_concurrent(self) -> bool:
        """Whether batches go to workers; without them this process plays everything, unprotected."""
        return self._playing.concurrent

    @use_concurrent.setter
    def use_concurrent(self, on: bool) -> None:
        kept = bool(on) == self.use_concurrent
        self.executor = self.executor if kept else DEFAULT if on else IN_PROCESS

    @property
    def batch_size(self) -> int:
        """Matches in one message to a worker."""
        return self._playing.batch_size

    @batch_size.setter
    def batch_size(self, size: int) -> None:
        checked = validation.check_batch_size(size)
        self._set_play_option("batch_size", partial(setattr, self._playing, "batch_size", checked))

    @property
    def engine_log(self) -> str:
        """The folder for logs of the traffic with external engines; empty for no logs."""
        return os.environ.get(FOLDER, "")

    @engine_log.setter
    def engine_log(self, folder: str) -> None:
        def change() -> None:
            os.environ.pop(FOLDER, None)
            if folder:
                os.environ[FOLDER] = folder

        self._set_play_option("engine_log", change)  # restarts worker processes, which read it when they start

    def _set_play_option(self, what: str, change: Callable[[], None]) -> None:
        """Change what the executor is made from, and end the current one."""
        with self._lock:
            if self.running:
                raise NotNow(f"{what} cannot change while a tournament is running: stop it first")
            if any(live.result is None for live in self._exhibits):
                raise NotNow(f"{what} cannot change during an exhibition: close it first")
            change()
            self._playing.close()
            self._remember_use()
        self.notices.add(Change(ChangeKind.SETTINGS))

    def _remember_use(self) -> None:
        """Save the settings for the next time the league is opened."""
        if not self.league.read_only:
            self.league.save_setting("play", {"show_visuals": self._show_visuals, **self._playing.to_save()})

    @property
    def toggle_text(self) -> str:
        """The text beside the visual toggle."""
        job = self._job
        if job is not None:
            return job.run.progress().text
        where = "will be shown" if self._show_visuals else f"runs {self._playing.where_text(self.budget.cores)}"
        return f"the next tournament {where}"

    # Agents

    def agents(self, game: str | None = None, archived: bool = False) -> list[Agent]:
        return self.league.agents(game, archived)

    def add_samples(self, game: str | GameSpec, names: Iterable[str] | None = None) -> list[Agent]:
        """Add the ready-made agents of a game, or those with these names. Some play it only with certain options."""
        board = new_game(game) if isinstance(game, str) else game_of(game)
        chosen = validation.ready_made(board, names)
        added = [self.league.add_agent(agent.id, board.spec.name, agent, origin="ready-made") for agent in chosen]
        self.notices.add(Change(ChangeKind.AGENTS))
        return added

    def add_agent(
        self,
        name: str,
        game: str | GameSpec,
        kind: str,
        payload: bytes,
        settings: Mapping[str, object] | None = None,
        **details: object,
    ) -> Agent:
        """Add an agent with this payload, which its kind must accept; `settings` change the payload, if the kind has
        any (`AgentKind.settings`), and `details` are those of `League.add_agent`."""
        spec = AgentSpec(name, kind, validation.configured(kind, payload, settings or {}), KINDS.get(kind).version)
        validation.check_playable(spec, game)
        title = game if isinstance(game, str) else game.name
        agent = self.league.add_agent(name, title, spec, **details)  # type: ignore[arg-type]
        self.notices.add(Change(ChangeKind.AGENTS))
        return agent

    def change_agent(self, id: str, **changes: object) -> Agent:
        """Change name, notes, colour or tags."""
        changed = self.league.change_agent(id, **changes)
        self.notices.add(Change(ChangeKind.AGENTS))
        return changed

    def archive(self, agent: str, undo: bool = False, game: str | None = None) -> Agent:
        """Archive an agent, or restore it."""
        changed = self.league.archive(self.league.agent(agent, game).id, undo)
        self.notices.add(Change(ChangeKind.AGENTS))
        return changed

    # Tournaments

    @property
    def job(self) -> TournamentJob | None:
        """The running tournament."""
        return self._job

    @property
    def running(self) -> bool:
        return self._job is not None

    @property
    def live(self) -> LiveMatch | None:
        """The match that is shown: feed its actions to a `Playback`."""
        job = self._job
        return job.run.live if job is not None else None

    def unfinished(self) -> list[Tournament]:
        """Tournaments that can be started or resumed."""
        job = self._job
        running = job.number if job is not None else 0
        return [found for found in self.league.tournaments() if found.state.open and found.number != running]

    def plan_tournament(
        self,
        name: str | None = None,
        *,
        game: GameSpec | str | None = None,
        agents: Sequence[str] | None = None,
        format: str | None = None,
        options: Mapping[str, object] | None = None,
        play: bool = False,
        **more: object,
    ) -> Tournament:
        """Create a tournament without playing it. Without `agents` all agents of the game take part; without `game` it
        is the one played last, or the only one; without any argument, the last tournament with a new seed. `play` is
        for a tournament that starts at once: then NotNow is raised if it needs a person and there is none."""
        plan = make_plan(self.league, game, agents, format, options, more)
        name = plan.name if name is None else name
        if play:
            validation.check_admitted(self.league, map(self.league.spec, plan.entrants))
        if play and not self.person:
            exhibitions.check_entrants(self.league, name, plan.entrants)
        created = self.league.add_tournament(name, plan.settings, plan.entrants)
        self.notices.add(Change(ChangeKind.TOURNAMENTS, created.number))
        return created

    def start_tournament(self, tournament: int | str | None = None, **plan: object) -> TournamentJob:
        """Play the given tournament, or a new one made from `plan` as in `plan_tournament`: in batches on the executor
        or, with `show_visuals` on, one live match at a time."""
        with self._lock:
            if self._job is not None:
                raise NotNow(f"{self._job.name!r} is running: stop it first")
            if self.league.read_only:
                raise NotNow(f"{self.league.path.name} was opened read-only: no tournament can be played in it")
            if not self.league.path.exists():
                raise NotNow(f"{self.league.path} no longer exists: restore it, otherwise no result can be saved")
            if tournament is None:
                number = self.plan_tournament(**plan, play=True).number  # type: ignore[arg-type]
            else:
                number = self.league.tournament(tournament).number
            validation.check_admitted(self.league, map(self.league.spec, self.league.tournament(number).all_entrants))
            if not self.person:
                exhibitions.check_no_human_needed(self.league, number)
            shown = self._show_visuals
            self._job = self.latest_job = job = TournamentJob(
                self._context,
                number,
                self.playing_on,
                visual=shown,
                pace=self._playing.pace,
                most_workers=self._playing.most_workers,
                on_end=self._on_job_end,
            )
            self._show_visuals = job.run.visual
        if job.run.visual != shown:  # a person plays
            self._remember_use()
            self.notices.add(Change(ChangeKind.SETTINGS))
        self.start(job)
        return job

    def resume_tournament(self, tournament: int | str | None = None, lift_quarantine: bool = False) -> TournamentJob:
        """Resume a stopped tournament; without a name, the latest that can be resumed."""
        if tournament is None:
            found = self.unfinished()
            if not found:
                raise NotNow(f"{self.league.path.name} has no tournament to resume")
            tournament = found[-1].number
        if lift_quarantine:
            number = self.league.tournament(tournament).number
            if not self.person:
                exhibitions.check_no_human_needed(self.league, number, lifted=True)
            clear_quarantine(self.league, number)
        return self.start_tournament(tournament)

    # Exhibitions

    def exhibit(
        self, players: Sequence[str | AgentSpec], game: GameSpec | str | None = None, seed: int = 1, skip: int = 0
    ) -> LiveMatch:
        """Play an unrated match that is not recorded, beside anything else that runs. Players are agents of the league
        by name or id, or specs. The first `skip` steps are played at full speed. Close it after use."""
        return self._show(exhibitions.exhibition(self.league, players, game, seed), skip)

    def take_over(self, spec: MatchSpec, seat: int, actions: Sequence[int], steps: int) -> LiveMatch:
        """Let a person continue a match at this seat: an exhibition of the same match that repeats `actions` at the
        seat, and plays `steps` steps at full speed before the person's turn."""
        return self._show(exhibitions.taken_over(spec, seat, actions), steps)

    def _show(self, spec: MatchSpec, skip: int) -> LiveMatch:
        validation.check_admitted(self.league, spec.players)
        with self._lock:
            self._check_not_closed()
            live = self._playing.watch(spec, self.budget.cores, skip)
            self._exhibits = [exhibit for exhibit in self._exhibits if exhibit.result is None] + [live]
        return live

    def change_entrants(self, tournament: int | str, join: Iterable[str] = (), leave: Iterable[str] = ()) -> Tournament:
        """Change who takes part from the next round on."""
        number = self.league.tournament(tournament).number
        job = self._job
        if job is not None and job.number == number:
            raise NotNow(f"{job.name!r} is running: stop it, change its entrants, and resume it")
        game = self.league.tournament(number).settings.game.name
        joining, leaving = ([self.league.agent(name, game).id for name in names] for names in (join, leave))
        changed = change_entrants(self.league, number, joining, leaving)
        self.notices.add(Change(ChangeKind.TOURNAMENTS, number))
        return changed

    def standings(
        self, game: GameSpec | str | None = None, tournament: int = 0, anchor: str | None = None
    ) -> tables.Standings:
        if tournament:
            return tables.standings(self.league, self.league.tournament(tournament).settings.game, tournament, anchor)
        return tables.standings(self.league, self.game_of(game), 0, anchor)

    def status(self) -> Status | None:
        """Machines, workers and progress, for the panels; None before anything was played, and if it is not known."""
        status, job = self._playing.status(), self._job
        if status is None or job is None or not job.run.visual:
            return status
        idle = [
            replace(worker, state="idle: visual mode") if worker.state == "idle" else worker
            for worker in status.workers
        ]
        return replace(status, workers=tuple(idle))

    @property
    def speed(self) -> float:
        """Factor for the pace of live matches; 0 for full speed."""
        return self._playing.speed

    @speed.setter
    def speed(self, factor: float) -> None:
        self._playing.speed = factor

    def playing_on(self, workers: int) -> Executor:
        """The executor, with this many workers; it is kept for the next tournament."""
        with self._lock:
            self._check_not_closed()
            return self._playing.get(workers)

    def _check_not_closed(self) -> None:
        if self._closed:
            raise NotNow(f"{self.league.path.name} is closed: nothing can be played in it")

    def game_of(self, game: GameSpec | str | None = None) -> GameSpec:
        """See `resolve_game`."""
        return validation.resolve_game(self.league, game)

    def _on_job_end(self, job: TournamentJob) -> None:
        with self._lock:
            self._job = None
        self.notices.add(Change(ChangeKind.TOURNAMENTS, job.number))


def _start_thread(job: Callable[[], None]) -> None:
    threading.Thread(target=job, name="tournament", daemon=True).start()
