"""Several metrics of a group in one chart (`Metric.together`): of each agent of a session, and of several sessions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QFontMetrics
from pytestqt.qtbot import QtBot

from agents.training.independent.metrics import METRICS
from agents.training.trainer import Metric, Reading, Trainer
from engine.league.storage.session_rows import Measured
from engine.league.storage.sessions import SessionStore
from engine.registry import TRAINERS
from league_app.core.state import LeagueState
from league_app.gui import theme
from league_app.gui.context import AppContext
from league_app.gui.training.chart_specs import MetricCurve, SessionCurves, chart_lines, chart_specs
from league_app.gui.widgets.chart.labels import elided_names, line_style
from league_app.gui.widgets.chart.series import prepare_line
from tests.league_app.gui.conftest import QUICK
from tests.league_app.gui.training_helpers import chart_of, page_of, until

AGENTS = [f"agent {number}" for number in range(1, 11)]
SCORE = Metric("mean score of this agent", together=True)


@dataclass(frozen=True)
class Team(Trainer):
    """Declares metrics for each agent; it never runs."""

    name: ClassVar[str] = "team"
    about: ClassVar[str] = "a test"
    metrics: ClassVar[Mapping[str, Metric]] = {
        "evaluation/score": Metric("mean score of all agents"),
        "score/*": SCORE,
        "speedup/measured": Metric("measured", Reading.SCORE, "Speed-up", 1.0, "sequential", together=True),
        "speedup/predicted": Metric("as Amdahl predicts", together=True),
    }
    headline: ClassVar[str] = "evaluation/score"


@pytest.fixture(autouse=True)
def trainer() -> Iterator[None]:
    TRAINERS.add(Team.name, Team)
    yield
    TRAINERS.remove(Team.name)


def team(state: LeagueState, name: str, agents: list[str]) -> int:
    sessions = SessionStore(state.league)
    number = sessions.add(name, Team.name, QUICK, []).number
    rows = [
        Measured(step, [("evaluation/score", 1.0), ("speedup/measured", 1.5), ("speedup/predicted", 1.7),
                        *((f"score/{agent}", step + place) for place, agent in enumerate(agents))])
        for step in range(1, 21)
    ]  # fmt: skip
    sessions.record_many(number, rows)
    return number


# Which charts there are


def test_metrics_that_say_so_share_the_chart_of_their_group() -> None:
    names = [*(f"score/{agent}" for agent in reversed(AGENTS)), "speedup/predicted", "speedup/measured"]
    score, speed = chart_specs(names, Team.metrics, Team.headline)
    assert score.metrics == tuple(f"score/{agent}" for agent in AGENTS), "agent 10 comes after agent 9"
    assert (score.title, score.help) == ("Score", "mean score of this agent")
    assert (speed.title, speed.metrics) == ("Speed-up", ("speedup/measured", "speedup/predicted"))
    assert (speed.reference, speed.reference_label) == (1.0, "sequential")
    assert speed.help == "measured: measured\npredicted: as Amdahl predicts"


def test_a_metric_that_does_not_say_so_has_its_own_chart() -> None:
    declared = {"loss/mean": Metric("of all"), "loss/*": Metric("of one", title="Loss of {name}", together=True)}
    mean, others = chart_specs(["loss/a", "loss/b", "loss/mean"], declared)
    assert (mean.title, mean.metrics) == ("Mean", ("loss/mean",))
    assert (others.title, others.metrics) == ("Loss", ("loss/a", "loss/b")), "the title of one is not that of both"
    [alone] = chart_specs(["loss/a"], declared)
    assert alone.title == "Loss of a"


def test_the_interval_of_a_metric_is_not_that_of_the_others() -> None:
    band = ("score/low", "score/high")
    declared = {"score/a": Metric("", interval=band, together=True), "score/b": Metric("", together=True)}
    [spec] = chart_specs(["score/a", "score/b", *band], declared)
    assert (spec.metrics, spec.bands) == (("score/a", "score/b"), (band, None))


@pytest.mark.parametrize(("agents", "charts"), [(4, 1), (5, 5)])
def test_many_metrics_of_several_sessions_have_a_chart_each(agents: int, charts: int) -> None:
    """There are four kinds of dashes: with more lines of one session, some would look the same."""
    names = [f"score/{agent}" for agent in AGENTS[:agents]]
    assert len(chart_specs(names, Team.metrics, sessions=2)) == charts
    assert len(chart_specs(names, Team.metrics, sessions=1)) == 1


def test_lines_of_exact_metrics_are_not_smoothed() -> None:
    """An average of the latest values of a counter is below its value."""
    curve = MetricCurve(np.arange(5.0), np.arange(5.0), 1000 * np.arange(5.0))
    curves = dict.fromkeys(("updates/agent 1", "epsilon/agent 1", "score/agent 1", "other/x"), curve)
    session = SessionCurves(1, "one", 0.0, curves, METRICS)
    lines = {spec.group: chart_lines(spec, [session], "step")[0] for spec in chart_specs(curves, METRICS)}
    smooth = {group for group, line in lines.items() if prepare_line(line, 0.9, log=False).smooth is not None}
    assert smooth == {"score", "other"}


# On the page


def test_ten_agents_have_ten_lines_that_differ_and_ten_names(context: AppContext, qtbot: QtBot) -> None:
    team(context.league, "ten", AGENTS)
    page = page_of(context, qtbot)
    until(qtbot, lambda: page.charts.cards and chart_of(page, "Score").shown)
    assert [spec.title for spec in page.charts.cards] == ["Score", "Score", "Speed-up"], "the headline's is the first"
    chart = next(card.chart for spec, card in page.charts.cards.items() if len(spec.metrics) == 10)
    until(qtbot, lambda: chart.shown)
    assert [line.name for line in chart.lines] == AGENTS
    styles = [line_style(line.colour) for line in chart.lines]
    assert len({(colour.name(), dash) for colour, dash in styles}) == 10
    assert [dash for _, dash in styles] == [Qt.PenStyle.SolidLine] * 6 + [Qt.PenStyle.DashLine] * 4
    assert not chart.grab().isNull()
    assert [reference.text for reference in chart_of(page, "Speed-up")._references] == ["sequential"]


def test_sessions_are_compared_in_joint_charts(context: AppContext, qtbot: QtBot) -> None:
    first, second = (team(context.league, name, AGENTS[:2]) for name in ("one", "two"))
    page = page_of(context, qtbot)
    until(qtbot, lambda: page.number == second and page.charts.cards)
    page.model.toggle(first)
    speed = ["two, measured", "two, predicted", "one, measured", "one, predicted"]
    until(qtbot, lambda: [line.name for line in chart_of(page, "Speed-up").lines] == speed)
    assert [line.colour for line in chart_of(page, "Speed-up").lines] == [0, 6, 1, 7]


def test_names_that_would_be_elided_to_the_same_text_stay_different(context: AppContext) -> None:
    metrics = QFontMetrics(theme.font("caption"))
    width = metrics.horizontalAdvance("Five agents, st")
    assert elided_names(["Short", "A session with a long name"], metrics, width)[1].endswith("\u2026")
    names = ["Five agents, stacked", "Five agents, stacking"]
    assert elided_names(names, metrics, width) == ["\u2026stacked", "\u2026stacking"], "without what they begin with"
    names = [f"A-session-with-a-long-name, agent {number}" for number in (1, 2)]
    assert [text[-1] for text in elided_names(names, metrics, width)] == ["1", "2"]
    names = [f"{letter} session with a long name, {number}" for letter in "ab" for number in (1, 2)]
    assert len(set(elided_names(names, metrics, width))) == 4, "begin and end differ"
    assert elided_names(["same", "same"], metrics, width) == ["same", "same"]
