"""The Welcome page: a preview of the best match, the three main tasks, and leagues to open."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path

from PySide6.QtCore import Slot
from PySide6.QtWidgets import QFrame, QProgressBar, QScrollArea, QStackedWidget, QWidget

from engine.errors import RingsideError
from engine.league import played_matches, standings
from engine.league.storage.league import League
from engine.play.match import GameSpec
from engine.play.replay import Playback, verified
from league_app.core import paths as places
from league_app.core.exhibitions import random_seed
from league_app.core.formatting import join_names, plural, shorten
from league_app.core.queries.highlights import best_match
from league_app.core.state import LeagueState
from league_app.gui.context import AppContext
from league_app.gui.game_selector import GameSelector
from league_app.gui.league_files import LeagueFileActions
from league_app.gui.match.preview import ReplayPreview
from league_app.gui.page import Page
from league_app.gui.widgets.basics import Card, ElidedLabel, EmptyState, Icon, button, clear, column, label, row

PLACES = 6  # lines of the standings
RECENT = 5  # leagues
NAME = 30  # characters of a tournament's name on a button


@dataclass(frozen=True)
class WelcomeSummary:
    """What the page shows of the open league."""

    name: str
    agents: int
    matches: int
    best: tuple[str, ...]  # ids of the best agents, at most one for each seat
    top: tuple[tuple[str, str], ...]  # name and rating, as text
    reference: str | None  # of the best match
    names: tuple[str, ...]
    playback: Playback | None
    unfinished: tuple[str, ...] = ()  # names of started tournaments, the latest last


class WelcomePage(Page):
    title, icon = "Welcome", "home"
    watches = frozenset({"agents", "tournaments"})

    def __init__(self, context: AppContext, leagues: LeagueFileActions) -> None:
        super().__init__(context)
        self._leagues = leagues
        self._reference: str | None = None
        self._best: tuple[str, ...] = ()
        self._agents: int | None = None  # in the league; None if none is open
        inner = QWidget()
        parts = column(self._head(), self._stage(), self._files(), margin=24, gap=16)
        parts.setStretch(1, 1)
        inner.setLayout(parts)
        area = QScrollArea()
        area.setAccessibleName("Welcome")
        area.setWidget(inner)
        area.setWidgetResizable(True)
        area.setFrameShape(QFrame.Shape.NoFrame)
        self.setLayout(column(area))

    # Parts

    def _head(self) -> QWidget:
        header = QWidget()
        slogan = "Watch matches, run tournaments, train agents."
        text = column(label("Ringside", "title"), label(slogan, "muted"), gap=0)
        self.busy = label("", "muted")
        self.bar = QProgressBar()
        self.bar.setRange(0, 0)
        self.bar.setFixedWidth(140)
        self.bar.setTextVisible(False)
        self.bar.hide()
        header.setLayout(row(Icon("ringside", 40, "accent"), text, 1, self.busy, self.bar, gap=12))
        return header

    def _stage(self) -> QWidget:
        stage = QWidget()
        self.preview = ReplayPreview()
        self.preview.setMinimumHeight(280)
        self.preview.chosen.connect(self._watch_best)
        self.caption = ElidedLabel("", "caption")
        self.empty = EmptyState("live", "", "Run a tournament", self._begin)
        instead = Card()
        instead.body.addWidget(self.empty)
        self.stage = QStackedWidget()
        self.stage.addWidget(self.preview)
        self.stage.addWidget(instead)
        left = column(self.stage, self.caption, gap=4)
        self.card = Card("")
        self.card.setFixedWidth(360)
        self.facts = label("", "muted", wrap=True)
        self.table = column(gap=4)
        self.watch = button("Watch a match", self._watch, primary=True, icon="live")
        self.run = button("Run a tournament", self._run, icon="tournament")
        self.train = button("Train an agent", self._train, icon="training")
        self.dashboard = button("Open the dashboard", self._open_dashboard, link=True)
        self.name = ElidedLabel("", "section")
        self.games = GameSelector(self.context)
        for part in (self.name, self.facts, self.games):
            self.card.body.addWidget(part)
        self.card.body.addLayout(self.table)
        self.card.body.addStretch(1)
        self.resume = button("", self._resume, icon="play")
        self.resume.hide()
        for widget in (self.resume, self.watch, self.run, self.train, self.dashboard):
            self.card.body.addWidget(widget)
        inner = row(left, self.card, gap=16)
        inner.setStretch(0, 1)
        stage.setLayout(inner)
        return stage

    def _files(self) -> QWidget:
        card = Card()
        heading = row(  # at the left: toasts appear at the right
            label("Leagues", "section"),
            button("New", self._leagues.new, icon="new"),
            button("Open", self._leagues.open, icon="open"),
            button("Sample league", self._leagues.sample, icon="ringside"),
            1,
        )
        heading.insertSpacing(1, 16)
        card.body.addLayout(heading)
        self.recent = column(gap=0)
        card.body.addLayout(self.recent)
        card.body.addWidget(label("You can also drop a league, a replay or an agent file on this window.", "caption"))
        return card

    # Showing

    def refresh(self) -> None:
        self._list_recent()
        self.games.fill()
        self.games.setVisible(self.games.count() > 1)
        state = self.context.state
        for part in (self.watch, self.run, self.train, self.dashboard):
            part.setEnabled(state is not None)
        if state is None:
            self._show_no_league()
            self.caption.setText("")
            self.preview.play(None)
            self._reference, self._best = None, ()
            self.resume.hide()
            clear(self.table)
            return
        shown = self._reference, self.preview.playback
        self.context.ask("welcome", partial(load_summary, pool=self.context.pool, shown=shown), self._show)

    def _show(self, summary: WelcomeSummary) -> None:
        self.name.setText(summary.name)
        self.facts.setText(f"{plural(summary.agents, 'agent')}, {plural(summary.matches, 'match')} played")
        clear(self.table)
        for place, (name, rating) in enumerate(summary.top, 1):
            inner = row(ElidedLabel(f"{place}.  {name}" if rating else name), label(rating, "muted"))
            inner.setStretch(0, 1)
            self.table.addLayout(inner)
        self._best = summary.best
        if summary.playback is not self.preview.playback:
            self.preview.play(summary.playback)
        self._reference = summary.reference
        self._show_stage(summary.agents, summary.playback is None)
        self.resume.setVisible(bool(summary.unfinished) and not self.context.league.running)
        name = shorten(summary.unfinished[-1], NAME).replace("&", "&&") if summary.unfinished else ""
        self.resume.setText(f"Resume {name}" if name else "")
        for part in (self.watch, self.run):
            part.setEnabled(summary.agents > 1)
        players = " against ".join(summary.names) if len(summary.names) == 2 else join_names(summary.names)
        caption = f"Best match so far: {players} ({summary.reference}). Click to open it."
        self.caption.setText(caption if summary.reference else "")

    def show_busy(self, words: str) -> None:
        """Show that a league is being opened or closed; an empty text ends that."""
        if words and self.context.state is None:
            self.name.setText(words)
            self.facts.setText("This may take a moment.")
        self.busy.setText(words)
        self.bar.setVisible(bool(words))
        if not words and self.context.state is None:
            self._show_no_league()
            self._show_stage(None, True)

    def _show_no_league(self) -> None:
        self.name.setText("No league is open")
        self.facts.setText("Open or create a league below. A league is one file with agents and their results.")

    def _show_stage(self, agents: int | None, empty: bool) -> None:
        """Show the preview, or what to do before there is a match to show; `agents` is None if no league is open."""
        self.stage.setCurrentIndex(int(empty))
        sentence, action = (
            ("A league is one file with agents and their results.", "Open the sample league")
            if agents is None
            else ("The best match is shown here. No match has been played yet.", "Run a tournament")
            if agents > 1
            else ("The best match is shown here. A match needs at least two agents.", "Add ready-made agents")
        )
        self._agents = agents
        self.empty.sentence.setText(sentence)
        self.empty.button.setText(action)

    def _list_recent(self) -> None:
        clear(self.recent)
        state = self.context.state
        here = state.league.path.absolute() if state is not None else None
        paths = self.context.settings.recent[:RECENT]
        for path in paths:
            self.recent.addWidget(_RecentLeague(path, path == here, self._leagues))
        if not paths:
            self.recent.addWidget(label("No recent leagues", "muted"))

    # Commands

    @Slot()
    def _watch_best(self) -> None:
        if self._reference:
            self.context.navigate("match", self._reference)

    @Slot()
    def _watch(self) -> None:
        """Start an exhibition match between the best agents."""
        pool = self.context.pool
        if len(self._best) < 2 or pool is None:
            self.context.notify("A match needs at least two agents: add ready-made ones from the Agents menu", "warn")
            self.context.navigate("dashboard")
            return
        start = partial(self.context.league.exhibit, list(self._best), pool, random_seed())
        self.context.command_queue.run(start, self._on_started)

    def _on_started(self, live: object) -> None:
        self.context.navigate("match", live)

    @Slot()
    def _begin(self) -> None:
        if self._agents is None:
            self._leagues.sample()
        elif self._agents > 1:
            self._run()
        else:
            self.context.navigate("dashboard")
            self.context.navigate("ready-made-dialog")

    @Slot()
    def _resume(self) -> None:
        self.context.navigate("dashboard")
        self.context.navigate("resume")

    @Slot()
    def _run(self) -> None:
        self.context.navigate("dashboard")
        self.context.navigate("tournament-dialog")

    @Slot()
    def _train(self) -> None:
        self.context.navigate("training")
        self.context.navigate("session-dialog")

    @Slot()
    def _open_dashboard(self) -> None:
        self.context.navigate("dashboard")


class _RecentLeague(QWidget):
    """A line with the name and folder of a league that was opened before."""

    def __init__(self, path: Path, here: bool, leagues: LeagueFileActions) -> None:
        super().__init__()
        self._path, self._leagues = path, leagues
        name = button(path.stem.replace("&", "&&"), self._open, link=True, icon="league")
        name.setMaximumWidth(320)
        name.setEnabled(not here)
        where = ElidedLabel(str(path.parent), "caption")
        note = "open" if here else "sample" if path == places.sample_league() else ""
        inner = row(name, where, label(note, "caption"), gap=12)
        inner.setStretch(1, 1)
        self.setLayout(inner)

    @Slot()
    def _open(self) -> None:
        self._leagues.open_path(self._path)


def load_summary(
    state: LeagueState, pool: GameSpec | None, shown: tuple[str | None, Playback | None]
) -> WelcomeSummary:
    """Read the summary; `shown` is the reference and playback of the preview, which is kept if still the best match."""
    league = state.league
    matches = sum(tournament.played for tournament in league.tournaments())
    started = (
        tuple(tournament.name for tournament in state.unfinished() if tournament.played) if not league.read_only else ()
    )
    count = len(state.agents())
    if pool is None:
        return WelcomeSummary(league.name, count, matches, (), (), None, (), None, started)
    table = standings.standings(league, pool)
    rows = [row for row in table.rows if row.total.played]
    agents = state.agents(pool.name)
    top = tuple((row.name, f"{row.rating:z.0f} \u00b1 {row.error:.0f}") for row in rows[:PLACES])
    top = top or tuple((agent.name, "") for agent in agents[:PLACES])
    ids = [row.agent for row in rows] or [agent.id for agent in agents]
    reference, names, playback = _load_best_match(league, pool, shown)
    best = tuple(ids[: table.seats])
    return WelcomeSummary(league.name, count, matches, best, top, reference, names, playback, started)


def _load_best_match(
    league: League, pool: GameSpec, shown: tuple[str | None, Playback | None]
) -> tuple[str | None, tuple[str, ...], Playback | None]:
    """Return reference, names of the players, and playback."""
    reference, playback = best_match(league, pool), shown[1]
    if reference is None:
        return None, (), playback
    try:
        match = played_matches.match(league, reference)
        known = league.names()
        names = tuple(known.get(player, player) for player in match.result.players)
        if reference != shown[0] or playback is None:
            playback = verified(match.spec, match.result)
    except RingsideError:  # the rules are not installed, or the match cannot be replayed
        return None, (), None
    return reference, names, playback
