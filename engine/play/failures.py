"""Tracks the failures of agents in a run: which matches are played alone, and which agents are quarantined."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from engine.play.lane_kernels import bits_for, unpack
from engine.play.match import AgentSpec, Ending, EndingKind, MatchResult, MatchSpec
from engine.play.replay import Playback, ranks_after
from engine.processes.output import LAST_OUTPUT
from engine.registry import needs_a_core

STRIKES = 3  # failures, each in a match played alone, after which an agent is quarantined for the run


class FailureTracker:
    """Failures by agent, each confirmed in a match that was played alone."""

    def __init__(self, limit: int | None = STRIKES) -> None:
        self._limit = limit
        self._failures: Counter[str] = Counter()
        self._timed: dict[str, bool] = {}  # by agent id
        self.broken_kinds: dict[str, str] = {}  # those that cannot be imported, and why

    @property
    def any_failed(self) -> bool:
        """Whether any agent has failed, or cannot be imported."""
        return bool(self._failures or self.broken_kinds)

    @property
    def quarantined(self) -> frozenset[str]:
        return frozenset(agent for agent, count in self._failures.items() if self._limit and count >= self._limit)

    def record(self, spec: MatchSpec, result: MatchResult | InterruptedMatch) -> bool:
        """Count the failures in a match that was played alone; returns whether an agent failed for the first time."""
        kind = result.ending.kind
        if not kind.failure or (kind is EndingKind.TIMEOUT and spec.limits.clock is not None):  # a loss on time
            return False
        failed = {result.players[seat] for seat in result.ending.seats}
        first = not failed <= self._failures.keys()
        self._failures.update(failed)
        return first

    def is_timed(self, spec: MatchSpec) -> bool:
        """Whether the match has a clock or a player that needs a core of its own, so that it must be played alone."""
        return spec.limits.clock is not None or any([self.needs_a_core(player) for player in spec.players])  # noqa: C419

    def needs_a_core(self, player: AgentSpec) -> bool:
        known = self._timed.get(player.id)
        if known is None:
            known = self._timed[player.id] = needs_a_core(player)
        return known

    def has_failed_player(self, spec: MatchSpec) -> bool:
        """Whether a player has failed before, so that the match must be played alone."""
        return any(player.id in self._failures for player in spec.players)

    def quarantine_result(self, spec: MatchSpec) -> MatchResult | None:
        """The result of a match that is not played because a player is quarantined; else None."""
        if not self._limit or not self._failures:
            return None
        out = tuple(seat for seat, player in enumerate(spec.players) if self._failures.get(player.id, 0) >= self._limit)
        if not out:
            return None
        names = dict.fromkeys(spec.players[seat].id for seat in out)
        reason = " and ".join(f"{name} has failed {self._failures[name]} times" for name in names)
        return unplayed_result(spec, EndingKind.QUARANTINED, f"{reason} in this run", out)

    def broken_start(self, spec: MatchSpec) -> InterruptedMatch | None:
        """The result of a match that is not started because a player's kind cannot be imported; else None."""
        kinds = [player.kind for player in spec.players] if self.broken_kinds else []
        seats = tuple(seat for seat, kind in enumerate(kinds) if kind in self.broken_kinds)
        if not seats:
            return None
        ending = Ending(EndingKind.CANNOT_START, seats, self.broken_kinds[kinds[seats[0]]])
        result = InterruptedMatch(spec, ending, 0, b"")
        self.record(spec, result)
        return result


def unplayed_result(spec: MatchSpec, kind: EndingKind, reason: str, seats: tuple[int, ...] = ()) -> MatchResult:
    """The result of a match that was not played, or of which nothing is known."""
    n = len(spec.players)
    players = tuple(player.id for player in spec.players)
    ranks = tuple(1 + (seat in seats) * (n - len(seats)) for seat in range(n)) if kind.rated else (1,) * n
    return MatchResult(spec.id, players, (0.0,) * n, ranks, 0, Ending(kind, seats, reason), ((),) * n, b"", False)


def split_output(reason: str) -> tuple[str, str]:
    """The reason of an ending, as it is recorded, without the last output of the process, and that output."""
    why, _, output = reason.partition(LAST_OUTPUT)
    return why, output


@dataclass(frozen=True)
class InterruptedMatch:
    """A match whose process died, with the actions logged so far. `to_result` replays them, which takes time."""

    spec: MatchSpec
    ending: Ending
    steps: int
    actions: bytes  # packed, as in the log
    record_actions: bool = True  # keep the actions in the result

    @property
    def players(self) -> tuple[str, ...]:
        return tuple(player.id for player in self.spec.players)

    def to_result(self) -> MatchResult:
        """The result as of the last logged step."""
        kind, seats = self.ending.kind, self.ending.seats
        try:
            playback = Playback(self.spec)
            playback.feed(unpack(self.actions, bits_for(playback.game.info.actions)).tolist(), until=self.steps)
            playback.seek(self.steps)
            scores, ranks, stats = playback.scores(), ranks_after(playback, seats), playback.stats()
        except Exception:  # the log of a crashed process may be corrupt, and the rules may raise anything then
            return unplayed_result(self.spec, kind, self.ending.reason, seats)
        return MatchResult(
            self.spec.id,
            self.players,
            scores,
            ranks,
            playback.steps,
            self.ending,
            stats,
            self.actions if self.record_actions else b"",
            kind not in (EndingKind.MEMORY, EndingKind.TIMEOUT) and self.spec.limits.clock is None,
        )
