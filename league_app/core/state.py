"""LeagueState: the open league, what runs in it, and the settings of both. The window is one view of it, the command
line another; it knows neither."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Self

from agents.usi.transcript import FOLDER
from engine.errors import BadValue, NotNow
from engine.league import standings as tables
from engine.league.schedule import fingerprint
from engine.league.records import Agent, Settings, Tournament
from engine.league.storage.league import League
from engine.league.tournament_runner import lift
from engine.play.arena import DEFAULT_LANES
from engine.play.live import LiveMatch
from engine.play.match import SEED_LIMIT, AgentSpec, GameSpec, MatchSpec
from engine.registry import KINDS, agents_for, game_of, new_game
from engine.telemetry import Status
from league_app.core import exhibitions as people
from league_app.core.cpu_budget import Budget
from league_app.core.changes import Change, Notices
from league_app.core.tournament_job import TournamentJob
from league_app.core.match_runner import Stage
from league_app.core.validation import check_admitted, check_playable, check_size, installed, make_settings
from league_app.core.training_jobs import Trainings


class LeagueState:
    """Open one, look, change, play. Observers hear of changes in batches, from whichever thread made them."""

    def __init__(
        self, path: Path | str, *, read_only: bool = False, lanes: int = DEFAULT_LANES, plugins: Sequence[str] = ()
    ) -> None:
        self.league = League(path, read_only)
        self._lanes = lanes
        self.budget = Budget()
        self._plugins = tuple(plugins)
        self.notices = Notices()  # subscribe to hear of changes
        self._lock = threading.RLock()
        self._job: TournamentJob | None = None
        self.latest_job: TournamentJob | None = None  # the same, and still when it has ended
        self._stage: Stage | None = None
        self._closed = False
        self.locked = ""  # why it is read-only, for whoever did not ask for that
        self.training = Trainings(self, self._plugins)
        used = self.league.setting("play", {})
        self._show_visuals = bool(used.get("show_visuals", False))
        self._use_concurrent = bool(used.get("use_concurrent", True))
        self._batch_size = check_size(used.get("batch_size", 10))
        self.person = False  # whether somebody sits at this screen and can play; a window says so
        self._exhibits: list[LiveMatch] = []
        # how a job gets its thread; a window brings its own
        self.start: Callable[[Callable[[], None]], None] = _start_thread

    @classmethod
    def new(cls, path: Path | str, **settings: object) -> LeagueState:
        League.new(path).close()
        return cls(path, **settings)  # type: ignore[arg-type]

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Stop what runs, now; it can be resumed when the league is opened again. Training saves a last checkpoint."""
        with self._lock:  # whoever is about to begin something in another thread has begun it, or is refused
            self._closed = True
            job = self._job
        try:
            if job is not None:
                job.stop()
            self.training.close()
            if job is not None:
                job.ended()
        finally:
            if self._stage is not None:
                self._stage.close()
            self.league.close()

    # Settings

    @property
    def show_visuals(self) -> bool:
        """Whether a tournament is played one live match at a time; it may be changed at any moment, but not switched
        off while a person has still to play."""
        job = self._job
        return self._show_visuals if job is None else job.run.visual

    @show_visuals.setter
    def show_visuals(self, on: bool) -> None:
        with self._lock:
            job = self._job
            if job is None:
                self._show_visuals = bool(on)
        if job is not None:
            job.run.visual = bool(on)  # which may be refused
            self._show_visuals = job.run.visual
        self._remember_use()
        self.notices.add(Change("settings"))

    @property
    def use_concurrent(self) -> bool:
        """Whether batches go to worker processes; without them everything is played in this one, unprotected."""
        return self._use_concurrent

    @use_concurrent.setter
    def use_concurrent(self, on: bool) -> None:
        self._set_stage("_use_concurrent", bool(on))

    @property
    def batch_size(self) -> int:
        """Matches in a message to a worker."""
        return self._batch_size

    @batch_size.setter
    def batch_size(self, size: int) -> None:
        self._set_stage("_batch_size", check_size(size))

    @property
    def engine_log(self) -> str:
        """The folder in which conversations with external engines are written down; empty for nowhere."""
        return os.environ.get(FOLDER, "")

    @engine_log.setter
    def engine_log(self, folder: str) -> None:
        self._set_stage("_engine_log", folder)  # worker processes that are there would go on as they began
        os.environ.pop(FOLDER, None)
        if folder:
            os.environ[FOLDER] = folder

    def _set_stage(self, name: str, value: object) -> None:
        with self._lock:
            if self.running:
                raise NotNow(
                    f"{name[1:]} cannot change while a tournament is played: pause does not help, stop it first"
                )
            if any(live.result is None for live in self._exhibits):
                raise NotNow(f"{name[1:]} cannot change while an exhibition is played: close it first")
            setattr(self, name, value)
            if self._stage is not None:
                self._stage.close()
                self._stage = None
            self._remember_use()
        self.notices.add(Change("settings"))

    def _remember_use(self) -> None:
        """The settings last used are those of the next time."""
        if not self.league.read_only:
            used = {"show_visuals": self._show_visuals, "use_concurrent": self._use_concurrent}
            self.league.remember("play", {**used, "batch_size": self._batch_size})

    @property
    def toggle_text(self) -> str:
        """What stands beside the visual toggle."""
        job = self._job
        if job is not None:
            return job.run.progress().text
        if self._show_visuals:
            return "the next tournament will be shown"
        if not self._use_concurrent:
            return "the next tournament runs in this process"
        count = self.budget.cores
        return f"the next tournament runs on {count} {'worker' if count == 1 else 'workers'}"

    # Agents

    def agents(self, game: str | None = None, archived: bool = False) -> list[Agent]:
        return self.league.agents(game, archived)

    def add_samples(self, game: str, names: Iterable[str] | None = None) -> list[Agent]:
        """Enter the ready-made agents of a game, or those of these names."""
        offered = {one.id: one for agents in agents_for(new_game(game)).values() for one in agents}
        wanted = list(offered) if names is None else list(names)
        added = []
        for name in wanted:
            if name not in offered:
                raise BadValue("agent", name, f"one of {', '.join(offered)}")
            added.append(self.league.add_agent(name, game, offered[name], origin="ready-made"))
        self.notices.add(Change("agents"))
        return added

    def add_agent(self, name: str, game: str, kind: str, payload: bytes, **said: object) -> Agent:
        """Enter somebody made of this payload; its kind must accept it."""
        spec = AgentSpec(name, kind, payload, KINDS.get(kind).version)
        check_playable(spec, game)
        agent = self.league.add_agent(name, game, spec, **said)  # type: ignore[arg-type]
        self.notices.add(Change("agents"))
        return agent

    def change_agent(self, id: str, **changes: object) -> Agent:
        """What is said about somebody: name, notes, colour, tags."""
        changed = self.league.change_agent(id, **changes)
        self.notices.add(Change("agents"))
        return changed

    def archive(self, agent: str, undo: bool = False, game: str | None = None) -> Agent:
        """Put somebody away, or fetch it back."""
        changed = self.league.archive(self.league.agent(agent, game).id, undo)
        self.notices.add(Change("agents"))
        return changed

    # Tournaments

    @property
    def job(self) -> TournamentJob | None:
        """What runs now."""
        return self._job

    @property
    def running(self) -> bool:
        return self._job is not None

    @property
    def live(self) -> LiveMatch | None:
        """The match that is shown: feed what it tells to a `Playback`."""
        job = self._job
        return job.run.live if job is not None else None

    def unfinished(self) -> list[Tournament]:
        """What can be resumed."""
        job = self._job
        return [
            one for one in self.league.tournaments() if one.state.open and (job is None or job.number != one.number)
        ]

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
        """Draw one up without playing it. Without agents everybody who plays the game takes part; without a game, the
        one that was played last, or the only one there is; with nothing at all, the last tournament with a new seed.
        `play` says that it is to be played at once: that is refused where a person is needed and nobody is there."""
        before = self.league.tournaments()
        again = bool(before) and game is None and agents is None and format is None and not options and not more
        if again:
            settings = replace(before[-1].settings, seed=(before[-1].settings.seed + 1) % SEED_LIMIT)
        else:
            more.setdefault("seed", len(before) + 1)  # the same seed again would count the same games again
            settings = make_settings(self.game_of(game), format or "round-robin", options or {}, **more)
        spec, format = settings.game, settings.format
        if agents is not None:
            entrants = [self.league.agent(one, spec.name).id for one in agents]
        else:
            everybody = [one.id for one in self.agents(spec.name)]
            entrants = [one for one in before[-1].entrants if one in everybody] if again else everybody
        usual = f"{game_of(spec).info.title} {format.replace('-', ' ')} {len(before) + 1}"
        self.check_new(settings, entrants, before)
        if play:
            check_admitted(self.league, map(self.league.spec, entrants))
        if play and not self.person:
            people.check_entrants(self.league, usual if name is None else name, entrants)
        made = self.league.add_tournament(usual if name is None else name, settings, entrants)
        self.notices.add(Change("tournaments", made.number))
        return made

    def check_new(self, settings: Settings, entrants: Sequence[str], before: Sequence[Tournament]) -> None:
        """A match is what its plan makes of it: played twice, it would only pretend to say more."""
        same = fingerprint(settings, entrants)
        for one in before:
            if fingerprint(one.settings, one.lineups[0].entrants) == same:
                told = f"another one: tournament {one.number} ({one.name}) is exactly this, and would be counted twice"
                raise BadValue("seed", settings.seed, told)

    def start_tournament(self, tournament: int | str | None = None, **plan: object) -> TournamentJob:
        """Play one: the given one, or one that is drawn up from `plan` as in `plan_tournament`.

        With `show_visuals` off it runs in batches on worker processes by itself; on, one live match at a time.
        """
        with self._lock:
            if self._job is not None:
                raise NotNow(f"{self._job.name!r} is being played: pause it or stop it first")
            if self.league.read_only:
                raise NotNow(f"{self.league.path.name} was opened read-only: nothing can be played in it")
            if not self.league.path.exists():
                raise NotNow(f"{self.league.path} is not there any more: put it back, or nothing of this would be kept")
            if tournament is None:
                number = self.plan_tournament(**plan, play=True).number  # type: ignore[arg-type]
            else:
                number = self.league.tournament(tournament).number
            check_admitted(self.league, map(self.league.spec, self.league.tournament(number).everybody))
            if not self.person:
                people.check_nobody_needed(self.league, number)
            shown = self._show_visuals
            self._job = self.latest_job = job = TournamentJob(self, number)
            self._show_visuals = job.run.visual
        if job.run.visual != shown:  # a person plays
            self._remember_use()
            self.notices.add(Change("settings"))
        self.start(job)
        return job

    def resume_tournament(self, tournament: int | str | None = None, lift_quarantine: bool = False) -> TournamentJob:
        """Go on where it was stopped; without a name, with the latest that can be."""
        if tournament is None:
            found = self.unfinished()
            if not found:
                raise NotNow(f"{self.league.path.name} has no tournament that could be resumed")
            tournament = found[-1].number
        if lift_quarantine:
            number = self.league.tournament(tournament).number
            if not self.person:
                people.check_nobody_needed(self.league, number, lifted=True)
            lift(self.league, number)
        return self.start_tournament(tournament)

    # Exhibitions

    def exhibit(
        self, players: Sequence[str | AgentSpec], game: GameSpec | str | None = None, seed: int = 1, skip: int = 0
    ) -> LiveMatch:
        """An unrated match that nobody records, beside whatever runs: agents of the league by name or id, or any others
        as they are. The first `skip` steps are played at full speed. Close it when nobody watches any more."""
        return self._show(people.exhibition(self, players, game, seed), skip)

    def take_over(self, spec: MatchSpec, seat: int, actions: Sequence[int], steps: int) -> LiveMatch:
        """Play a seat of a match from where it is: an exhibition of the same match in which a person has done `actions`
        at this seat, `steps` steps of which are played at full speed before it is theirs."""
        return self._show(people.taken_over(spec, seat, actions), steps)

    def _show(self, spec: MatchSpec, skip: int) -> LiveMatch:
        check_admitted(self.league, spec.players)
        with self._lock:
            live = (self._stage or self.stage(self.budget.cores)).watch(spec, skip)
            self._exhibits = [one for one in self._exhibits if one.result is None] + [live]
        return live

    def change_entrants(self, tournament: int | str, join: Iterable[str] = (), leave: Iterable[str] = ()) -> Tournament:
        """Who joins or leaves does so with the next round."""
        number = self.league.tournament(tournament).number
        job = self._job
        if job is not None and job.number == number:
            raise NotNow(f"{job.name!r} is being played: stop it, change who takes part, and resume it")
        game = self.league.tournament(number).settings.game.name
        joining, leaving = ([self.league.agent(one, game).id for one in names] for names in (join, leave))
        changed = self.league.change_entrants(number, joining, leaving)
        self.notices.add(Change("tournaments", number))
        return changed

    def standings(
        self, game: GameSpec | str | None = None, tournament: int = 0, anchor: str | None = None
    ) -> tables.Standings:
        if tournament:
            return tables.standings(self.league, self.league.tournament(tournament).settings.game, tournament, anchor)
        return tables.standings(self.league, self.game_of(game), 0, anchor)

    def status(self) -> Status | None:
        """Machine, workers, progress: for the panels."""
        if self._stage is None:
            return None
        status, job = self._stage.workers.status(), self._job
        if job is None or not job.run.visual:
            return status
        idle = [replace(one, state="idle: visual mode") if one.state == "idle" else one for one in status.workers]
        return replace(status, workers=tuple(idle))

    def stage(self, workers: int) -> Stage:
        """The worker processes; they are kept for the next tournament."""
        with self._lock:
            if self._closed:
                raise NotNow(f"{self.league.path.name} is closed: nothing is played in it any more")
            if self._stage is None:
                self._stage = Stage(workers, self._batch_size, self._use_concurrent, self._lanes, self._plugins)
            self._stage.workers.workers = workers
            return self._stage

    def game_of(self, game: GameSpec | str | None = None) -> GameSpec:
        """The one that is meant: by name it is the pool used last, or the game with its usual options."""
        if isinstance(game, GameSpec):
            return game
        played = [one.settings.game for one in self.league.tournaments() if game in (None, one.settings.game.name)]
        able = next((one for one in reversed(played) if installed(one)), None)
        if able is not None or played:
            return able or played[-1]  # what cannot be played here can still be read
        if game is not None:
            return new_game(game).spec
        games = list(dict.fromkeys(agent.game for agent in self.agents()))
        if not games:
            told = f"`ringside agents add {self.league.path.name} NAME --game GAME` enters a ready-made agent"
            raise NotNow(f"nobody is in {self.league.path.name} yet: {told}")
        if len(games) > 1:
            raise BadValue("game", None, f"given (--game): the league has agents for {', '.join(games)}")
        return new_game(games[0]).spec

    def job_ended(self, job: TournamentJob) -> None:
        with self._lock:
            self._job = None
        self.notices.add(Change("tournaments", job.number))


def _start_thread(job: Callable[[], None]) -> None:
    threading.Thread(target=job, name="tournament", daemon=True).start()
