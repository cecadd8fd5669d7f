"""The guide in its window: contents, links, search, history, and both themes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from PySide6.QtCore import Qt, QUrl
from PySide6.QtGui import QDesktopServices, QShortcut
from pytestqt.qtbot import QtBot

import league_app.gui
from league_app.core import guide
from league_app.core.state import LeagueState
from league_app.gui import palette, theme
from league_app.gui.dialogs.tournament import TournamentDialog
from league_app.gui.guide.window import TARGET, GuideWindow
from league_app.gui.main_window import MainWindow

PAGES = tuple(guide.load_pages())
LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)")


@pytest.fixture
def window(qtbot: QtBot) -> GuideWindow:
    theme.load_fonts()
    theme.apply("light")
    window = GuideWindow()
    qtbot.addWidget(window)
    window.show()
    return window


def shown(window: GuideWindow) -> str:
    assert window.browser.page is not None
    return window.browser.page.name


def test_the_contents_list_every_page_with_its_sections(window: GuideWindow) -> None:
    tree = window.contents
    items = [tree.topLevelItem(place) for place in range(tree.topLevelItemCount())]
    assert [item.text(0) for item in items] == [page.title for page in guide.load_pages().values()]
    for item, page in zip(items, guide.load_pages().values(), strict=True):
        titles = [item.child(number).text(0) for number in range(item.childCount())]
        assert titles == [section.title for section in page.sections if section.level == 2]
    assert shown(window) == guide.INDEX


@pytest.mark.parametrize("name", PAGES)
def test_every_link_of_a_page_leads_somewhere(window: GuideWindow, name: str) -> None:
    page = guide.load_pages()[name]
    for target in LINK.findall(page.markdown):
        if target.startswith(("http:", "https:")):
            continue
        file, _, anchor = target.partition("#")
        if file and file not in PAGES:
            assert (page.path.parent / file).resolve().exists(), target
            continue
        window.open_page(name)
        window.browser.anchorClicked.emit(QUrl(target))
        assert shown(window) == (file or name)
        if anchor:
            anchors = {section.anchor for section in guide.load_pages()[shown(window)].sections}
            assert anchor in anchors, f"{name}: {target}"
            assert anchor in window.browser._headings()


def test_a_click_on_a_section_scrolls_to_it(window: GuideWindow, qtbot: QtBot) -> None:
    window.open_page("command-line")
    item = window.contents.currentItem()
    last = item.child(item.childCount() - 1)
    window.contents.itemClicked.emit(last, 0)
    qtbot.waitUntil(lambda: window.browser.verticalScrollBar().value() > 0)
    assert shown(window) == "command-line.md"


def test_back_and_forward_go_through_the_pages_that_were_open(window: GuideWindow, qtbot: QtBot) -> None:
    window.open_page("games.md#shogi")
    window.open_page("ratings")
    assert not window.forward.isEnabled()
    qtbot.mouseClick(window.back, Qt.MouseButton.LeftButton)
    assert shown(window) == "games.md"
    qtbot.mouseClick(window.back, Qt.MouseButton.LeftButton)
    assert shown(window) == guide.INDEX
    assert not window.back.isEnabled()
    qtbot.mouseClick(window.forward, Qt.MouseButton.LeftButton)
    assert shown(window) == "games.md"
    window.open_page("training")
    assert not window.forward.isEnabled(), "a new page replaces what came after"


def test_search_finds_sections_and_marks_the_words(window: GuideWindow, qtbot: QtBot) -> None:
    qtbot.keyClicks(window.field, "visual mode")
    first = window.contents.topLevelItem(0)
    assert "Visual mode" in first.text(0)
    qtbot.keyClick(window.field, Qt.Key.Key_Return)
    assert shown(window) == first.data(0, TARGET)[0]
    marked = {selection.cursor.selectedText().lower() for selection in window.browser.extraSelections()}
    assert marked == {"visual", "mode"}
    qtbot.keyClick(window.field, Qt.Key.Key_Escape)
    assert window.field.text() == ""
    assert window.contents.topLevelItemCount() == len(PAGES)
    assert not window.browser.extraSelections()


def test_a_search_without_a_match_says_so(window: GuideWindow, qtbot: QtBot) -> None:
    qtbot.keyClicks(window.field, "zyzzyva")
    assert window.contents.topLevelItemCount() == 0
    assert window.none.isVisible()


def test_every_word_of_a_query_must_occur() -> None:
    both = {(hit.section.page, hit.section.anchor) for hit in guide.search("engine nodes")}
    single = {(hit.section.page, hit.section.anchor) for hit in guide.search("nodes")}
    assert both
    assert both <= single
    assert guide.search("  ") == []
    assert all("nodes" in (hit.section.text + hit.section.title).lower() for hit in guide.search("nodes"))


def test_an_unknown_page_opens_the_index(window: GuideWindow) -> None:
    window.open_page("no-such-page")
    assert shown(window) == guide.INDEX


def test_links_to_the_web_open_in_the_browser(window: GuideWindow, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    monkeypatch.setattr(QDesktopServices, "openUrl", lambda url: opened.append(url.toString()))
    window.browser.anchorClicked.emit(QUrl("https://example.org/x"))
    assert opened == ["https://example.org/x"]
    assert shown(window) == guide.INDEX


def test_both_themes_colour_the_page(window: GuideWindow) -> None:
    window.open_page("agents")
    place = window.browser.verticalScrollBar().maximum() // 2
    window.browser.verticalScrollBar().setValue(place)
    backgrounds = []
    for name in ("light", "dark"):
        theme.apply(name)
        block = next(
            block for block in _blocks(window) if block.blockFormat().background().style() != Qt.BrushStyle.NoBrush
        )
        backgrounds.append(block.blockFormat().background().color().name())
    assert backgrounds == [f"#{palette.LIGHT.raised.lower()}", f"#{palette.DARK.raised.lower()}"]
    assert abs(window.browser.verticalScrollBar().value() - place) <= 2
    theme.apply("light")


def _blocks(window: GuideWindow) -> list:  # type: ignore[type-arg]
    block, found = window.browser.document().begin(), []
    while block.isValid():
        found.append(block)
        block = block.next()
    return found


def test_pictures_fit_the_page_at_any_width(window: GuideWindow, qtbot: QtBot) -> None:
    window.open_page("games")
    for width in (700, 1400):
        window.resize(width, 700)
        qtbot.waitUntil(lambda: window.browser.viewport().width() > 0)
        widths = [image.width() for _, image in window.browser._images()]
        assert widths
        assert max(widths) <= window.browser.viewport().width()


@pytest.mark.parametrize(("page", "expected"), [("standings", "ratings.md"), ("training", "training.md")])
def test_f1_opens_the_page_about_what_is_on_the_screen(
    hall: MainWindow, played: Path, page: str, expected: str
) -> None:
    hall.help.guide()
    assert hall.help.guide_window is not None
    assert shown(hall.help.guide_window) == guide.INDEX
    hall.context.adopt(LeagueState(played))
    try:
        hall.show_page(page)
        action = hall.menu_actions.find("help.guide")
        assert action.shortcut().toString() == "F1"
        action.trigger()
        assert shown(hall.help.guide_window) == expected
        assert hall.help.guide_window.isVisible()
    finally:
        state = hall.context.release()
        assert state is not None
        state.close()
        hall.help.close_guide()


def test_the_guide_opens_at_the_section_about_the_page(hall: MainWindow, qtbot: QtBot) -> None:
    """Also at its first opening, when the window of the guide is made."""
    hall.help.guide("window.md#the-other-pages")
    opened = hall.help.guide_window
    assert opened is not None
    heading = opened.browser._headings()["the-other-pages"]
    layout, bar = opened.browser.document().documentLayout(), opened.browser.verticalScrollBar()
    try:
        qtbot.waitUntil(lambda: 0 < bar.value() == min(int(layout.blockBoundingRect(heading).top()) - 8, bar.maximum()))
    finally:
        hall.help.close_guide()


def test_f1_in_a_dialog_opens_the_guide_beside_it(hall: MainWindow, played: Path, qtbot: QtBot) -> None:
    hall.context.adopt(LeagueState(played))
    try:
        dialog = TournamentDialog(hall.context, hall)
        dialog.open()
        qtbot.waitExposed(dialog)
        [shortcut] = [shortcut for shortcut in dialog.findChildren(QShortcut) if shortcut.key().toString() == "F1"]
        shortcut.activated.emit()
        assert hall.help.guide_window is not None
        assert shown(hall.help.guide_window) == "tournaments.md"
        assert hall.help.guide_window.isEnabled(), "an open dialog blocks only its own window"
        dialog.reject()
    finally:
        state = hall.context.release()
        assert state is not None
        state.close()
        hall.help.close_guide()


def test_every_page_and_dialog_names_a_page_of_the_guide() -> None:
    sources = Path(league_app.gui.__file__).parent
    named = {
        name.partition("#")
        for path in sources.rglob("*.py")
        for name in re.findall(r'(?:guide = |add_help_key\(self, context, )"([^"]+)"', path.read_text("utf-8"))
    }
    assert len(named) > 6
    for page, _, anchor in named:
        sections = guide.load_pages()[f"{page}.md"].sections
        assert not anchor or anchor in {section.anchor for section in sections}, f"{page}#{anchor}"
