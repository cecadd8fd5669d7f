"""What goes on, how things stand, and what is worth a look."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from PySide6.QtCore import Qt, QTimer, Slot
from PySide6.QtGui import QHideEvent, QShowEvent
from PySide6.QtWidgets import QFrame, QGridLayout, QProgressBar, QScrollArea, QSizePolicy, QWidget

from engine.league import standings as tables
from engine.league.storage.league import League
from engine.play.match import GameSpec
from league_app.gui.context import Desk
from league_app.core.queries.highlights import Result, Upset, recent, upsets
from league_app.gui.page import Page
from league_app.core.state import LeagueState
from league_app.gui.widgets.basics import Card, Elided, Empty, IconButton, Telling, button, clear, column, label, plain, row
from league_app.gui.widgets.chart.chart import Chart, Line
from league_app.gui.widgets.agent_colours import colour_of
from league_app.core.formatting import chance, lasting, outcome

LINES = 6  # ratings in the chart: as many as there are colours
SHOWN = 8  # recent results
FIRST = 6  # of the table


@dataclass(frozen=True)
class Rated:
    agent: str
    name: str
    colour: str
    rating: float
    error: float


@dataclass(frozen=True)
class Overview:
    """Everything that the dashboard tells, read in one go."""

    agents: int
    top: tuple[Rated, ...]
    history: tuple[Line, ...]
    results: tuple[Result, ...]
    upsets: tuple[Upset, ...]


class DashboardPage(Page):
    title, icon = "Dashboard", "dashboard"
    watches = frozenset({"agents", "matches", "tournaments", "training", "progress", "settings"})

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk)
        self.now = Card("Now")
        self.going_on = column(gap=8)
        self._running: list[_Running] = []
        self.now.body.addLayout(self.going_on)
        self.chart = Chart("Ratings over time", x_title="after this many tournaments")
        self.chart.setMinimumHeight(220)
        self.ratings = Card("Ratings over time")
        self.ratings.body.addWidget(self.chart)
        self.nothing = Empty("chart", "The chart begins when a second tournament has ended.")
        self.ratings.body.addWidget(self.nothing)
        self.chart.hide()
        self.table, self.results, self.surprises = column(gap=2), column(gap=2), column(gap=8)
        self.standings = Card("Standings", button("All", self._all_standings, link=True))
        self.latest = Card("Recent results", button("All", self._all_results, link=True))
        self.upsets = Card("Upsets")
        for card, inside in ((self.standings, self.table), (self.latest, self.results), (self.upsets, self.surprises)):
            card.body.addLayout(inside)
            card.body.addStretch(1)
        self._arrange()
        self._clock = QTimer(self)  # progress, while it is seen
        self._clock.setInterval(500)
        self._clock.timeout.connect(self._tell_now)

    def _arrange(self) -> None:
        grid = QGridLayout()
        grid.setContentsMargins(16, 16, 16, 16)
        grid.setSpacing(16)
        grid.addWidget(self.now, 0, 0, 1, 2)
        grid.addWidget(self.ratings, 1, 0)
        grid.addWidget(self.standings, 1, 1)
        grid.addWidget(self.latest, 2, 0)
        grid.addWidget(self.upsets, 2, 1)
        grid.setColumnStretch(0, 3)
        grid.setColumnStretch(1, 2)
        grid.setRowStretch(1, 1)
        self.body = QWidget()
        self.body.setLayout(grid)
        area = QScrollArea()
        area.setAccessibleName("Dashboard")
        area.setWidget(self.body)
        area.setWidgetResizable(True)
        area.setFrameShape(QFrame.Shape.NoFrame)
        area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.empty = Empty("agents", "This league has no agents yet.", "Add ready-made agents", self._add)
        self.setLayout(column(self.empty, area))
        self._area = area
        self.empty.hide()
        area.hide()  # until it is known which of the two it is
        for card in (self.ratings, self.standings, self.latest, self.upsets):
            card.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)

    # What it shows

    def refresh(self) -> None:
        self._tell_now()
        if self.desk.state is not None:
            self.desk.ask("dashboard", partial(_overview, pool=self.desk.pool), self._show)

    def _show(self, told: Overview) -> None:
        self.empty.setVisible(not told.agents)
        self._area.setVisible(bool(told.agents))
        self.chart.setVisible(bool(told.history))
        self.nothing.setVisible(not told.history)
        if told.history:
            self.chart.set_lines(list(told.history))
        self._fill_table(told)
        self._fill_results(told)
        clear(self.surprises)
        for one in told.upsets:
            words = Telling("{} beat {}", one.winner_name, one.loser_name)
            likely = chance(one.chance)
            tip = f"{words.text()}\n{one.winner_rating:z.0f} against {one.loser_rating:z.0f}: a chance of {likely}"
            self.surprises.addWidget(_Watchable(self.desk, words, "", f"{likely} chance", tip, one.match))
        if not told.upsets:
            self.surprises.addWidget(label("No upsets so far: everybody has played as rated.", "muted", wrap=True))

    def _fill_table(self, told: Overview) -> None:
        clear(self.table)
        for place, one in enumerate(told.top, 1):
            name = button(
                f"{place}.  {one.name.replace('&', '&&')}", partial(self.desk.show, "agent", one.agent), link=True
            )
            name.setToolTip(plain(one.name))
            name.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
            rating = label(f"{one.rating:z.0f} \u00b1 {one.error:.0f}", "muted")
            inner = row(name, rating)
            inner.setStretch(0, 1)
            self.table.addLayout(inner)
        if not told.top:
            self.table.addWidget(label("Nobody has a rating yet.", "muted"))
            self.table.addWidget(button("Run a tournament", self._run, primary=True))

    def _fill_results(self, told: Overview) -> None:
        clear(self.results)
        for one in told.results:
            if len(one.names) == 2:
                score, text = " : ".join(f"{points:g}" for points in one.scores), " - ".join(map(_short, one.names))
            else:
                score, text = "", outcome([_short(name) for name in one.names], one.scores, one.ranks)
            whole = outcome(one.names, one.scores, one.ranks)
            tip = f"{whole}: {one.ending.replace('_', ' ')} after {one.steps:,} steps"
            aside = f"{one.match}, {one.ending.replace('_', ' ')}" if one.failed else one.match
            self.results.addWidget(_Watchable(self.desk, Elided(text), score, aside, tip, one.match))
        if not told.results:
            self.results.addWidget(label("Nothing has been played in this game yet.", "muted", wrap=True))

    @Slot()
    def _tell_now(self) -> None:
        """Read from memory: it may be done as often as one likes."""
        state = self.desk.state
        lines = _going_on(state) if state is not None else []
        if not lines:
            if self.going_on.property("idle"):
                return
            clear(self.going_on)
            self.going_on.setProperty("idle", True)
            buttons = row(
                label("Nothing runs.", "muted"),
                1,
                button("Train an agent", self._train, icon="training"),
                button("Run a tournament", self._run, primary=True, icon="tournament"),
            )
            self.going_on.addLayout(buttons)
            return
        if self.going_on.property("idle") is not False or self.going_on.count() != len(lines):
            clear(self.going_on)
            self._running = [_Running() for _ in lines]
            for part in self._running:
                self.going_on.addWidget(part)
        self.going_on.setProperty("idle", False)
        for place, (name, text, share) in enumerate(lines):
            self._running[place].tell(name, text, share)

    # What can be done

    @Slot()
    def _run(self) -> None:
        self.desk.show("tournament-sheet")

    @Slot()
    def _train(self) -> None:
        self.desk.show("session-sheet")

    @Slot()
    def _add(self) -> None:
        self.desk.show("ready-made-sheet")

    @Slot()
    def _all_standings(self) -> None:
        self.desk.show("standings")

    @Slot()
    def _all_results(self) -> None:
        self.desk.show("history")

    def showEvent(self, event: QShowEvent) -> None:  # noqa: N802
        super().showEvent(event)
        self._clock.start()

    def hideEvent(self, event: QHideEvent) -> None:  # noqa: N802
        super().hideEvent(event)
        self._clock.stop()


class _Running(QWidget):
    """A tournament or a training session, and how far it is."""

    def __init__(self) -> None:
        super().__init__()
        self._name, self._text = Elided(""), label("", "muted")
        self._bar = QProgressBar()
        self._bar.setRange(0, 1000)
        self._bar.setTextVisible(False)
        top = row(self._name, self._text)
        top.setStretch(0, 1)
        self.setLayout(column(top, self._bar, gap=4))

    def tell(self, name: str, text: str, share: float | None) -> None:
        self._name.setText(name)
        self._text.setText(text)
        self._bar.setVisible(share is not None)
        self._bar.setValue(round(1000 * (share or 0.0)))


class _Watchable(QWidget):
    """A match in a line, with a button that plays it."""

    def __init__(self, desk: Desk, words: Elided, score: str, aside: str, tip: str, reference: str) -> None:
        super().__init__()
        words.setToolTip(plain(tip))
        play = IconButton("play", f"Watch {reference}: {words.text()}", partial(desk.show, "match", reference))
        last = label(aside, "caption")
        last.setMinimumWidth(36)
        if score:
            last.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        inner = row(words, label(score), last, play) if score else row(column(words, last, gap=0), play)
        inner.setStretch(0, 1)
        self.setLayout(inner)


def _going_on(state: LeagueState) -> list[tuple[str, str, float | None]]:
    """Name, words and share of everything that runs."""
    told: list[tuple[str, str, float | None]] = []
    job = state.job
    if job is not None:
        one = job.progress()
        told.append((job.name, f"{one.played:,} of {one.total:,}, {one.text}", one.played / max(one.total, 1)))
    for session in state.training.jobs:
        far = session.progress
        left = f", {lasting(far.seconds_left)} left" if far is not None and far.seconds_left is not None else ""
        text = "starting" if far is None else f"{far.text}{left}"
        told.append((session.name, text, far.step / far.total if far is not None and far.total else None))
    return told


def _overview(state: LeagueState, pool: GameSpec | None) -> Overview:
    league = state.league
    if pool is None:
        return Overview(len(state.agents()), (), (), (), ())
    table = tables.standings(league, pool)
    colours = {one.id: colour_of(one.id, one.colour) for one in league.agents(pool.name, archived=True)}
    rated = tuple(
        Rated(row.agent, row.name, colours[row.agent], row.rating, row.error) for row in table.rows if row.total.played
    )
    return Overview(
        len(state.agents()),
        rated[:FIRST],
        _history(league, pool, rated[:LINES]),
        tuple(recent(league, pool, SHOWN)),
        tuple(upsets(league, None, pool, table=table)),
    )


def _history(league: League, pool: GameSpec, rated: tuple[Rated, ...]) -> tuple[Line, ...]:
    """A line for each of the best; none before there are two points."""
    past = tables.rating_history(league, pool)
    lines = []
    for place, one in enumerate(rated):
        points = [
            (number, rating, error)
            for number, snapshot in enumerate(past, 1)
            for agent, rating, error in snapshot.ratings
            if agent == one.agent
        ]
        if len(points) > 1:
            x, y, errors = (list(part) for part in zip(*points, strict=True))
            low = [value - error for value, error in zip(y, errors, strict=True)]
            high = [value + error for value, error in zip(y, errors, strict=True)]
            first = place == 0  # one band is read, six are not
            lines.append(Line(one.name, x, y, low if first else None, high if first else None, colour=place))
    return tuple(lines)


def _short(name: str, longest: int = 24) -> str:
    """So that of two names in a line both can be read."""
    return name if len(name) <= longest else name[: longest - 1] + "\u2026"
