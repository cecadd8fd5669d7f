"""The players of a match in a cell: names beside the score, the winner in bold and with a mark."""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QPainter
from PySide6.QtWidgets import QStyleOptionViewItem

from league_app.gui import theme
from league_app.gui.widgets.table.delegates import Cell, elided
from league_app.core.formatting import between, listed

Index = QModelIndex | QPersistentModelIndex
DOT, GAP, MARK, BETWEEN = 8.0, 8.0, 14.0, 12.0


@dataclass(frozen=True)
class Seated:
    name: str
    score: str
    colour: str  # RRGGBB
    won: bool


@dataclass(frozen=True)
class PlayersCell:
    seats: tuple[Seated, ...]  # of more than two, the best first
    counted: bool = True  # whether there is a score at all

    @property
    def text(self) -> str:
        """The same in words."""
        if len(self.seats) == 2:
            first, second = self.seats
            told = f"{first.name} {first.score} : {second.score} {second.name}"
        else:
            told = ", ".join(f"{one.name} {one.score}" for one in self.seats)
        winners = [one.name for one in self.seats if one.won]
        return f"{told} ({listed(winners)} won)" if winners else told


class PlayersPainter(Cell):
    """Two as on a scoreboard, with the score in the middle; more of them one after the other."""

    def draw(self, painter: QPainter, rect: QRectF, value: object) -> None:
        assert isinstance(value, PlayersCell)
        if len(value.seats) != 2:
            self._in_a_row(painter, rect, value)
            return
        first, second = value.seats
        score = between((first.score, second.score)) if value.counted else "\u2013"
        middle = max(QFontMetricsF(painter.font()).horizontalAdvance(score) + 2 * GAP, 56.0)
        side = (rect.width() - middle) / 2
        painter.setPen(theme.colour("text"))
        centre = QRectF(rect.left() + side, rect.top(), middle, rect.height())
        painter.drawText(centre, Qt.AlignmentFlag.AlignCenter, score)
        self._one(painter, QRectF(rect.left(), rect.top(), side, rect.height()), first, right=True)
        self._one(painter, QRectF(rect.left() + side + middle, rect.top(), side, rect.height()), second, right=False)

    def _one(self, painter: QPainter, rect: QRectF, one: Seated, right: bool) -> float:
        """A dot beside the score, the name, and the mark of the winner behind it; how wide it came out."""
        font = QFont(painter.font())
        if one.won:
            font.setWeight(QFont.Weight.DemiBold)
        room = rect.width() - DOT - GAP - MARK - 2
        if room < 10:
            return 0.0
        name_font, before = font, painter.font()
        painter.setFont(name_font)
        width = min(QFontMetricsF(name_font).horizontalAdvance(one.name) + 1, room)
        dot = rect.right() - DOT if right else rect.left()
        name = rect.right() - DOT - GAP - width if right else rect.left() + DOT + GAP
        elided(painter, QRectF(name, rect.top(), width, rect.height()), one.name)
        painter.setFont(before)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(f"#{one.colour}"))
        painter.drawEllipse(QRectF(dot, rect.center().y() - DOT / 2, DOT, DOT))
        if one.won:
            at = name - MARK - 2 if right else name + width + 2
            pixmap = theme.pixmap("check", int(MARK), "good", painter.device().devicePixelRatio())
            painter.drawPixmap(QPointF(at, rect.center().y() - MARK / 2), pixmap)
        return DOT + GAP + width + (MARK + 2 if one.won else 0)

    def _in_a_row(self, painter: QPainter, rect: QRectF, value: PlayersCell) -> None:
        """As many as there is room for, and how many more there are."""
        at, metrics = rect.left(), QFontMetricsF(painter.font())
        for place, one in enumerate(value.seats):
            shown = Seated(f"{one.name} {one.score}", "", one.colour, one.won)
            left, room = len(value.seats) - place, rect.right() - at
            more = metrics.horizontalAdvance(f"+{left - 1}") + 2 + BETWEEN if left > 1 else 0.0
            mark = MARK + 2 if one.won else 0.0
            if place and metrics.horizontalAdvance(shown.name) + DOT + GAP + mark + 2 + more > room:
                painter.setPen(theme.colour("muted"))
                painter.drawText(QRectF(at, rect.top(), room, rect.height()), Qt.AlignmentFlag.AlignVCenter, f"+{left}")
                return
            box = QRectF(at, rect.top(), room - more + (0.0 if one.won else MARK), rect.height())
            at += self._one(painter, box, shown, right=False) + BETWEEN

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:  # noqa: N802
        return QSize(300, 32)
