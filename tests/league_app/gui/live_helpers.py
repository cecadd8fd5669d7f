"""Waits for live matches on the Match page."""

from __future__ import annotations

from pytestqt.qtbot import QtBot

from engine.play.concurrent import ConcurrentMatchExecutor
from league_app.gui.match.page import MatchPage
from league_app.gui.match.player import MatchPlayer
from tests.live_worker import commands_handled


def settle(page: MatchPage, qtbot: QtBot, player: MatchPlayer) -> None:
    """Wait until all commands have taken effect and the steps that the match has played are known."""
    context, live = page.context, player.live
    assert live is not None
    qtbot.waitUntil(lambda: not context.command_queue.waiting)
    executor = context.league._playing.current
    assert isinstance(executor, ConcurrentMatchExecutor)
    qtbot.waitUntil(commands_handled(executor, live))
    qtbot.waitUntil(lambda: not live.actions_since(player.playback.received) and not player.playback._unread)


def tick(page: MatchPage, qtbot: QtBot, times: int = 3) -> None:
    """Wait until the page has advanced its player this often."""
    for _ in range(times):
        with qtbot.waitSignal(page._timer.timeout):
            pass
