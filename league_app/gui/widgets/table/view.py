"""A table as a person uses it: sorts by its headers, copies, remembers its columns, keeps the selection."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from typing import Any

from PySide6.QtCore import QItemSelection, QItemSelectionModel, QModelIndex, QPoint, QRectF, Qt, QTimer, Signal, Slot
from PySide6.QtGui import (
    QAction,
    QFontMetrics,
    QGuiApplication,
    QKeyEvent,
    QKeySequence,
    QPainter,
    QPaintEvent,
    QResizeEvent,
)
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QLineEdit, QMenu, QTableView, QWidget

from league_app.gui import theme
from league_app.gui.widgets.table.model import TableModel
from league_app.core.preferences import Settings
from league_app.gui.widgets.basics import column, label, row
from league_app.gui.widgets.table.delegates import PAD, Cell, delegate, elided
from league_app.gui.widgets.table.header import Header, known
from league_app.core.formatting import many

ROW_HEIGHT = 32
WIDEST = 420  # what a column takes by itself
YIELDING = (("rating", "bar"), ("record", "fit"))  # painters that do with less room: those first, then these


class Table(QTableView):
    """`chosen` tells the row that was opened: by Enter, or by a double click."""

    chosen = Signal(object)
    selected = Signal(object)  # the current row, or None

    def __init__(self, model: TableModel, name: str, settings: Settings | None = None) -> None:
        super().__init__()
        self._rows, self._name, self._settings = model, name, settings
        self._kept: tuple[Hashable | None, frozenset[Hashable], int] = None, frozenset(), 0
        self._sized = False
        self._suited: Hashable = None  # what the columns were made for
        self._wanted: dict[int, int] = {}  # what columns need, where nobody has set them
        self._header = Header()
        self.setHorizontalHeader(self._header)
        self.setModel(model)
        self.setAccessibleName(name)
        self.setAccessibleDescription("Enter opens a row, Ctrl+C copies, Alt+Down sorts and chooses columns")
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setShowGrid(False)
        self.setWordWrap(False)
        self.setTextElideMode(Qt.TextElideMode.ElideRight)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setHorizontalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setTabKeyNavigation(False)  # Tab leads on to the next control
        self.verticalHeader().hide()
        self.verticalHeader().setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        self.verticalHeader().setDefaultSectionSize(ROW_HEIGHT)
        self._set_up_columns()
        model.modelAboutToBeReset.connect(self._keep)
        model.modelReset.connect(self._restore)
        self.activated.connect(self._activate)
        self.selectionModel().currentRowChanged.connect(self._select)

    def _set_up_columns(self) -> None:
        header = self._header
        header.setStretchLastSection(not any(one.grow for one in self._rows.columns))
        header.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        header.customContextMenuRequested.connect(self._header_menu)
        self.setSortingEnabled(True)
        header.sectionResized.connect(self._remember_soon)
        header.sectionMoved.connect(self._remember_soon)
        self._soon = QTimer(self)
        self._soon.setSingleShot(True)
        self._soon.setInterval(500)
        self._soon.timeout.connect(self._remember)
        for number, one in enumerate(self._rows.columns):
            painter = delegate(one.paint, self)
            if painter is not None:
                self.setItemDelegateForColumn(number, painter)

    # Columns

    def size_columns(self) -> None:
        """To what they hold, or as a person left them."""
        header, columns, metrics = self._header, self._rows.columns, QFontMetrics(theme.font("caption"))
        kept = self._settings.get(f"columns/{self._name}", {}) if self._settings else {}
        places: dict[int, int] = {}
        self._wanted = {}
        for number, one in enumerate(columns):
            left = known(kept.get(one.title))
            header.setSectionHidden(number, False)
            title = metrics.horizontalAdvance(one.title) + 20
            self._wanted[number] = max(one.width, title, min(self.sizeHintForColumn(number) + 4, WIDEST))
            header.resizeSection(number, left[0] if left and left[0] >= 20 else self._wanted[number])
            if left:
                header.setSectionHidden(number, left[1])
                places[number] = left[2]
        for number in sorted(places, key=places.__getitem__):
            if 0 <= places[number] < len(columns):
                header.moveSection(header.visualIndex(number), places[number])
        if places:
            self._wanted = {}  # as they were left, so not to be fitted
        self._sized = bool(self._rows.rows)
        self._soon.stop()
        self.fit()

    def suit(self, what: Hashable) -> None:
        """Size columns anew where this is another than before: what they hold has become of another kind, or longer."""
        if what != self._suited and self._rows.rows:
            self._suited = what
            self.size_columns()

    @Slot()
    def fit(self) -> None:
        """Use the room there is: columns that may grow share what is left, others give what they can spare."""
        if not self._wanted:
            return
        header, columns = self._header, self._rows.columns
        shown = [number for number in self._wanted if not header.isSectionHidden(number)]
        spare: float = self.viewport().width() - sum(self._wanted[number] for number in shown)
        if spare >= 0:
            shares = {number: float(columns[number].grow) for number in shown}
        else:
            shares = self._given(shown, -spare)
            spare = -sum(shares.values())
        total = sum(shares.values())
        if total and self._sized:
            for number in shown:
                part = spare * shares.get(number, 0) / total
                header.resizeSection(number, self._wanted[number] + math.floor(part))

    def _given(self, shown: Sequence[int], needed: float) -> dict[int, float]:
        """What columns give up where there is too little room: bars first, as a short one tells as much as a long
        one; then numbers, which can be rounded; then names."""
        columns, given = self._rows.columns, dict[int, float]()
        able = {n: max(self._wanted[n] - columns[n].least, 0) for n in shown if columns[n].least}
        rounds = {paint: turn for turn, group in enumerate(YIELDING) for paint in group}
        for turn in range(len(YIELDING) + 1):
            group = {n: room for n, room in able.items() if rounds.get(columns[n].paint, len(YIELDING)) == turn}
            share = min(needed / total, 1.0) if (total := sum(group.values())) else 0.0
            given |= {n: room * share for n, room in group.items()}
            needed -= share * total
        return given

    @Slot()
    def _remember_soon(self) -> None:
        if self._sized and self._header.held:
            self._wanted = {}  # somebody has decided
            self._soon.start()

    @Slot()
    def _remember(self) -> None:
        if self._settings is None:
            return
        header, name = self._header, f"columns/{self._name}"
        before = self._settings.get(name, {})
        kept = {}
        for number, one in enumerate(self._rows.columns):
            hidden, left = header.isSectionHidden(number), known(before.get(one.title))
            size = header.sectionSize(number) if not hidden else left[0] if left else 0
            kept[one.title] = [size, hidden, header.visualIndex(number)]
        self._settings.set(name, kept)

    @Slot()
    def reset_columns(self) -> None:
        """All of them, in their first order, as wide as they need to be."""
        if self._settings is not None:
            self._settings.forget(f"columns/{self._name}")
        for number in range(len(self._rows.columns)):
            self._header.moveSection(self._header.visualIndex(number), number)
        self.size_columns()

    @Slot(QPoint)
    def _header_menu(self, at: QPoint) -> None:
        menu = self.header_menu()
        menu.popup(self._header.mapToGlobal(at))

    def header_menu(self) -> QMenu:
        """What to sort by, which columns to show."""
        menu, header = QMenu(self), self._header
        sorts = menu.addMenu("Sort by")
        for number, one in enumerate(self._rows.columns):
            title = one.title or "(no title)"
            by = QAction(title, sorts, checkable=True, checked=header.sortIndicatorSection() == number)
            by.setData(number)
            sorts.addAction(by)
            shown = QAction(title, menu, checkable=True, checked=not header.isSectionHidden(number))
            shown.setData(number)
            shown.setEnabled(header.isSectionHidden(number) or header.hiddenSectionCount() < header.count() - 1)
            shown.triggered.connect(self._show_column)
            menu.addAction(shown)
        sorts.triggered.connect(self._sort_by)
        menu.insertSeparator(menu.actions()[1])
        menu.addSeparator()
        menu.addAction("Reset columns").triggered.connect(self.reset_columns)
        menu.aboutToHide.connect(menu.deleteLater)
        return menu

    @Slot(QAction)
    def _sort_by(self, action: QAction) -> None:
        number, header = int(action.data()), self._header
        descending = self._rows.columns[number].descending
        if header.sortIndicatorSection() == number:  # the other way round
            descending = header.sortIndicatorOrder() == Qt.SortOrder.AscendingOrder
        order = Qt.SortOrder.DescendingOrder if descending else Qt.SortOrder.AscendingOrder
        self.sortByColumn(number, order)

    @Slot()
    def _show_column(self) -> None:
        action = self.sender()
        assert isinstance(action, QAction)
        number = int(action.data())
        self._header.setSectionHidden(number, not action.isChecked())
        if action.isChecked() and self._header.sectionSize(number) < 20:
            self.resizeColumnToContents(number)
        self._remember()
        self.fit()

    # Rows

    @Slot()
    def _keep(self) -> None:
        current, rows = self.currentIndex(), self._rows.rows
        key = self._rows.key(rows[current.row()]) if 0 <= current.row() < len(rows) else None
        self._kept = key, frozenset(map(self._rows.key, self.picked())), self.verticalScrollBar().value()

    @Slot()
    def _restore(self) -> None:
        if not self._sized and self._rows.rows:
            self.size_columns()
        key, picked, at = self._kept
        if key is None and not picked:
            return
        selection, current, last = QItemSelection(), -1, len(self._rows.columns) - 1
        for place, one in enumerate(self._rows.rows):
            own = self._rows.key(one)
            if own == key:
                current = place
            if own in picked:
                selection.select(self._rows.index(place, 0), self._rows.index(place, last))
        flags, chooser = QItemSelectionModel.SelectionFlag, self.selectionModel()
        chooser.select(selection, flags.ClearAndSelect)
        if current >= 0:
            chooser.setCurrentIndex(self._rows.index(current, 0), flags.NoUpdate)
        elif key is not None:
            self.selected.emit(None)
        self.verticalScrollBar().setValue(at)

    @Slot(QModelIndex)
    def _activate(self, index: QModelIndex) -> None:
        if index.isValid():
            self.chosen.emit(self._rows.rows[index.row()])

    @Slot(QModelIndex, QModelIndex)
    def _select(self, index: QModelIndex, before: QModelIndex) -> None:
        rows = self._rows.rows
        self.selected.emit(rows[index.row()] if 0 <= index.row() < len(rows) else None)

    def picked(self) -> list[Any]:
        """The rows that are selected, in the order shown."""
        places = sorted({one.row() for one in self.selectionModel().selectedRows()})
        return [self._rows.rows[place] for place in places if place < len(self._rows.rows)]

    def keyPressEvent(self, event: QKeyEvent) -> None:  # noqa: N802
        if event.matches(QKeySequence.StandardKey.Copy):
            self.copy()
        elif event.key() == Qt.Key.Key_Down and event.modifiers() & Qt.KeyboardModifier.AltModifier:
            self._header_menu(QPoint(0, self._header.height()))
        else:
            super().keyPressEvent(event)
            if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and self.currentIndex().isValid():
                event.accept()  # it opened the row: no button of a dialog is meant as well

    def copy(self) -> None:
        """What is selected, or everything, with its headers, for a spreadsheet."""
        order = [self._header.logicalIndex(place) for place in range(len(self._rows.columns))]
        shown = [number for number in order if not self.isColumnHidden(number)]
        lines = [[self._rows.columns[n].title for n in shown]]
        for one in self.picked() or self._rows.rows:
            lines.append([spreadsheet_cell(self._rows.columns[n].text(one)) for n in shown])
        QGuiApplication.clipboard().setText("\n".join("\t".join(cells) for cells in lines))

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802
        """Cell by cell from here: Qt would ask Python hundreds of times, and each time wait for the threads that have
        something to do (measured beside a busy one, a page of rows: 370 to 530 ms, and 44 to 76 like this)."""
        painters = [self.itemDelegateForColumn(number) for number in range(len(self._rows.columns))]
        own = all(one is None or (isinstance(one, Cell) and type(one).paint is Cell.paint) for one in painters)
        if not own or type(self._rows).data is not TableModel.data:
            super().paintEvent(event)
            return
        painter = QPainter(self.viewport())
        if self._rows.every and not self._rows.rows:
            painter.setPen(theme.colour("muted"))
            painter.drawText(self.viewport().rect(), Qt.AlignmentFlag.AlignCenter, "Nothing here matches")
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        seen, header, rows = event.rect(), self._header, self._rows.rows
        cells = []
        for number, (one, drawn) in enumerate(zip(self._rows.columns, painters, strict=True)):
            left, width = header.sectionViewportPosition(number), header.sectionSize(number)
            if width and left <= seen.right() and left + width >= seen.left():
                cells.append((one, drawn, left + PAD, width - 2 * PAD))
        first, last = self.rowAt(seen.top()), self.rowAt(seen.bottom())
        width = header.length() - header.offset()
        for place in range(first, (last if last >= 0 else len(rows) - 1) + 1) if first >= 0 else ():
            top, high = self.rowViewportPosition(place), self.rowHeight(place)
            if self.selectionModel().rowIntersectsSelection(place):
                painter.fillRect(0, top, width, high, theme.colour("selection"))
            painter.fillRect(0, top + high - 1, width, 1, theme.colour("hairline"))
            _draw_row(painter, rows[place], cells, top, high - 1)

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802
        super().resizeEvent(event)
        self.fit()


def _draw_row(painter: QPainter, one: Any, cells: Sequence[tuple[Any, ...]], top: int, high: int) -> None:
    font = theme.font()
    for kind, drawn, left, width in cells:
        rect = QRectF(left, top, width, high)
        painter.setFont(font)
        value = kind.value(one) if kind.value is not None else None
        if drawn is None:
            elided(painter, rect, kind.text(one), right=kind.right)
        elif value is not None:
            drawn.draw(painter, rect, value)


def spreadsheet_cell(text: str) -> str:
    """A name must not become a formula, a column or a line of its own."""
    text = " ".join(text.split())
    return f"'{text}" if text[:1] in ("=", "@", "+") or (text[:1] == "-" and not _number(text)) else text


def _number(text: str) -> bool:
    try:
        float(text.replace(",", ""))
    except ValueError:
        return False
    return True


class Filtered(QWidget):
    """A table below the field that filters it, with the count beside."""

    def __init__(
        self, table: Table, placeholder: str = "Filter", aside: Sequence[QWidget] = (), noun: str = "row"
    ) -> None:
        super().__init__()
        self.table, self._noun = table, noun
        self.field = QLineEdit()
        self.field.setPlaceholderText(placeholder)
        self.field.setAccessibleName(placeholder)
        self.field.setClearButtonEnabled(True)
        self.field.setMaximumWidth(320)
        self.field.textChanged.connect(self._filter)
        self.count = label("", "caption")
        self.top = row(self.field, self.count, 1, *aside)
        self.top.setStretch(0, 4)  # up to its greatest width
        self.setLayout(column(self.top, table))
        model = self._model()
        model.modelReset.connect(self._counted)
        model.layoutChanged.connect(self._counted)
        model.dataChanged.connect(self._counted)  # others may have come that the filter hides

    def _model(self) -> TableModel:
        model = self.table.model()
        assert isinstance(model, TableModel)
        return model

    @Slot(str)
    def _filter(self, text: str) -> None:
        self._model().set_filter(text)
        self._counted()

    @Slot()
    def _counted(self) -> None:
        shown, every = len(self._model().rows), len(self._model().every)
        self.count.setText(f"{shown:,} of {every:,}" if shown != every else many(every, self._noun))
