"""The window as a whole: launching, pages, actions, leagues, closing."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import QMimeData, QPointF, Qt, QTimer, QUrl
from PySide6.QtGui import QDropEvent
from PySide6.QtWidgets import QApplication, QLabel, QLineEdit, QMenu, QWidget
from pytestqt.qtbot import QtBot

from engine.errors import BadValue
from engine.league.records import State
from league_app.core import paths as places
from league_app.core import sample_league as sample
from league_app.gui import theme
from league_app.gui.actions import ACTIONS
from league_app.gui.context import Desk
from league_app.gui.page import Page
from league_app.core.preferences import Settings
from league_app.gui.dialogs.command_palette import PaletteSheet, rank
from league_app.gui.dialogs.messages import About, Question, Trouble
from league_app.core.state import LeagueState
from league_app.gui.main_window import PAGES, Window
from tests.faults.league import worker_pids
from tests.gui.conftest import BOTS, QUICK


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("RINGSIDE_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.fixture
def window(home: Path, bare: Desk, qtbot: QtBot) -> Iterator[Window]:
    """With no league open; what it reports as wrong fails the test, unless a test looks at that itself."""
    made = Window(bare)
    made.show()
    yield made
    close(made, qtbot)


@pytest.fixture
def playing(window: Window, played: Path, qtbot: QtBot) -> Window:
    """With the league that has been played in."""
    window.leagues.open_path(played)
    qtbot.waitUntil(lambda: window.desk.state is not None)
    window.desk.league.budget.cores = 2
    return window


def close(window: Window, qtbot: QtBot) -> None:
    window.close_unasked()
    qtbot.waitUntil(lambda: not window.isVisible(), timeout=30_000)
    window.deleteLater()


def sheet(kind: type[QWidget]) -> QWidget | None:
    return next((one for one in QApplication.topLevelWidgets() if isinstance(one, kind) and one.isVisible()), None)


def texts(widget: QWidget) -> str:
    return "\n".join(one.text() for one in widget.findChildren(QLabel) if one.isVisible())


# Launching


def test_without_a_league_there_is_the_welcome_page(window: Window) -> None:
    assert window.outer.currentWidget() is window.welcome
    assert "No league is open" in texts(window.welcome)
    assert not window.welcome.run.isEnabled()
    window.show_page("history")
    assert window.outer.currentWidget() is window.welcome


@pytest.mark.usefixtures("only_ours")
def test_the_sample_league_is_made_and_plays_a_first_tournament(window: Window, qtbot: QtBot) -> None:
    window.leagues.sample()
    qtbot.waitUntil(lambda: window.desk.state is not None, timeout=20_000)
    state = window.desk.league
    done = [State.FINISHED] * len(sample.games())
    qtbot.waitUntil(lambda: [one.state for one in state.league.tournaments()] == done, timeout=60_000)
    assert state.league.path == places.sample_league()
    played = sum(one.played for one in state.league.tournaments())
    told = f"{len(state.agents())} agents, {played:,} matches played"
    assert played > 300
    qtbot.waitUntil(lambda: told in texts(window.welcome), timeout=20_000)
    qtbot.waitUntil(lambda: window.welcome.preview.playback is not None)
    assert "The best match so far" in window.welcome.caption.text()


def test_nobody_is_numbered_before_there_is_a_rating(window: Window, tmp_path: Path, qtbot: QtBot) -> None:
    with LeagueState.new(tmp_path / "fresh.league") as state:
        state.add_samples("pong", ("Tracker", "Lazy"))
    window.leagues.open_path(tmp_path / "fresh.league")
    qtbot.waitUntil(lambda: "Tracker" in texts(window.welcome).splitlines(), timeout=20_000)
    assert "1." not in texts(window.welcome)


def test_the_best_match_opens_in_the_match_page(playing: Window, qtbot: QtBot) -> None:
    qtbot.waitUntil(lambda: playing.welcome.preview.playback is not None)
    playing.welcome.preview.chosen.emit()
    assert playing.stack.currentWidget() is playing.page("match")


def test_recent_leagues_are_remembered_newest_first(playing: Window, settings: Settings, played: Path) -> None:
    assert settings.recent == [played]
    assert Settings(places.settings_file().parent / "window.json").recent == [played]


def test_a_league_that_is_no_league_is_told_and_nothing_is_opened(window: Window, tmp_path: Path, qtbot: QtBot) -> None:
    window.desk.failed.disconnect()
    window.desk.failed.connect(window._fail)
    wrong = tmp_path / "wrong.league"
    wrong.write_bytes(b"not a league at all")
    window.leagues.open_path(wrong)
    qtbot.waitUntil(lambda: bool(window.toasts.shown))
    assert "wrong.league" in window.toasts.shown[0].text
    assert window.desk.state is None


# Pages and actions


def test_no_menu_has_two_entries_of_one_name(window: Window) -> None:
    for menu in window.menuBar().findChildren(QMenu):
        told = [one.text() for one in menu.actions() if one.text()]
        assert len(told) == len(set(told)), told


def test_every_page_is_shown_by_its_action(playing: Window) -> None:
    for name, (title, _) in PAGES.items():
        playing.show_page(name)
        page = playing.stack.currentWidget()
        assert page is playing.page(name)
        assert isinstance(page, Page)
        assert page.isVisible()
        if title:
            assert page.title == title == playing.tabs.tabText(playing.tabs.currentIndex())


def test_every_action_calls_something_that_is_there(window: Window) -> None:
    for one in ACTIONS:
        part, _, method = one.run.partition(".")
        assert callable(getattr(window.part(part), method)), one.run


def test_no_two_actions_share_a_shortcut(window: Window) -> None:
    shortcuts = [one.shortcut for one in ACTIONS if one.shortcut]
    assert len(shortcuts) == len(set(shortcuts))


def test_every_condition_of_an_action_is_known(playing: Window) -> None:
    known = {**playing.view.conditions(), **playing.conditions()}
    assert {one.when for one in ACTIONS if one.when} <= set(known)
    assert {one.checked for one in ACTIONS if one.checked} <= set(known)


def test_what_needs_a_league_waits_for_one(window: Window, playing: Window) -> None:
    assert playing.acts.named("tournaments.new").isEnabled()
    assert not playing.acts.named("run.stop_now").isEnabled()


def test_the_palette_finds_by_a_few_letters_and_runs_it(playing: Window, qtbot: QtBot) -> None:
    playing.help.palette()
    found = sheet(PaletteSheet)
    assert isinstance(found, PaletteSheet)
    field = found.findChild(QLineEdit)
    assert field is not None
    qtbot.keyClicks(field, "histo")
    assert "History" in found.list.item(0).text()
    qtbot.keyClick(field, Qt.Key.Key_Return)
    assert playing.stack.currentWidget() is playing.page("history")


@pytest.mark.parametrize(
    ("typed", "text", "found"), [("", "Anything", True), ("ntr", "New tournament", True), ("xyz", "New", False)]
)
def test_letters_count_in_their_order(typed: str, text: str, found: bool) -> None:
    assert (rank(typed, text) is not None) == found


def test_words_from_the_start_of_a_word_come_first() -> None:
    assert rank("stop", "Stop now") < rank("stop", "Unstoppable") < rank("stop", "Show the operations")  # type: ignore[operator]


def test_the_game_selector_scopes_what_is_seen(playing: Window, qtbot: QtBot) -> None:
    usual = [one for one in range(playing.bar.games.count()) if playing.bar.games.itemData(one) != QUICK]
    assert usual, "the game with its usual options is a pool of its own"
    playing.bar.games.setCurrentIndex(usual[0])
    playing.bar.games.activated.emit(usual[0])
    assert playing.desk.pool != QUICK
    assert playing.desk.pool == playing.bar.games.itemData(usual[0])


# The toggle


def test_f5_switches_visual_mode_wherever_it_is_pressed(playing: Window, qtbot: QtBot) -> None:
    playing.show_page("history")
    state = playing.desk.league
    qtbot.waitUntil(lambda: playing.bar.words.text() == "the next tournament runs on 2 workers")
    playing.toggle_visual()
    qtbot.waitUntil(lambda: state.show_visuals)
    qtbot.waitUntil(lambda: playing.bar.words.text() == "the next tournament will be shown")
    assert playing.bar.switch.isChecked()
    assert playing.acts.named("window.toggle_visual").isChecked()


def test_twenty_presses_in_a_run_leave_the_same_records(playing: Window, qtbot: QtBot) -> None:
    from engine.league import standings as tables

    state = playing.desk.league
    state.stage(2).speed = 0.0
    plan = {"game": QUICK, "agents": BOTS, "options": {"rounds": 8}}
    job = state.start_tournament(name="pressed", **plan, seed=77)  # type: ignore[arg-type]
    pressed = 0

    def press() -> None:
        nonlocal pressed
        if pressed < 20:
            playing.toggle_visual()
            pressed += 1

    timer = QTimer(playing)
    timer.timeout.connect(press)
    timer.start(30)
    qtbot.waitUntil(lambda: not state.running and pressed == 20, timeout=120_000)
    timer.stop()
    qtbot.waitUntil(lambda: not playing.desk.orders.waiting)
    assert state.show_visuals is False, "twenty is even"
    told, played = tables.digest(state.league, job.number)
    path = state.league.path.with_name("plain.league")
    with LeagueState.new(path, lanes=4) as plain:
        plain.add_samples("pong", BOTS)
        plain.use_concurrent = False
        plain.start_tournament(name="plain", **plan, seed=77).wait()  # type: ignore[arg-type]
        assert tables.digest(plain.league, 1) == (told, played)


# Errors


def test_what_a_person_can_mend_is_a_toast_and_what_should_not_be_is_a_report(window: Window, qtbot: QtBot) -> None:
    window.desk.failed.disconnect()
    window.desk.failed.connect(window._fail)
    window.desk.failed.emit(BadValue("points", "<b>many</b>", "a number"))
    assert "<b>many</b>" in window.toasts.shown[0].text
    assert window.toasts.shown[0].words.textFormat() == Qt.TextFormat.PlainText
    try:
        raise ZeroDivisionError("by nothing")
    except ZeroDivisionError as error:
        window.desk.failed.emit(error)
    found = sheet(Trouble)
    assert isinstance(found, Trouble)
    assert "ZeroDivisionError: by nothing" in found.report.toPlainText()
    assert "PySide6-Essentials" in found.report.toPlainText()
    found._copy()
    assert "by nothing" in QApplication.clipboard().text()
    found.close()


def test_about_tells_the_versions(window: Window) -> None:
    window.help.about()
    found = sheet(About)
    assert found is not None
    assert "pyqtgraph" in texts(found)
    found.close()


def test_an_offer_on_a_toast_can_be_taken(window: Window, qtbot: QtBot) -> None:
    taken: list[int] = []
    window.desk.say("Something happened", "good", ("Do it", lambda: taken.append(1)))
    qtbot.mouseClick(window.toasts.shown[0].offered, Qt.MouseButton.LeftButton)
    assert taken == [1]
    assert window.toasts.shown == []


# Arrangement


def test_the_theme_changes_while_it_is_open(playing: Window) -> None:
    playing.show_page("standings")
    before = playing.grab().toImage()
    playing.view.set_theme("dark")
    try:
        assert theme.current() is theme.DARK
        assert playing.grab().toImage() != before
        assert playing.desk.settings.get("theme") == "dark"
    finally:
        playing.view.set_theme("light")


def test_panels_come_back_as_they_were_and_can_be_reset(playing: Window, settings: Settings) -> None:
    playing.show_page("standings")
    playing.view.toggle_dock("run")
    assert not playing.dock("run").isVisible()
    playing.view.toggle_dock("log")
    assert playing.dock("log").isVisible()
    playing.show_page("welcome")
    assert not playing.dock("agents").isVisible()
    playing.show_page("standings")
    assert (playing.dock("agents").isVisible(), playing.dock("run").isVisible(), playing.dock("log").isVisible()) == (
        True,
        False,
        True,
    )
    playing.view.reset_layout()
    assert (playing.dock("run").isVisible(), playing.dock("log").isVisible()) == (True, False)


def test_dropped_files_go_where_they_belong(playing: Window, tmp_path: Path, qtbot: QtBot) -> None:
    other = tmp_path / "other.league"
    LeagueState.new(other).close()
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(other))])
    event = QDropEvent(QPointF(5, 5), Qt.DropAction.CopyAction, data, Qt.MouseButton.LeftButton,
                       Qt.KeyboardModifier.NoModifier)  # fmt: skip
    playing.dropEvent(event)
    qtbot.waitUntil(lambda: playing.desk.state is not None and playing.desk.league.league.path == other)


def test_a_second_window_looks_only(window: Window, played: Path, qtbot: QtBot) -> None:
    with LeagueState(played):
        window.leagues.open_path(played)
        qtbot.waitUntil(lambda: window.desk.state is not None)
        assert window.desk.league.league.read_only
        assert not window.acts.named("tournaments.new").isEnabled()
        assert not window.bar.switch.isEnabled()
        assert any("look, but not change" in one.text for one in window.toasts.shown)


# Closing


def test_closing_in_a_run_asks_once_saves_and_leaves_no_process(playing: Window, qtbot: QtBot) -> None:
    state = playing.desk.league
    job = state.start_tournament(game=QUICK, agents=BOTS, options={"rounds": 400}, seed=5)
    qtbot.waitUntil(lambda: job.progress().played > 20, timeout=30_000)
    playing.close()
    found = sheet(Question)
    assert isinstance(found, Question)
    assert "is being played" in texts(found)
    found.reject()
    assert state.running, "to stay is to go on"
    playing.close()
    asked = sheet(Question)
    assert isinstance(asked, Question)
    qtbot.mouseClick(asked.yes, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: not playing.isVisible(), timeout=30_000)
    assert not worker_pids()
    with LeagueState(state.league.path) as again:
        found_again = again.league.tournament(job.number)
        assert found_again.state is State.STOPPED
        assert 20 < found_again.played < 400 * 30


def test_after_a_crash_it_offers_to_resume(window: Window, played: Path, qtbot: QtBot) -> None:
    with LeagueState(played) as state:
        state.use_concurrent = False
        job = state.start_tournament(name="Unfinished", game=QUICK, agents=BOTS, options={"rounds": 2000}, seed=9)
        while job.progress().played < 10:
            time.sleep(0.01)
        job.stop()
        job.ended()
        state.use_concurrent = True
    window.leagues.open_path(played)
    qtbot.waitUntil(lambda: any("Unfinished" in one.text for one in window.toasts.shown), timeout=10_000)
    qtbot.waitUntil(lambda: window.acts.named("run.resume").isEnabled())
    qtbot.waitUntil(lambda: window.welcome.resume.isVisible() and window.welcome.resume.text() == "Resume Unfinished")
    window.dock("run").resume()
    qtbot.waitUntil(lambda: window.desk.league.running, timeout=30_000)


def test_the_count_of_none_stays_the_same() -> None:
    """A Qt that miscounts it ends in an abort after some thousand calls."""
    timer = QTimer()
    before = sys.getrefcount(None)
    for _ in range(500):
        timer.stop()
    assert abs(sys.getrefcount(None) - before) < 50
