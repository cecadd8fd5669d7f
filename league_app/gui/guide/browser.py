"""Shows one page of the guide: Markdown in the colours and type of the window."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import QEvent, Qt, QUrl, Signal
from PySide6.QtGui import (
    QBrush,
    QDesktopServices,
    QFont,
    QFontDatabase,
    QImage,
    QResizeEvent,
    QTextBlock,
    QTextBlockFormat,
    QTextCharFormat,
    QTextCursor,
    QTextDocument,
    QTextFormat,
    QTextFrameFormat,
    QTextImageFormat,
    QTextLength,
    QTextTable,
)
from PySide6.QtWidgets import QTextBrowser, QTextEdit

from league_app.core import guide
from league_app.gui import theme

WIDTH = 760  # pixels that a line of text has at most: longer lines are hard to read
PICTURE = 720  # width of a picture at most: it stays on the screen with the text around it
HEADINGS = {1: 24, 2: 18, 3: 15}  # font sizes in pixels


class GuideBrowser(QTextBrowser):
    """Emits `followed` with `page.md` and an anchor when a link to a page of the guide is clicked."""

    followed = Signal(str, str)

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("guide-page")
        self.setAccessibleName("Guide page")
        self.setOpenLinks(False)
        self.setUndoRedoEnabled(False)
        self.setStyleSheet("#guide-page, #guide-page:focus { border: 0; border-radius: 0; padding: 0; }")
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)  # everything wraps or is scaled
        self.anchorClicked.connect(self._follow)
        self._page: guide.GuidePage | None = None
        self._pictures: dict[tuple[str, float], QImage] = {}  # by path and device pixel ratio

    @property
    def page(self) -> guide.GuidePage | None:
        return self._page

    def show_page(self, page: guide.GuidePage, anchor: str = "") -> None:
        """Show a page from its top, or from one of its headings."""
        if page is not self._page:
            self._page = page
            self._render()
        self.scroll_to(anchor)

    def scroll_to(self, anchor: str) -> None:
        heading = self._headings().get(anchor)
        if heading is None:
            self.verticalScrollBar().setValue(0)
            return
        top = self.document().documentLayout().blockBoundingRect(heading).top()
        self.verticalScrollBar().setValue(int(top) - 8)

    def highlight(self, words: list[str]) -> None:
        """Mark every occurrence of these words on the page."""
        marked = QTextCharFormat()
        marked.setBackground(theme.colour("selection"))
        marked.setForeground(theme.colour("text"))
        found = []
        for word in words:
            cursor = QTextCursor(self.document())
            while not (cursor := self.document().find(word, cursor)).isNull():
                selection = QTextEdit.ExtraSelection()
                selection.cursor, selection.format = QTextCursor(cursor), marked
                found.append(selection)
        self.setExtraSelections(found)

    def _follow(self, url: QUrl) -> None:
        name, anchor = url.path().rpartition("/")[2], url.fragment()
        if url.scheme() in ("http", "https", "mailto"):
            QDesktopServices.openUrl(url)
        elif not name and self._page is not None:
            self.followed.emit(self._page.name, anchor)
        elif name in guide.load_pages():
            self.followed.emit(name, anchor)
        elif self._page is not None:  # a file beside the guide, such as the licence
            file = (self._page.path.parent / url.path()).resolve()
            if file.is_file():
                QDesktopServices.openUrl(QUrl.fromLocalFile(str(file)))

    def _headings(self) -> dict[str, QTextBlock]:
        used: dict[str, int] = {}
        found = {}
        for block in _blocks(self.document()):
            if block.blockFormat().headingLevel():
                found[guide.unique_anchor(block.text(), used)] = block
        return found

    # Appearance

    def _render(self) -> None:
        if self._page is None:
            return
        document = self.document()
        document.setDefaultFont(theme.font("body"))
        document.setBaseUrl(QUrl.fromLocalFile(str(self._page.path)))
        self.setMarkdown(self._page.markdown)
        editing = QTextCursor(document)
        editing.beginEditBlock()  # one layout at the end instead of one for every change
        _join_code(document)
        self._style_blocks(document)
        for frame in document.rootFrame().childFrames():
            if isinstance(frame, QTextTable):
                self._style_table(frame)
        editing.endEditBlock()
        self._fit()

    def _style_blocks(self, document: QTextDocument) -> None:
        for block in _blocks(document):
            cursor = QTextCursor(block)
            form = QTextBlockFormat()
            level = block.blockFormat().headingLevel()
            if level:
                form.setTopMargin({1: 0, 2: 24}.get(level, 16))
                form.setBottomMargin(8)
                cursor.movePosition(QTextCursor.MoveOperation.EndOfBlock, QTextCursor.MoveMode.KeepAnchor)
                cursor.mergeCharFormat(_heading_format(level))
            elif _is_code(block):
                form.setBackground(theme.colour("raised"))
                form.setNonBreakableLines(False)
                form.setLineHeight(135, QTextBlockFormat.LineHeightTypes.ProportionalHeight.value)
                form.setTopMargin(8)
                form.setBottomMargin(16)
            elif QTextCursor(block).currentTable() is None and not _has_image(block):
                form.setLineHeight(140, QTextBlockFormat.LineHeightTypes.ProportionalHeight.value)
                form.setBottomMargin(4 if block.textList() else 10)
            QTextCursor(block).mergeBlockFormat(form)
            self._style_words(block, _is_code(block))

    def _style_words(self, block: QTextBlock, code: bool) -> None:
        """Code in the system's fixed font, links in the accent colour."""
        pieces = []
        iterator = block.begin()
        while not iterator.atEnd():
            fragment = iterator.fragment()
            form = fragment.charFormat()
            changed = QTextCharFormat()
            if code or form.fontFixedPitch():
                family = QFontDatabase.systemFont(QFontDatabase.SystemFont.FixedFont).family()
                changed.setFontFamilies([family])
                changed.setProperty(QTextFormat.Property.FontPixelSize, 12)
                if not code:
                    changed.setBackground(theme.colour("raised"))
            if form.isAnchor():
                changed.setForeground(QBrush(theme.colour("accent")))
            if changed.propertyCount():
                pieces.append((fragment.position(), fragment.length(), changed))
            iterator += 1
        for position, length, changed in pieces:
            cursor = QTextCursor(self.document())
            cursor.setPosition(position)
            cursor.setPosition(position + length, QTextCursor.MoveMode.KeepAnchor)
            cursor.mergeCharFormat(changed)

    def _style_table(self, table: QTextTable) -> None:
        form = table.format()
        form.setBorder(1)
        form.setBorderBrush(theme.colour("hairline"))
        form.setBorderStyle(QTextFrameFormat.BorderStyle.BorderStyle_Solid)
        form.setBorderCollapse(True)
        form.setCellPadding(6)
        form.setCellSpacing(0)
        form.setBottomMargin(12)
        form.setWidth(QTextLength(QTextLength.Type.PercentageLength, 100))
        table.setFormat(form)
        for number in range(table.columns()):
            cell = table.cellAt(0, number)
            shade = cell.format()
            shade.setBackground(theme.colour("raised"))
            cell.setFormat(shade)
            cursor = cell.firstCursorPosition()
            cursor.setPosition(cell.lastCursorPosition().position(), QTextCursor.MoveMode.KeepAnchor)
            cursor.mergeCharFormat(_weight(QFont.Weight.DemiBold))

    def _fit(self) -> None:
        """Keep lines short in a wide window, and pictures inside them."""
        spare = max((self.viewport().width() - WIDTH) / 2, 24)
        frame = self.document().rootFrame()
        form = frame.frameFormat()
        form.setLeftMargin(min(spare, 64))
        form.setRightMargin(max(self.viewport().width() - WIDTH - min(spare, 64), 24))
        form.setTopMargin(24)
        form.setBottomMargin(48)
        frame.setFrameFormat(form)
        width = min(self.viewport().width() - form.leftMargin() - form.rightMargin(), PICTURE)
        for position, image in self._images():
            size = self._picture(image.name()).size()
            shown = min(width, size.width())
            image.setWidth(shown)
            image.setHeight(shown * size.height() / max(size.width(), 1))
            cursor = QTextCursor(self.document())
            cursor.setPosition(position)
            cursor.setPosition(position + 1, QTextCursor.MoveMode.KeepAnchor)
            cursor.setCharFormat(image)

    def loadResource(self, type: int, name: QUrl | str) -> Any:  # noqa: N802
        if type == QTextDocument.ResourceType.ImageResource.value:
            return self._picture(name if isinstance(name, str) else name.toString())
        return super().loadResource(type, name)

    def _picture(self, name: str) -> QImage:
        """A picture of the page, scaled down smoothly: the text layout would scale it without smoothing."""
        if self._page is None:
            return QImage()
        ratio = self.devicePixelRatio()
        path = str((self._page.path.parent / QUrl(name).path()).resolve())
        if (path, ratio) not in self._pictures:
            picture = QImage(path)
            if picture.width() > PICTURE * ratio:
                picture = picture.scaledToWidth(int(PICTURE * ratio), Qt.TransformationMode.SmoothTransformation)
            self._pictures[path, ratio] = picture
        return self._pictures[path, ratio]

    def _images(self) -> list[tuple[int, QTextImageFormat]]:
        found = []
        for block in _blocks(self.document()):
            iterator = block.begin()
            while not iterator.atEnd():
                fragment = iterator.fragment()
                if fragment.charFormat().isImageFormat():
                    found.append((fragment.position(), fragment.charFormat().toImageFormat()))
                iterator += 1
        return found

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802
        super().resizeEvent(event)
        self._fit()

    def changeEvent(self, event: QEvent) -> None:  # noqa: N802
        super().changeEvent(event)
        if event.type() == QEvent.Type.PaletteChange and self._page is not None:
            place = self.verticalScrollBar().value()
            self._render()
            self.verticalScrollBar().setValue(place)


