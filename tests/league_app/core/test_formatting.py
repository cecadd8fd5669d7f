"""Numbers as texts."""

from __future__ import annotations

import pytest

from league_app.core.formatting import about_duration, natural_key, plural


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.0, "less than 0.1 s"),
        (0.049, "less than 0.1 s"),
        (0.06, "about 0.1 s"),
        (3.0, "about 3.0 s"),
        (600, "about 10 min"),
    ],
)
def test_an_estimate_is_never_zero(seconds: float, text: str) -> None:
    assert about_duration(seconds) == text


@pytest.mark.parametrize(
    ("count", "noun", "text"),
    [(1, "match", "1 match"), (2, "match", "2 matches"), (2000, "epoch", "2,000 epochs"), (0, "span", "0 spans")],
)
def test_nouns_have_their_plural(count: int, noun: str, text: str) -> None:
    assert plural(count, noun) == text


def test_numbers_in_names_are_sorted_by_value() -> None:
    assert sorted(["Agent 10", "agent 9", "actor"], key=natural_key) == ["actor", "agent 9", "Agent 10"]
