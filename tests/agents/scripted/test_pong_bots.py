"""The scripted Pong players: different in strength, by intervals that do not overlap, and the same everywhere."""

from __future__ import annotations

import pytest

from agents.scripted.pong import KIND, SAMPLES, Bot, agent, parse_bot
from engine.errors import RingsideError
from engine.registry import new_game
from tests.agents.scripted.strength import share


@pytest.mark.parametrize(
    ("better", "worse"),
    [("Predictor", "Shaky"), ("Shaky", "Tracker"), ("Tracker", "Lazy"), ("Lazy", "Still"), ("Lazy", "Random")],
)
def test_each_bot_beats_the_next_one(better: str, worse: str) -> None:
    mean, error = share(KIND, "pong", better, worse, pairs=200)
    assert mean - 3 * error > 0.5, f"{better} scores {mean:.3f} +- {error:.3f} against {worse}"


def test_the_six_samples_have_their_names_as_ids() -> None:
    assert [agent.id for agent in KIND.samples(new_game("pong"))] == list(SAMPLES)
    assert len(SAMPLES) >= 6


def test_a_payload_holds_the_bots_parameters() -> None:
    bot = Bot("tracker", dead_zone=0.2)
    assert parse_bot(agent("x", bot).payload) == bot
    assert parse_bot(b"") == Bot()


@pytest.mark.parametrize(
    ("payload", "words"),
    [
        (b"{", "JSON"),
        (b"[]", "a JSON object"),
        (b'{"style": "wizard"}', "style = 'wizard'"),
        (b'{"dead_zone": -1.0}', "dead_zone = -1.0"),
        (b'{"dead_zon": 0.1}', "did you mean 'dead_zone'"),
        (b'{"noise": NaN}', "noise = nan"),
    ],
)
def test_a_bad_payload_is_named(payload: bytes, words: str) -> None:
    with pytest.raises(RingsideError, match=words):
        parse_bot(payload)
