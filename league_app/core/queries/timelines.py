"""Queries of the timeline of a training session: whether there is one, and the spans since the last query."""

from __future__ import annotations

from dataclasses import dataclass

from engine.league.storage.spans import SavedSpan
from league_app.core.state import LeagueState

PART = 20_000  # spans that one query reads, about: it takes about 0.1 s


@dataclass(frozen=True)
class NewSpans:
    """Spans that were saved since the last query."""

    spans: list[SavedSpan]
    last: int  # the last batch that was read: the next query reads those after it
    more: bool  # there may be more


def has_timeline(number: int, state: LeagueState) -> bool:
    return state.training.sessions.has_spans(number)


def load_new_spans(number: int, after: int, state: LeagueState) -> NewSpans:
    """The spans of the batches after this one, about `PART` of them."""
    spans, last = state.training.sessions.new_spans(number, after, PART)
    return NewSpans(spans, last, len(spans) >= PART)
