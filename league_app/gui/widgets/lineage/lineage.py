"""The lineage widget: the individuals of a search from left to right, their parents, and the ancestors of one."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from PySide6.QtCore import QEvent, QPointF, QRectF, QSize, Qt, Signal, Slot
from PySide6.QtGui import (
    QFocusEvent,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
    QPixmap,
    QResizeEvent,
    QWheelEvent,
)
from PySide6.QtWidgets import QAbstractScrollArea, QFrame

from league_app.gui import theme
from league_app.gui.widgets.basics import EmptyState
from league_app.gui.widgets.lineage.dots import Layout, Lineage, layout
from league_app.gui.widgets.lineage.picture import (
    AXIS,
    CROWN,
    LEGEND,
    MARGIN,
    Highlight,
    draw_all,
    draw_axis,
    draw_facts,
    draw_highlight,
    draw_legend,
    draw_marks,
    radii,
)
from league_app.gui.widgets.visible_time import VisibleTime

REACH = 8  # pixels from a dot at which the mouse still finds it
ZOOM = 1.25  # for one step of the wheel
FEWEST = 4  # columns that can be seen at once, at least
SCROLL = 100  # steps of the scroll bar for one column


class LineageWidget(QAbstractScrollArea):
    """`selected` is emitted with the number of a dot that was clicked or reached by an arrow key. Ctrl and the wheel
    zoom, Shift and the wheel scroll, a double click beside all dots shows everything."""

    selected = Signal(int)

    def __init__(
        self, name: str = "Lineage", empty: str = "No individuals yet", member: str = "member", icon: str = "dna"
    ) -> None:
        super().__init__()
        self._lineage, self._chosen, self._under = (
            Lineage(),
            -1,
            -1,
        )  # places of the chosen dot and that under the mouse
        self._highlight: Highlight | None = None
        self.visible_columns = VisibleTime()
        self._member, self._placing = member, False
        self._layout: Layout = layout(self._lineage, 0, 0, 1, 1)
        self._picture, self._ground, self._key = QPixmap(), QPixmap(), tuple[object, ...]()
        self._by_keyboard = False
        self.drawn = 0  # how often all dots were drawn
        self.empty = EmptyState(icon, empty)
        self.empty.setParent(self.viewport())
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setAccessibleName(name)
        self.viewport().setMouseTracking(True)
        self.viewport().setAutoFillBackground(False)
        self.setMinimumSize(240, 140)

    def sizeHint(self) -> QSize:  # noqa: N802
        return QSize(640, 240)

    # Content

    @property
    def lineage(self) -> Lineage:
        return self._lineage

    @property
    def chosen(self) -> int | None:
        """The number of the chosen dot."""
        return self._lineage.dots[self._chosen].number if self._chosen >= 0 else None

    @property
    def highlighted(self) -> set[int]:
        """The numbers of the chosen dot and its ancestors."""
        shown = self._highlight
        return (
            {self._lineage.dots[place].number for place in np.flatnonzero(shown.lineage)}
            if shown is not None
            else set()
        )

    def set_lineage(self, lineage: Lineage) -> None:
        """Replaces all dots. The chosen one stays, and so does the visible part, unless it is everything."""
        chosen, count = self.chosen, len(lineage.labels)
        shown = self.visible_columns
        newest = not shown.whole and shown.right >= shown.last  # then the newest column stays in sight
        self._lineage, self._under = lineage, -1
        self.empty.setVisible(not lineage.dots)
        shown.set_follow(newest)
        shown.set_extent(0.0, float(max(count, 1)))
        shown.set_follow(False)
        self._highlight, self._chosen = None, -1
        self.choose(chosen)
        self._arrange()

    def set_empty(self, sentence: str) -> None:
        self.empty.sentence.setText(sentence)

    def choose(self, number: int | None) -> None:
        """Highlights the ancestors of this dot; emits nothing."""
        place = self._lineage.places.get(number, -1) if number is not None else -1
        if place != self._chosen or (place >= 0 and self._highlight is None):
            self._chosen, self._by_keyboard = place, False
            self._highlight = Highlight(place, self._lineage.lineage_of(place)) if place >= 0 else None
        self.setAccessibleDescription(self.description(place))
        self.viewport().update()

    def description(self, place: int) -> str:
        """A dot as a text."""
        if place < 0:
            return ""
        number = self._lineage.dots[place].number
        return ", ".join([f"{number}", *(f"{name} {value}" for name, value in self._lineage.describe(number) if value)])

    # The visible part

    @Slot()
    def show_all(self) -> None:
        self.visible_columns.show_all()
        self._arrange()

    def zoom(self, factor: float, at: float | None = None) -> None:
        """Shows fewer columns if `factor` is above 1; the column `at` stays in its place."""
        shown = self.visible_columns
        factor = min(factor, max(shown.seconds / FEWEST, 1.0))
        shown.zoom(factor, at)
        self._arrange()

    def scroll_by(self, share: float) -> None:
        self.visible_columns.move(share)
        self._arrange()

    @property
    def _area(self) -> QRectF:
        """Of the dots."""
        top, size = LEGEND + CROWN, self.viewport().size()
        return QRectF(MARGIN, top, max(size.width() - 2 * MARGIN, 1), max(size.height() - top - AXIS, 1))

    def _arrange(self) -> None:
        """Places the dots and the scroll bar."""
        shown, area = self.visible_columns, self._area
        self._placing = True
        bar, page = self.horizontalScrollBar(), round(shown.seconds * SCROLL)
        bar.setRange(0, 0 if shown.whole else round(shown.last * SCROLL) - page)
        bar.setPageStep(max(page, 1))
        bar.setSingleStep(SCROLL)
        bar.setValue(round(shown.left * SCROLL))
        self._placing = False
        column = area.width() / shown.seconds
        self._layout = layout(self._lineage, area.left() - shown.left * column, area.top(), column, area.height())
        self.viewport().update()

    def scrollContentsBy(self, dx: int, dy: int) -> None:  # noqa: N802
        if dx and not self._placing:
            left = self.horizontalScrollBar().value() / SCROLL
            self.visible_columns.show(left, left + self.visible_columns.seconds)
            self._arrange()

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802
        super().resizeEvent(event)
        self.empty.setGeometry(self.viewport().rect())
        self._arrange()

    def _column_at(self, x: float) -> float:
        return self.visible_columns.left + (x - self._area.left()) / self._layout.column

    def point(self, number: int) -> QPointF:
        """Where the dot with this number is."""
        place = self._lineage.places[number]
        return QPointF(self._layout.x[place], self._layout.y[place])

    # Mouse

    def _at(self, at: QPointF) -> int:
        found = self._layout.nearest(at.x(), at.y(), max(self._layout.radius, REACH))
        return found if found is not None else -1

    def mouseMoveEvent(self, event: QMouseEvent) -> None:  # noqa: N802
        place = self._at(event.position())
        if place != self._under or self._by_keyboard:
            self._under, self._by_keyboard = place, False
            self.viewport().update()

    def mousePressEvent(self, event: QMouseEvent) -> None:  # noqa: N802
        place = self._at(event.position())
        if event.button() == Qt.MouseButton.LeftButton and place >= 0:
            self._select(place)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:  # noqa: N802
        event.accept()  # it belongs to the press

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:  # noqa: N802
        if self._at(event.position()) < 0:
            self.show_all()

    def leaveEvent(self, event: QEvent) -> None:  # noqa: N802
        super().leaveEvent(event)
        self._under = -1
        self.viewport().update()

    def wheelEvent(self, event: QWheelEvent) -> None:  # noqa: N802
        """A wheel alone scrolls what the widget is in."""
        moved, keys = event.angleDelta(), event.modifiers()
        if keys & Qt.KeyboardModifier.ControlModifier and moved.y():
            self.zoom(ZOOM ** (moved.y() / 120), self._column_at(event.position().x()))
        elif keys & Qt.KeyboardModifier.ShiftModifier or abs(moved.x()) > abs(moved.y()):
            self.scroll_by(-(moved.x() or moved.y()) / 1200)
        else:
            event.ignore()
            return
        event.accept()

    def _select(self, place: int) -> None:
        if place != self._chosen:
            number = self._lineage.dots[place].number
            self.choose(number)
            self.selected.emit(number)

    # Keyboard

    def keyPressEvent(self, event: QKeyEvent) -> None:  # noqa: N802
        key, keys = event.key(), Qt.Key
        steps: dict[int, Callable[[], int]] = {
            keys.Key_Left: lambda: self._beside(-1),
            keys.Key_Right: lambda: self._beside(1),
            keys.Key_Up: lambda: self._below(-1),
            keys.Key_Down: lambda: self._below(1),
            keys.Key_Home: lambda: self._lineage.best if self._lineage.best is not None else self._chosen,
        }
        if not self._lineage.dots:
            super().keyPressEvent(event)
        elif key in steps:
            place = steps[key]() if self._chosen >= 0 else max(self._lineage.best or 0, 0)
            self._select(place)
            self._by_keyboard, self._under = True, -1
            self._bring_into_view(place)
        elif key in (keys.Key_Plus, keys.Key_Equal, keys.Key_Minus):
            at = float(self._lineage.columns[self._chosen]) + 0.5 if self._chosen >= 0 else None
            self.zoom(1 / ZOOM if key == keys.Key_Minus else ZOOM, at)
        elif key == keys.Key_0:
            self.show_all()
        else:
            super().keyPressEvent(event)

    def _beside(self, by: int) -> int:
        """The dot of the next or previous column at about the same height."""
        lineage, column = self._lineage, int(self._lineage.columns[self._chosen]) + by
        if not 0 <= column < len(lineage.labels):
            return self._chosen
        found = np.flatnonzero(lineage.columns == column)
        return int(found[np.abs(self._layout.y[found] - self._layout.y[self._chosen]).argmin()])

    def _below(self, by: int) -> int:
        """The next or previous dot of the same column, from the best to the last."""
        lineage, chosen = self._lineage, self._chosen
        found = np.flatnonzero(
            (lineage.columns == lineage.columns[chosen]) & (lineage.order == lineage.order[chosen] + by)
        )
        return int(found[0]) if len(found) else chosen

    def _bring_into_view(self, place: int) -> None:
        shown, column = self.visible_columns, float(self._lineage.columns[place])
        if column < shown.left:
            shown.show(column, column + shown.seconds)
        elif column + 1 > shown.right:
            shown.show(column + 1 - shown.seconds, column + 1)
        self._arrange()

    def focusInEvent(self, event: QFocusEvent) -> None:  # noqa: N802
        super().focusInEvent(event)
        self.viewport().update()

    def focusOutEvent(self, event: QFocusEvent) -> None:  # noqa: N802
        super().focusOutEvent(event)
        self._by_keyboard = False
        self.viewport().update()

    # Painting

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802
        painter, area = QPainter(self.viewport()), QRectF(self.viewport().rect())
        painter.fillRect(area, theme.colour("surface"))
        if self._lineage.dots:
            painter.drawPixmap(0, 0, self._content())
            self._draw_described(painter, area)
        if self.hasFocus():
            painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.setPen(QPen(theme.colour("accent"), 1))
            painter.drawRect(self.viewport().rect().adjusted(0, 0, -1, -1))

    def _content(self) -> QPixmap:
        """The cached picture without the highlight. Dots are cached separately, because the selection changes more
        often."""
        size, ratio, left = self.viewport().size(), self.devicePixelRatioF(), self.visible_columns.left
        key = (self._lineage, self._layout, size.toTuple(), ratio, theme.current())
        if (*key, self._chosen) == self._key:
            return self._picture
        area = self._area
        whole = QRectF(0, LEGEND, size.width(), size.height() - LEGEND - AXIS)
        if key != self._key[:-1]:
            self.drawn += 1
            self._ground = QPixmap(round(size.width() * ratio), round(size.height() * ratio))
            self._ground.setDevicePixelRatio(ratio)
            self._ground.fill(theme.colour("surface"))
            painter = QPainter(self._ground)
            draw_legend(painter, self._lineage, size.width(), self._member)
            axis, column = QRectF(0, 0, size.width(), area.bottom()), self._layout.column
            draw_axis(painter, self._lineage.labels, axis, area.left() - left * column, column)
            draw_all(painter, self._lineage, self._layout, whole)
            painter.end()
        self._key, self._picture = (*key, self._chosen), self._ground.copy()
        painter = QPainter(self._picture)
        if self._highlight is not None:
            draw_highlight(painter, self._lineage, self._layout, whole, self._highlight)
        draw_marks(painter, self._lineage, self._layout, whole, self._chosen if self._chosen >= 0 else None)
        painter.end()
        return self._picture

    def _draw_described(self, painter: QPainter, area: QRectF) -> None:
        """The dot under the mouse, or that chosen by the keyboard, with its description."""
        place = self._chosen if self._by_keyboard else self._under
        if place < 0:
            return
        number, at = self._lineage.dots[place].number, QPointF(self._layout.x[place], self._layout.y[place])
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.setPen(QPen(theme.colour("text"), 1.5))
        radius = float(radii(self._lineage, self._layout)[place]) + 2
        painter.drawEllipse(at, radius, radius)
        draw_facts(painter, at, area, f"#{number}", self._lineage.describe(number))
