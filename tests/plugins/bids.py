"""A sealed-bid game: one to ten seats bid at once for a random prize; bids stay hidden."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from engine.game import GameInfo
from engine.options import option
from engine.plain import PlainBoard, PlainGame, View, plain_kind
from engine.seeding import pick, purpose

PRIZE = purpose("bids.prize")


@dataclass(frozen=True)
class BidsOptions:
    seats: int = option(3, low=1, high=10, help="bidders")
    rounds: int = option(6, low=1, high=500, help="prizes")


class BidsBoard(PlainBoard):
    def __init__(self, options: BidsOptions, seed: int) -> None:
        self._options, self._seed = options, seed
        self._round = 0
        self._scores = [0.0] * options.seats
        self._last = [0] * options.seats
        self._won = [0] * options.seats

    @property
    def prize(self) -> int:
        return 1 + pick(5, self._seed, PRIZE, 0, self._round)

    def acting(self) -> Sequence[int]:
        return range(self._options.seats) if self._round < self._options.rounds else []

    def play(self, actions: Mapping[int, int]) -> None:
        best = max(actions.values())
        winners = [seat for seat, bid in actions.items() if bid == best]
        if len(winners) == 1:
            self._scores[winners[0]] += self.prize - best
            self._won[winners[0]] += 1
        self._last = list(actions.values())
        self._round += 1

    def scores(self) -> Sequence[float]:
        return self._scores

    def observe(self, seat: int) -> list[float]:
        return [self.prize / 5, self._round / self._options.rounds, self._last[seat] / 4]

    def stats(self, seat: int) -> list[float]:
        return [float(self._won[seat])]


class Bids(PlainGame):
    name = "bids"
    version = 1
    Options = BidsOptions

    def __init__(self, options: BidsOptions) -> None:
        super().__init__(options)
        self.info = GameInfo(
            title="Bids", seats=options.seats, actions=5, observation=(3,), stats=("prizes",), simultaneous=True
        )

    def new(self, seed: int, start: str | None) -> BidsBoard:
        return BidsBoard(self.options, seed)


class Bidder:
    """Bids half of the prize, at random one more."""

    def act(self, view: View) -> int:
        return min(round(float(view.obs[0]) * 5) // 2 + view.pick(2), 4)


KIND = plain_kind("bidder", 1, lambda payload: Bidder(), ["bids"], {"Half": b"", "Other": b"2"})
