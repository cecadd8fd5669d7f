"""The window of the guide: contents and search at the left, the page at the right."""

from __future__ import annotations

from PySide6.QtCore import Qt, Slot
from PySide6.QtGui import QKeySequence, QShortcut
from PySide6.QtWidgets import QLineEdit, QSplitter, QTreeWidget, QTreeWidgetItem, QWidget

from league_app.core import guide
from league_app.gui import theme
from league_app.gui.guide.browser import GuideBrowser
from league_app.gui.widgets.basics import IconButton, column, label, row, tooltip_html

SIZE = (1120, 760)
SIDE = 320  # width of contents and search
TARGET = Qt.ItemDataRole.UserRole  # of an item in the contents: page and anchor


class GuideWindow(QWidget):
    """A window of its own, without a parent, so that it can be read while a dialog is open."""

    def __init__(self) -> None:
        super().__init__()
        self.setWindowTitle("Guide - Ringside")
        self.setWindowIcon(theme.app_icon())
        self.setObjectName("guide")
        self.setProperty("surface", True)
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.resize(*SIZE)
        self._visited: list[tuple[str, str]] = []
        self._place = -1
        self.browser = GuideBrowser()
        self.browser.followed.connect(self.open_page)
        self.contents = QTreeWidget()
        self.contents.setHeaderHidden(True)
        self.contents.setAccessibleName("Contents")
        self.contents.setStyleSheet("QTreeView::item { padding: 4px 0; }")
        self.contents.setTextElideMode(Qt.TextElideMode.ElideRight)
        self.contents.itemClicked.connect(self._choose)
        self.contents.itemActivated.connect(self._choose)
        self.field = QLineEdit()
        self.field.setPlaceholderText("Search the guide")
        self.field.setAccessibleName("Search the guide")
        self.field.setClearButtonEnabled(True)
        self.field.textChanged.connect(self._search)
        self.field.returnPressed.connect(self._open_first)
        self.none = label("No page contains all of these words", "muted", wrap=True)
        self.back = IconButton("chevron-left", "Back (Alt+Left)", self.go_back)
        self.forward = IconButton("chevron-right", "Forward (Alt+Right)", self.go_forward)
        self.home = IconButton("home", "Contents (Alt+Home)", self.go_home)
        self._arrange()
        for keys, method in (
            ("Alt+Left", self.go_back),
            ("Alt+Right", self.go_forward),
            ("Alt+Home", self.go_home),
            ("Ctrl+F", self._focus_search),
            ("Ctrl+W", self.close),
            ("Escape", self._escape),
        ):
            QShortcut(QKeySequence(keys), self, method)
        self._fill_contents()
        self.open_page(guide.INDEX)
        self.browser.setFocus()

    def _arrange(self) -> None:
        side = QWidget()
        side.setLayout(
            column(row(self.back, self.forward, self.home, 1, gap=4), self.field, self.none, self.contents, margin=12)
        )
        self.splitter = QSplitter()
        self.splitter.addWidget(side)
        self.splitter.addWidget(self.browser)
        self.splitter.setSizes([SIDE, SIZE[0] - SIDE])
        self.splitter.setStretchFactor(1, 1)
        self.splitter.setChildrenCollapsible(False)
        self.setLayout(column(self.splitter, gap=0))

    # Pages

    @Slot(str, str)
    def open_page(self, name: str, anchor: str = "") -> None:
        """Show a page, given as `ratings.md`, `ratings` or `ratings.md#intervals`, and remember it for Back."""
        name, _, inside = name.partition("#")
        name = name if name.endswith(".md") else f"{name}.md"
        target = (name if name in guide.load_pages() else guide.INDEX, anchor or inside)
        if self._place < 0 or self._visited[self._place] != target:
            del self._visited[self._place + 1 :]
            self._visited.append(target)
            self._place = len(self._visited) - 1
        self._show()

    def _show(self) -> None:
        name, anchor = self._visited[self._place]
        self.browser.show_page(guide.load_pages()[name], anchor)
        self.browser.highlight(self.field.text().split())
        self.back.setEnabled(self._place > 0)
        self.forward.setEnabled(self._place < len(self._visited) - 1)
        if not self.field.text():
            self._select(name, anchor)

    @Slot()
    def go_back(self) -> None:
        if self._place > 0:
            self._place -= 1
            self._show()

    @Slot()
    def go_forward(self) -> None:
        if self._place < len(self._visited) - 1:
            self._place += 1
            self._show()

    @Slot()
    def go_home(self) -> None:
        self.open_page(guide.INDEX)

    # Contents and search

    def _fill_contents(self) -> None:
        self.contents.clear()
        self.contents.setRootIsDecorated(True)
        self.none.hide()
        for page in guide.load_pages().values():
            item = QTreeWidgetItem(self.contents, [page.title])
            item.setData(0, TARGET, (page.name, ""))
            for section in page.sections[1:]:
                if section.level == 2:
                    child = QTreeWidgetItem(item, [section.title])
                    child.setData(0, TARGET, (page.name, section.anchor))

    def _select(self, name: str, anchor: str) -> None:
        for place in range(self.contents.topLevelItemCount()):
            item = self.contents.topLevelItem(place)
            if item is None or item.data(0, TARGET)[0] != name:
                if item is not None:
                    item.setExpanded(False)
                continue
            children = (item.child(number) for number in range(item.childCount()))
            chosen = next(
                (child for child in children if child is not None and child.data(0, TARGET)[1] == anchor), item
            )
            item.setExpanded(True)
            self.contents.setCurrentItem(chosen)

    @Slot(str)
    def _search(self, text: str) -> None:
        if not text.split():
            self._fill_contents()
            self._show()
            return
        self.contents.clear()
        self.contents.setRootIsDecorated(False)
        hits = guide.search(text)
        self.none.setVisible(not hits)
        pages = guide.load_pages()
        for hit in hits:
            page = pages[hit.section.page]
            title = page.title if hit.section.level == 1 else f"{page.title}: {hit.section.title}"
            target = (page.name, "" if hit.section.level == 1 else hit.section.anchor)
            item = QTreeWidgetItem(self.contents, [title])
            item.setData(0, TARGET, target)
            excerpt = QTreeWidgetItem(item, [hit.excerpt])
            excerpt.setData(0, TARGET, target)
            excerpt.setForeground(0, theme.colour("muted"))
            excerpt.setToolTip(0, tooltip_html(hit.excerpt))
        self.contents.expandAll()
        self.browser.highlight(text.split())

    @Slot()
    def _open_first(self) -> None:
        item = self.contents.currentItem() or self.contents.topLevelItem(0)
        if item is not None and self.field.text().split():
            self._choose(item)

    @Slot(QTreeWidgetItem)
    def _choose(self, item: QTreeWidgetItem, column: int = 0) -> None:
        name, anchor = item.data(0, TARGET)
        self.open_page(name, anchor)

    @Slot()
    def _focus_search(self) -> None:
        self.field.setFocus()
        self.field.selectAll()

    @Slot()
    def _escape(self) -> None:
        """Clears the search first, then closes the window."""
        self.field.clear() if self.field.text() else self.close()
