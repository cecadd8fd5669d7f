"""The Agent page: settings, rating, opponents, lineage and latest matches of one agent."""

from __future__ import annotations

from functools import partial
from typing import Any

from PySide6.QtCore import QEvent, QSize, Qt, Slot
from PySide6.QtWidgets import QGridLayout, QScrollArea, QStackedWidget, QWidget

from engine.errors import UnknownName
from engine.play.live import LiveMatch
from engine.play.match import AgentSpec, GameSpec
from engine.registry import GAMES, KINDS, is_live
from league_app.core.exhibitions import random_seed
from league_app.core.formatting import plural
from league_app.core.queries import matches
from league_app.core.queries.agent_profile import AgentProfile, OpponentRecord, load_profile
from league_app.core.queries.agents import AgentRow, Mean, agent_rows
from league_app.core.queries.matches import FailureRow, Row
from league_app.core.state import LeagueState
from league_app.gui.agent_actions import AgentActions
from league_app.gui.context import AppContext
from league_app.gui.dialogs.choose_agent import ChooseAgentDialog
from league_app.gui.history.matches import MatchTable
from league_app.gui.match.details import KeyValueList
from league_app.gui.models.agents import agent_figures, opponent_columns
from league_app.gui.models.matches import MatchModel, failure_columns, full_time
from league_app.gui.page import Page
from league_app.gui.training.thumbnail import Thumbnail
from league_app.gui.widgets.agent_colours import colour_of
from league_app.gui.widgets.basics import (
    Card,
    ElidedLabel,
    EmptyState,
    IconButton,
    breakable,
    button,
    column,
    label,
    row,
    tooltip_html,
)
from league_app.gui.widgets.chart.chart import Chart, ChartLine
from league_app.gui.widgets.key_figures import Chips, Dot, KeyFigures
from league_app.gui.widgets.lineage_tree import LineageTree
from league_app.gui.widgets.table.model import TableColumn, TableModel
from league_app.gui.widgets.table.view import TableView

PICTURE = QSize(300, 130)  # pixels
NARROW = 900  # pixels; a narrower page has one column of cards
TALLEST = 8  # rows of a table before it scrolls


