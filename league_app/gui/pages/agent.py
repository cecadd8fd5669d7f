"""One agent: who it is, how strong, against whom, where it comes from, and what it did last."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import QEvent, Qt, Slot
from PySide6.QtWidgets import QGridLayout, QScrollArea, QStackedWidget, QWidget

from engine.errors import UnknownName
from engine.play.live import LiveMatch
from engine.play.match import AgentSpec, GameSpec
from engine.registry import GAMES, KINDS
from league_app.core.queries import matches as looks
from league_app.gui.context import Desk
from league_app.gui.agent_actions import Handling
from league_app.core.queries.matches import Failed, Listed, Mean, Row
from league_app.gui.models.agents import opponent_columns
from league_app.gui.models.matches import MatchModel, failure_columns, full_time
from league_app.gui.widgets.table.model import Column, TableModel
from league_app.gui.history.matches import MatchTable
from league_app.gui.page import Page
from league_app.core.exhibitions import any_seed
from league_app.core.queries.agent_profile import Opponent, Portrait, portrait
from league_app.gui.dialogs.add_agents import PERSON
from league_app.gui.dialogs.choose_agent import PickSheet
from league_app.core.state import LeagueState
from league_app.gui.widgets.basics import Card, Elided, Empty, IconButton, breakable, button, column, label, plain, row
from league_app.gui.widgets.chart.chart import Chart, Line
from league_app.gui.widgets.agent_colours import colour_of
from league_app.gui.match.details import Pairs
from league_app.gui.widgets.lineage_tree import Family
from league_app.gui.widgets.key_figures import Chips, Dot, Figures
from league_app.gui.widgets.table.view import Table

NARROW = 900  # below this width cards stand below one another
TALLEST = 8  # rows of a table on this page before it scrolls


class AgentPage(Page):
    """Opened over the tabs; `show_what` is given an agent's id."""

    title = "Agent"
    icon = "agent"
    watches = frozenset({"agents", "matches", "tournaments"})

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk)
        self.agent = ""  # its id
        self._came: list[str] = []  # whose pages were open before
        self._shown: Portrait | None = None
        self.handling = Handling(desk, self)
        self._build_head()
        self._build_cards()
        inner = QWidget()
        inner.setLayout(column(self.about, self.figures, self.grid, 1, margin=16, gap=16))
        self.area = QScrollArea()
        self.area.setAccessibleName("About this agent")
        self.area.setWidgetResizable(True)
        self.area.setWidget(inner)
        self.area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        shown = QWidget()
        shown.setLayout(column(self.head, self.area, gap=0))
        self.empty = Empty("agent", "No agent is chosen.", "Show the standings", self._leave)
        self.stack = QStackedWidget()
        self.stack.addWidget(self.empty)
        self.stack.addWidget(shown)
        self.stack.addWidget(QWidget())  # while somebody is looked up
        self.setLayout(column(self.stack))

    # How it is built

    def _build_head(self) -> None:
        self.back = IconButton("chevron-left", "Back", self.go_back)
        self.dot, self.name = Dot(), Elided("", "title")
        self.play = button("Play against it", self.play_it, icon="human", primary=True)
        self.watch = button("Watch against...", self.watch_it, icon="live")
        self.edit = IconButton("edit", "Edit", self.edit_it)
        self.away = IconButton("archive", "Archive", self.archive_it)
        self.send = IconButton("export", "Export as an .agent file", self.export_it)
        bar = row(self.back, self.dot, self.name, self.play, self.watch, self.edit, self.away, self.send)
        bar.setStretch(2, 1)
        bar.setContentsMargins(16, 16, 16, 0)
        self.head = QWidget()
        self.head.setLayout(bar)

    def _build_cards(self) -> None:
        self.kind, self.notes = Elided("", "muted"), label("", wrap=True)
        self.tags, self.made, self.settings = Chips(), Elided("", "caption"), Pairs()
        self.about = Card(margin=16)
        self.about.body.setSpacing(8)
        for part in (self.kind, self.tags, self.notes, self.settings, self.made):
            self.about.body.addWidget(part)
        self.figures = Figures()
        self.chart = Chart("Rating over time", axis="date", empty="Its rating is drawn here once it has played.")
        self.chart.setMinimumHeight(220)
        self.course = Card("Rating over time")
        self.course.body.addWidget(self.chart)
        self.opponents = _Small(opponent_columns(), "opponents", lambda one: one.id, self.desk)
        self.statistics = _Small(_statistics(), "statistics", lambda one: one.name, self.desk)
        self.failures = _Small(failure_columns()[1:], "its failures", lambda one: one.ending, self.desk)
        self.model = MatchModel(self)
        self.matches = MatchTable(self.model, "its matches", self.desk)
        self.family = Family()
        self.cards = {
            "opponents": self._card("Score by opponent", self.opponents),
            "course": self.course,
            "statistics": self._card("Statistics per match", self.statistics),
            "family": self._card("Lineage", self.family),
            "matches": self._card("Last matches", self.matches, button("All", self.show_all, link=True)),
            "failures": self._card("Failures", self.failures, button("All", self.show_failures, link=True)),
        }
        self.grid = QWidget()
        for card in self.cards.values():
            card.setParent(self.grid)
        self._places = QGridLayout(self.grid)
        self._places.setContentsMargins(0, 0, 0, 0)
        self._places.setSpacing(16)
        self._columns = 0
        self.opponents.chosen.connect(self._open_opponent)
        self.matches.chosen.connect(self._open_match)
        self.failures.chosen.connect(self._open_failure)
        self.family.chosen.connect(self._open_kin)
        self.model.ordered.connect(self.refresh)

    def _card(self, title: str, inside: QWidget, *aside: QWidget) -> Card:
        made = Card(title, *aside)
        made.body.addWidget(inside)
        made.body.addStretch(1)
        return made

    def _arrange(self) -> None:
        """In two columns where there is room; wide tables across both."""
        columns = 2 if self.width() >= NARROW else 1
        shown = [name for name, card in self.cards.items() if not card.isHidden()]
        for card in self.cards.values():
            self._places.removeWidget(card)
        at, before = 0, self.grid
        for name in shown:
            wide = name == "matches" or columns == 1
            if wide and at % columns:  # the one before it has nobody at its side
                self._places.addWidget(before, at // columns, 0, 1, columns)
                at += 1
            before = self.cards[name]
            self._places.addWidget(before, at // columns, at % columns, 1, columns if wide else 1)
            at += columns if wide else 1
        for number in range(2):
            self._places.setColumnStretch(number, int(number < columns))
        self._columns = columns

    def changeEvent(self, event: QEvent) -> None:  # noqa: N802
        if event.type() == QEvent.Type.PaletteChange and self._shown is not None:
            self._take(self._shown)  # colours of those who have none of their own are the palette's
        super().changeEvent(event)

    def event(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Resize and (2 if self.width() >= NARROW else 1) != self._columns:
            self._arrange()
        return super().event(event)

    # What it shows

    def show_what(self, what: object) -> None:
        if isinstance(what, str) and what != self.agent:
            if self.agent:
                self._came.append(self.agent)
            self._turn_to(what)

    def _turn_to(self, agent: str) -> None:
        self.agent = agent
        self.area.verticalScrollBar().setValue(0)
        self.refresh()

    def refresh(self) -> None:
        desk = self.desk
        if desk.state is None or not self.agent:
            self.agent, self._came, self._shown = "", [], None
            self.stack.setCurrentIndex(0)
            return
        if self.stack.currentIndex() == 0:
            self.stack.setCurrentIndex(2)
        desk.reads.ask("agent's page", _Look(desk.league, desk.pool, self.agent), self._take, self._failed)

    def _failed(self, error: Exception) -> None:
        if isinstance(error, UnknownName):  # of another league
            self.agent = ""
            self.stack.setCurrentIndex(0)
        else:
            self.desk.failed.emit(error)

    def _take(self, found: Portrait) -> None:
        if found.agent.id != self.agent:
            return
        self._shown, agent = found, found.agent
        self.name.setText(agent.name)
        self.dot.show_colour(colour_of(agent.id, agent.colour))
        told = [
            agent.kind if agent.kind in KINDS.names() else f"{agent.kind}, not installed here: it cannot play",
            found.title,
            agent.origin,
            f"created {full_time(agent.created)[:16]}" if agent.created else "",
        ]
        if agent.archived is not None:
            told.append(f"archived {full_time(agent.archived)[:16]}")
        self.kind.setText(" \u00b7 ".join(one for one in told if one))
        self.notes.setText(breakable(agent.notes))
        self.notes.setVisible(bool(agent.notes))
        self.settings.set_rows(found.settings)
        self.settings.setVisible(bool(found.settings))
        made = f"made of {found.size:,} bytes"
        raw = "" if found.settings else " ".join(found.preview.split())
        self.made.setText(f"{made}: {raw}" if raw else made)
        self.tags.show_tags(agent.tags)
        self.figures.show_row(found.row, found.place, found.rated, found.seats)
        self._show_cards(found)
        self._enable(found)
        self.stack.setCurrentIndex(1)

    def _show_cards(self, found: Portrait) -> None:
        course, agent = found.course, found.agent
        self.course.heading.setText(course.title or "Rating over time")
        self.chart.set_axis("date" if course.dated else "number", "" if course.dated else "games")
        low = [y - error for y, error in zip(course.y, course.error, strict=False)] or None
        high = [y + error for y, error in zip(course.y, course.error, strict=False)] or None
        line = Line("", course.x, course.y, low, high, colour_of(agent.id, agent.colour))
        self.chart.set_lines([line] if course.x else [])
        self.opponents.show_rows(found.opponents)
        self.statistics.show_rows(found.statistics.means)
        count = found.statistics.matches
        self.cards["statistics"].heading.setText(f"Statistics, mean of the last {count:,} matches")
        self.model.take(found.matches)
        self.model.total = len(found.matches.rows)  # the rest is in the history
        self.matches.setFixedHeight(38 + 32 * min(len(found.matches.rows), 12))
        self.failures.show_rows(found.failures)
        self.family.show_kin(found.parents, found.children)
        for name, some in (
            ("course", found.row),
            ("opponents", found.opponents),
            ("statistics", found.statistics.means),
            ("family", found.parents or found.children),
            ("matches", found.matches.rows),
            ("failures", found.failures),
        ):
            self.cards[name].setVisible(bool(some))
        self._arrange()

    def _enable(self, found: Portrait) -> None:
        writable, archived = self.handling.writable, found.agent.archived is not None
        self.edit.setEnabled(writable)
        self.away.setEnabled(writable)
        self.away.set_icon("restore" if archived else "archive", "Restore" if archived else "Archive")
        can, able = PERSON in KINDS.names(), found.agent.kind in KINDS.names() and found.agent.game in GAMES
        self.play.setEnabled(can and able and found.agent.kind != PERSON)
        self.play.setToolTip(plain("" if can else "Nobody can play by hand: that kind of agent is not installed"))
        self.watch.setEnabled(able and found.agent.kind != PERSON)

    # What can be done

    @Slot()
    def go_back(self) -> None:
        """To whoever was shown before, else to the standings."""
        if self._came:
            self._turn_to(self._came.pop())
        else:
            self._leave()

    @Slot()
    def _leave(self) -> None:
        self.agent, self._came = "", []
        self.desk.show("standings", None)

    @Slot()
    def edit_it(self) -> None:
        self.handling.edit(self.agent, self.window())

    @Slot()
    def archive_it(self) -> None:
        if self._shown is not None:
            self.handling.archive([_listed(self._shown)])

    @Slot()
    def export_it(self) -> None:
        if self._shown is not None:
            self.handling.export([self.agent], self._shown.agent.name, self.window())

    @Slot()
    def play_it(self) -> None:
        if self._shown is not None:
            you = AgentSpec("You", PERSON, b"", KINDS.get(PERSON).version)
            self._exhibit(you)

    @Slot()
    def watch_it(self) -> None:
        if self._shown is not None:
            self.desk.ask("opponents", _Others(self._shown.game, self.agent), self._choose)

    def _choose(self, others: list[Listed]) -> None:
        if self._shown is None:
            return
        if not others:
            self.desk.say("There is nobody else who plays this game", "warn")
            return
        PickSheet(f"{self._shown.agent.name} against", "Watch", others, self._exhibit, self.window()).open()

    def _exhibit(self, other: str | AgentSpec) -> None:
        if self._shown is not None:
            asked = _Exhibit(self.desk.league, self._shown.game, (other, self.agent))
            self.desk.orders.ask("exhibit", asked, self._watch)

    def _watch(self, live: LiveMatch) -> None:
        self.desk.show("match", live)

    @Slot()
    def show_all(self) -> None:
        self.desk.show("history", {"agent": self.agent, "tab": "matches"})

    @Slot()
    def show_failures(self) -> None:
        self.desk.show("history", {"agent": self.agent, "tab": "failures"})

    @Slot(object)
    def _open_opponent(self, one: Opponent) -> None:
        self.desk.show("history", {"agent": self.agent, "opponent": one.id, "tab": "matches"})

    @Slot(object)
    def _open_match(self, one: Row) -> None:
        self.desk.show("match", looks.reference(one[0]))

    @Slot(object)
    def _open_failure(self, one: Failed) -> None:
        self.desk.show("match", looks.reference(one.number))

    @Slot(str)
    def _open_kin(self, id: str) -> None:
        self.desk.show("agent", id)


def _listed(found: Portrait) -> Listed:
    one = found.agent
    return Listed(one.id, one.name, one.game, one.kind, one.colour, one.archived is not None)


def _statistics() -> tuple[Column, ...]:
    return (
        Column("Statistic", lambda one: one.name.replace("_", " ").capitalize(), least=80, grow=2),
        Column("Own", lambda one: _figure(one.own), sort=lambda one: one.own, right=True, grow=1),
        Column("Opponents", lambda one: _figure(one.others), sort=lambda one: one.others, right=True, grow=1),
    )


def _figure(value: float) -> str:
    return f"{value:,.4g}".replace("-", "\N{MINUS SIGN}")


class _Small(Table):
    """As tall as what it holds, up to a point."""

    def __init__(self, columns: tuple[Column, ...], name: str, key: Any, desk: Desk) -> None:
        self._model = TableModel(columns, key)
        super().__init__(self._model, name, desk.settings)
        self._model.setParent(self)

    def show_rows(self, rows: tuple[Opponent, ...] | tuple[Mean, ...] | tuple[Failed, ...]) -> None:
        self._model.set_rows(rows)
        self.setFixedHeight(38 + 32 * min(max(len(rows), 1), TALLEST))


class _Look:
    def __init__(self, state: LeagueState, pool: GameSpec | None, agent: str) -> None:
        self._state, self._pool, self._agent = state, pool, agent

    def __call__(self) -> Portrait:
        return portrait(self._state, self._pool, self._agent)


class _Others:
    def __init__(self, game: GameSpec, agent: str) -> None:
        self._game, self._agent = game, agent

    def __call__(self, state: LeagueState) -> list[Listed]:
        found = looks.listed(state.league, self._game)
        return [one for one in found if not one.archived and one.id != self._agent and one.kind != PERSON]


class _Exhibit:
    """A match that counts for nothing, in a worker of its own."""

    def __init__(self, state: LeagueState, game: GameSpec, players: tuple[str | AgentSpec, ...]) -> None:
        self._state, self._game, self._players = state, game, players

    def __call__(self) -> LiveMatch:
        return self._state.exhibit(list(self._players), self._game, any_seed())
