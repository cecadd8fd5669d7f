"""Numbers as texts."""

from __future__ import annotations

import pytest

from league_app.core.formatting import about_duration


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
