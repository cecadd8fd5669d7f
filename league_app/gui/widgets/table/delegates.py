"""What stands in a cell beside plain text: a rank, an agent, a rating with its interval, a record of wins, a bar."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QModelIndex, QObject, QPersistentModelIndex, QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFontMetrics, QPainter, QPolygonF
from PySide6.QtWidgets import QStyle, QStyledItemDelegate, QStyleOptionViewItem, QWidget

from league_app.gui import theme
from league_app.gui.widgets.table.model import VALUE
from league_app.core.formatting import compact

Index = QModelIndex | QPersistentModelIndex
PAD = 8
MARK = 14  # a warning
NOTE = 34  # what stands behind a number
NOTHING = "\u2013"  # an en dash: no figure yet
LINE = Qt.AlignmentFlag.AlignVCenter | Qt.TextFlag.TextSingleLine
LEFT, RIGHT = int(Qt.AlignmentFlag.AlignLeft | LINE), int(Qt.AlignmentFlag.AlignRight | LINE)


@dataclass(frozen=True)
class AgentCell:
    """A colour dot, a name, and the kind in a quieter voice."""

    name: str
    kind: str
    colour: str  # RRGGBB
    warned: bool = False  # a mark behind the name: the tooltip tells why


@dataclass(frozen=True)
class RankCell:
    """A place, and how many places somebody has just gone up, or down if below zero."""

    text: str
    moved: int = 0


@dataclass(frozen=True)
class ToneCell:
    """A text that means something: good, warn or bad; or muted."""

    text: str
    tone: str = "text"


@dataclass(frozen=True)
class FitCell:
    """The same number in several ways, the longest first: the first one that there is room for is shown."""

    texts: tuple[str, ...]
    tone: str = "text"


@dataclass(frozen=True)
class NotedCell:
    """A number, and how sure it is in a quieter voice."""

    text: str
    note: str


@dataclass(frozen=True)
class RatingCell:
    """A rating and its interval, on the scale of the whole table; `rating` None for somebody who has not played."""

    rating: float | None
    error: float
    low: float
    high: float


@dataclass(frozen=True)
class RecordCell:
    wins: int
    draws: int
    losses: int


@dataclass(frozen=True)
class BarCell:
    """A share from 0 to 1, with its text."""

    share: float
    text: str


class Cell(QStyledItemDelegate):
    """Paints the ground and the hairline; what is on it is another's."""

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        painter.save()
        rect = QRectF(option.rect)
        if option.state & QStyle.StateFlag.State_Selected:
            painter.fillRect(rect, theme.colour("selection"))
        painter.fillRect(QRectF(rect.left(), rect.bottom() - 1, rect.width(), 1), theme.colour("hairline"))
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setFont(option.font)
        value = index.data(VALUE)
        if value is not None:
            self.draw(painter, rect.adjusted(PAD, 0, -PAD, -1), value)
        painter.restore()

    def draw(self, painter: QPainter, rect: QRectF, value: object) -> None:
        raise NotImplementedError


def elided(painter: QPainter, rect: QRectF, text: str, role: str = "text", right: bool = False) -> float:
    """Draws one line, shortened where there is no room; how wide it came out."""
    metrics = painter.fontMetrics()
    width, room = metrics.horizontalAdvance(text), int(rect.width())
    if width > room:
        text = metrics.elidedText(text, Qt.TextElideMode.ElideRight, room)
        width = metrics.horizontalAdvance(text)
    painter.setPen(theme.colour(role))
    painter.drawText(rect, RIGHT if right else LEFT, text)
    return float(width)


