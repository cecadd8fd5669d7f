"""A table cell with the players of a match: names and scores, the winner in bold with a check mark."""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QPainter
from PySide6.QtWidgets import QStyleOptionViewItem

from league_app.core.formatting import join_names, score_line
from league_app.gui import theme
from league_app.gui.widgets.table.delegates import CellDelegate, draw_elided

Index = QModelIndex | QPersistentModelIndex
DOT, GAP, MARK, BETWEEN = 8.0, 8.0, 14.0, 12.0


@dataclass(frozen=True)
class PlayerResult:
    name: str
    score: str
    colour: str  # RRGGBB
    won: bool


@dataclass(frozen=True)
class PlayersCell:
    seats: tuple[PlayerResult, ...]  # of more than two, the best first
    scored: bool = True  # whether the match has a score

    @property
    def text(self) -> str:
        """The cell as plain text."""
        if len(self.seats) == 2:
            first, second = self.seats
            text = f"{first.name} {first.score} : {second.score} {second.name}"
        else:
            text = ", ".join(f"{seat.name} {seat.score}" for seat in self.seats)
        winners = [seat.name for seat in self.seats if seat.won]
        return f"{text} ({join_names(winners)} won)" if winners else text


class PlayersDelegate(CellDelegate):
    """Two players as on a scoreboard, with the score between them; more players in a row."""

    def draw(self, painter: QPainter, rect: QRectF, value: object) -> None:
        assert isinstance(value, PlayersCell)
        if len(value.seats) != 2:
            self._draw_row(painter, rect, value)
            return
        first, second = value.seats
        score = score_line((first.score, second.score)) if value.scored else "\u2013"
        middle = max(QFontMetricsF(painter.font()).horizontalAdvance(score) + 2 * GAP, 56.0)
        side = (rect.width() - middle) / 2
        painter.setPen(theme.colour("text"))
        centre = QRectF(rect.left() + side, rect.top(), middle, rect.height())
        painter.drawText(centre, Qt.AlignmentFlag.AlignCenter, score)
        self._draw_player(painter, QRectF(rect.left(), rect.top(), side, rect.height()), first, right=True)
        self._draw_player(
            painter, QRectF(rect.left() + side + middle, rect.top(), side, rect.height()), second, right=False
        )

    def _draw_player(self, painter: QPainter, rect: QRectF, player: PlayerResult, right: bool) -> float:
        """Draws a colour dot, the name, and the check mark of a winner. Returns the width."""
        font = QFont(painter.font())
        if player.won:
            font.setWeight(QFont.Weight.DemiBold)
        room = rect.width() - DOT - GAP - MARK - 2
        if room < 10:
            return 0.0
        name_font, before = font, painter.font()
        painter.setFont(name_font)
        width = min(QFontMetricsF(name_font).horizontalAdvance(player.name) + 1, room)
        dot = rect.right() - DOT if right else rect.left()
        name = rect.right() - DOT - GAP - width if right else rect.left() + DOT + GAP
        draw_elided(painter, QRectF(name, rect.top(), width, rect.height()), player.name)
        painter.setFont(before)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(f"#{player.colour}"))
        painter.drawEllipse(QRectF(dot, rect.center().y() - DOT / 2, DOT, DOT))
        if player.won:
            x = name - MARK - 2 if right else name + width + 2
            pixmap = theme.pixmap("check", int(MARK), "good", painter.device().devicePixelRatio())
            painter.drawPixmap(QPointF(x, rect.center().y() - MARK / 2), pixmap)
        return DOT + GAP + width + (MARK + 2 if player.won else 0)

    def _draw_row(self, painter: QPainter, rect: QRectF, value: PlayersCell) -> None:
        """Draws as many players as fit, then the number of the others."""
        x, metrics = rect.left(), QFontMetricsF(painter.font())
        for index, player in enumerate(value.seats):
            shown = PlayerResult(f"{player.name} {player.score}", "", player.colour, player.won)
            left, room = len(value.seats) - index, rect.right() - x
            more = metrics.horizontalAdvance(f"+{left - 1}") + 2 + BETWEEN if left > 1 else 0.0
            mark = MARK + 2 if player.won else 0.0
            if index and metrics.horizontalAdvance(shown.name) + DOT + GAP + mark + 2 + more > room:
                painter.setPen(theme.colour("muted"))
                painter.drawText(QRectF(x, rect.top(), room, rect.height()), Qt.AlignmentFlag.AlignVCenter, f"+{left}")
                return
            box = QRectF(x, rect.top(), room - more + (0.0 if player.won else MARK), rect.height())
            x += self._draw_player(painter, box, shown, right=False) + BETWEEN

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:  # noqa: N802
        return QSize(300, 32)
