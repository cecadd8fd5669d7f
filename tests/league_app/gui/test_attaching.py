"""Views that attach to a running match at any moment: each position they show is the recorded one."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
from pytestqt.qtbot import QtBot

from engine.league import played_matches
from engine.play.executors import SequentialMatchExecutor
from engine.play.lane_kernels import bits_for, unpack
from engine.play.live import LiveMatch
from engine.play.match import MatchResult, MatchSpec
from engine.play.replay import VIEW, Playback, verified
from engine.registry import KINDS, new_game
from league_app.gui.context import AppContext
from league_app.gui.match.page import MatchPage
from league_app.gui.match.player import SPEEDS, MatchPlayer
from tests.league_app.gui.test_match_page import LIVE, opened, watching

MATCHES = {  # game, options, kind of the players, and two of them
    "pong": ({"points": 2}, "pong-bot", ("Tracker", "Shaky")),
    "treasure-hunt": ({}, "hunter", ("Magpie", "Badger")),
    "shogi": ({}, "shogi-bot", ("Adept", "Apprentice")),
}
VIEWS = 150  # attached to each match, at random moments


@pytest.fixture
def page(context: AppContext, qtbot: QtBot) -> Iterator[MatchPage]:
    yield from opened(context, qtbot)


def recorded(name: str) -> tuple[MatchSpec, MatchResult, list[int]]:
    options, kind, names = MATCHES[name]
    game = new_game(name, **options)
    samples = {agent.id: agent for agent in KINDS.get(kind).samples(game)}
    seats = [replace(samples[names[seat % 2]], id=f"seat {seat}") for seat in range(game.info.seats)]
    spec = MatchSpec("m", game.spec, tuple(seats), 4)
    with SequentialMatchExecutor(1) as executor:
        result = executor.execute_match(spec)
    actions = unpack(result.actions, bits_for(game.info.actions)).tolist()
    left = verified(spec, result).feed([])
    return spec, result, actions[: len(actions) - len(left)]


def shows_the_record(shown: Playback, record: Playback) -> bool:
    record.seek(shown.step)
    return shown.scene() == record.scene() and shown.scores() == record.scores() and shown.stats() == record.stats()


@pytest.mark.parametrize("name", MATCHES)
def test_a_view_attached_at_any_moment_shows_only_recorded_positions(name: str) -> None:
    spec, result, actions = recorded(name)
    record, draw = verified(spec, result), random.Random(7)
    live = LiveMatch(spec, 60.0, lambda live, words: None, lambda live: None)
    moments = sorted(draw.randrange(len(actions) + 1) for _ in range(VIEWS))
    views: list[MatchPlayer] = []
    sent, drawn = 0, 0
    for moment in moments:  # a moment may be in the middle of a step
        live.add(actions[sent:moment])
        sent = moment
        views.append(MatchPlayer(spec, "live", live=live))
        views = draw.sample(views, min(len(views), 6))  # the others are closed
        for view in views:
            view.speed = draw.choice(SPEEDS)
            draw.choice([view.follow, view.pause, view.play, lambda: view.seek(draw.randrange(view.steps + 1))])()  # noqa: B023
            view.advance(draw.random())
            assert shows_the_record(view.playback, record), f"step {view.step} after {sent} actions"
            drawn += 1
    live.add(actions[sent:])
    live.end(result)
    for view in [*views, MatchPlayer(spec, "live", live=live)]:
        while not view.at_end:
            view.skip()
            view.advance(1.0)
        assert (view.steps, view.playback.scores(), view.playback.stats()) == (
            result.steps,
            result.scores,
            result.stats,
        )
    assert drawn > VIEWS
    assert np.array_equal(views[0].playback.boards.scores()[VIEW], record.boards.scores()[1])


def test_every_reader_of_a_live_match_gets_all_its_actions() -> None:
    spec, result, actions = recorded("pong")
    live = LiveMatch(spec, 60.0, lambda live, words: None, lambda live: None)
    live.add(actions[:100])
    first = next(iter(live))
    live.add(actions[100:])
    live.end(result)
    assert first == actions[:100]
    for _ in range(2):
        assert [action for new in live for action in new] == actions
    assert live.actions_since(100) == actions[100:]


def test_a_paused_match_watched_again_after_replays_continues_where_it_was(page: MatchPage, qtbot: QtBot) -> None:
    before = watching(page, qtbot)
    qtbot.waitUntil(lambda: before.steps > 30)
    state, button = page.context.league, page.view.live_button
    page.play_pause()
    qtbot.waitUntil(lambda: page.view.header.badge.text == "PAUSED")
    live = before.live
    for reference in ("1.5", "1.6"):
        page.show_item(reference)
        qtbot.waitUntil(lambda: page.queue.shown is not None and page.queue.shown.info.reference == reference)  # noqa: B023
        qtbot.waitUntil(button.isVisible)
    button.click()
    qtbot.waitUntil(lambda: page.shown is not None and page.shown.live is live)
    after = page.shown
    assert after is not None
    assert live is not None
    assert after is not before
    qtbot.waitUntil(lambda: after.playback.received == len(live.actions_since(0)) and after.step == after.steps)
    assert after.steps >= before.steps
    assert not button.isVisible()
    page.play_pause()
    page.skip()
    qtbot.waitUntil(lambda: after.at_end)
    qtbot.waitUntil(lambda: bool(page.queue.shown and page.queue.shown.info.reference))
    assert page.queue.shown is not None
    found = played_matches.match(state.league, page.queue.shown.info.reference)
    assert found.spec.game == LIVE
    assert (after.playback.scores(), after.playback.stats()) == (found.result.scores, found.result.stats)
