"""How agents behave in a run: whose matches are played alone, for lack of trust or by the clock, and who is out."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from engine.play.lane_kernels import bits_for, unpack
from engine.play.match import Ending, EndingKind, MatchResult, MatchSpec
from engine.play.replay import Playback, ranks_after
from engine.registry import needs_a_core

STRIKES = 3  # failures, each in a match played alone, after which an agent is not asked again in this run


class Conduct:
    """Failures that were confirmed by playing alone, by agent."""

    def __init__(self, limit: int | None = STRIKES) -> None:
        self._limit = limit
        self._failures: Counter[str] = Counter()
        self._timed: dict[str, bool] = {}  # by agent; within a run one id is one agent

    @property
    def failed(self) -> bool:
        """Whether anybody has failed."""
        return bool(self._failures)

    @property
    def quarantined(self) -> frozenset[str]:
        return frozenset(agent for agent, count in self._failures.items() if self._limit and count >= self._limit)

    def note(self, spec: MatchSpec, result: MatchResult | CutShort) -> bool:
        """What came of a match that was played alone; whether somebody failed for the first time."""
        kind = result.ending.kind
        if not kind.failure or (kind is EndingKind.TIMEOUT and spec.limits.clock is not None):  # that is a loss on time
            return False
        guilty = {result.players[seat] for seat in result.ending.seats}
        news = not guilty <= self._failures.keys()
        self._failures.update(guilty)
        return news

    def timed(self, spec: MatchSpec) -> bool:
        """Whether real time matters in it, by its own clock or to one of its players: it is to be played alone."""
        if spec.limits.clock is not None:
            return True
        for player in spec.players:
            known = self._timed.get(player.id)
            if known is None:
                known = self._timed[player.id] = needs_a_core(player)
            if known:
                return True
        return False

    def suspicious(self, spec: MatchSpec) -> bool:
        """Whether somebody in it has failed before: it is to be played alone."""
        return any(player.id in self._failures for player in spec.players)

    def refusal(self, spec: MatchSpec) -> MatchResult | None:
        """The record of a match that is not played, because somebody in it failed too often."""
        if not self._limit or not self._failures:
            return None
        out = tuple(seat for seat, player in enumerate(spec.players) if self._failures.get(player.id, 0) >= self._limit)
        if not out:
            return None
        names = dict.fromkeys(spec.players[seat].id for seat in out)
        told = " and ".join(f"{name} has failed {self._failures[name]} times" for name in names)
        return unplayed(spec, EndingKind.QUARANTINED, f"{told} in this run", out)


def unplayed(spec: MatchSpec, kind: EndingKind, reason: str, seats: tuple[int, ...] = ()) -> MatchResult:
    """The record of a match of which nothing is known but why."""
    n = len(spec.players)
    players = tuple(player.id for player in spec.players)
    ranks = tuple(1 + (seat in seats) * (n - len(seats)) for seat in range(n)) if kind.rated else (1,) * n
    return MatchResult(spec.id, players, (0.0,) * n, ranks, 0, Ending(kind, seats, reason), ((),) * n, b"", False)


@dataclass(frozen=True)
class CutShort:
    """A match whose process died, as it was found. Playing it again to see what it had come to takes time, so that is
    left to whoever wants the record."""

    spec: MatchSpec
    ending: Ending
    steps: int
    actions: bytes  # as they were logged
    keep: bool = True  # the actions

    @property
    def players(self) -> tuple[str, ...]:
        return tuple(player.id for player in self.spec.players)

    def record(self) -> MatchResult:
        """What was played until then counts."""
        kind, seats = self.ending.kind, self.ending.seats
        try:
            playback = Playback(self.spec)
            playback.feed(unpack(self.actions, bits_for(playback.game.info.actions)).tolist(), until=self.steps)
            playback.seek(self.steps)
            scores, ranks, stats = playback.scores(), ranks_after(playback, seats), playback.stats()
        except Exception:  # the dying process may have left nonsense, and rules may raise anything when they meet it
            return unplayed(self.spec, kind, self.ending.reason, seats)
        return MatchResult(
            self.spec.id,
            self.players,
            scores,
            ranks,
            playback.steps,
            self.ending,
            stats,
            self.actions if self.keep else b"",
            kind not in (EndingKind.MEMORY, EndingKind.TIMEOUT) and self.spec.limits.clock is None,
        )
