"""Agents as rows of tables: in the dock, and as opponents on an agent's page."""

from __future__ import annotations

from collections.abc import Sequence

from league_app.core.queries.matches import Listed
from league_app.gui.widgets.table.model import Column
from league_app.gui.widgets.table.delegates import NOTHING, AgentCell, BarCell, NotedCell
from league_app.gui.widgets.agent_colours import colour_of
from league_app.core.formatting import percent


def _cell(one: Listed) -> AgentCell:
    kind = f"archived, {one.kind}" if one.archived else one.kind
    return AgentCell(one.name, kind, colour_of(one.id, one.colour), bool(one.warning))


def _rating(one: Listed) -> str:
    return f"{one.rating:z.0f}" if one.rating is not None else NOTHING


def longest(agents: Sequence[Listed]) -> int:
    """Letters of a rating."""
    return max((len(_rating(one)) for one in agents), default=0)


def _rating_cell(one: Listed) -> NotedCell:
    return NotedCell(_rating(one), f"\u00b1{one.error:.0f}" if one.rating is not None else "")


def _tip(one: Listed) -> str:
    rating = f"{one.rating:z.0f} \u00b1{one.error:.0f}" if one.rating is not None else "has not played here yet"
    archived = "\narchived" if one.archived else ""
    warning = f"\n{one.warning}" if one.warning else ""
    return f"{one.name}\n{one.kind}, {rating}{archived}{warning}"


def agent_columns() -> tuple[Column, ...]:
    return (
        Column("Agent", lambda one: one.name, paint="agent", value=_cell, cell_tip=_tip, width=90, least=60, grow=1),
        Column(
            "Rating",
            _rating,
            sort=lambda one: one.rating if one.rating is not None else float("-inf"),
            right=True,
            tip="With its 95 % interval: the true strength is inside in 19 of 20 cases",
            paint="noted",
            value=_rating_cell,
            cell_tip=_tip,
            descending=True,
        ),
    )


def opponent_columns() -> tuple[Column, ...]:
    return (
        Column(
            "Opponent",
            lambda one: one.name,
            paint="agent",
            value=lambda one: AgentCell(one.name, "", colour_of(one.id, one.colour)),
            cell_tip=lambda one: one.name,
            width=90,
            least=70,
            grow=2,
        ),
        Column(
            "Score",
            lambda one: percent(one.score),
            sort=lambda one: one.score,
            paint="bar",
            value=lambda one: BarCell(one.score, percent(one.score)),
            width=110,
            least=100,
            grow=1,
            descending=True,
            tip="Share of what could be won against it",
        ),
        Column(
            "W / D / L",
            lambda one: f"{one.wins:,} / {one.draws:,} / {one.losses:,}",
            sort=lambda one: one.wins + one.draws + one.losses,
            right=True,
            descending=True,
        ),
    )
