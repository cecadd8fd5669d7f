"""Key figures of an agent, its win/draw/loss bar and its tags."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from league_app.core.formatting import meetings, percent, plural
from league_app.gui import theme
from league_app.gui.widgets.basics import Card, column, label, row, tooltip_html


@dataclass(frozen=True)
class AgentFigures:
    """The results of an agent in one pool."""

    rating: float
    error: float
    rank: int
    rated: int  # agents with a rank
    score: float  # share of the possible points
    matches: int
    results: tuple[int, int, int]  # wins, draws, losses
    seats: int
    forfeits: Sequence[tuple[str, int]]  # by kind of ending


class Figure(QWidget):
    """A large number with a detail beside it and a caption below."""

    def __init__(self, caption: str) -> None:
        super().__init__()
        self.value, self.detail = label("", "title"), label("", "muted")
        self.setLayout(column(row(self.value, self.detail, 1, gap=4), label(caption, "caption"), gap=4))

    def show_value(self, value: str, aside: str = "") -> None:
        self.value.setText(value)
        self.detail.setText(aside)


class RecordBar(QWidget):
    """Wins, draws and losses as one stacked bar."""

    def __init__(self) -> None:
        super().__init__()
        self._counts = (0, 0, 0)
        self.setFixedHeight(8)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    def show_record(self, wins: int, draws: int, losses: int) -> None:
        self._counts = wins, draws, losses
        self.setAccessibleName(f"{wins} won, {draws} drawn, {losses} lost")
        self.update()

    def sizeHint(self) -> QSize:  # noqa: N802
        return QSize(140, 8)

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802
        painter, total, x = QPainter(self), sum(self._counts), 0.0
        painter.setPen(Qt.PenStyle.NoPen)
        if not total:
            painter.fillRect(self.rect(), theme.colour("hairline"))
        for count, role in zip(self._counts, ("good", "border", "bad"), strict=True):
            part = self.width() * count / total if total else 0.0
            if part:
                painter.fillRect(QRectF(x, 0, max(part - 1, 1), 8), theme.colour(role))
            x += part


class Dot(QWidget):
    """A circle in the colour of an agent."""

    def __init__(self, size: int = 14) -> None:
        super().__init__()
        self._colour = ""
        self.setFixedSize(size, size)

    def show_colour(self, colour: str) -> None:
        self._colour = colour
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802
        if self._colour:
            painter = QPainter(self)
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(QColor(f"#{self._colour}"))
            painter.drawEllipse(self.rect())


class KeyFigures(Card):
    """Rating, rank, score and record of an agent, or a sentence if it has not played."""

    def __init__(self) -> None:
        super().__init__(margin=16)
        self.rating, self.place, self.score = Figure("Rating"), Figure("Rank"), Figure("Score")
        self.bar, self.record, self.forfeits = RecordBar(), label(""), label("", "caption", wrap=True)
        self.no_matches = label("No matches under these rules yet.", "muted")
        self._known = QWidget()
        top = row(self.rating, self.place, self.score, gap=24)
        below = row(self.record, self.bar, gap=12)
        below.setStretch(1, 1)
        self._known.setLayout(column(top, below, self.forfeits, gap=12))
        self.body.addWidget(self._known)
        self.body.addWidget(self.no_matches)

    def show_figures(self, figures: AgentFigures | None) -> None:
        self._known.setVisible(figures is not None)
        self.no_matches.setVisible(figures is None)
        if figures is None:
            return
        wins, draws, losses = figures.results
        games = wins + draws + losses
        self.rating.show_value(f"{figures.rating:z.0f}", f"\u00b1{figures.error:.0f}")
        self.place.show_value(f"{figures.rank}", f"of {figures.rated}")
        self.score.show_value(percent(figures.score), f"of {plural(figures.matches, 'match')}")
        record = f"{wins:,} won, {draws:,} drawn, {losses:,} lost"
        self.record.setText(f"{plural(games, 'meeting')}: {record}" if figures.seats > 2 else record)
        self.record.setToolTip(tooltip_html(meetings(games, figures.seats) if figures.seats > 2 else ""))
        self.bar.show_record(wins, draws, losses)
        kinds = [f"{count:,} by {ending}" for ending, count in figures.forfeits]
        self.forfeits.setText(f"Forfeited: {', '.join(kinds)}")
        self.forfeits.setVisible(bool(kinds))


class Chips(QWidget):
    """Tags in a line; those that do not fit are counted."""

    def __init__(self) -> None:
        super().__init__()
        self._tags: tuple[str, ...] = ()
        self.setFixedHeight(22)
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)

    def show_tags(self, tags: tuple[str, ...]) -> None:
        self._tags = tags
        self.setVisible(bool(tags))
        self.setAccessibleName(f"Tags: {', '.join(tags)}")
        self.setToolTip(tooltip_html(", ".join(tags)))
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802
        painter, x = QPainter(self), 0.0
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setFont(theme.font("caption"))
        metrics = painter.fontMetrics()
        for number, tag in enumerate(self._tags):
            text = metrics.elidedText(tag, Qt.TextElideMode.ElideRight, 160)
            rest = len(self._tags) - number
            width = metrics.horizontalAdvance(text) + 16
            if x + width > self.width() - (40 if rest > 1 else 0):
                painter.setPen(theme.colour("muted"))
                painter.drawText(QRectF(x, 0, 60, 22), int(Qt.AlignmentFlag.AlignVCenter), f"+{rest}")
                return
            painter.setPen(theme.colour("border"))
            painter.setBrush(theme.colour("raised"))
            painter.drawRoundedRect(QRectF(x + 0.5, 0.5, width - 1, 21), 6, 6)
            painter.setPen(theme.colour("text"))
            painter.drawText(QRectF(x, 0, width, 22), int(Qt.AlignmentFlag.AlignCenter), text)
            x += width + 4
