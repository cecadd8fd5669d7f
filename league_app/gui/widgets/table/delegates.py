"""Cells and their delegates: rank, agent, rating with interval, win/draw/loss record, bar and others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QModelIndex, QObject, QPersistentModelIndex, QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFont, QFontMetrics, QPainter, QPolygonF
from PySide6.QtWidgets import QStyle, QStyledItemDelegate, QStyleOptionViewItem, QWidget

from league_app.core.formatting import compact
from league_app.gui import theme
from league_app.gui.widgets.table.model import VALUE

Index = QModelIndex | QPersistentModelIndex
PAD = 8
MARK_SIZE = 14  # pixels, of the warning icon
NOTE_WIDTH = 34  # pixels, of the note after a number
NOTHING = "\u2013"  # an en dash: no figure yet
LINE = Qt.AlignmentFlag.AlignVCenter | Qt.TextFlag.TextSingleLine
LEFT, RIGHT = int(Qt.AlignmentFlag.AlignLeft | LINE), int(Qt.AlignmentFlag.AlignRight | LINE)


@dataclass(frozen=True)
class AgentCell:
    """A colour dot, a name, and the kind in muted text."""

    name: str
    kind: str
    colour: str  # RRGGBB
    warned: bool = False  # a warning icon after the name; the tooltip has the reason


@dataclass(frozen=True)
class RankCell:
    """A rank, and the number of places just gained; negative if lost."""

    text: str
    moved: int = 0


@dataclass(frozen=True)
class ToneCell:
    """A text in the colour of its tone: good, warn, bad or muted."""

    text: str
    tone: str = "text"


@dataclass(frozen=True)
class FitCell:
    """Texts for the same number, longest first; the first that fits is shown."""

    texts: tuple[str, ...]
    tone: str = "text"


@dataclass(frozen=True)
class NotedCell:
    """A number, and its uncertainty in muted text."""

    text: str
    note: str


@dataclass(frozen=True)
class RatingCell:
    """A rating and its interval, on the scale of the whole table; `rating` is None for an unrated agent."""

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
class MarkedCell:
    """A text that may be bold and have an icon before it."""

    text: str
    icon: str = ""
    tone: str = "text"
    bold: bool = False
    right: bool = False


@dataclass(frozen=True)
class BarCell:
    """A share from 0 to 1, with its text."""

    share: float
    text: str


class CellDelegate(QStyledItemDelegate):
    """Paints the background and the hairline; subclasses draw the value."""

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


def draw_elided(painter: QPainter, rect: QRectF, text: str, role: str = "text", right: bool = False) -> float:
    """Draws one line of text, elided to fit. Returns its width."""
    metrics = painter.fontMetrics()
    width, room = metrics.horizontalAdvance(text), int(rect.width())
    if width > room:
        text = metrics.elidedText(text, Qt.TextElideMode.ElideRight, room)
        width = metrics.horizontalAdvance(text)
    painter.setPen(theme.colour(role))
    painter.drawText(rect, RIGHT if right else LEFT, text)
    return float(width)


class RankDelegate(CellDelegate):
    """The rank at the right; at the left an arrow with the places gained or lost."""

    def draw(self, painter: QPainter, rect: QRectF, value: object) -> None:
        assert isinstance(value, RankCell)
        width = draw_elided(painter, rect, value.text, right=True)
        if not value.moved or rect.width() < width + 19:
            return
        middle, size = rect.center().y(), 3.5 if value.moved > 0 else -3.5
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(theme.colour("good" if value.moved > 0 else "bad"))
        left = rect.left()
        points = ((left, middle + size), (left + 7, middle + size), (left + 3.5, middle - size))
        painter.drawPolygon(QPolygonF([QPointF(x, y) for x, y in points]))
        painter.setFont(theme.font("caption"))
        draw_elided(painter, rect.adjusted(9, 0, 0, 0), str(abs(value.moved)), "muted")

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:  # noqa: N802
        return QSize(44, 32)


class ToneDelegate(CellDelegate):
    def draw(self, painter: QPainter, rect: QRectF, value: object) -> None:
        assert isinstance(value, ToneCell)
        draw_elided(painter, rect, value.text, value.tone, right=True)

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:  # noqa: N802
        value = index.data(VALUE)
        text = value.text if isinstance(value, ToneCell) else ""
        return QSize(QFontMetrics(option.font).horizontalAdvance(text) + 2 * PAD, 32)


class FitDelegate(CellDelegate):
    def draw(self, painter: QPainter, rect: QRectF, value: object) -> None:
        assert isinstance(value, FitCell)
        draw_elided(
            painter, rect, first_fitting(painter.fontMetrics(), value.texts, rect.width()), value.tone, right=True
        )

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:  # noqa: N802
        value = index.data(VALUE)
        text = value.texts[0] if isinstance(value, FitCell) else ""
        return QSize(QFontMetrics(option.font).horizontalAdvance(text) + 2 * PAD, 32)


def first_fitting(metrics: QFontMetrics, texts: Sequence[str], room: float) -> str:
    return next((text for text in texts if metrics.horizontalAdvance(text) <= room), texts[-1])


class NotedDelegate(CellDelegate):
    def draw(self, painter: QPainter, rect: QRectF, value: object) -> None:
        assert isinstance(value, NotedCell)
        draw_elided(painter, rect.adjusted(0, 0, -NOTE_WIDTH - 4, 0), value.text, right=True)
        painter.setFont(theme.font("caption"))
        draw_elided(
            painter, QRectF(rect.right() - NOTE_WIDTH, rect.top(), NOTE_WIDTH, rect.height()), value.note, "muted"
        )

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:  # noqa: N802
        value = index.data(VALUE)
        text = value.text if isinstance(value, NotedCell) else ""
        return QSize(QFontMetrics(option.font).horizontalAdvance(text) + 4 + NOTE_WIDTH + 2 * PAD, 32)


class AgentDelegate(CellDelegate):
    def draw(self, painter: QPainter, rect: QRectF, value: object) -> None:
        assert isinstance(value, AgentCell)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(f"#{value.colour}"))
        painter.drawEllipse(QRectF(rect.left(), rect.center().y() - 4, 8, 8))
        rest = rect.adjusted(16, 0, 0, 0)
        width = draw_elided(painter, rest.adjusted(0, 0, -MARK_SIZE - 4 if value.warned else 0, 0), value.name)
        if value.warned:
            mark = theme.pixmap("failure", MARK_SIZE, "warn", painter.device().devicePixelRatio())
            painter.drawPixmap(QPointF(rest.left() + width + 4, rect.center().y() - MARK_SIZE / 2), mark)
            width += MARK_SIZE + 4
        left = rest.adjusted(width + 8, 0, 0, 0)
        if left.width() > 30:
            painter.setFont(theme.font("caption"))
            draw_elided(painter, left, value.kind, "muted")

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:  # noqa: N802
        value = index.data(VALUE)
        if not isinstance(value, AgentCell):
            return QSize(120, 32)
        width = QFontMetrics(option.font).horizontalAdvance(value.name)
        width += MARK_SIZE + 4 if value.warned else 0
        return QSize(width + QFontMetrics(theme.font("caption")).horizontalAdvance(value.kind) + 16 + 24 + 8, 32)


class RatingDelegate(CellDelegate):
    """The number, then a dot on a bar for the interval."""

    def draw(self, painter: QPainter, rect: QRectF, value: object) -> None:
        assert isinstance(value, RatingCell)
        if value.rating is None:
            draw_elided(painter, QRectF(rect.left(), rect.top(), 36, rect.height()), NOTHING, "muted", right=True)
            return
        digits = 1 if value.high < 200 else 0  # ratings of multiplayer models are smaller than Elo
        draw_elided(
            painter, QRectF(rect.left(), rect.top(), 38, rect.height()), f"{value.rating:z.{digits}f}", right=True
        )
        painter.setFont(theme.font("caption"))
        draw_elided(
            painter, QRectF(rect.left() + 42, rect.top(), 36, rect.height()), f"±{value.error:.{digits}f}", "muted"
        )
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


class RecordDelegate(CellDelegate):
    """Wins, draws and losses as one stacked bar, with the numbers."""

    def draw(self, painter: QPainter, rect: QRectF, value: object) -> None:
        assert isinstance(value, RecordCell)
        total = value.wins + value.draws + value.losses
        wide = min(max(min(rect.width() - 98, rect.width() * 0.45), 24), 140)  # the same in all rows
        room = QRectF(rect.left(), rect.top(), wide, rect.height())
        painter.setFont(theme.font("caption"))
        counts = value.wins, value.draws, value.losses
        texts = (" / ".join(f"{count:,}" for count in counts), " / ".join(map(compact, counts)))
        text = first_fitting(painter.fontMetrics(), texts, rect.width() - wide - 8) if total else NOTHING
        draw_elided(painter, rect.adjusted(room.width() + 8, 0, 0, 0) if total else rect, text, "muted")
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


class BarDelegate(CellDelegate):
    def draw(self, painter: QPainter, rect: QRectF, value: object) -> None:
        assert isinstance(value, BarCell)
        draw_elided(painter, QRectF(rect.left(), rect.top(), 44, rect.height()), value.text, right=True)
        room = QRectF(rect.left() + 52, rect.center().y() - 3, max(rect.width() - 52, 0), 6)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(theme.colour("hairline"))
        painter.drawRoundedRect(room, 3, 3)
        painter.setBrush(theme.colour("accent"))
        painter.drawRoundedRect(QRectF(room.left(), room.top(), room.width() * min(max(value.share, 0), 1), 6), 3, 3)

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:  # noqa: N802
        return QSize(160, 32)


class MarkedDelegate(CellDelegate):
    def draw(self, painter: QPainter, rect: QRectF, value: object) -> None:
        assert isinstance(value, MarkedCell)
        if value.bold:
            painter.setFont(_bold())
        room = rect.adjusted(MARK_SIZE + 4 if value.icon else 0, 0, 0, 0)
        width = draw_elided(painter, room, value.text, value.tone, value.right)
        if value.icon:
            left = rect.right() - width - 4 - MARK_SIZE if value.right else rect.left()
            mark = theme.pixmap(value.icon, MARK_SIZE, value.tone, painter.device().devicePixelRatio())
            painter.drawPixmap(QPointF(left, rect.center().y() - MARK_SIZE / 2), mark)

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:  # noqa: N802
        value = index.data(VALUE)
        if not isinstance(value, MarkedCell):
            return QSize(2 * PAD, 32)
        metrics = QFontMetrics(_bold() if value.bold else option.font)
        return QSize(metrics.horizontalAdvance(value.text) + (MARK_SIZE + 4 if value.icon else 0) + 2 * PAD, 32)


def _bold() -> QFont:
    font = theme.font()
    font.setWeight(QFont.Weight.DemiBold)
    return font


DELEGATES = {
    "rank": RankDelegate,
    "agent": AgentDelegate,
    "rating": RatingDelegate,
    "record": RecordDelegate,
    "bar": BarDelegate,
    "tone": ToneDelegate,
    "fit": FitDelegate,
    "noted": NotedDelegate,
    "marked": MarkedDelegate,
}


def create_delegate(name: str, parent: QObject | QWidget) -> QStyledItemDelegate | None:
    return DELEGATES[name](parent) if name else None
