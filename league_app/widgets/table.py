"""A table as a person uses it: sorts by its headers, copies, remembers its columns, keeps the selection."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

from PySide6.QtCore import QModelIndex, QPoint, Qt, QTimer, Signal, Slot
from PySide6.QtGui import QAction, QGuiApplication, QKeyEvent, QKeySequence
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QLineEdit, QMenu, QTableView, QWidget

from league_app.models.table import TableModel
from league_app.settings import Settings
from league_app.widgets.basics import column, label, row
from league_app.widgets.cells import delegate

ROW_HEIGHT = 32


class Table(QTableView):
    """`chosen` tells the row that was opened: by Enter, or by a double click."""

    chosen = Signal(object)
    selected = Signal(object)  # the current row, or None

    def __init__(self, model: TableModel, name: str, settings: Settings | None = None) -> None:
        super().__init__()
        self._rows, self._name, self._settings = model, name, settings
        self._kept: tuple[Hashable | None, int] = None, 0
        self.setModel(model)
        self.setAccessibleName(name)
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
        self._set_up_header()
        for number, one in enumerate(model.columns):
            painter = delegate(one.paint, self)
            if painter is not None:
                self.setItemDelegateForColumn(number, painter)
        model.modelAboutToBeReset.connect(self._keep)
        model.modelReset.connect(self._restore)
        self.activated.connect(self._activate)
        self.selectionModel().currentRowChanged.connect(self._select)
        self._sized = False

    def _set_up_header(self) -> None:
        header = self.horizontalHeader()
        header.setHighlightSections(False)
        header.setSectionsMovable(True)
        header.setStretchLastSection(True)
        header.setSortIndicatorClearable(True)
        header.setSortIndicator(-1, Qt.SortOrder.AscendingOrder)
        header.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        header.customContextMenuRequested.connect(self._header_menu)
        self.setSortingEnabled(True)
        header.sectionResized.connect(self._remember_soon)
        header.sectionMoved.connect(self._remember_soon)
        self._soon = QTimer(self)
        self._soon.setSingleShot(True)
        self._soon.setInterval(500)
        self._soon.timeout.connect(self._remember)

    # Columns

    def size_columns(self) -> None:
        """To what they hold, or as a person left them."""
        header, columns = self.horizontalHeader(), self._rows.columns
        kept = self._settings.get(f"columns/{self._name}", {}) if self._settings else {}
        for number, one in enumerate(columns):
            known = kept.get(one.title)
            if isinstance(known, list) and len(known) == 3:
                header.resizeSection(number, int(known[0]))
                header.setSectionHidden(number, bool(known[1]))
                continue
            self.resizeColumnToContents(number)
            wanted = max(one.width, min(header.sectionSize(number) + 12, 420))
            header.resizeSection(number, wanted)
        self._sized = bool(self._rows.rows)
        self._soon.stop()

    @Slot()
    def _remember_soon(self) -> None:
        if self._sized:
            self._soon.start()

    @Slot()
    def _remember(self) -> None:
        if self._settings is None:
            return
        header, columns = self.horizontalHeader(), self._rows.columns
        kept = {
            one.title: [header.sectionSize(number), header.isSectionHidden(number), header.visualIndex(number)]
            for number, one in enumerate(columns)
            if header.sectionSize(number) or header.isSectionHidden(number)
        }
        self._settings.set(f"columns/{self._name}", kept)

    @Slot(QPoint)
    def _header_menu(self, at: QPoint) -> None:
        menu, header = QMenu(self), self.horizontalHeader()
        for number, one in enumerate(self._rows.columns):
            action = QAction(
                one.title or "(no title)", menu, checkable=True, checked=not header.isSectionHidden(number)
            )
            action.setData(number)
            menu.addAction(action)
        menu.triggered.connect(self._show_column)
        menu.aboutToHide.connect(menu.deleteLater)
        menu.popup(header.mapToGlobal(at))

    @Slot(QAction)
    def _show_column(self, action: QAction) -> None:
        self.horizontalHeader().setSectionHidden(int(action.data()), not action.isChecked())
        self._remember()

    # Rows

    @Slot()
    def _keep(self) -> None:
        current = self.currentIndex()
        rows = self._rows.rows
        key = self._rows.key(rows[current.row()]) if 0 <= current.row() < len(rows) else None
        self._kept = key, self.verticalScrollBar().value()

    @Slot()
    def _restore(self) -> None:
        if not self._sized and self._rows.rows:
            self.size_columns()
        key, at = self._kept
        if key is not None:
            places = [place for place, one in enumerate(self._rows.rows) if self._rows.key(one) == key]
            if places:
                self.setCurrentIndex(self._rows.index(places[0], 0))
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
            return
        super().keyPressEvent(event)

    def copy(self) -> None:
        """What is selected, or everything, with its headers, for a spreadsheet."""
        shown = [n for n in range(len(self._rows.columns)) if not self.isColumnHidden(n)]
        lines = [[self._rows.columns[n].title for n in shown]]
        for one in self.picked() or self._rows.rows:
            lines.append([_cell(self._rows.columns[n].text(one)) for n in shown])
        QGuiApplication.clipboard().setText("\n".join("\t".join(cells) for cells in lines))


def _cell(text: str) -> str:
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

    def __init__(self, table: Table, placeholder: str = "Filter", aside: Sequence[QWidget] = ()) -> None:
        super().__init__()
        self.table = table
        self.field = QLineEdit()
        self.field.setPlaceholderText(placeholder)
        self.field.setAccessibleName(placeholder)
        self.field.setClearButtonEnabled(True)
        self.field.setMaximumWidth(320)
        self.field.textChanged.connect(self._filter)
        self.count = label("", "caption")
        self.setLayout(column(row(self.field, self.count, 1, *aside), table))
        model = self._model()
        model.modelReset.connect(self._counted)
        model.layoutChanged.connect(self._counted)

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
        self.count.setText(f"{shown:,} of {every:,}" if shown != every else f"{every:,}")
