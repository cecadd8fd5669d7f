"""The table view: sorting, copying, saved columns, a selection that survives updates, and a filter field."""

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

from league_app.core.formatting import plural
from league_app.gui import theme
from league_app.gui.widgets.basics import column, label, row
from league_app.gui.widgets.settings_store import SettingsStore
from league_app.gui.widgets.table.delegates import PAD, CellDelegate, create_delegate, draw_elided
from league_app.gui.widgets.table.header import TableHeader, column_state
from league_app.gui.widgets.table.model import TableModel

ROW_HEIGHT = 32
MAX_AUTO_WIDTH = 420  # of a column that the user has not resized
SHRINK_ORDER = (("rating", "bar"), ("record", "fit"))  # delegates whose columns shrink first


class TableView(QTableView):
    """`chosen` is emitted with a row on Enter or a double click."""

    chosen = Signal(object)
    selected = Signal(object)  # the current row, or None

    def __init__(self, model: TableModel, name: str, settings: SettingsStore | None = None) -> None:
        super().__init__()
        self._rows, self._name, self._settings = model, name, settings
        self._saved_selection: tuple[Hashable | None, frozenset[Hashable], int] = None, frozenset(), 0
        self._sized = False
        self._sized_for: Hashable = None  # see `resize_on_change`
        self._ideal_widths: dict[int, int] = {}  # by column; empty once the user has resized any
        self._header = TableHeader()
        self.setHorizontalHeader(self._header)
        self.setModel(model)
        self.setAccessibleName(name)
        self.setAccessibleDescription("Enter opens a row, Ctrl+C copies, Alt+Down opens the column menu")
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setShowGrid(False)
        self.setWordWrap(False)
        self.setTextElideMode(Qt.TextElideMode.ElideRight)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setHorizontalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setTabKeyNavigation(False)  # Tab moves to the next control
        self.verticalHeader().hide()
        self.verticalHeader().setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        self.verticalHeader().setDefaultSectionSize(ROW_HEIGHT)
        self._set_up_columns()
        model.modelAboutToBeReset.connect(self._save_selection)
        model.modelReset.connect(self._restore_selection)
        self.activated.connect(self._on_activated)
        self.selectionModel().currentRowChanged.connect(self._on_current_changed)

    def _set_up_columns(self) -> None:
        header = self._header
        header.setStretchLastSection(not any(spec.grow for spec in self._rows.columns))
        header.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        header.customContextMenuRequested.connect(self._show_header_menu)
        self.setSortingEnabled(True)
        header.sectionResized.connect(self._on_header_changed)
        header.sectionMoved.connect(self._on_header_changed)
        self._save_timer = QTimer(self)
        self._save_timer.setSingleShot(True)
        self._save_timer.setInterval(500)
        self._save_timer.timeout.connect(self._save_columns)
        for number, spec in enumerate(self._rows.columns):
            painter = create_delegate(spec.paint, self)
            if painter is not None:
                self.setItemDelegateForColumn(number, painter)

    # Columns

    def size_columns(self) -> None:
        """Fits columns to their content, or restores the user's widths."""
        header, columns, metrics = self._header, self._rows.columns, QFontMetrics(theme.font("caption"))
        saved = self._settings.get(f"columns/{self._name}", {}) if self._settings else {}
        places: dict[int, int] = {}
        self._ideal_widths = {}
        for number, spec in enumerate(columns):
            state = column_state(saved.get(spec.name))
            header.setSectionHidden(number, False)
            title = metrics.horizontalAdvance(spec.title) + 20
            self._ideal_widths[number] = max(spec.width, title, min(self.sizeHintForColumn(number) + 4, MAX_AUTO_WIDTH))
            header.resizeSection(number, state[0] if state and state[0] >= 20 else self._ideal_widths[number])
            if state:
                header.setSectionHidden(number, state[1])
                places[number] = state[2]
        for number in sorted(places, key=places.__getitem__):
            if 0 <= places[number] < len(columns):
                header.moveSection(header.visualIndex(number), places[number])
        if places:
            self._ideal_widths = {}  # the user's widths are not changed
        self._sized = bool(self._rows.rows)
        self._save_timer.stop()
        self.fit()

    def resize_on_change(self, what: Hashable) -> None:
        """Fits the columns again if `what` differs from the last call, for content of another kind or length."""
        if what != self._sized_for and self._rows.rows:
            self._sized_for = what
            self.size_columns()

    @Slot()
    def fit(self) -> None:
        """Distributes the width: columns with `grow` share spare room, columns with `min_width` shrink."""
        if not self._ideal_widths:
            return
        header, columns = self._header, self._rows.columns
        shown = [number for number in self._ideal_widths if not header.isSectionHidden(number)]
        spare: float = self.viewport().width() - sum(self._ideal_widths[number] for number in shown)
        if spare >= 0:
            shares = {number: float(columns[number].grow) for number in shown}
        else:
            shares = self._reductions(shown, -spare)
            spare = -sum(shares.values())
        total = sum(shares.values())
        if total and self._sized:
            for number in shown:
                part = spare * shares.get(number, 0) / total
                header.resizeSection(number, self._ideal_widths[number] + math.floor(part))

    def _reductions(self, shown: Sequence[int], needed: float) -> dict[int, float]:
        """Pixels by which columns shrink: first bars, which stay readable, then numbers, which can be rounded, then
        names."""
        columns, given = self._rows.columns, dict[int, float]()
        able = {n: max(self._ideal_widths[n] - columns[n].min_width, 0) for n in shown if columns[n].min_width}
        rounds = {paint: turn for turn, group in enumerate(SHRINK_ORDER) for paint in group}
        for turn in range(len(SHRINK_ORDER) + 1):
            group = {n: room for n, room in able.items() if rounds.get(columns[n].paint, len(SHRINK_ORDER)) == turn}
            share = min(needed / total, 1.0) if (total := sum(group.values())) else 0.0
            given |= {n: room * share for n, room in group.items()}
            needed -= share * total
        return given

    @Slot()
    def _on_header_changed(self) -> None:
        if self._sized and self._header.dragging:
            self._ideal_widths = {}  # the user has resized a column
            self._save_timer.start()

    @Slot()
    def _save_columns(self) -> None:
        if self._settings is None:
            return
        header, name = self._header, f"columns/{self._name}"
        before = self._settings.get(name, {})
        state = {}
        for number, spec in enumerate(self._rows.columns):
            hidden, saved = header.isSectionHidden(number), column_state(before.get(spec.name))
            size = header.sectionSize(number) if not hidden else saved[0] if saved else 0
            state[spec.name] = [size, hidden, header.visualIndex(number)]
        self._settings.set(name, state)

    @Slot()
    def reset_columns(self) -> None:
        """Shows all columns in their original order and width."""
        if self._settings is not None:
            self._settings.remove_prefix(f"columns/{self._name}")
        for number in range(len(self._rows.columns)):
            self._header.moveSection(self._header.visualIndex(number), number)
        self.size_columns()

    @Slot(QPoint)
    def _show_header_menu(self, at: QPoint) -> None:
        menu = self.header_menu()
        menu.popup(self._header.mapToGlobal(at))

    def header_menu(self) -> QMenu:
        """A menu for sorting and for visible columns."""
        menu, header = QMenu(self), self._header
        sorts = menu.addMenu("Sort by")
        for number, spec in enumerate(self._rows.columns):
            title = spec.title or "(no title)"
            by = QAction(title, sorts, checkable=True, checked=header.sortIndicatorSection() == number)
            by.setData(number)
            sorts.addAction(by)
            shown = QAction(title, menu, checkable=True, checked=not header.isSectionHidden(number))
            shown.setData(number)
            shown.setEnabled(header.isSectionHidden(number) or header.hiddenSectionCount() < header.count() - 1)
            shown.triggered.connect(self._on_column_toggled)
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
        if header.sortIndicatorSection() == number:  # reverse the order
            descending = header.sortIndicatorOrder() == Qt.SortOrder.AscendingOrder
        order = Qt.SortOrder.DescendingOrder if descending else Qt.SortOrder.AscendingOrder
        self.sortByColumn(number, order)

    @Slot()
    def _on_column_toggled(self) -> None:
        action = self.sender()
        assert isinstance(action, QAction)
        number = int(action.data())
        self._header.setSectionHidden(number, not action.isChecked())
        if action.isChecked() and self._header.sectionSize(number) < 20:
            self.resizeColumnToContents(number)
        self._save_columns()
        self.fit()

    # Rows

    @Slot()
    def _save_selection(self) -> None:
        current, rows = self.currentIndex(), self._rows.rows
        key = self._rows.key(rows[current.row()]) if 0 <= current.row() < len(rows) else None
        self._saved_selection = (
            key,
            frozenset(map(self._rows.key, self.selected_rows())),
            self.verticalScrollBar().value(),
        )

    @Slot()
    def _restore_selection(self) -> None:
        if not self._sized and self._rows.rows:
            self.size_columns()
        key, selected_keys, scroll = self._saved_selection
        if key is None and not selected_keys:
            return
        selection, current, last = QItemSelection(), -1, len(self._rows.columns) - 1
        for index, entry in enumerate(self._rows.rows):
            row_key = self._rows.key(entry)
            if row_key == key:
                current = index
            if row_key in selected_keys:
                selection.select(self._rows.index(index, 0), self._rows.index(index, last))
        flags, chooser = QItemSelectionModel.SelectionFlag, self.selectionModel()
        chooser.select(selection, flags.ClearAndSelect)
        if current >= 0:
            chooser.setCurrentIndex(self._rows.index(current, 0), flags.NoUpdate)
        elif key is not None:
            self.selected.emit(None)
        self.verticalScrollBar().setValue(scroll)

    @Slot(QModelIndex)
    def _on_activated(self, index: QModelIndex) -> None:
        if index.isValid():
            self.chosen.emit(self._rows.rows[index.row()])

    @Slot(QModelIndex, QModelIndex)
    def _on_current_changed(self, index: QModelIndex, before: QModelIndex) -> None:
        rows = self._rows.rows
        self.selected.emit(rows[index.row()] if 0 <= index.row() < len(rows) else None)

    def selected_rows(self) -> list[Any]:
        """In the order shown."""
        numbers = sorted({index.row() for index in self.selectionModel().selectedRows()})
        return [self._rows.rows[number] for number in numbers if number < len(self._rows.rows)]

    def keyPressEvent(self, event: QKeyEvent) -> None:  # noqa: N802
        if event.matches(QKeySequence.StandardKey.Copy):
            self.copy()
        elif event.key() == Qt.Key.Key_Down and event.modifiers() & Qt.KeyboardModifier.AltModifier:
            self._show_header_menu(QPoint(0, self._header.height()))
        else:
            super().keyPressEvent(event)
            if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and self.currentIndex().isValid():
                event.accept()  # it opened the row, so it must not also press a dialog's default button

    def copy(self) -> None:
        """Copies the selected rows, or all, with headers, as tab-separated text."""
        order = [self._header.logicalIndex(place) for place in range(len(self._rows.columns))]
        shown = [number for number in order if not self.isColumnHidden(number)]
        lines = [[self._rows.columns[n].title for n in shown]]
        for entry in self.selected_rows() or self._rows.rows:
            lines.append([spreadsheet_cell(self._rows.columns[n].text(entry)) for n in shown])
        QGuiApplication.clipboard().setText("\n".join("\t".join(cells) for cells in lines))

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802
        """Paints all cells in one call. Qt would call Python hundreds of times and wait for busy threads each time
        (measured beside a busy thread, one page of rows: 370 to 530 ms, and 44 to 76 ms like this)."""
        painters = [self.itemDelegateForColumn(index) for index in range(len(self._rows.columns))]
        own = all(
            spec is None or (isinstance(spec, CellDelegate) and type(spec).paint is CellDelegate.paint)
            for spec in painters
        )
        if not own or type(self._rows).data is not TableModel.data:
            super().paintEvent(event)
            return
        painter = QPainter(self.viewport())
        if self._rows.all_rows and not self._rows.rows:
            painter.setPen(theme.colour("muted"))
            painter.drawText(self.viewport().rect(), Qt.AlignmentFlag.AlignCenter, "No row matches the filter")
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        area, header, rows = event.rect(), self._header, self._rows.rows
        cells = []
        for index, (spec, cell_delegate) in enumerate(zip(self._rows.columns, painters, strict=True)):
            left, width = header.sectionViewportPosition(index), header.sectionSize(index)
            if width and left <= area.right() and left + width >= area.left():
                cells.append((spec, cell_delegate, left + PAD, width - 2 * PAD))
        first, last = self.rowAt(area.top()), self.rowAt(area.bottom())
        width = header.length() - header.offset()
        for index in range(first, (last if last >= 0 else len(rows) - 1) + 1) if first >= 0 else ():
            top, high = self.rowViewportPosition(index), self.rowHeight(index)
            if self.selectionModel().rowIntersectsSelection(index):
                painter.fillRect(0, top, width, high, theme.colour("selection"))
            painter.fillRect(0, top + high - 1, width, 1, theme.colour("hairline"))
            _draw_row(painter, rows[index], cells, top, high - 1)

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802
        super().resizeEvent(event)
        self.fit()


