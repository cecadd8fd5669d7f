"""The tournament dialog: defaults, estimates and errors."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QAbstractItemModelTester, QTest
from pytestqt.qtbot import QtBot

from agents.human import person
from engine.league.estimate import rate_name
from engine.league.records import RunState
from engine.play.match import Clock
from league_app.core import tournament_draft
from league_app.core.tournament_draft import DraftEstimator, MatchTerms, TournamentDraft
from league_app.gui.context import AppContext
from league_app.gui.dialogs.tournament import TournamentDialog
from league_app.gui.widgets.agent_picker import PickModel
from tests.league_app.gui.conftest import BOTS, LASTING, QUICK

RATE = 100.0  # matches a second of one worker, so that no speed is measured
Open = Callable[[], TournamentDialog]


@pytest.fixture
def open_dialog(context: AppContext, qtbot: QtBot) -> Open:
    """Opens the dialog in a league whose playing speed is known."""
    context.league.league.save_setting(rate_name(QUICK), RATE)

    def opened() -> TournamentDialog:
        created = TournamentDialog(context)
        created.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose, False)
        qtbot.addWidget(created)
        qtbot.waitUntil(lambda: "headless" in created.sentence.text())
        return created

    return opened


def settled(qtbot: QtBot, dialog: TournamentDialog) -> None:
    """Wait until the last edit has been checked."""
    context = dialog.context
    qtbot.waitUntil(
        lambda: not (dialog._edit_timer.isActive() or context.read_queue.waiting or context.slow_queue.waiting)
    )


def test_defaults_are_filled_in_and_the_duration_estimated(open_dialog: Open, qtbot: QtBot) -> None:
    dialog = open_dialog()
    settled(qtbot, dialog)
    assert dialog.sentence.text().startswith("8 agents, 112 matches: about 0.6 s headless, about ")
    assert dialog.sentence.text().endswith(" visual")
    assert "intervals of ±" in dialog.caption.text()
    assert "200 matches per second on 2 workers, measured in earlier matches" in dialog.caption.text()
    assert dialog.start.isDefault()
    assert dialog.start.isEnabled()
    assert dialog.name.placeholderText() == "Pong round robin 3"
    assert dialog.draft().spec == QUICK


def test_enter_starts_the_tournament_and_shows_its_standings(
    open_dialog: Open, context: AppContext, qtbot: QtBot
) -> None:
    dialog, wanted = open_dialog(), list[tuple[str, object]]()
    context.navigation_requested.connect(lambda page, what: wanted.append((page, what)))
    dialog.picks.model.set_chosen(BOTS[:2])
    dialog.show()
    with qtbot.waitSignal(dialog.started) as started:
        QTest.keyClick(dialog, Qt.Key.Key_Return)
    number = started.args[0]
    qtbot.waitUntil(lambda: not context.league.running)
    played = context.league.league.tournament(number)
    assert (played.state, played.played, played.entrants) == (RunState.FINISHED, 4, BOTS[:2])
    assert wanted == [("standings", number)]
    assert dialog.result() == TournamentDialog.DialogCode.Accepted


def test_the_last_settings_are_remembered(open_dialog: Open, context: AppContext, qtbot: QtBot) -> None:
    dialog = open_dialog()
    dialog.picks.model.set_chosen(BOTS[1:4])
    dialog.format.setCurrentIndex(dialog.format.findData("gauntlet"))
    assert dialog.options is not None
    dialog.options.set_values({"rounds": 7})
    dialog.terms.set_values({"encounters": 3, "swap_sides": False})
    with qtbot.waitSignal(dialog.planned):
        dialog.plan.click()
    again = open_dialog().draft()
    assert (again.format, again.options["rounds"]) == ("gauntlet", 7)
    assert again.terms == MatchTerms(3, False)
    assert again.agents == BOTS[1:4]
    assert again.seed is None
    assert [tournament.state for tournament in context.league.league.tournaments()][-1] is RunState.PLANNED


def test_the_executor_is_chosen_beside_the_workers_and_remembered(
    open_dialog: Open, context: AppContext, qtbot: QtBot
) -> None:
    dialog = open_dialog()
    assert [dialog.executor.itemData(n) for n in range(dialog.executor.count())] == ["local", "sequential"]
    assert dialog.draft().executor == context.league.executor
    dialog.executor.set_value("sequential")
    assert dialog.executor.caption.text().startswith("This process, on one core")
    dialog.picks.model.set_chosen(BOTS)
    settled(qtbot, dialog)
    with qtbot.waitSignal(dialog.started):
        dialog.start.click()
    qtbot.waitUntil(lambda: not context.league.running)
    assert context.league.executor == "sequential"
    assert context.settings.get("executor") == "sequential"
    assert open_dialog().executor.value == "sequential"


@pytest.mark.parametrize("height", [720, 480])
def test_the_executor_is_visible_without_scrolling(open_dialog: Open, qtbot: QtBot, height: int) -> None:
    dialog = open_dialog()
    assert dialog.height() <= dialog.screen().availableGeometry().height()
    dialog.resize(dialog.width(), height)
    with qtbot.waitExposed(dialog):
        dialog.show()
    settled(qtbot, dialog)
    for control in (dialog.executor, dialog.workers, dialog.executor.caption, dialog.start):
        shown = control.visibleRegion().boundingRect()
        assert (shown.width(), shown.height()) == (control.width(), control.height())


def test_an_executor_that_is_not_installed_is_named(open_dialog: Open, qtbot: QtBot) -> None:
    dialog = open_dialog()
    dialog.executor.set_value("cluster")
    qtbot.waitUntil(lambda: dialog.error.text().startswith("unknown executor 'cluster'"))
    assert not dialog.start.isEnabled()


def test_a_used_seed_is_rejected_and_a_free_one_suggested(open_dialog: Open, qtbot: QtBot) -> None:
    dialog = open_dialog()
    dialog.picks.model.set_chosen(BOTS)
    dialog.seed.set_value(2)
    same = "tournament 2 (Pong round robin 2) already has these matches"
    qtbot.waitUntil(lambda: same in dialog.error.text())
    assert not dialog.start.isEnabled()
    assert dialog.seed.property("wrong")
    assert dialog.fix.text() == "Use seed 3"
    dialog.fix.click()
    settled(qtbot, dialog)
    assert dialog.error.text() == ""
    assert dialog.start.isEnabled()
    assert dialog.draft().seed == 3


def test_an_invalid_draft_shows_its_error_and_changes_nothing(
    open_dialog: Open, context: AppContext, qtbot: QtBot
) -> None:
    dialog, before = open_dialog(), len(context.league.league.tournaments())
    dialog.picks.none_button.click()
    qtbot.waitUntil(lambda: dialog.error.text() == "0 agents chosen: Pong needs at least 2")
    dialog.picks.all_button.click()
    dialog.format.setCurrentIndex(dialog.format.findData("sequential-test"))
    qtbot.waitUntil(lambda: "two agents" in dialog.error.text())
    dialog.picks.model.set_chosen(BOTS[:2])
    qtbot.waitUntil(lambda: "in its first step" in dialog.sentence.text())
    dialog.terms.set_values({"openings": "left; nowhere"})
    qtbot.waitUntil(lambda: "nowhere" in dialog.error.text())
    dialog.workers.lineEdit().setText("many")
    qtbot.waitUntil(lambda: "workers = 'many'" in dialog.error.text())
    assert not dialog.start.isEnabled()
    assert len(context.league.league.tournaments()) == before


def test_during_a_run_a_draft_can_only_be_saved(open_dialog: Open, context: AppContext, qtbot: QtBot) -> None:
    dialog = open_dialog()
    context.league.start_tournament(game=QUICK, agents=BOTS, options=LASTING, seed=9)
    qtbot.waitUntil(lambda: not dialog.start.isEnabled())
    assert "is running" in dialog.note.text()
    assert dialog.plan.isEnabled()
    context.league.job.stop()  # type: ignore[union-attr]
    qtbot.waitUntil(lambda: dialog.start.isEnabled())
    assert dialog.note.text() == ""


def test_no_estimate_is_measured_during_a_run(context: AppContext, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(type(context.league), "running", property(lambda state: True))
    monkeypatch.setattr(tournament_draft, "estimate", None)
    estimate = DraftEstimator().estimate(context.league, TournamentDraft("pong", dict(QUICK.options), BOTS))
    assert estimate.sentence == "6 agents, 30 matches"
    assert estimate.estimate is None


def test_a_draft_takes_the_next_free_seed_and_reads_the_clock(context: AppContext) -> None:
    draft = TournamentDraft(
        "pong", dict(QUICK.options), BOTS, options={"rounds": 2}, terms=MatchTerms(clock=1.5, most_steps=70)
    )
    settings = draft.settings(5)
    assert settings.limits.clock == Clock(1.5)
    assert settings.limits.steps == 70
    same = TournamentDraft("pong", dict(QUICK.options), BOTS, options={"rounds": 2}, seed=1)
    count = DraftEstimator().check(context.league, same)
    assert (count.field, count.free_seed, count.matches) == ("seed", 3, 60)


def test_agents_are_checked_filtered_and_moved_to_the_top(open_dialog: Open, qtbot: QtBot) -> None:
    dialog = open_dialog()
    picks, model = dialog.picks, dialog.picks.model
    dialog.show()
    picks.none_button.click()
    picks.filtered.field.setText("rand")
    picks.all_button.click()
    assert list(picks.chosen) == ["Random"]
    picks.filtered.field.setText("")
    picks.table.selectRow(2)
    picks.table.setFocus()
    QTest.keyClick(picks.table, Qt.Key.Key_Space)
    assert list(picks.chosen) == ["Predictor", "Random"]
    picks.table.selectRow([row.agent.id for row in model.rows].index("Still"))
    picks.top_button.click()
    assert list(picks.chosen) == ["Still", "Predictor", "Random"]
    assert picks.count.text() == "3 of 8 take part"
    assert dialog.draft().agents == picks.chosen


def test_the_list_of_agents_is_a_valid_model(open_dialog: Open) -> None:
    model = PickModel()
    QAbstractItemModelTester(model, QAbstractItemModelTester.FailureReportingMode.Fatal)
    dialog = open_dialog()
    model.set_rows(dialog.picks.model.all_rows)
    model.set_chosen(BOTS)
    model.move_to_top(["Lazy"])
    index = model.index(0, 0)
    assert model.setData(index, Qt.CheckState.Unchecked, Qt.ItemDataRole.CheckStateRole)
    assert "Lazy" not in model.chosen
    model.sort(2)
    model.set_ratings({"Lazy": (1300.0, 20.0)})
    assert "1300 ±20" in [model.data(model.index(row, 2)) for row in range(model.rowCount())]


def test_a_read_only_league_cannot_start_a_tournament(bare: AppContext, played: object, qtbot: QtBot) -> None:
    from league_app.core.state import LeagueState

    bare.adopt(LeagueState(str(played), read_only=True))
    dialog = TournamentDialog(bare)
    qtbot.addWidget(dialog)
    assert not dialog.start.isEnabled()
    assert "read-only" in dialog.note.text()
    settled(qtbot, dialog)


def test_the_duration_of_matches_with_humans_is_not_estimated(context: AppContext) -> None:
    state = context.league
    state.league.add_agent("Me", "pong", person("Me"))
    ids = [state.league.agent(name, "pong").id for name in ("Me", "Tracker", "Shaky")]
    estimate = DraftEstimator().estimate(
        state, TournamentDraft("pong", dict(QUICK.options), tuple(ids[:2]), options={"rounds": 1})
    )
    assert estimate.sentence == "2 agents, 2 matches: the duration depends on the human player"
    assert "a second" not in estimate.caption
    estimate = DraftEstimator().estimate(
        state, TournamentDraft("pong", dict(QUICK.options), tuple(ids), options={"rounds": 1})
    )
    sentence = r"3 agents, 6 matches: (about|less than) [\d.]+ s headless, plus 4 matches with human players"
    assert re.fullmatch(sentence, estimate.sentence)
