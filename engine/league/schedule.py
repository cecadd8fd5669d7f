"""Schedule: the matches of a tournament, their order and their seeds.

A schedule depends only on settings, entrants and results so far: computed again, on any machine, it has the same
matches with the same ids.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from hashlib import blake2b
from typing import NamedTuple

from engine import codec
from engine.errors import BadValue
from engine.game import Game, check_match
from engine.league.formats import Board, Format, Group, Meeting
from engine.league.formats.round_robin import turned
from engine.league.records import Lineup, TournamentSettings
from engine.options import build
from engine.play.match import SEED_LIMIT, AgentSpec, Limits, MatchSpec
from engine.registry import FORMATS, game_of
from engine.seeding import derive

MOST_MATCHES = 10_000_000
Scores = Callable[[int, int, Group], tuple[float, ...]]  # (first place, games, group): points per game of each


class ScheduledMatch(NamedTuple):
    """A match and its place in the schedule, from 1."""

    place: int
    spec: MatchSpec


class Schedule:
    """The schedule of one tournament, as far as the format has decided it."""

    def __init__(self, settings: TournamentSettings, lineups: Sequence[Lineup]) -> None:
        self.settings = settings
        self.game: Game = game_of(settings.game)
        self._format: Format = FORMATS.get(settings.format)
        self._options = build(self._format.Options, dict(settings.options), f"option of {settings.format}")
        check_settings(settings, self.game)
        self._lineups = list(lineups)
        for lineup in lineups:
            check_entrants(lineup.entrants, self.game)
        self._identity = fingerprint(settings, lineups[0].entrants)
        self.per_meeting = settings.games * (self.game.info.seats if settings.swap else 1)
        self._rounds: list[tuple[int, int, Sequence[Group]]] = []  # version of the lineup, place before it, groups
        self._met: list[list[Meeting]] = []  # the same for the format; cached, because they are used many times
        self.length = 0  # matches decided so far
        self.complete = False  # no matches will be added

    @property
    def rounds(self) -> int:
        """How many are decided so far."""
        return len(self._rounds)

    @property
    def adaptive(self) -> bool:
        """Whether further rounds depend on results."""
        return self._format.adaptive

    @property
    def paired(self) -> bool:
        """Whether each two consecutive games are one encounter with sides swapped."""
        return self.game.info.seats == 2 and self.settings.swap

    def extend(self, scores: Scores) -> bool:
        """Ask the format for more rounds, once all matches so far are played; returns whether there are any."""
        before = self.length
        for place, lineup in enumerate(self._lineups):
            until = self._lineups[place + 1].first_round if place + 1 < len(self._lineups) else None
            if until is not None and self.rounds >= until:
                continue
            for groups in self._following(lineup.entrants, scores):
                if until is not None and self.rounds >= until:
                    break
                self._append(lineup.version, groups)
            if self.adaptive and self.length > before:
                return True
        self.complete = True  # a format that does not depend on results has yielded all rounds
        return self.length > before

    def check_change(self, first_round: int, entrants: Sequence[str], scores: Scores) -> None:
        """Raise BadValue unless the format can continue with these entrants from this round on."""
        check_entrants(entrants, self.game)
        next(iter(self._following(entrants, scores, first_round)), None)

    def _following(
        self, entrants: Sequence[str], scores: Scores, rounds: int | None = None
    ) -> Iterable[Sequence[Group]]:
        """The rounds that follow, by the format, from all rounds so far or from the first `rounds` of them."""
        while len(self._met) < len(self._rounds):
            _, first, groups = self._rounds[len(self._met)]
            self._met.append([self._meeting(first, n, group, scores) for n, group in enumerate(groups)])
        board = Board(self.game.info.seats, self.per_meeting)
        return self._format.rounds(entrants, self._met[:rounds], board, self._options)

    def _append(self, version: int, groups: Sequence[Group]) -> None:
        self._rounds.append((version, self.length, groups))
        self.length += len(groups) * self.per_meeting
        if self.length > MOST_MATCHES:
            raise BadValue("matches", self.length, f"at most {MOST_MATCHES:,} in one tournament: ask for fewer rounds")

    def _meeting(self, first: int, n: int, group: Group, scores: Scores) -> Meeting:
        at = first + 1 + n * self.per_meeting
        return Meeting(group, self.per_meeting, lambda: scores(at, self.per_meeting, group))

    def round_of(self, place: int) -> int:
        """The round, from 0, of a place in the schedule."""
        low, high = 0, len(self._rounds) - 1
        while low < high:
            middle = (low + high + 1) // 2
            low, high = (middle, high) if self._rounds[middle][1] < place else (low, middle - 1)
        return low

    def pairings(self) -> Iterator[tuple[int, Group]]:
        """Round and group of each meeting, in order."""
        for number, (_, _, groups) in enumerate(self._rounds):
            for group in groups:
                yield number, group

    def matches(self, agents: Mapping[str, AgentSpec], present: bytearray | None = None) -> Iterator[ScheduledMatch]:
        """All matches so far, without the places that are marked in `present`.

        An id is a hash of the tuple (identity, version of the lineup, round, board, group, encounter, turn), a seed is
        `derive(seed, round, board, *sorted group, encounter)`. Their texts are composed here, because most parts are
        the same for many matches.
        """
        settings, seats, known = self.settings, self.game.info.seats, b"" if present is None else present
        game, limits, starts, swap = settings.game, settings.limits, settings.starts, settings.swap
        turns, drawn = range(seats) if swap else range(1), None

        @functools.lru_cache(4096)
        def seatings(group: Group) -> tuple[str, str, list[tuple[AgentSpec, ...]]]:
            """The group and its sorted names as in a tuple's text, and its players by turn."""
            rotated = [tuple([agents[player] for player in turned(group, turn)]) for turn in range(seats)]
            return repr(group), ", ".join(map(repr, sorted(group))), rotated

        for number, (version, place, groups) in enumerate(self._rounds):
            prefix, seed_prefix = f"('{self._identity}', {version}, {number}, ", f"({settings.seed}, {number}, "
            for board, group in enumerate(groups):
                text, names, rotated = seatings(group)
                for encounter in range(settings.games):
                    drawn = None
                    for turn in turns:
                        place += 1
                        if place < len(known) and known[place]:
                            continue
                        if drawn is None:  # the same for all turns of an encounter
                            seed_text = f"{seed_prefix}{board}, {names}, {encounter})".encode()
                            seed = int.from_bytes(blake2b(seed_text, digest_size=8).digest(), "little")
                            drawn = seed, starts[derive(seed, "start") % len(starts)] if starts else None
                        name = f"{prefix}{board}, {text}, {encounter}, {turn})".encode()
                        # without swapping, seats rotate from one encounter to the next
                        seated = rotated[turn if swap else encounter % seats]
                        yield ScheduledMatch(
                            place, MatchSpec(blake2b(name, digest_size=16).hexdigest(), game, seated, *drawn, limits)
                        )


