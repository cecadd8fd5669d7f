"""Table columns for agents, in the dock and as opponents on an agent's page."""

from __future__ import annotations

from collections.abc import Sequence

from engine.league.standings import Row
from league_app.core.formatting import percent
from league_app.core.queries.agents import AgentRow, match_count
from league_app.core.queries.matches import ending_text
from league_app.gui.widgets.agent_colours import colour_of
from league_app.gui.widgets.key_figures import AgentFigures
from league_app.gui.widgets.table.delegates import NOTHING, AgentCell, BarCell, NotedCell
from league_app.gui.widgets.table.model import TableColumn


def _cell(agent: AgentRow) -> AgentCell:
    kind = f"archived, {agent.kind}" if agent.archived else agent.kind
    return AgentCell(agent.name, kind, colour_of(agent.id, agent.colour), bool(agent.warning))


def _rating(agent: AgentRow) -> str:
    return f"{agent.rating:z.0f}" if agent.rating is not None else NOTHING


def longest_rating(agents: Sequence[AgentRow]) -> int:
    """The length of the longest rating text."""
    return max((len(_rating(agent)) for agent in agents), default=0)


def _rating_cell(agent: AgentRow) -> NotedCell:
    return NotedCell(_rating(agent), f"\u00b1{agent.error:.0f}" if agent.rating is not None else "")


def _tip(agent: AgentRow) -> str:
    rating = f"{agent.rating:z.0f} \u00b1{agent.error:.0f}" if agent.rating is not None else "not rated yet"
    archived = "\narchived" if agent.archived else ""
    warning = f"\n{agent.warning}" if agent.warning else ""
    return f"{agent.name}\n{agent.kind}, {rating}{archived}{warning}"


def agent_columns() -> tuple[TableColumn, ...]:
    return (
        TableColumn(
            "agent",
            "Agent",
            lambda agent: agent.name,
            paint="agent",
            value=_cell,
            cell_tip=_tip,
            width=90,
            min_width=60,
            grow=1,
        ),
        TableColumn(
            "rating",
            "Rating",
            _rating,
            sort=lambda agent: agent.rating if agent.rating is not None else float("-inf"),
            right=True,
            tip="Rating with its 95 % confidence interval",
            paint="noted",
            value=_rating_cell,
            cell_tip=_tip,
            descending=True,
        ),
    )


def opponent_columns() -> tuple[TableColumn, ...]:
    return (
        TableColumn(
            "opponent",
            "Opponent",
            lambda opponent: opponent.name,
            paint="agent",
            value=lambda opponent: AgentCell(opponent.name, "", colour_of(opponent.id, opponent.colour)),
            cell_tip=lambda opponent: opponent.name,
            width=90,
            min_width=70,
            grow=2,
        ),
        TableColumn(
            "score",
            "Score",
            lambda opponent: percent(opponent.score),
            sort=lambda opponent: opponent.score,
            paint="bar",
            value=lambda opponent: BarCell(opponent.score, percent(opponent.score)),
            width=110,
            min_width=100,
            grow=1,
            descending=True,
            tip="Points won as a share of the possible points",
        ),
        TableColumn(
            "record",
            "W / D / L",
            lambda opponent: f"{opponent.wins:,} / {opponent.draws:,} / {opponent.losses:,}",
            sort=lambda opponent: opponent.wins + opponent.draws + opponent.losses,
            right=True,
            descending=True,
        ),
    )


def agent_figures(row: Row, rank: int, rated: int, seats: int = 2) -> AgentFigures:
    total = row.total
    forfeits = tuple((ending_text(ending), count) for ending, count in sorted(row.forfeits.items()))
    results = total.wins, total.draws, total.losses
    matches = match_count(total.played, seats)
    return AgentFigures(row.rating, row.error, rank, rated, total.score, matches, results, seats, forfeits)
