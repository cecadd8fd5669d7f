"""How agents have behaved in a run: who has failed and plays alone from then on, and who is out."""

from __future__ import annotations

from collections import Counter

import numpy as np

from engine.errors import RingsideError
from engine.game import Floats, Ints
from engine.play.lanes import bits_for, rank, unpack
from engine.play.match import Ending, EndingKind, MatchResult, MatchSpec
from engine.play.replay import Playback

STRIKES = 3  # failures, each in a match played alone, after which an agent is not asked again in this run


class Conduct:
    """Failures that were confirmed by playing alone, by agent."""

    def __init__(self, limit: int | None = STRIKES) -> None:
        self._limit = limit
        self._failures: Counter[str] = Counter()

    @property
    def failed(self) -> bool:
        """Whether anybody has failed."""
        return bool(self._failures)

    @property
    def quarantined(self) -> frozenset[str]:
        return frozenset(agent for agent, count in self._failures.items() if self._limit and count >= self._limit)

    def note(self, result: MatchResult) -> bool:
        """What came of a match that was played alone; whether somebody failed for the first time."""
        if not result.ending.kind.failure:
            return False
        guilty = {result.players[seat] for seat in result.ending.seats}
        news = not guilty <= self._failures.keys()
        self._failures.update(guilty)
        return news

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
        names = " and ".join(dict.fromkeys(spec.players[seat].id for seat in out))
        return unplayed(spec, EndingKind.QUARANTINED, f"{names} failed {self._limit} times in this run", out)


def unplayed(spec: MatchSpec, kind: EndingKind, reason: str, seats: tuple[int, ...] = ()) -> MatchResult:
    """The record of a match of which nothing is known but why."""
    n = len(spec.players)
    players = tuple(player.id for player in spec.players)
    ranks = tuple(1 + (seat in seats) * (n - len(seats)) for seat in range(n)) if kind.rated else (1,) * n
    return MatchResult(spec.id, players, (0.0,) * n, ranks, 0, Ending(kind, seats, reason), ((),) * n, b"", False)


def forfeited(spec: MatchSpec, kind: EndingKind, reason: str, seat: int, steps: int, actions: bytes) -> MatchResult:
    """The record of a match that was cut short when its process died: what was played until then counts."""
    try:
        playback = Playback(spec)
        bits = bits_for(playback.game.info.actions)
        playback.feed(unpack(actions, bits).tolist(), until=steps)
        playback.seek(steps)
        scores: Floats = np.array([playback.scores()])
        forfeits = np.arange(scores.shape[1])[None, :] == seat
        ranks: Ints = np.empty(scores.shape, np.int64)
        rank(scores, forfeits, ranks)
        stats, steps = playback.stats(), playback.steps
    except (RingsideError, ValueError, IndexError):  # the dying process may have left nonsense
        return unplayed(spec, kind, reason, (seat,))
    repeatable = kind not in (EndingKind.MEMORY, EndingKind.TIMEOUT) and spec.limits.clock is None
    return MatchResult(
        spec.id,
        tuple(player.id for player in spec.players),
        tuple(scores[0].tolist()),
        tuple(ranks[0].tolist()),
        steps,
        Ending(kind, (seat,), reason),
        stats,
        actions,
        repeatable,
    )