def fingerprint(settings: TournamentSettings, entrants: Sequence[str]) -> str:
    """Identifies a tournament by its settings and entrants, also across leagues."""
    text = codec.dump(settings) + repr(tuple(entrants))
    return blake2b(text.encode(), digest_size=16).hexdigest()


def check_settings(settings: TournamentSettings, game: Game) -> None:
    """Raise BadValue, which names the field, if settings are invalid."""
    if game.info.seats < 2:
        raise BadValue("game", settings.game.name, "a game with at least two seats")
    for name, value, high in (("games", settings.games, 100_000), ("seed", settings.seed, SEED_LIMIT - 1)):
        low = 1 if name == "games" else 0
        if type(value) is not int or not low <= value <= high:
            raise BadValue(name, value, f"a whole number from {low} to {high:,}")
    if not isinstance(settings.limits, Limits):
        raise BadValue("limits", settings.limits, "Limits")
    players = (AgentSpec("any player", ""),) * game.info.seats
    for start in settings.starts or (None,):
        check_match(MatchSpec("of the schedule", settings.game, players, settings.seed, start, settings.limits), game)


def check_entrants(entrants: Sequence[str], game: Game) -> None:
    if len(set(entrants)) != len(entrants):
        twice = next(entrant for place, entrant in enumerate(entrants) if entrant in entrants[:place])
        raise BadValue("entrants", twice, "entered once; to let an agent play itself, add a copy under another name")
    if len(entrants) < game.info.seats:
        raise BadValue(
            "entrants", tuple(entrants), f"at least {game.info.seats}: {game.info.title} has that many seats"
        )
