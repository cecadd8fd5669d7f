"""The timeline widget: one row of bars for each track over a common time axis, or an empty state."""

from __future__ import annotations

from dataclasses import dataclass, replace

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

from league_app.core.formatting import chance
from league_app.gui import theme
from league_app.gui.widgets.basics import EmptyState
from league_app.gui.widgets.timeline.picture import (
    AXIS,
    GAP,
    MARGIN,
    NARROW,
    TimelineRow,
    TimelineView,
    draw_axis,
    draw_box,
    draw_row,
    rows_of,
)
from league_app.gui.widgets.timeline.spans import Description, Lane, TimelineSpans, describe_range, describe_span
from league_app.gui.widgets.visible_time import VisibleTime

SCROLL = 1_000_000  # steps of the horizontal scroll bar for all spans
DRAG = 6  # pixels that the mouse must move to choose a range
ZOOM = 1.25  # for one step of the wheel
NO_DATA = "No timeline data yet"


@dataclass(frozen=True)
class BarPlace:
    """A span, or what is under the mouse."""

    row: int
    lane: int
    index: int | None  # of the span; None if several are narrower than a pixel
    time: float


class TimelineWidget(QAbstractScrollArea):
    """The wheel and a drag zoom, Shift and the wheel scroll, a double click shows everything. Arrow keys go from span
    to span and from track to track. With `follow`, the view moves with the newest span."""

    follow_changed = Signal(bool)

    def __init__(self, name: str = "Timeline", empty: str = NO_DATA, icon: str = "clock") -> None:
        super().__init__()
        self._spans, self.visible_time, self._follow = TimelineSpans(), VisibleTime(), False
        self._rows: list[TimelineRow] = []
        self._place: BarPlace | None = None
        self._pressed: QPointF | None = None  # where a drag began
        self._mouse: QPointF | None = None
        self._picture, self._key = QPixmap(), tuple[object, ...]()
        self._placing = False  # the scroll bars are being set
        self.drawn = 0  # how often the bars were drawn
        self.empty = EmptyState(icon, empty)
        self.empty.setParent(self.viewport())
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setAccessibleName(name)
        self.viewport().setMouseTracking(True)
        self.viewport().setAutoFillBackground(False)
        self.setMinimumSize(240, 140)

    def sizeHint(self) -> QSize:  # noqa: N802
        return QSize(640, 320)

    # Content

    @property
    def spans(self) -> TimelineSpans:
        return self._spans

    def set_spans(self, spans: TimelineSpans) -> None:
        """Replaces all spans. The visible range stays where it is, unless it is everything or follows."""
        place, track = self._place, self._rows[self._place.row].track.name if self._place is not None else ""
        self._spans, self._place = spans, None
        self.empty.setVisible(not spans.tracks)
        self.visible_time.set_extent(*spans.extent)
        self._arrange()
        if self._mouse is not None:
            self._place = self._place_at(self._mouse)
        elif place is not None:
            self._place = self._find(track, place)
        texts = (f"{row.track.name}: {', '.join(self._shares(row))}" for row in self._rows)
        self.setAccessibleDescription("; ".join(texts))

    def _shares(self, row: TimelineRow) -> list[str]:
        shares = row.track.shares(*self._spans.extent)
        return [f"{self._spans.names[name]} {chance(share)}" for name, share in shares.items()]

    def _find(self, track: str, place: BarPlace) -> BarPlace | None:
        """The span that was chosen before, among others."""
        for number, row in enumerate(self._rows):
            if row.track.name == track and place.lane < len(row.bars):
                index = row.track.lanes[place.lane].at(place.time)
                return BarPlace(number, place.lane, index, place.time) if index is not None else None
        return None

    def set_empty(self, sentence: str) -> None:
        self.empty.sentence.setText(sentence)

    # The visible range

    @property
    def view(self) -> TimelineView:
        shown = self.visible_time
        return TimelineView(shown.left, shown.right, MARGIN, max(self.viewport().width() - 2 * MARGIN, 1))

    @Slot(bool)
    def set_follow(self, on: bool) -> None:
        """Shows the newest span, now and when spans are added."""
        self.visible_time.set_follow(on)
        self._on_moved()

    @Slot()
    def show_all(self) -> None:
        self.visible_time.show_all()
        self._on_moved()

    def show_range(self, left: float, right: float) -> None:
        """Shows these seconds."""
        self.visible_time.show(left, right)
        self._on_moved()

    def zoom(self, factor: float, at: float | None = None) -> None:
        """Shows less time if `factor` is above 1; `at` stays in its place."""
        self.visible_time.zoom(factor, at)
        self._on_moved()

    def scroll_by(self, share: float) -> None:
        """Moves by a share of the visible seconds."""
        self.visible_time.move(share)
        self._on_moved()

    def _on_moved(self) -> None:
        self._arrange()
        if self._mouse is not None:
            self._place = self._place_at(self._mouse)
        if self.visible_time.follow != self._follow:
            self._follow = self.visible_time.follow
            self.follow_changed.emit(self._follow)

    # Geometry

    def _arrange(self) -> None:
        """Places the rows and the scroll bars."""
        room, shown = self.viewport().height() - AXIS, self.visible_time
        self._rows = rows_of(self._spans, room)
        self._placing = True
        across, down = self.horizontalScrollBar(), self.verticalScrollBar()
        page = round(shown.seconds / (shown.last - shown.first) * SCROLL)
        across.setRange(0, 0 if shown.whole else SCROLL - page)
        across.setPageStep(page)
        across.setSingleStep(max(page // 10, 1))
        across.setValue(round((shown.left - shown.first) / (shown.last - shown.first) * SCROLL))
        height = self._rows[-1].top + self._rows[-1].height + GAP if self._rows else 0
        down.setRange(0, max(round(height - room), 0))
        down.setPageStep(max(room, 1))
        down.setSingleStep(20)
        self._placing = False
        self.viewport().update()

    def scrollContentsBy(self, dx: int, dy: int) -> None:  # noqa: N802
        if dx and not self._placing:
            shown = self.visible_time
            left = shown.first + self.horizontalScrollBar().value() / SCROLL * (shown.last - shown.first)
            self.show_range(left, left + shown.seconds)
        self.viewport().update()

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802
        super().resizeEvent(event)
        self.empty.setGeometry(self.viewport().rect())
        self._arrange()

    def _lane(self, place: BarPlace) -> Lane:
        return self._rows[place.row].track.lanes[place.lane]

    def _place_at(self, at: QPointF) -> BarPlace | None:
        y, view = at.y() - AXIS + self.verticalScrollBar().value(), self.view
        if at.y() < AXIS or not view.x <= at.x() <= view.x + view.width:
            return None
        for number, row in enumerate(self._rows):
            lane = row.lane_at(y)
            if lane is not None:
                time, least = view.to_time(at.x()), self._least
                index = row.track.lanes[lane].at(time)
                bars = row.track.lanes[lane]
                wide = index is not None and bars.ends[index] - bars.starts[index] >= least
                return BarPlace(number, lane, index if wide else None, time)
        return None

    @property
    def _least(self) -> float:
        """Seconds of the shortest span that has a bar of its own."""
        return NARROW / self.devicePixelRatioF() / self.view.width * self.view.seconds

    def description(self) -> Description | None:
        """What is under the mouse, or chosen by the keyboard."""
        place = self._place
        if place is None:
            return None
        if place.index is not None:
            return describe_span(self._spans.names, self._lane(place), place.index)
        half = self._least / 2
        return describe_range(self._spans.names, self._lane(place), place.time - half, place.time + half)

    # Mouse

    def mouseMoveEvent(self, event: QMouseEvent) -> None:  # noqa: N802
        self._mouse = event.position()
        self._place = self._place_at(self._mouse)
        self.viewport().update()

    def mousePressEvent(self, event: QMouseEvent) -> None:  # noqa: N802
        if event.button() == Qt.MouseButton.LeftButton and self._spans.tracks:
            self._pressed = event.position()

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:  # noqa: N802
        pressed, self._pressed = self._pressed, None
        if pressed is not None and abs(event.position().x() - pressed.x()) >= DRAG:
            ends = sorted(self.view.to_time(x) for x in (pressed.x(), event.position().x()))
            self.show_range(max(ends[0], self.view.left), min(ends[1], self.view.right))
        self.viewport().update()

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:  # noqa: N802
        self._pressed = None
        self.show_all()

    def leaveEvent(self, event: QEvent) -> None:  # noqa: N802
        super().leaveEvent(event)
        self._place = self._mouse = None
        self.viewport().update()

    def wheelEvent(self, event: QWheelEvent) -> None:  # noqa: N802
        moved, shift = event.angleDelta(), bool(event.modifiers() & Qt.KeyboardModifier.ShiftModifier)
        if abs(moved.x()) > abs(moved.y()) or shift:
            self.scroll_by(-(moved.x() or moved.y()) / 1200)
        elif moved.y():
            self.zoom(ZOOM ** (moved.y() / 120), self.view.to_time(event.position().x()))
        event.accept()

    # Keyboard

    def keyPressEvent(self, event: QKeyEvent) -> None:  # noqa: N802
        key, keys = event.key(), Qt.Key
        if not self._rows:
            super().keyPressEvent(event)
        elif key in (keys.Key_Left, keys.Key_Right):
            self._step(-1 if key == keys.Key_Left else 1)
        elif key in (keys.Key_Up, keys.Key_Down):
            self._change_row(-1 if key == keys.Key_Up else 1)
        elif key in (keys.Key_Plus, keys.Key_Equal, keys.Key_Minus):
            at = self._place.time if self._place is not None else None
            self.zoom(1 / ZOOM if key == keys.Key_Minus else ZOOM, at)
        elif key in (keys.Key_PageUp, keys.Key_PageDown):
            self.scroll_by(-0.8 if key == keys.Key_PageUp else 0.8)
        elif key in (keys.Key_Home, keys.Key_0):
            self.show_all()
        elif key == keys.Key_Escape and self._place is not None:
            self._place = None
            self.viewport().update()
        else:
            super().keyPressEvent(event)

    def _step(self, by: int) -> None:
        """Chooses the next or previous span of a track."""
        place = self._place or BarPlace(0, 0, None, self.view.left if by > 0 else self.view.right)
        lane = self._lane(place)
        part = lane.visible(place.time, place.time)
        index = place.index + by if place.index is not None else part.start if by > 0 else part.start - 1
        self._choose(place.row, place.lane, min(max(index, 0), len(lane.starts) - 1))

    def _change_row(self, by: int) -> None:
        place = self._place or BarPlace(0 if by > 0 else len(self._rows) - 1, 0, None, self.view.left)
        targets = [(row, lane) for row, track in enumerate(self._rows) for lane in range(len(track.bars))]
        at = targets.index((place.row, place.lane)) + (by if self._place is not None else 0)
        row, number = targets[min(max(at, 0), len(targets) - 1)]
        lane = self._rows[row].track.lanes[number]
        self._choose(row, number, min(lane.visible(place.time, place.time).start, len(lane.starts) - 1))

    def _choose(self, row: int, lane: int, index: int) -> None:
        """Chooses a span, and scrolls to it."""
        bars = self._rows[row].track.lanes[lane]
        start, end = float(bars.starts[index]), float(bars.ends[index])
        time, half = (start + end) / 2, self.view.seconds / 2
        if end < self.view.left or start > self.view.right:
            self.show_range(time - half, time + half)
        top, height = self._rows[row].top, self._rows[row].height
        down = self.verticalScrollBar()
        down.setValue(round(min(max(down.value(), top + height - self.viewport().height() + AXIS), top)))
        self._place, self._mouse = BarPlace(row, lane, index, time), None
        found = self.description()
        self.setAccessibleDescription(f"{self._rows[row].track.name}: {found.text}" if found is not None else "")
        self.viewport().update()

    def focusInEvent(self, event: QFocusEvent) -> None:  # noqa: N802
        super().focusInEvent(event)
        self.viewport().update()

    def focusOutEvent(self, event: QFocusEvent) -> None:  # noqa: N802
        super().focusOutEvent(event)
        if self._mouse is None:
            self._place = None
        self.viewport().update()

    # Painting

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802
        painter = QPainter(self.viewport())
        area = QRectF(self.viewport().rect())
        painter.fillRect(area, theme.colour("surface"))
        if self._rows:
            painter.drawPixmap(0, 0, self._bars())
            self._draw_drag(painter, area)
            self._draw_place(painter, area)
        if self.hasFocus():
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.setPen(QPen(theme.colour("accent"), 1))
            painter.drawRect(self.viewport().rect().adjusted(0, 0, -1, -1))

    def _bars(self) -> QPixmap:
        """The picture of axis and bars, which is drawn again only if it changes: the mouse moves more often."""
        size, ratio, offset = self.viewport().size(), self.devicePixelRatioF(), self.verticalScrollBar().value()
        key = (self._spans, self.view, size.toTuple(), ratio, offset, theme.current())
        if key != self._key:
            self._key, self.drawn = key, self.drawn + 1
            self._picture = QPixmap(round(size.width() * ratio), round(size.height() * ratio))
            self._picture.setDevicePixelRatio(ratio)
            self._picture.fill(theme.colour("surface"))
            painter = QPainter(self._picture)
            end = AXIS + self._rows[-1].top + self._rows[-1].height - offset
            draw_axis(painter, self.view, min(size.height(), end))
            painter.setClipRect(QRectF(0, AXIS, size.width(), size.height() - AXIS))
            painter.translate(0, AXIS - offset)
            for row in self._rows:
                if row.top + row.height >= offset and row.top <= offset + size.height():
                    draw_row(painter, row, self._spans.names, self.view, ratio)
            painter.end()
        return self._picture

    def _draw_drag(self, painter: QPainter, area: QRectF) -> None:
        if self._pressed is not None and self._mouse is not None and abs(self._mouse.x() - self._pressed.x()) >= DRAG:
            ends = sorted((self._pressed.x(), self._mouse.x()))
            chosen = QRectF(ends[0], AXIS, ends[1] - ends[0], area.height() - AXIS)
            painter.fillRect(chosen, theme.colour("accent", 0.15))
            painter.setPen(QPen(theme.colour("accent"), 1))
            painter.drawRect(chosen)

    def _draw_place(self, painter: QPainter, area: QRectF) -> None:
        place, found = self._place, self.description()
        if place is None or found is None or self._pressed is not None:
            return
        top, height = self._rows[place.row].bars[place.lane]
        top += AXIS - self.verticalScrollBar().value()
        view, at = self.view, place.time
        if place.index is not None:
            lane = self._lane(place)
            ends = (float(lane.starts[place.index]), float(lane.ends[place.index]))
            left, right = (min(max(view.to_x(end), view.x), view.x + view.width) for end in ends)
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.setPen(QPen(theme.colour("text"), 2))
            painter.drawRect(QRectF(left, top, max(right - left, 1), height))
            at = min(max(place.time, view.left), view.right)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        beside = self._mouse if self._mouse is not None else QPointF(view.to_x(at), top + height)
        found = replace(found, title=f"{self._rows[place.row].track.name}: {found.title}")
        draw_box(painter, beside, area, self._spans.names, found)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
