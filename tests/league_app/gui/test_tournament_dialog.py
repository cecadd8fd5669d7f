"""The sheet that a tournament is drawn up on: filled in, weighed beside the window, and refused in words."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QAbstractItemModelTester, QTest
from pytestqt.qtbot import QtBot

from agents.human import person
from engine.league.estimate import rate_name
from engine.league.records import State
from engine.play.match import Clock
from league_app.core import tournament_draft as drafts
from league_app.gui.context import Desk
from league_app.core.tournament_draft import Draft, Drawing, Terms
from league_app.gui.dialogs.tournament import TournamentSheet
from league_app.gui.widgets.agent_picker import PickModel
from tests.gui.conftest import BOTS, QUICK

RATE = 100.0  # matches a second of one worker, so that nothing need be tried
Open = Callable[[], TournamentSheet]


@pytest.fixture
def sheet(desk: Desk, qtbot: QtBot) -> Open:
    """Makes one, in a league that knows how fast it plays."""
    desk.league.league.remember(rate_name(QUICK), RATE)

    def opened() -> TournamentSheet:
        made = TournamentSheet(desk)
        made.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose, False)
        qtbot.addWidget(made)
        qtbot.waitUntil(lambda: "headless" in made.sentence.text(), timeout=20_000)
        return made

    return opened


def settled(qtbot: QtBot, sheet: TournamentSheet) -> None:
    """Until the last edit has been weighed."""
    desk = sheet.desk
    qtbot.waitUntil(lambda: not (sheet._soon.isActive() or desk.reads.waiting or desk.work.waiting), timeout=20_000)


def test_it_is_filled_in_and_says_what_it_would_take(sheet: Open, qtbot: QtBot) -> None:
    one = sheet()
    settled(qtbot, one)
    assert one.sentence.text().startswith("8 agents, 112 matches: about 0.6 s headless, about ")
    assert one.sentence.text().endswith(" visual")
    assert "intervals of ±" in one.caption.text()
    assert "200 matches a second on 2 workers, as played before" in one.caption.text()
    assert one.start.isDefault()
    assert one.start.isEnabled()
    assert one.name.placeholderText() == "Pong round robin 3"
    assert one.draft().spec == QUICK


def test_enter_starts_it_and_shows_its_table(sheet: Open, desk: Desk, qtbot: QtBot) -> None:
    one, wanted = sheet(), list[tuple[str, object]]()
    desk.wanted.connect(lambda page, what: wanted.append((page, what)))
    one.picks.model.choose(BOTS[:2])
    one.show()
    with qtbot.waitSignal(one.started, timeout=20_000) as started:
        QTest.keyClick(one, Qt.Key.Key_Return)
    number = started.args[0]
    qtbot.waitUntil(lambda: not desk.league.running, timeout=30_000)
    played = desk.league.league.tournament(number)
    assert (played.state, played.played, played.entrants) == (State.FINISHED, 4, BOTS[:2])
    assert wanted == [("standings", number)]
    assert one.result() == TournamentSheet.DialogCode.Accepted


def test_what_was_used_last_is_there_again(sheet: Open, desk: Desk, qtbot: QtBot) -> None:
    one = sheet()
    one.picks.model.choose(BOTS[1:4])
    one.format.setCurrentIndex(one.format.findData("gauntlet"))
    assert one.options is not None
    one.options.set_values({"rounds": 7})
    one.terms.set_values({"games_per_meeting": 3, "swap_sides": False})
    with qtbot.waitSignal(one.planned, timeout=20_000):
        one.plan.click()
    again = sheet().draft()
    assert (again.format, again.options["rounds"]) == ("gauntlet", 7)
    assert again.terms == Terms(3, False)
    assert again.agents == BOTS[1:4]
    assert again.seed is None
    assert [one.state for one in desk.league.league.tournaments()][-1] is State.PLANNED


def test_a_seed_that_was_used_is_refused_in_words_and_another_one_is_offered(sheet: Open, qtbot: QtBot) -> None:
    one = sheet()
    one.picks.model.choose(BOTS)
    one.seed.set_value(2)
    qtbot.waitUntil(lambda: "tournament 2 (Pong round robin 2) is exactly this" in one.wrong.text(), timeout=20_000)
    assert not one.start.isEnabled()
    assert one.seed.property("wrong")
    assert one.offer.text() == "Use 3"
    one.offer.click()
    settled(qtbot, one)
    assert one.wrong.text() == ""
    assert one.start.isEnabled()
    assert one.draft().seed == 3


def test_what_cannot_be_played_is_told_and_nothing_is_changed(sheet: Open, desk: Desk, qtbot: QtBot) -> None:
    one, before = sheet(), len(desk.league.league.tournaments())
    one.picks.nobody.click()
    qtbot.waitUntil(lambda: one.wrong.text() == "0 agents chosen: Pong needs at least 2")
    one.picks.everybody.click()
    one.format.setCurrentIndex(one.format.findData("sequential-test"))
    qtbot.waitUntil(lambda: "two agents" in one.wrong.text())
    one.picks.model.choose(BOTS[:2])
    qtbot.waitUntil(lambda: "in its first step" in one.sentence.text())
    one.terms.set_values({"openings": "left; nowhere"})
    qtbot.waitUntil(lambda: "nowhere" in one.wrong.text())
    one.workers.lineEdit().setText("many")
    qtbot.waitUntil(lambda: "workers = 'many'" in one.wrong.text())
    assert not one.start.isEnabled()
    assert len(desk.league.league.tournaments()) == before


def test_while_something_is_played_it_can_only_be_saved(sheet: Open, desk: Desk, qtbot: QtBot) -> None:
    one = sheet()
    desk.league.start_tournament(game=QUICK, agents=BOTS, options={"rounds": 50}, seed=9)
    qtbot.waitUntil(lambda: not one.start.isEnabled())
    assert "is being played" in one.note.text()
    assert one.plan.isEnabled()
    desk.league.job.stop()  # type: ignore[union-attr]
    qtbot.waitUntil(lambda: one.start.isEnabled(), timeout=20_000)
    assert one.note.text() == ""


def test_nothing_is_tried_while_something_runs(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(type(desk.league), "running", property(lambda state: True))
    monkeypatch.setattr(drafts, "estimate", None)
    told = Drawing().weigh(desk.league, Draft("pong", dict(QUICK.options), BOTS))
    assert told.sentence == "6 agents, 30 matches"
    assert told.told is None


def test_a_draft_takes_the_next_free_seed_and_reads_the_clock(desk: Desk) -> None:
    one = Draft("pong", dict(QUICK.options), BOTS, options={"rounds": 2}, terms=Terms(clock=1.5, most_steps=70))
    settings = one.settings(5)
    assert settings.limits.clock == Clock(1.5)
    assert settings.limits.steps == 70
    same = Draft("pong", dict(QUICK.options), BOTS, options={"rounds": 2}, seed=1)
    count = Drawing().count(desk.league, same)
    assert (count.field, count.free, count.matches) == ("seed", 3, 60)


def test_agents_are_ticked_filtered_and_put_first(sheet: Open, qtbot: QtBot) -> None:
    one = sheet()
    picks, model = one.picks, one.picks.model
    one.show()
    picks.nobody.click()
    picks.filtered.field.setText("rand")
    picks.everybody.click()
    assert list(picks.chosen) == ["Random"]
    picks.filtered.field.setText("")
    picks.table.selectRow(2)
    picks.table.setFocus()
    QTest.keyClick(picks.table, Qt.Key.Key_Space)
    assert list(picks.chosen) == ["Predictor", "Random"]
    picks.table.selectRow([row.agent.id for row in model.rows].index("Still"))
    picks.first.click()
    assert list(picks.chosen) == ["Still", "Predictor", "Random"]
    assert picks.count.text() == "3 of 8 take part"
    assert one.draft().agents == picks.chosen


def test_the_list_of_agents_is_a_sound_model(sheet: Open) -> None:
    model = PickModel()
    QAbstractItemModelTester(model, QAbstractItemModelTester.FailureReportingMode.Fatal)
    one = sheet()
    model.set_rows(one.picks.model.every)
    model.choose(BOTS)
    model.put_first(["Lazy"])
    index = model.index(0, 0)
    assert model.setData(index, Qt.CheckState.Unchecked, Qt.ItemDataRole.CheckStateRole)
    assert "Lazy" not in model.chosen
    model.sort(2)
    model.rate({"Lazy": (1300.0, 20.0)})
    assert "1300 ±20" in [model.data(model.index(row, 2)) for row in range(model.rowCount())]


def test_a_league_for_looking_only_cannot_be_played_in(bare: Desk, played: object, qtbot: QtBot) -> None:
    from league_app.core.state import LeagueState

    bare.adopt(LeagueState(str(played), read_only=True))
    one = TournamentSheet(bare)
    qtbot.addWidget(one)
    assert not one.start.isEnabled()
    assert "read-only" in one.note.text()
    settled(qtbot, one)


def test_a_match_with_a_person_takes_as_long_as_they_do(desk: Desk) -> None:
    state = desk.league
    state.league.add_agent("Me", "pong", person("Me"))
    ids = [state.league.agent(name, "pong").id for name in ("Me", "Tracker", "Shaky")]
    told = Drawing().weigh(state, Draft("pong", dict(QUICK.options), tuple(ids[:2]), options={"rounds": 1}))
    assert told.sentence == "2 agents, 2 matches: as long as whoever plays at this keyboard takes"
    assert "a second" not in told.caption
    told = Drawing().weigh(state, Draft("pong", dict(QUICK.options), tuple(ids), options={"rounds": 1}))
    assert told.sentence.startswith("3 agents, 6 matches: about ")
    assert told.sentence.endswith(" s headless, and 4 matches as long as a person takes")
