"""The charts of training: what is shown of which sessions, what is read for it, what can be taken away."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import Qt
from pytestqt.qtbot import QtBot

from engine.league.storage.sessions import Sessions
from league_app.gui.context import Desk
from league_app.gui.training.sessions_model import news
from league_app.gui.training.queries import export
from league_app.gui.training.charts import Curve, panels
from tests.gui.training import Ear, chart_of, our_trainers, page_of, recorded, until, with_trainers


@pytest.fixture(autouse=True)
def trainers() -> Iterator[None]:
    with our_trainers():
        yield


@pytest.fixture
def desk(bare: Desk, played: Path) -> Desk:
    return with_trainers(bare, played)


# Charts


def test_charts_are_grouped_validation_first_with_a_line_for_what_is_beaten(desk: Desk, qtbot: QtBot) -> None:
    recorded(desk.league)
    page = page_of(desk, qtbot)
    until(qtbot, lambda: page.curves.cards)
    titles = [panel.title for panel in page.curves.cards]
    assert titles == ["All opponents", "Against Random", "Best and mean", "Matches"]
    until(qtbot, lambda: chart_of(page, "Against Random").shown)
    assert [one.text for one in chart_of(page, "Against Random")._references] == ["beats Random"]
    whole = chart_of(page, "All opponents")
    assert whole._references[0].text == "even"
    assert whole.lines[0].low is not None
    assert [one.name for one in chart_of(page, "Best and mean").lines] == ["best", "mean"]
    page.smoothing.setValue(0)
    until(qtbot, lambda: whole.shown[0].smooth is None)
    page.smoothing.setValue(80)
    until(qtbot, lambda: whole.shown[0].smooth is not None)
    page.log.setChecked(True)
    until(qtbot, lambda: whole.plot.left.log)
    page.axis.setCurrentIndex(1)
    until(qtbot, lambda: whole.plot.bottom.kind == "elapsed")
    assert desk.settings.get("training/axis") == "elapsed"


def test_metrics_of_a_trainer_that_nobody_knows_are_shown_too() -> None:
    made = panels(["train/loss", "train/value_loss", "odd/<b>", "trouble/failed"], {})
    assert [(one.group, one.title) for one in made] == [
        ("odd", "<b>"), ("train", "Loss"), ("train", "Value loss"), ("trouble", "Failed")]  # fmt: skip
    assert not any(one.percent or one.reference for one in made)


def test_several_sessions_lie_over_each_other(desk: Desk, qtbot: QtBot) -> None:
    first, second = recorded(desk.league, "one"), recorded(desk.league, "two", 60)
    page = page_of(desk, qtbot)
    until(qtbot, lambda: page.number == second)
    until(qtbot, lambda: page.curves.cards and chart_of(page, "Matches").shown)
    assert [one.name for one in chart_of(page, "Matches").lines] == [""]
    page.list.setFocus()
    qtbot.keyClick(page.list, Qt.Key.Key_Down)
    assert page.model.marked == [first], "a look at another one"
    page.model.toggle(second)
    until(qtbot, lambda: [one.name for one in chart_of(page, "Matches").lines] == ["one", "two"])
    colours = [one.colour for one in chart_of(page, "Best and mean").lines]
    assert [one.name for one in chart_of(page, "Best and mean").lines][:2] == ["one, best", "one, mean"]
    assert colours == [0, 6, 1, 7], "a colour for each session, dashes for its other metrics"
    assert page.compared.text() == "2 sessions"
    qtbot.keyClick(page.list, Qt.Key.Key_Space)
    until(qtbot, lambda: [one.name for one in chart_of(page, "Matches").lines] == [""])


def test_only_what_is_new_is_read_and_what_was_forgotten_is_read_again(desk: Desk) -> None:
    number, league, sessions = recorded(desk.league), desk.league.league, Sessions(desk.league.league)
    curves: dict[str, Curve] = {}

    def look() -> dict[str, Any]:
        parts = news(league, number, {name: curve.known for name, curve in curves.items()})
        for name, part in parts.items():
            if part is None:
                curves.pop(name)
            else:
                curves.setdefault(name, Curve()).take(part)
        return parts

    assert all(part.afresh for part in look().values())
    assert look() == {}
    sessions.record(number, 31, [("fitness/best", 5.0)])
    assert [(name, part.series.steps.tolist(), part.afresh) for name, part in look().items()] == [
        ("fitness/best", [31], False)
    ]
    assert curves["fitness/best"].steps.tolist() == list(range(1, 32))
    sessions.forget_after(number, 10)
    sessions.record(number, 11, [("fitness/best", 7.0)], at=1.0)
    assert look()["fitness/best"].afresh
    assert curves["fitness/best"].steps.tolist() == list(range(1, 12))
    assert curves["fitness/best"].values[-1] == 7.0
    sessions.forget_after(number, 0)
    assert set(look().values()) == {None}
    assert curves == {}


def test_what_comes_into_sight_is_drawn(desk: Desk, qtbot: QtBot) -> None:
    """Whether the others are drawn before that depends on how Qt lays them out at first."""
    recorded(desk.league)
    page = page_of(desk, qtbot)
    page.resize(560, 500)
    until(qtbot, lambda: page.curves.cards and chart_of(page, "All opponents").shown)
    bar = page.curves.verticalScrollBar()
    bar.setValue(bar.maximum())
    until(qtbot, lambda: chart_of(page, "Matches").shown)


def test_groups_fold_and_stay_folded(desk: Desk, qtbot: QtBot) -> None:
    recorded(desk.league)
    page = page_of(desk, qtbot)
    until(qtbot, lambda: page.curves.cards)
    page.curves._groups["validation"].heading.click()
    assert not chart_of(page, "All opponents").isVisible()
    assert desk.settings.get("training/folded") == ["validation"]
    again = page_of(desk, qtbot)
    until(qtbot, lambda: again.curves.cards and chart_of(again, "Matches").isVisible())
    assert not chart_of(again, "All opponents").isVisible()


def test_all_values_are_saved_for_a_spreadsheet_and_for_tensorboard(desk: Desk, qtbot: QtBot, tmp_path: Path) -> None:
    number = recorded(desk.league)
    page, ear = page_of(desk, qtbot), Ear(desk)
    until(qtbot, lambda: page.number == number)
    page._save_csv(str(tmp_path / "all.csv"))
    until(qtbot, lambda: "Saved all.csv" in ear.text)
    assert len((tmp_path / "all.csv").read_text().splitlines()) == 1 + 7 * 30
    page._save_events(str(tmp_path / "board"))
    until(qtbot, lambda: len(ear.said) == 2)
    assert [one.name.startswith("events.out.tfevents") for one in (tmp_path / "board").iterdir()] == [True]
    assert export(desk.league, number, str(tmp_path / "more.csv"), False) == str(tmp_path / "more.csv")