class AgentPage(Page):
    """Opened over the tabs; `show_what` takes the id of an agent."""

    guide = "agents"
    title = "Agent"
    icon = "agent"
    watches = frozenset({"agents", "matches", "tournaments"})

    def __init__(self, context: AppContext) -> None:
        super().__init__(context)
        self.agent = ""  # its id
        self._previous: list[str] = []  # ids of agents shown before
        self._shown: AgentProfile | None = None
        self.agent_actions = AgentActions(context, self)
        self._build_head()
        self._build_cards()
        inner = QWidget()
        inner.setLayout(column(self.about, self.figures, self.grid, 1, margin=16, gap=16))
        self.area = QScrollArea()
        self.area.setAccessibleName("Agent")
        self.area.setWidgetResizable(True)
        self.area.setWidget(inner)
        self.area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        shown = QWidget()
        shown.setLayout(column(self.head, self.area, gap=0))
        self.empty = EmptyState("agent", "No agent is selected.", "Show the standings", self._leave)
        self.stack = QStackedWidget()
        self.stack.addWidget(self.empty)
        self.stack.addWidget(shown)
        self.stack.addWidget(QWidget())  # while the agent is being loaded
        self.setLayout(column(self.stack))

    # Parts

    def _build_head(self) -> None:
        self.back = IconButton("chevron-left", "Back", self.go_back)
        self.dot, self.name = Dot(), ElidedLabel("", "title")
        self.play = button("Play against it", self.play_against, icon="human", primary=True)
        self.watch = button("Watch against...", self.watch_against, icon="live")
        self.edit = IconButton("edit", "Edit", self.edit_agent)
        self.archive = IconButton("archive", "Archive", self.archive_agent)
        self.export = IconButton("export", "Export as .agent file", self.export_agent)
        bar = row(self.back, self.dot, self.name, self.play, self.watch, self.edit, self.archive, self.export)
        bar.setStretch(2, 1)
        bar.setContentsMargins(16, 16, 16, 0)
        self.head = QWidget()
        self.head.setLayout(bar)

    def _build_cards(self) -> None:
        self.kind, self.notes = ElidedLabel("", "muted"), label("", wrap=True)
        self.tags, self.payload, self.facts = Chips(), ElidedLabel("", "caption"), KeyValueList()
        self.picture = Thumbnail(size=PICTURE)
        self.about = Card(margin=16)
        self.about.body.setSpacing(8)
        texts = column(self.kind, self.tags, self.notes, self.facts, self.payload, 1, gap=8)
        self.about.body.addLayout(row(texts, self.picture, gap=16))
        self.figures = KeyFigures()
        self.chart = Chart("Rating over time", axis="date", empty="The rating appears here after the first tournament.")
        self.chart.setMinimumHeight(220)
        self.course = Card("Rating over time")
        self.course.body.addWidget(self.chart)
        self.opponents = _SmallTable(opponent_columns(), "opponents", lambda opponent: opponent.id, self.context)
        self.statistics = _SmallTable(_statistics(), "statistics", lambda mean: mean.name, self.context)
        self.failures = _SmallTable(
            failure_columns()[1:], "failures of the agent", lambda failure: failure.ending, self.context
        )
        self.model = MatchModel(self)
        self.matches = MatchTable(self.model, "matches of the agent", self.context)
        self.family = LineageTree()
        self.cards = {
            "opponents": self._card("Results by opponent", self.opponents),
            "course": self.course,
            "statistics": self._card("Statistics per match", self.statistics),
            "family": self._card("Lineage", self.family),
            "matches": self._card("Recent matches", self.matches, button("All", self.show_all, link=True)),
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
        self.model.order_changed.connect(self.refresh)

    def _card(self, title: str, content: QWidget, *buttons: QWidget) -> Card:
        card = Card(title, *buttons)
        card.body.addWidget(content)
        card.body.addStretch(1)
        return card

    def _arrange(self) -> None:
        """Put the cards in two columns if the page is wide enough; the table of matches spans both."""
        columns = 2 if self.width() >= NARROW else 1
        shown = [name for name, card in self.cards.items() if not card.isHidden()]
        for card in self.cards.values():
            self._places.removeWidget(card)
        at, before = 0, self.grid
        for name in shown:
            wide = name == "matches" or columns == 1
            if wide and at % columns:  # the card before stands alone in its row
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
            self._show(self._shown)  # agents without a colour of their own have one of the palette
        super().changeEvent(event)

    def event(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Resize and (2 if self.width() >= NARROW else 1) != self._columns:
            self._arrange()
        return super().event(event)

    # Showing

    def show_item(self, what: object) -> None:
        if isinstance(what, str) and what != self.agent:
            if self.agent:
                self._previous.append(self.agent)
            self._open(what)

    def _open(self, agent: str) -> None:
        self.agent = agent
        self.area.verticalScrollBar().setValue(0)
        self.refresh()

    def refresh(self) -> None:
        context = self.context
        if context.state is None or not self.agent:
            self.agent, self._previous, self._shown = "", [], None
            self.stack.setCurrentIndex(0)
            return
        if self.stack.currentIndex() == 0:
            self.stack.setCurrentIndex(2)
        load = partial(load_profile, context.league, context.pool, self.agent)
        context.read_queue.submit("agent's page", load, self._show, self._on_load_failed)

    def _on_load_failed(self, error: Exception) -> None:
        if isinstance(error, UnknownName):  # an agent of another league
            self.agent = ""
            self.stack.setCurrentIndex(0)
        else:
            self.context.failed.emit(error)

    def _show(self, profile: AgentProfile) -> None:
        if profile.agent.id != self.agent:
            return
        self._shown, agent = profile, profile.agent
        self.name.setText(agent.name)
        self.dot.show_colour(colour_of(agent.id, agent.colour))
        facts = [
            agent.kind if agent.kind in KINDS.names() else f"{agent.kind} (not installed: cannot play)",
            profile.title,
            agent.origin,
            f"created {full_time(agent.created)[:16]}" if agent.created else "",
        ]
        if agent.archived is not None:
            facts.append(f"archived {full_time(agent.archived)[:16]}")
        self.kind.setText(" \u00b7 ".join(fact for fact in facts if fact))
        self.notes.setText(breakable(agent.notes))
        self.notes.setVisible(bool(agent.notes))
        self.facts.set_rows(profile.facts)
        self.facts.setVisible(bool(profile.facts))
        self.picture.show_player("", profile.diagram)
        self.picture.setVisible(profile.diagram is not None)
        size = f"Payload: {profile.size:,} bytes"
        payload = "" if profile.facts else " ".join(profile.preview.split())
        self.payload.setText(f"{size}: {payload}" if payload else size)
        self.tags.show_tags(agent.tags)
        row = profile.row
        self.figures.show_figures(agent_figures(row, profile.place, profile.rated, profile.seats) if row else None)
        self._show_cards(profile)
        self._enable(profile)
        self.stack.setCurrentIndex(1)

    def _show_cards(self, profile: AgentProfile) -> None:
        course, agent = profile.rating_curve, profile.agent
        self.course.heading.setText(course.title or "Rating over time")
        self.chart.set_axis("date" if course.dated else "number", "" if course.dated else "games")
        low = [y - error for y, error in zip(course.y, course.error, strict=False)] or None
        high = [y + error for y, error in zip(course.y, course.error, strict=False)] or None
        line = ChartLine("", course.x, course.y, low, high, colour_of(agent.id, agent.colour))
        self.chart.set_lines([line] if course.x else [])
        self.opponents.show_rows(profile.opponents)
        self.statistics.show_rows(profile.statistics.means)
        count = profile.statistics.matches
        self.cards["statistics"].heading.setText(f"Statistics, mean of the last {plural(count, 'match')}")
        self.model.add_result(profile.matches)
        self.model.total = len(profile.matches.rows)  # the rest is in the history
        self.matches.setFixedHeight(38 + 32 * min(len(profile.matches.rows), 12))
        self.failures.show_rows(profile.failures)
        self.family.show_lineage(profile.parents, profile.children)
        for name, content in (
            ("course", profile.row),
            ("opponents", profile.opponents),
            ("statistics", profile.statistics.means),
            ("family", profile.parents or profile.children),
            ("matches", profile.matches.rows),
            ("failures", profile.failures),
        ):
            self.cards[name].setVisible(bool(content))
        self._arrange()

    def _enable(self, profile: AgentProfile) -> None:
        writable, archived = self.agent_actions.writable, profile.agent.archived is not None
        self.edit.setEnabled(writable)
        self.archive.setEnabled(writable)
        self.archive.set_icon("restore" if archived else "archive", "Restore" if archived else "Archive")
        kind, person = profile.agent.kind, profile.person
        playable = kind in KINDS.names() and profile.agent.game in GAMES and not is_live(kind)
        self.play.setEnabled(person is not None and playable)
        missing = person is None and profile.agent.game in GAMES
        tip = "No agent kind for human players of this game is installed" if missing else ""
        self.play.setToolTip(tooltip_html(tip))
        self.watch.setEnabled(playable)

    # Commands

    @Slot()
    def go_back(self) -> None:
        """Show the agent that was shown before, otherwise the standings."""
        if self._previous:
            self._open(self._previous.pop())
        else:
            self._leave()

    @Slot()
    def _leave(self) -> None:
        self.agent, self._previous = "", []
        self.context.navigate("standings", None)

    @Slot()
    def edit_agent(self) -> None:
        self.agent_actions.edit(self.agent, self.window())

    @Slot()
    def archive_agent(self) -> None:
        if self._shown is not None:
            self.agent_actions.archive([_agent_row(self._shown)])

    @Slot()
    def export_agent(self) -> None:
        if self._shown is not None:
            self.agent_actions.export([_agent_row(self._shown)], self.window())

    @Slot()
    def play_against(self) -> None:
        if self._shown is not None and self._shown.person is not None:
            self._exhibit(AgentSpec("You", self._shown.person.name, b"", self._shown.person.version))

    @Slot()
    def watch_against(self) -> None:
        if self._shown is not None:
            load = partial(_load_opponents, game=self._shown.game, agent=self.agent)
            self.context.ask("opponents", load, self._choose_opponent)

    def _choose_opponent(self, others: list[AgentRow]) -> None:
        if self._shown is None:
            return
        if not others:
            self.context.notify("No other agent plays this game", "warn")
            return
        ChooseAgentDialog(f"{self._shown.agent.name} against", "Watch", others, self._exhibit, self.window()).open()

    def _exhibit(self, other: str | AgentSpec) -> None:
        """Start an unrated match against this agent or player."""
        if self._shown is not None:
            start = partial(self.context.league.exhibit, [other, self.agent], self._shown.game, random_seed())
            self.context.command_queue.run(start, self._watch)

    def _watch(self, live: LiveMatch) -> None:
        self.context.navigate("match", live)

    @Slot()
    def show_all(self) -> None:
        self.context.navigate("history", {"agent": self.agent, "tab": "matches"})

    @Slot()
    def show_failures(self) -> None:
        self.context.navigate("history", {"agent": self.agent, "tab": "failures"})

    @Slot(object)
    def _open_opponent(self, opponent: OpponentRecord) -> None:
        self.context.navigate("history", {"agent": self.agent, "opponent": opponent.id, "tab": "matches"})

    @Slot(object)
    def _open_match(self, row: Row) -> None:
        self.context.navigate("match", matches.reference(row[0]))

    @Slot(object)
    def _open_failure(self, failure: FailureRow) -> None:
        self.context.navigate("match", matches.reference(failure.number))

    @Slot(str)
    def _open_kin(self, id: str) -> None:
        self.context.navigate("agent", id)


def _agent_row(profile: AgentProfile) -> AgentRow:
    agent = profile.agent
    return AgentRow(agent.id, agent.name, agent.game, agent.kind, agent.colour, agent.archived is not None)


def _statistics() -> tuple[TableColumn, ...]:
    return (
        TableColumn(
            "statistic", "Statistic", lambda mean: mean.name.replace("_", " ").capitalize(), min_width=80, grow=2
        ),
        TableColumn("own", "Own", lambda mean: _figure(mean.own), sort=lambda mean: mean.own, right=True, grow=1),
        TableColumn(
            "opponents",
            "Opponents",
            lambda mean: _figure(mean.others),
            sort=lambda mean: mean.others,
            right=True,
            grow=1,
        ),
    )


def _figure(value: float) -> str:
    return f"{value:,.4g}".replace("-", "\N{MINUS SIGN}")


class _SmallTable(TableView):
    """As tall as its rows, up to TALLEST of them."""

    def __init__(self, columns: tuple[TableColumn, ...], name: str, key: Any, context: AppContext) -> None:
        self._model = TableModel(columns, key)
        super().__init__(self._model, name, context.settings)
        self._model.setParent(self)

    def show_rows(self, rows: tuple[OpponentRecord, ...] | tuple[Mean, ...] | tuple[FailureRow, ...]) -> None:
        self._model.set_rows(rows)
        self.setFixedHeight(38 + 32 * min(max(len(rows), 1), TALLEST))


def _load_opponents(state: LeagueState, game: GameSpec, agent: str) -> list[AgentRow]:
    """Return the active agents of the game that are no human players, without `agent`."""
    rows = agent_rows(state.league, game)
    return [row for row in rows if not row.archived and row.id != agent and not is_live(row.kind)]