def _draw_row(painter: QPainter, entry: Any, cells: Sequence[tuple[Any, ...]], top: int, high: int) -> None:
    font = theme.font()
    for spec, cell_delegate, left, width in cells:
        rect = QRectF(left, top, width, high)
        painter.setFont(font)
        value = spec.value(entry) if spec.value is not None else None
        if cell_delegate is None:
            draw_elided(painter, rect, spec.text(entry), right=spec.right)
        elif value is not None:
            cell_delegate.draw(painter, rect, value)


def spreadsheet_cell(text: str) -> str:
    """A cell for a spreadsheet: a name must not become a formula, a new column or a new row."""
    text = " ".join(text.split())
    return f"'{text}" if text[:1] in ("=", "@", "+") or (text[:1] == "-" and not _number(text)) else text


def _number(text: str) -> bool:
    try:
        float(text.replace(",", ""))
    except ValueError:
        return False
    return True


class FilteredTable(QWidget):
    """A table with a filter field and a row count above it."""

    def __init__(
        self, table: TableView, placeholder: str = "Filter", aside: Sequence[QWidget] = (), noun: str = "row"
    ) -> None:
        super().__init__()
        self.table, self._noun = table, noun
        self.field = QLineEdit()
        self.field.setPlaceholderText(placeholder)
        self.field.setAccessibleName(placeholder)
        self.field.setClearButtonEnabled(True)
        self.field.setMaximumWidth(320)
        self.field.textChanged.connect(self._on_filter_changed)
        self.count = label("", "caption")
        self.top = row(self.field, self.count, 1, *aside)
        self.top.setStretch(0, 4)  # up to its maximum width
        self.setLayout(column(self.top, table))
        model = self._model()
        model.modelReset.connect(self._show_count)
        model.layoutChanged.connect(self._show_count)
        model.dataChanged.connect(self._show_count)  # rows hidden by the filter may have been added

    def _model(self) -> TableModel:
        model = self.table.model()
        assert isinstance(model, TableModel)
        return model

    @Slot(str)
    def _on_filter_changed(self, text: str) -> None:
        self._model().set_filter(text)
        self._show_count()

    @Slot()
    def _show_count(self) -> None:
        shown, every = len(self._model().rows), len(self._model().all_rows)
        self.count.setText(f"{shown:,} of {every:,}" if shown != every else plural(every, self._noun))