class RankPainter(Cell):
    """The place at the right; before it for a while an arrow with the places gained or lost."""

    def draw(self, painter: QPainter, rect: QRectF, value: object) -> None:
        assert isinstance(value, RankCell)
        width = elided(painter, rect, value.text, right=True)
        if not value.moved or rect.width() < width + 19:
            return
        middle, size = rect.center().y(), 3.5 if value.moved > 0 else -3.5
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(theme.colour("good" if value.moved > 0 else "bad"))
        left = rect.left()
        points = ((left, middle + size), (left + 7, middle + size), (left + 3.5, middle - size))
        painter.drawPolygon(QPolygonF([QPointF(x, y) for x, y in points]))
        painter.setFont(theme.font("caption"))
        elided(painter, rect.adjusted(9, 0, 0, 0), str(abs(value.moved)), "muted")

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:  # noqa: N802
        return QSize(44, 32)


class TonePainter(Cell):
    def draw(self, painter: QPainter, rect: QRectF, value: object) -> None:
        assert isinstance(value, ToneCell)
        elided(painter, rect, value.text, value.tone, right=True)

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:  # noqa: N802
        value = index.data(VALUE)
        text = value.text if isinstance(value, ToneCell) else ""
        return QSize(QFontMetrics(option.font).horizontalAdvance(text) + 2 * PAD, 32)


class FitPainter(Cell):
    def draw(self, painter: QPainter, rect: QRectF, value: object) -> None:
        assert isinstance(value, FitCell)
        elided(painter, rect, fitting(painter.fontMetrics(), value.texts, rect.width()), value.tone, right=True)

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:  # noqa: N802
        value = index.data(VALUE)
        text = value.texts[0] if isinstance(value, FitCell) else ""
        return QSize(QFontMetrics(option.font).horizontalAdvance(text) + 2 * PAD, 32)


def fitting(metrics: QFontMetrics, texts: Sequence[str], room: float) -> str:
    return next((text for text in texts if metrics.horizontalAdvance(text) <= room), texts[-1])


class NotedPainter(Cell):
    def draw(self, painter: QPainter, rect: QRectF, value: object) -> None:
        assert isinstance(value, NotedCell)
        elided(painter, rect.adjusted(0, 0, -NOTE - 4, 0), value.text, right=True)
        painter.setFont(theme.font("caption"))
        elided(painter, QRectF(rect.right() - NOTE, rect.top(), NOTE, rect.height()), value.note, "muted")

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:  # noqa: N802
        value = index.data(VALUE)
        text = value.text if isinstance(value, NotedCell) else ""
        return QSize(QFontMetrics(option.font).horizontalAdvance(text) + 4 + NOTE + 2 * PAD, 32)


class AgentPainter(Cell):
    def draw(self, painter: QPainter, rect: QRectF, value: object) -> None:
        assert isinstance(value, AgentCell)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(f"#{value.colour}"))
        painter.drawEllipse(QRectF(rect.left(), rect.center().y() - 4, 8, 8))
        rest = rect.adjusted(16, 0, 0, 0)
        width = elided(painter, rest.adjusted(0, 0, -MARK - 4 if value.warned else 0, 0), value.name)
        if value.warned:
            mark = theme.pixmap("failure", MARK, "warn", painter.device().devicePixelRatio())
            painter.drawPixmap(QPointF(rest.left() + width + 4, rect.center().y() - MARK / 2), mark)
            width += MARK + 4
        left = rest.adjusted(width + 8, 0, 0, 0)
        if left.width() > 30:
            painter.setFont(theme.font("caption"))
            elided(painter, left, value.kind, "muted")

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:  # noqa: N802
        value = index.data(VALUE)
        if not isinstance(value, AgentCell):
            return QSize(120, 32)
        width = QFontMetrics(option.font).horizontalAdvance(value.name)
        width += MARK + 4 if value.warned else 0
        return QSize(width + QFontMetrics(theme.font("caption")).horizontalAdvance(value.kind) + 16 + 24 + 8, 32)


