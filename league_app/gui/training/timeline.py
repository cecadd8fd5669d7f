"""The Timeline tab of a training session: what its processes do at what time."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from PySide6.QtCore import Signal, Slot
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QCheckBox, QWidget

from engine.errors import RingsideError
from league_app.core.formatting import error_text, plural
from league_app.core.queries.sessions import SessionSummary
from league_app.core.queries.timelines import has_timeline, load_new_spans
from league_app.core.state import LeagueState
from league_app.gui.context import AppContext
from league_app.gui.widgets.basics import Card, ElidedLabel, button, column, row, tooltip_html
from league_app.gui.widgets.file_dialogs import save_file
from league_app.gui.widgets.timeline.spans import TimelineSpans
from league_app.gui.widgets.timeline.timeline import NO_DATA, TimelineWidget

LOADING = "Loading the timeline..."


@dataclass(frozen=True, eq=False)
class LoadedTimeline:
    """The spans of a session that were read so far."""

    session: int = 0
    found: bool = False  # it has spans
    spans: TimelineSpans = TimelineSpans()  # noqa: RUF009 - frozen
    last: int = 0  # batch
    more: bool = True  # there may be spans that were not read
    error: str = ""


def load_timeline(known: LoadedTimeline, began: float, shown: bool, state: LeagueState) -> LoadedTimeline:
    """Adds new spans, if they are shown. Their times are relative to when the session began."""
    if not shown:
        return replace(known, found=has_timeline(known.session, state))
    try:
        new = load_new_spans(known.session, known.last, state)
    except RingsideError as error:  # shown in place of the timeline: a dialog would come up with every refresh
        return replace(known, found=True, error=error_text(error), more=False)
    if not new.spans:
        return replace(known, more=False, error="")
    spans = known.spans.added((span.track, span.name, span.start - began, span.seconds) for span in new.spans)
    return replace(known, found=True, spans=spans.prepare(), last=new.last, more=new.more, error="")


class SessionTimeline(QWidget):
    """Reads the spans of the selected session while it is visible, and only new ones."""

    found = Signal(bool)  # whether the session has spans

    def __init__(self, context: AppContext) -> None:
        super().__init__()
        self._context = context
        self._session: SessionSummary | None = None
        self._known, self._waiting = LoadedTimeline(), False
        self.timeline = TimelineWidget("Timeline of the session")
        self.follow = QCheckBox("Follow")
        self.follow.setToolTip(tooltip_html("Keep the newest spans in view while the session runs"))
        self.follow.toggled.connect(self.timeline.set_follow)
        self.timeline.follow_changed.connect(self.follow.setChecked)
        self.all_button = button(
            "Show all", self.timeline.show_all, tip="Show the whole time (Home, or a double click)"
        )
        self.export_button = button(
            "Export trace...", self.choose_file, icon="export", tip="Save as a Chrome trace, which Perfetto opens"
        )
        self.count = ElidedLabel("", "caption")
        bar = row(self.follow, self.all_button, self.count, self.export_button)
        bar.setStretch(2, 1)
        card = Card(margin=4)
        card.body.addWidget(self.timeline)
        self.setLayout(column(bar, card, gap=8))
        context.opened.connect(self._on_league_opened)

    @Slot()
    def _on_league_opened(self) -> None:
        self._session, self._known, self._waiting = None, LoadedTimeline(), False
        self._show(self._known)

    def show_session(self, summary: SessionSummary) -> None:
        """Shows this session, with what is new."""
        changed = self._session is None or self._session.number != summary.number
        self._session = summary
        self.follow.setVisible(summary.running)
        if changed:
            self._known = LoadedTimeline(summary.number)
            self.timeline.set_empty(LOADING)
            self.timeline.set_spans(self._known.spans)
            self.timeline.show_all()
            self.follow.setChecked(summary.running)
        self._load()

    def showEvent(self, event: QShowEvent) -> None:  # noqa: N802
        super().showEvent(event)
        self._load()

    def _load(self) -> None:
        """Asks one query at a time: a newer one would discard the answer to the one before."""
        session, known = self._session, self._known
        if session is None or self._context.state is None or self._waiting:
            return
        if known.found and not self.isVisible():
            return
        self._waiting = True
        query = partial(load_timeline, known, session.session.created, self.isVisible())
        self._context.ask("training/timeline", query, self._on_loaded)

    def _on_loaded(self, loaded: object) -> None:
        assert isinstance(loaded, LoadedTimeline)
        self._waiting = False
        if self._session is None or loaded.session != self._session.number:
            self._load()
            return
        self._show(loaded)
        if loaded.more and self.isVisible():
            self._load()

    def _show(self, loaded: LoadedTimeline) -> None:
        changed = loaded.spans is not self._known.spans
        self._known = loaded
        if changed:
            self.timeline.set_spans(loaded.spans)
        self.timeline.set_empty(loaded.error or (LOADING if loaded.more else NO_DATA))
        self.count.setText(plural(loaded.spans.count, "span") if loaded.spans.count else "")
        for control in (self.export_button, self.all_button):
            control.setEnabled(loaded.found)
        self.found.emit(loaded.found)

    # Export

    def choose_file(self) -> None:
        name = f"session-{self._known.session}.json"
        save_file(self, "Export the timeline as a Chrome trace", self.save, "Chrome traces (*.json)", name)

    @Slot(str)
    def save(self, path: str) -> None:
        state = self._context.state
        if state is not None:
            self._context.slow_queue.run(partial(export_trace, state, self._known.session, path), self._on_saved)

    def _on_saved(self, path: object) -> None:
        assert isinstance(path, Path)
        self._context.notify(f"Saved {path.name}: ui.perfetto.dev opens it", "good")


def export_trace(state: LeagueState, number: int, path: str) -> Path:
    """Writes all spans of a session as a Chrome trace."""
    from league_app.core.chrome_trace import write_trace

    sessions = state.training.sessions
    return write_trace(
        sessions.spans(number), sessions.session(number).name, path, overwrite=True
    )  # the dialog has asked
