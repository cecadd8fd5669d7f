"""The Dashboard page: running jobs, ratings, recent results and upsets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from PySide6.QtCore import Qt, Slot
from PySide6.QtWidgets import QGridLayout, QProgressBar, QSizePolicy, QWidget

from league_app.core.formatting import chance, duration, outcome, shorten
from league_app.core.queries.dashboard import DashboardData, RatingHistory, load_dashboard
from league_app.core.run_monitor import RunSnapshot
from league_app.gui.context import AppContext
from league_app.gui.page import Page
from league_app.gui.widgets.basics import (
    Card,
    ElidedLabel,
    ElidedPairLabel,
    EmptyState,
    IconButton,
    button,
    clear,
    column,
    label,
    row,
    scroll_area,
    tooltip_html,
)
from league_app.gui.widgets.chart.chart import Chart, ChartLine

NAME = 24  # characters of a name in a result, so that both names of a line can be read


class DashboardPage(Page):
    guide = "window#the-other-pages"
    title, icon = "Dashboard", "dashboard"
    watches = frozenset({"agents", "matches", "tournaments"})  # snapshots of the monitor show running jobs

    def __init__(self, context: AppContext) -> None:
        super().__init__(context)
        self.now = Card("Now")
        self.jobs = column(gap=8)
        self._job_rows: list[_JobRow] = []
        self.now.body.addLayout(self.jobs)
        self.chart = Chart("Ratings over time", x_title="tournaments played")
        self.chart.setMinimumHeight(220)
        self.ratings = Card("Ratings over time")
        self.ratings.body.addWidget(self.chart)
        self.no_chart = EmptyState("chart", "The chart appears once two tournaments have ended.")
        self.ratings.body.addWidget(self.no_chart)
        self.chart.hide()
        self.table, self.results, self.upset_rows = column(gap=2), column(gap=2), column(gap=8)
        self.standings = Card("Standings", button("All", self._all_standings, link=True))
        self.latest = Card("Recent results", button("All", self._all_results, link=True))
        self.upsets = Card("Upsets")
        for card, inside in ((self.standings, self.table), (self.latest, self.results), (self.upsets, self.upset_rows)):
            card.body.addLayout(inside)
            card.body.addStretch(1)
        self._arrange()
        context.monitor.sampled.connect(self._show_jobs)

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
        area = scroll_area(self.body, "Dashboard")
        self.empty = EmptyState("agents", "This league has no agents yet.", "Add ready-made agents", self._add)
        self.setLayout(column(self.empty, area))
        self._area = area
        self.empty.hide()
        area.hide()  # until it is known whether there are agents
        for card in (self.ratings, self.standings, self.latest, self.upsets):
            card.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)

    # Showing

    def refresh(self) -> None:
        self._show_jobs(self.context.monitor.latest)
        if self.context.state is not None:
            self.context.ask("dashboard", partial(load_dashboard, pool=self.context.pool), self._show)

    def _show(self, data: DashboardData) -> None:
        self.empty.setVisible(not data.agents)
        self._area.setVisible(bool(data.agents))
        self.chart.setVisible(bool(data.history))
        self.no_chart.setVisible(not data.history)
        if data.history:
            self.chart.set_lines(_chart_lines(data.history))
        self._show_table(data)
        self._show_results(data)
        clear(self.upset_rows)
        for upset in data.upsets:
            text = ElidedPairLabel("{} beat {}", upset.winner_name, upset.loser_name)
            odds = f"{chance(upset.chance)} chance"
            tip = (
                f"{text.text()}\nRated {upset.winner_rating:z.0f} against {upset.loser_rating:z.0f}: {odds} of winning"
            )
            self.upset_rows.addWidget(_MatchRow(self.context, text, "", odds, tip, upset.match))
        if not data.upsets:
            self.upset_rows.addWidget(label("No upsets yet.", "muted", wrap=True))

    def _show_table(self, data: DashboardData) -> None:
        clear(self.table)
        for place, entry in enumerate(data.top, 1):
            name = button(
                f"{place}.  {entry.name.replace('&', '&&')}",
                partial(self.context.navigate, "agent", entry.agent),
                link=True,
            )
            name.setToolTip(tooltip_html(entry.name))
            name.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
            rating = label(f"{entry.rating:z.0f} \u00b1 {entry.error:.0f}", "muted")
            inner = row(name, rating)
            inner.setStretch(0, 1)
            self.table.addLayout(inner)
        if not data.top:
            self.table.addWidget(label("No agent has a rating yet.", "muted"))
            self.table.addWidget(button("Run a tournament", self._run, primary=True))

    def _show_results(self, data: DashboardData) -> None:
        clear(self.results)
        for result in data.results:
            names = [shorten(name, NAME) for name in result.names]
            if len(names) == 2:
                score, text = " : ".join(f"{points:g}" for points in result.scores), " - ".join(names)
            else:
                score, text = "", outcome(names, result.scores, result.ranks)
            whole = outcome(result.names, result.scores, result.ranks)
            tip = f"{whole}: {result.ending.replace('_', ' ')} after {result.steps:,} steps"
            caption = f"{result.match}, {result.ending.replace('_', ' ')}" if result.failed else result.match
            self.results.addWidget(_MatchRow(self.context, ElidedLabel(text), score, caption, tip, result.match))
        if not data.results:
            self.results.addWidget(label("No matches have been played in this game yet.", "muted", wrap=True))

    @Slot(object)
    def _show_jobs(self, now: RunSnapshot) -> None:
        if not self.isVisible():
            return
        lines = _running_jobs(now)
        if not lines:
            if self.jobs.property("idle"):
                return
            clear(self.jobs)
            self.jobs.setProperty("idle", True)
            buttons = row(
                label("Idle", "muted"),
                1,
                button("Train an agent", self._train, icon="training"),
                button("Run a tournament", self._run, primary=True, icon="tournament"),
            )
            self.jobs.addLayout(buttons)
            return
        if self.jobs.property("idle") is not False or self.jobs.count() != len(lines):
            clear(self.jobs)
            self._job_rows = [_JobRow() for _ in lines]
            for part in self._job_rows:
                self.jobs.addWidget(part)
        self.jobs.setProperty("idle", False)
        for place, (name, text, share) in enumerate(lines):
            self._job_rows[place].show_progress(name, text, share)

    # Commands

    @Slot()
    def _run(self) -> None:
        self.context.navigate("tournament-dialog")

    @Slot()
    def _train(self) -> None:
        self.context.navigate("session-dialog")

    @Slot()
    def _add(self) -> None:
        self.context.navigate("ready-made-dialog")

    @Slot()
    def _all_standings(self) -> None:
        self.context.navigate("standings")

    @Slot()
    def _all_results(self) -> None:
        self.context.navigate("history")


class _JobRow(QWidget):
    """A tournament or training session with its progress."""

    def __init__(self) -> None:
        super().__init__()
        self._name, self._text = ElidedLabel(""), label("", "muted")
        self._bar = QProgressBar()
        self._bar.setRange(0, 1000)
        self._bar.setTextVisible(False)
        top = row(self._name, self._text)
        top.setStretch(0, 1)
        self.setLayout(column(top, self._bar, gap=4))

    def show_progress(self, name: str, text: str, share: float | None) -> None:
        self._name.setText(name)
        self._text.setText(text)
        self._bar.setVisible(share is not None)
        self._bar.setValue(round(1000 * (share or 0.0)))


class _MatchRow(QWidget):
    """One match in a line, with a button to watch it."""

    def __init__(
        self, context: AppContext, text: ElidedLabel, score: str, caption: str, tip: str, reference: str
    ) -> None:
        super().__init__()
        text.setToolTip(tooltip_html(tip))
        play = IconButton("play", f"Watch {reference}: {text.text()}", partial(context.navigate, "match", reference))
        last = label(caption, "caption")
        last.setMinimumWidth(36)
        if score:
            last.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        inner = row(text, label(score), last, play) if score else row(column(text, last, gap=0), play)
        inner.setStretch(0, 1)
        self.setLayout(inner)


def _running_jobs(now: RunSnapshot) -> list[tuple[str, str, float | None]]:
    """Return name, text and share done of the tournament and the training sessions that run."""
    lines: list[tuple[str, str, float | None]] = []
    if now.run is not None:
        done, name = now.run.progress, now.run.name
        lines.append((name, f"{done.played:,} of {done.total:,}, {done.text}", done.played / max(done.total, 1)))
    for session in now.training:
        at = session.progress
        left = f", {duration(at.seconds_left)} left" if at is not None and at.seconds_left is not None else ""
        text = "starting" if at is None else f"{at.text}{left}"
        lines.append((session.name, text, at.fraction if at is not None else None))
    return lines


def _chart_lines(curves: Sequence[RatingHistory]) -> list[ChartLine]:
    """Return the lines of the chart; only the leader's has an error band, because several would overlap."""
    lines = []
    for curve in curves:
        low = [rating - error for rating, error in zip(curve.ratings, curve.errors, strict=True)]
        high = [rating + error for rating, error in zip(curve.ratings, curve.errors, strict=True)]
        band = curve.place == 0
        line = ChartLine(curve.name, curve.tournaments, curve.ratings, low if band else None, high if band else None)
        lines.append(replace(line, colour=curve.place))
    return lines