class RatingPainter(Cell):
    """The number, then a dot with its interval as a small bar."""

    def draw(self, painter: QPainter, rect: QRectF, value: object) -> None:
        assert isinstance(value, RatingCell)
        if value.rating is None:
            elided(painter, QRectF(rect.left(), rect.top(), 36, rect.height()), NOTHING, "muted", right=True)
            return
        digits = 1 if value.high < 200 else 0  # skills of other models are smaller than Elo
        elided(painter, QRectF(rect.left(), rect.top(), 38, rect.height()), f"{value.rating:z.{digits}f}", right=True)
        painter.setFont(theme.font("caption"))
        elided(painter, QRectF(rect.left() + 42, rect.top(), 36, rect.height()), f"±{value.error:.{digits}f}", "muted")
        room = QRectF(rect.left() + 78, rect.top(), max(rect.width() - 78, 0), rect.height())
        if room.width() < 24 or value.high <= value.low:
            return
        unit, middle = room.width() / (value.high - value.low), rect.center().y()
        left = room.left() + (value.rating - value.error - value.low) * unit
        right = room.left() + (value.rating + value.error - value.low) * unit
        left, right = max(left, room.left()), min(right, room.right())
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(theme.colour("hairline"))
        painter.drawRoundedRect(QRectF(room.left(), middle - 1, room.width(), 2), 1, 1)
        painter.setBrush(theme.colour("accent", 0.45))
        painter.drawRoundedRect(QRectF(left, middle - 3, max(right - left, 2), 6), 3, 3)
        painter.setBrush(theme.colour("accent"))
        at = room.left() + (value.rating - value.low) * unit
        painter.drawEllipse(QRectF(at - 3.5, middle - 3.5, 7, 7))

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:  # noqa: N802
        return QSize(230, 32)


class RecordPainter(Cell):
    """Wins, draws and losses as one stacked bar, with the numbers."""

    def draw(self, painter: QPainter, rect: QRectF, value: object) -> None:
        assert isinstance(value, RecordCell)
        total = value.wins + value.draws + value.losses
        wide = min(max(min(rect.width() - 98, rect.width() * 0.45), 24), 140)  # the same in all rows
        room = QRectF(rect.left(), rect.top(), wide, rect.height())
        painter.setFont(theme.font("caption"))
        counts = value.wins, value.draws, value.losses
        ways = (" / ".join(f"{one:,}" for one in counts), " / ".join(map(compact, counts)))
        text = fitting(painter.fontMetrics(), ways, rect.width() - wide - 8) if total else NOTHING
        elided(painter, rect.adjusted(room.width() + 8, 0, 0, 0) if total else rect, text, "muted")
        if not total:
            return
        x, top = room.left(), rect.center().y() - 4
        painter.setPen(Qt.PenStyle.NoPen)
        for count, role in ((value.wins, "good"), (value.draws, "border"), (value.losses, "bad")):
            part = room.width() * count / total
            if part > 0:
                painter.setBrush(theme.colour(role))
                painter.drawRect(QRectF(x, top, max(part - 1, 1), 8))
                x += part

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:  # noqa: N802
        return QSize(210, 32)


class BarPainter(Cell):
    def draw(self, painter: QPainter, rect: QRectF, value: object) -> None:
        assert isinstance(value, BarCell)
        elided(painter, QRectF(rect.left(), rect.top(), 44, rect.height()), value.text, right=True)
        room = QRectF(rect.left() + 52, rect.center().y() - 3, max(rect.width() - 52, 0), 6)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(theme.colour("hairline"))
        painter.drawRoundedRect(room, 3, 3)
        painter.setBrush(theme.colour("accent"))
        painter.drawRoundedRect(QRectF(room.left(), room.top(), room.width() * min(max(value.share, 0), 1), 6), 3, 3)

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:  # noqa: N802
        return QSize(160, 32)


PAINTERS = {
    "rank": RankPainter,
    "agent": AgentPainter,
    "rating": RatingPainter,
    "record": RecordPainter,
    "bar": BarPainter,
    "tone": TonePainter,
    "fit": FitPainter,
    "noted": NotedPainter,
}


def delegate(name: str, parent: QObject | QWidget) -> QStyledItemDelegate | None:
    return PAINTERS[name](parent) if name else None