def _blocks(document: QTextDocument) -> list[QTextBlock]:
    found, block = [], document.begin()
    while block.isValid():
        found.append(block)
        block = block.next()
    return found


def _join_code(document: QTextDocument) -> None:
    """Make one block of the lines of each code example: Qt would leave gaps between the backgrounds of several."""
    runs: list[list[QTextBlock]] = []
    for block in _blocks(document):
        if _is_code(block):
            if runs and runs[-1][-1].next() == block:
                runs[-1].append(block)
            else:
                runs.append([block])
    for run in reversed(runs):  # from the end, so that earlier positions stay valid
        text = "\N{LINE SEPARATOR}".join(block.text() for block in run)
        cursor = QTextCursor(run[0])
        cursor.setPosition(run[-1].position() + run[-1].length() - 1, QTextCursor.MoveMode.KeepAnchor)
        cursor.insertText(text)


def _has_image(block: QTextBlock) -> bool:
    """Qt stores an image as this character; more line height than its own would leave a gap below it."""
    return "\N{OBJECT REPLACEMENT CHARACTER}" in block.text()


def _is_code(block: QTextBlock) -> bool:
    return block.isValid() and block.blockFormat().hasProperty(QTextFormat.Property.BlockCodeFence)


def _weight(weight: QFont.Weight) -> QTextCharFormat:
    form = QTextCharFormat()
    form.setFontWeight(weight)
    return form


def _heading_format(level: int) -> QTextCharFormat:
    font = QFont(theme.font("body"))
    font.setPixelSize(HEADINGS.get(level, 13))
    font.setWeight(QFont.Weight.DemiBold)
    form = QTextCharFormat()
    form.setFont(font)
    return form
