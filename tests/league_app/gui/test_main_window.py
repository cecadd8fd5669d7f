"""The window as a whole: launching, pages, actions, leagues, closing."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from PySide6.QtCore import QMimeData, QPointF, Qt, QTimer, QUrl
from PySide6.QtGui import QDropEvent
from PySide6.QtWidgets import QApplication, QLabel, QLineEdit, QMenu, QWidget
from pytestqt.qtbot import QtBot

from engine.errors import BadValue
from engine.league.records import RunState
from league_app.core import paths, sample_league
from league_app.core.preferences import Preferences
from league_app.core.state import LeagueState
from league_app.gui import theme
from league_app.gui.actions import ACTIONS
from league_app.gui.dialogs.command_palette import CommandPalette, rank
from league_app.gui.dialogs.messages import AboutDialog, ConfirmDialog, ErrorDialog, FailureDialog
from league_app.gui.main_window import PAGES, MainWindow
from league_app.gui.page import Page
from league_app.gui.palette import DARK
from tests.faults.league import worker_pids
from tests.league_app.gui.conftest import BOTS, LASTING, QUICK


def find_dialog(kind: type[QWidget]) -> QWidget | None:
    return next(
        (widget for widget in QApplication.topLevelWidgets() if isinstance(widget, kind) and widget.isVisible()), None
    )


def texts(widget: QWidget) -> str:
    return "\n".join(label.text() for label in widget.findChildren(QLabel) if label.isVisible())


# Launching


def test_without_a_league_the_welcome_page_is_shown(window: MainWindow) -> None:
    assert window.outer.currentWidget() is window.welcome
    assert "No league is open" in texts(window.welcome)
    assert not window.welcome.run.isEnabled()
    window.show_page("history")
    assert window.outer.currentWidget() is window.welcome


@pytest.mark.usefixtures("only_ours")
def test_the_sample_league_is_created_and_plays_a_tournament(window: MainWindow, qtbot: QtBot) -> None:
    window.leagues.sample()
    qtbot.waitUntil(lambda: window.context.state is not None)
    state = window.context.league
    done = [RunState.FINISHED] * len(sample_league.games())
    qtbot.waitUntil(lambda: [tournament.state for tournament in state.league.tournaments()] == done)
    assert state.league.path == paths.sample_league()
    played = sum(tournament.played for tournament in state.league.tournaments())
    summary = f"{len(state.agents())} agents, {played:,} matches played"
    assert played > 300
    qtbot.waitUntil(lambda: summary in texts(window.welcome))
    qtbot.waitUntil(lambda: window.welcome.preview.playback is not None)
    assert "Best match so far" in window.welcome.caption.text()


def test_agents_without_a_rating_have_no_rank(window: MainWindow, tmp_path: Path, qtbot: QtBot) -> None:
    with LeagueState.new(tmp_path / "fresh.league") as state:
        state.add_samples("pong", ("Tracker", "Lazy"))
    window.leagues.open_path(tmp_path / "fresh.league")
    qtbot.waitUntil(lambda: "Tracker" in texts(window.welcome).splitlines())
    assert "1." not in texts(window.welcome)


def test_the_best_match_opens_in_the_match_page(playing: MainWindow, qtbot: QtBot) -> None:
    qtbot.waitUntil(lambda: playing.welcome.preview.playback is not None)
    playing.welcome.preview.chosen.emit()
    assert playing.stack.currentWidget() is playing.page("match")


def test_recent_leagues_are_remembered_newest_first(playing: MainWindow, settings: Preferences, played: Path) -> None:
    assert settings.recent == [played]
    assert Preferences(paths.settings_file().parent / "window.json").recent == [played]


def test_a_file_that_is_not_a_league_is_an_error(window: MainWindow, tmp_path: Path, qtbot: QtBot) -> None:
    wrong = tmp_path / "wrong.league"
    wrong.write_bytes(b"not a league at all")
    window.leagues.open_path(wrong)
    qtbot.waitUntil(lambda: find_dialog(FailureDialog) is not None)
    dialog = find_dialog(FailureDialog)
    assert isinstance(dialog, FailureDialog)
    assert "wrong.league" in texts(dialog)
    assert window.context.state is None
    assert "No league is open" in texts(window.welcome)
    assert "Opening" not in texts(window)
    dialog.accept()


@pytest.mark.parametrize("damaged", [b"not a league at all", None])
def test_a_file_that_cannot_be_opened_changes_nothing(
    playing: MainWindow, tmp_path: Path, qtbot: QtBot, damaged: bytes | None
) -> None:
    state = playing.context.league
    playing.show_page("history")
    job = state.start_tournament(game=QUICK, agents=BOTS, options=LASTING, seed=5)
    wrong = tmp_path / "wrong.league"
    if damaged is not None:
        wrong.write_bytes(damaged)
    playing.leagues.open_path(wrong)
    qtbot.waitUntil(lambda: find_dialog(FailureDialog) is not None)
    dialog = find_dialog(FailureDialog)
    assert isinstance(dialog, FailureDialog)
    assert "wrong.league could not be opened" in texts(dialog)
    assert find_dialog(ConfirmDialog) is None, "no run is interrupted for it"
    assert playing.context.state is state
    assert state.job is job
    assert playing.stack.currentWidget() is playing.page("history")
    assert "Opening" not in texts(playing)
    dialog.accept()


def test_another_league_replaces_the_open_one_only_with_consent(
    playing: MainWindow, played: Path, tmp_path: Path, qtbot: QtBot
) -> None:
    state, other = playing.context.league, tmp_path / "other.league"
    LeagueState.new(other).close()
    state.start_tournament(game=QUICK, agents=BOTS, options=LASTING, seed=5)
    for agree in (False, True):
        playing.leagues.open_path(other)
        qtbot.waitUntil(lambda: find_dialog(ConfirmDialog) is not None)
        dialog = find_dialog(ConfirmDialog)
        assert isinstance(dialog, ConfirmDialog)
        (dialog.yes if agree else dialog.no).click()
        qtbot.waitUntil(lambda: not playing.leagues.switching)
        qtbot.waitUntil(lambda: not playing.context.slow_queue.waiting)
        assert playing.context.league.league.path == (other if agree else played)
        with LeagueState(played if agree else other) as closed:
            assert not closed.league.read_only, "it is not locked any more"


def test_the_open_league_opened_again_stays_as_it_is(playing: MainWindow, played: Path, tmp_path: Path) -> None:
    state, link = playing.context.league, tmp_path / "link.league"
    link.symlink_to(played)
    for path in (played, link):
        playing.leagues.open_path(path)
        assert not playing.leagues.switching
        assert playing.context.state is state
    assert playing.stack.currentWidget() is playing.page("dashboard")


# Pages and actions


def test_menu_entries_are_unique(window: MainWindow) -> None:
    for menu in window.menuBar().findChildren(QMenu):
        titles = [action.text() for action in menu.actions() if action.text()]
        assert len(titles) == len(set(titles)), titles


def test_every_page_is_shown_by_its_action(playing: MainWindow) -> None:
    for name, (title, _) in PAGES.items():
        playing.show_page(name)
        page = playing.stack.currentWidget()
        assert page is playing.page(name)
        assert isinstance(page, Page)
        assert page.isVisible()
        if title:
            assert page.title == title == playing.tabs.tabText(playing.tabs.currentIndex())


def test_every_action_calls_an_existing_method(window: MainWindow) -> None:
    for action in ACTIONS:
        part, _, method = action.run.partition(".")
        assert callable(getattr(window.component(part), method)), action.run


def test_no_two_actions_share_a_shortcut(window: MainWindow) -> None:
    shortcuts = [action.shortcut for action in ACTIONS if action.shortcut]
    assert len(shortcuts) == len(set(shortcuts))


def test_every_condition_of_an_action_is_known(playing: MainWindow) -> None:
    known = {**playing.view.conditions(), **playing.conditions()}
    assert {action.when for action in ACTIONS if action.when} <= set(known)
    assert {action.checked for action in ACTIONS if action.checked} <= set(known)


def test_what_needs_a_league_waits_for_one(window: MainWindow, playing: MainWindow) -> None:
    assert playing.menu_actions.find("tournaments.new").isEnabled()
    assert not playing.menu_actions.find("run.stop_now").isEnabled()


def test_the_palette_finds_by_a_few_letters_and_runs_it(playing: MainWindow, qtbot: QtBot) -> None:
    playing.help.palette()
    found = find_dialog(CommandPalette)
    assert isinstance(found, CommandPalette)
    field = found.findChild(QLineEdit)
    assert field is not None
    qtbot.keyClicks(field, "histo")
    assert "History" in found.list.item(0).text()
    qtbot.keyClick(field, Qt.Key.Key_Return)
    assert playing.stack.currentWidget() is playing.page("history")


@pytest.mark.parametrize(
    ("typed", "text", "found"), [("", "Anything", True), ("ntr", "New tournament", True), ("xyz", "New", False)]
)
def test_the_palette_matches_letters_in_order(typed: str, text: str, found: bool) -> None:
    assert (rank(typed, text) is not None) == found


def test_matches_at_the_start_of_a_word_come_first() -> None:
    assert rank("stop", "Stop now") < rank("stop", "Unstoppable") < rank("stop", "Show the operations")  # type: ignore[operator]


def test_the_game_selector_filters_agents_and_standings(playing: MainWindow, qtbot: QtBot) -> None:
    usual = [place for place in range(playing.toolbar.games.count()) if playing.toolbar.games.itemData(place) != QUICK]
    assert usual, "the game with its usual options is a pool of its own"
    playing.toolbar.games.setCurrentIndex(usual[0])
    playing.toolbar.games.activated.emit(usual[0])
    assert playing.context.pool != QUICK
    assert playing.context.pool == playing.toolbar.games.itemData(usual[0])


# The toggle


def test_visual_mode_can_be_toggled_on_any_page(playing: MainWindow, qtbot: QtBot) -> None:
    playing.show_page("history")
    state = playing.context.league
    qtbot.waitUntil(lambda: playing.toolbar.status_text.text() == "the next tournament runs on 2 workers")
    playing.toggle_visual()
    qtbot.waitUntil(lambda: state.show_visuals)
    qtbot.waitUntil(lambda: playing.toolbar.status_text.text() == "the next tournament will be shown")
    assert playing.toolbar.switch.isChecked()
    assert playing.menu_actions.find("window.toggle_visual").isChecked()


def test_toggling_visual_mode_twenty_times_leaves_the_same_records(playing: MainWindow, qtbot: QtBot) -> None:
    from engine.league import played_matches

    state = playing.context.league
    state.speed = 0.0
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
    qtbot.waitUntil(lambda: not state.running and pressed == 20)
    timer.stop()
    qtbot.waitUntil(lambda: not playing.context.command_queue.waiting)
    assert state.show_visuals is False, "twenty is even"
    digest, played = played_matches.digest(state.league, job.number)
    path = state.league.path.with_name("plain.league")
    with LeagueState.new(path, lanes=4) as plain:
        plain.add_samples("pong", BOTS)
        plain.use_concurrent = False
        plain.start_tournament(name="plain", **plan, seed=77).wait()  # type: ignore[arg-type]
        assert played_matches.digest(plain.league, 1) == (digest, played)


# Errors


def test_expected_errors_are_toasts_and_unexpected_ones_open_a_report(window: MainWindow, qtbot: QtBot) -> None:
    window.context.failed.disconnect()
    window.context.failed.connect(window._show_error)
    window.context.failed.emit(BadValue("points", "<b>many</b>", "a number"))
    assert "<b>many</b>" in window.toasts.shown[0].text
    assert window.toasts.shown[0].label.textFormat() == Qt.TextFormat.PlainText
    try:
        raise ZeroDivisionError("by nothing")
    except ZeroDivisionError as error:
        window.context.failed.emit(error)
    found = find_dialog(ErrorDialog)
    assert isinstance(found, ErrorDialog)
    assert "ZeroDivisionError: by nothing" in found.report.toPlainText()
    assert "PySide6-Essentials" in found.report.toPlainText()
    found._copy()
    assert "by nothing" in QApplication.clipboard().text()
    found.close()


def test_about_shows_the_versions(window: MainWindow) -> None:
    window.help.about()
    found = find_dialog(AboutDialog)
    assert found is not None
    assert "pyqtgraph" in texts(found)
    found.close()


def test_the_button_of_a_toast_works(window: MainWindow, qtbot: QtBot) -> None:
    taken: list[int] = []
    window.context.notify("Something happened", "good", ("Do it", lambda: taken.append(1)))
    qtbot.mouseClick(window.toasts.shown[0].action_button, Qt.MouseButton.LeftButton)
    assert taken == [1]
    assert window.toasts.shown == []


# Arrangement


def test_the_theme_changes_while_the_window_is_open(playing: MainWindow) -> None:
    playing.show_page("standings")
    before = playing.grab().toImage()
    playing.view.set_theme("dark")
    try:
        assert theme.current() is DARK
        assert playing.grab().toImage() != before
        assert playing.context.settings.get("theme") == "dark"
    finally:
        playing.view.set_theme("light")


def test_the_layout_of_panels_is_restored_and_can_be_reset(playing: MainWindow, settings: Preferences) -> None:
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


def test_dropped_files_are_opened_or_imported_by_type(playing: MainWindow, tmp_path: Path, qtbot: QtBot) -> None:
    other = tmp_path / "other.league"
    LeagueState.new(other).close()
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(other))])
    event = QDropEvent(QPointF(5, 5), Qt.DropAction.CopyAction, data, Qt.MouseButton.LeftButton,
                       Qt.KeyboardModifier.NoModifier)  # fmt: skip
    playing.dropEvent(event)
    qtbot.waitUntil(lambda: playing.context.state is not None and playing.context.league.league.path == other)


def test_a_second_window_is_read_only(window: MainWindow, played: Path, qtbot: QtBot) -> None:
    with LeagueState(played):
        window.leagues.open_path(played)
        qtbot.waitUntil(lambda: window.context.state is not None)
        assert window.context.league.league.read_only
        assert not window.menu_actions.find("tournaments.new").isEnabled()
        assert not window.toolbar.switch.isEnabled()
        assert any("open read-only: another process" in toast.text for toast in window.toasts.shown)


# Closing


def test_closing_during_a_run_asks_once_saves_and_leaves_no_process(playing: MainWindow, qtbot: QtBot) -> None:
    state = playing.context.league
    job = state.start_tournament(game=QUICK, agents=BOTS, options=LASTING, seed=5)
    qtbot.waitUntil(lambda: job.progress().played > 20)
    playing.close()
    found = find_dialog(ConfirmDialog)
    assert isinstance(found, ConfirmDialog)
    assert "is running" in texts(found)
    found.reject()
    assert state.running, "to stay is to go on"
    playing.close()
    asked = find_dialog(ConfirmDialog)
    assert isinstance(asked, ConfirmDialog)
    qtbot.mouseClick(asked.yes, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: not playing.isVisible())
    assert not worker_pids()
    with LeagueState(state.league.path) as again:
        found_again = again.league.tournament(job.number)
        assert found_again.state is RunState.STOPPED
        assert 20 < found_again.played < found_again.total


def test_after_a_crash_it_offers_to_resume(window: MainWindow, played: Path, qtbot: QtBot) -> None:
    with LeagueState(played) as state:
        state.use_concurrent = False
        job = state.start_tournament(name="Unfinished", game=QUICK, agents=BOTS, options={"rounds": 2000}, seed=9)
        while job.progress().played < 10:
            time.sleep(0.01)
        job.stop()
        job.join()
        state.use_concurrent = True
    window.leagues.open_path(played)
    qtbot.waitUntil(lambda: any("Unfinished" in toast.text for toast in window.toasts.shown))
    qtbot.waitUntil(lambda: window.menu_actions.find("run.resume").isEnabled())
    qtbot.waitUntil(lambda: window.welcome.resume.isVisible() and window.welcome.resume.text() == "Resume Unfinished")
    window.dock("run").resume()
    qtbot.waitUntil(lambda: window.context.league.running)
