"""The books of one tournament: what is planned, what has been played, and where new results go.

A batch of results and all that follows from it (tallies, forfeits, skills, progress) is one transaction. Nothing here
depends on the order in which results arrive.
"""

from __future__ import annotations

import itertools
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from math import isclose

from engine.errors import BadLeague, NotNow
from engine.league.entries import Entries, Entry, Seating, Seatings, agents_of
from engine.league.storage.database import insert_many
from engine.league.formats import Group
from engine.league.schedule import MOST_MATCHES, Plan, Planned
from engine.league.records import State, Tournament
from engine.league.storage.match_rows import pack_matches, points, unpack_players
from engine.league.storage.schema import PLACES
from engine.league.multiplayer_ratings import Finish, SkillBook, rebuild
from engine.league.storage.league import League
from engine.league.tallies import Halves, Sums, add_encounters, add_games, pair_up
from engine.play.match import AgentSpec, EndingKind
from engine.play.results import CODES, ENDINGS

STRETCH = 10_000  # matches that are read at once
CANCELLED = CODES[EndingKind.CANCELLED]
Row = tuple[object, ...]
UNFINISHED = (EndingKind.QUARANTINED.value, EndingKind.VOID.value)
TALLY = """
INSERT INTO tallies VALUES (?,?,?,?, ?,?,?,?,?, ?,?,?,?,?) ON CONFLICT DO UPDATE SET
wins = wins + excluded.wins, draws = draws + excluded.draws, losses = losses + excluded.losses,
scored = scored + excluded.scored, conceded = conceded + excluded.conceded,
ll = ll + excluded.ll, ld = ld + excluded.ld, even = even + excluded.even, wd = wd + excluded.wd, ww = ww + excluded.ww
"""
FORFEIT = """
INSERT INTO forfeits VALUES (?,?,?,?,?) ON CONFLICT DO UPDATE SET
count = count + excluded.count, latest = max(latest, excluded.latest)
"""


class Book:
    """Open it to see what is missing; `record` what has been played."""

    def __init__(self, league: League, number: int) -> None:
        self.league = league
        self.tournament: Tournament = league.tournament(number)
        self.plan = Plan(self.tournament.settings, self.tournament.lineups)
        [(self._pool,)] = league.file.read("SELECT pool FROM tournaments WHERE number = ?", number)
        self._base = number * PLACES
        self._present = bytearray(1)
        self._halves = Halves()
        self._skills = SkillBook(league, self._pool, number) if self.plan.game.info.seats > 2 else None
        self._points: dict[int, list[tuple[str, float]]] = {}  # by place, for formats that read results
        self.quarantined: set[str] = set()
        self.played = 0
        self._read()
        self._extend()

    # What is there

    def _read(self) -> None:
        ids, finishes = self.league.ids(), dict[int, Finish]()
        sql = "SELECT number - ?, players, ranks, ending, blamed FROM matches WHERE number BETWEEN ? AND ?"
        for place, packed, ranks, ending, blamed in self.league.file.stream(sql, self._base, *self._span()):
            self._mark((place,))
            players = unpack_players(packed)
            if self.plan.paired:
                older = 0 if players[0] < players[1] else 1
                pair_up(self._halves, place, points(ranks, older) if ending not in UNFINISHED else None)
            if self._skills is not None:
                finishes[place] = (players, ranks) if ending not in UNFINISHED else None
            if ending == EndingKind.QUARANTINED.value:
                self.quarantined |= {ids[agent] for seat, agent in enumerate(players) if blamed >> seat & 1}
        if self._skills is not None:
            self._skills.found(finishes)

    def _span(self) -> tuple[int, int]:
        return self._base + 1, self._base + PLACES - 1

    def _extend(self) -> None:
        """Ask the format for more as long as all that it has decided is played."""
        while self.played >= self.plan.length and not self.plan.complete:
            self.plan.extend(self._scores)

    def _mark(self, places: Sequence[int]) -> None:
        """Note that these places of the plan have been played."""
        if not 0 < min(places) <= max(places) <= MOST_MATCHES:
            wrong = next(place for place in places if not 0 < place <= MOST_MATCHES)
            raise BadLeague(f"{self.league.path} is damaged: no plan has a match {self.tournament.number}.{wrong}")
        if max(places) >= len(self._present):
            self._present.extend(bytes(max(places) + 4096 - len(self._present)))
        for place in places:
            self._present[place] = 1
        self.played += len(places)

    def _scores(self, first: int, games: int, group: Group) -> tuple[float, ...]:
        """What a group has made of a meeting, per game. Who was quarantined has nothing of it, the others half."""
        if first not in self._points:  # a stretch at a time: formats read them all
            self._read_points(first)
        sums = dict.fromkeys(group, 0.0)
        for place in range(first, first + games):
            for agent, made in self._points[place]:
                sums[agent] += made
        return tuple(sums[agent] / games for agent in group)

    def _read_points(self, first: int) -> None:
        ids = self.league.ids()
        sql = "SELECT number - ?, players, ranks, ending, blamed FROM matches WHERE number >= ? AND number < ?"
        low = self._base + first
        for place, packed, ranks, ending, blamed in self.league.file.read(sql, self._base, low, low + STRETCH):
            unfinished = ending in UNFINISHED
            self._points[place] = [
                (ids[agent], (0.0 if blamed >> seat & 1 else 0.5) if unfinished else points(ranks, seat))
                for seat, agent in enumerate(unpack_players(packed))
            ]

    @property
    def over(self) -> bool:
        return self.plan.complete and self.played >= self.plan.length

    def missing(self) -> Iterator[Planned]:
        """What is decided and not played, in the order of the plan."""
        return self.plan.matches(self.agents(), self._present)

    def agents(self) -> dict[str, AgentSpec]:
        return {id: self.league.spec(id) for id in self.tournament.everybody}

    def check_change(self, first_round: int, entrants: Sequence[str]) -> None:
        """Raise BadValue unless it could go on with these entrants from this round on."""
        self.plan.check_change(first_round, entrants, self._scores)

    def next_round(self) -> int:
        """The first round of which nothing has been played."""
        last = max((place for place in range(len(self._present)) if self._present[place]), default=0)
        return self.plan.round_of(last) + 1 if last else 0

    # What is added

    def record(self, entries: Iterable[Entry]) -> list[Entry]:
        """On the disk when this returns. What was cancelled, or is there already, is left out; returns the rest."""
        first: dict[int, Entry] = {}
        for entry in entries:
            if entry.result.ending.kind is not EndingKind.CANCELLED:
                first.setdefault(entry.place, entry)
        added = self.record_batches(Entries.of(first.values()))
        return [first[place] for some in added for place in some.places]

    def record_batches(self, given: Iterable[Entries]) -> list[Entries]:
        """The same for results in columns."""
        added = self._fresh(given)
        if not added:
            return []
        halves, at, agents = dict(self._halves), time.time(), Seatings(self.league.numbers())
        sums, finishes, count = Sums(), dict[int, Finish](), sum(map(len, added))
        matches: list[Row] = []
        logs: list[Row] = []
        seats: list[Row] = []
        forfeits: list[Row] = []
        for entries in added:
            batch, seatings = entries.results, agents.of(entries.results)
            numbers = [self._base + place for place in entries.places]
            matches += pack_matches(numbers, at, batch, [seating.packed for seating in seatings])
            logs += [log for log in zip(numbers, batch.actions(), strict=True) if log[1]]
            seats += [
                (one, number) for number, seated in zip(numbers, seatings, strict=True) for one in seated.distinct
            ]
            forfeits += self._forfeits(entries, seatings)
            self._tally(sums, halves, entries, seatings)
            if self._skills is not None:
                finishes |= finishes_of(entries, seatings)
        with self.league.file.transaction() as db:
            insert_many(db, "matches", matches)
            insert_many(db, "actions", logs)
            insert_many(db, "seats", seats)
            db.executemany(TALLY, self._tally_rows(sums))
            db.executemany(FORFEIT, forfeits)
            self.league.update_tournament(self.tournament.number, played=count)
            skills = self._skills
            if skills is not None:
                skills, changed = skills.add(finishes)
                db.executemany("INSERT OR REPLACE INTO skills VALUES (?,?,?,?,?)", changed)
                if not skills.latest:
                    db.execute("DELETE FROM skills WHERE pool = ? AND tournament = 0", (self._pool,))
        self._halves, self._skills = halves, skills
        for entries in added:
            self._note(entries)
        self._extend()
        return added

    def _note(self, entries: Entries) -> None:
        """Take over what has just been written to the file."""
        self._mark(entries.places)
        for at, ending in entries.results.told.items():
            if ending.kind is EndingKind.QUARANTINED:
                self.quarantined |= {entries.results.specs[at].players[seat].id for seat in ending.seats}

    def _fresh(self, given: Iterable[Entries]) -> list[Entries]:
        """Without what was cancelled or is there already."""
        found, seen = [], set[int]()
        for entries in given:
            cancelled = entries.results.columns.kinds == CANCELLED
            known = {place for place in entries.places if place < len(self._present) and self._present[place]}
            new = set(entries.places) - seen - known
            if len(new) < len(entries) or cancelled.any():
                chosen = dict[int, int]()
                for at, (place, left_out) in enumerate(zip(entries.places, cancelled.tolist(), strict=True)):
                    if place in new and not left_out:
                        chosen.setdefault(place, at)
                entries = entries.select(list(chosen.values()))
            seen.update(entries.places)
            if entries:
                found.append(entries)
        return found

    def _tally(self, sums: Sums, halves: Halves, entries: Entries, seatings: Sequence[Seating]) -> None:
        """For every two that met: games, scores and pairs from the view of the one that is older in the league."""
        agents = agents_of(seatings)
        add_games(sums, entries.results, agents)
        if self.plan.paired:
            add_encounters(sums, halves, entries.places, entries.results, agents)

    def _tally_rows(self, sums: Sums) -> list[Row]:
        scopes = (0, self.tournament.number)
        return [(self._pool, scope, *pair, *tally) for scope in scopes for pair, tally in sums.items()]

    def _forfeits(self, entries: Entries, seatings: Sequence[Seating]) -> list[Row]:
        return [
            (self.tournament.number, seatings[at].numbers[seat], ending.kind.value, 1, entries.places[at])
            for at, ending in entries.results.told.items()
            for seat in ending.seats
        ]

    def audit(self) -> list[str]:
        """What is kept and does not follow from the matches; nothing, if all is well."""
        from engine.league.standings import every_match  # it reads what this module writes

        seen, halves, sums, agents = 0, Halves(), Sums(), Seatings(self.league.numbers())
        forfeits: Counter[Row] = Counter()
        seats: set[tuple[int, int]] = set()
        matches = every_match(self.league, self.tournament.number)
        while some := [Entry(one.place, one.spec, one.result) for one in itertools.islice(matches, STRETCH)]:
            seen += len(some)
            for entries in Entries.of(some):
                seatings = agents.of(entries.results)
                self._tally(sums, halves, entries, seatings)
                forfeits.update([row[:3] for row in self._forfeits(entries, seatings)])
                for place, seated in zip(entries.places, seatings, strict=True):
                    seats |= {(agent, self._base + place) for agent in seated.numbers}
        own = {(self._pool, self.tournament.number, *pair): tally for pair, tally in sums.items()}
        read, number = self.league.file.read, self.tournament.number
        kept = {row[:4]: list(row[4:]) for row in read("SELECT * FROM tallies WHERE tournament = ?", number)}
        counts = {row[:3]: row[3] for row in read("SELECT * FROM forfeits WHERE tournament = ?", number)}
        sat = set(read("SELECT agent, match FROM seats WHERE match BETWEEN ? AND ?", *self._span()))
        checks = {
            "tallies": own.keys() == kept.keys()
            and all(isclose(a, b) for key in own for a, b in zip(own[key], kept[key], strict=True)),
            "forfeits": counts == forfeits,
            "seats": sat == seats,
            "played": seen == self.tournament.played,
        }
        return [name for name, sound in checks.items() if not sound]

    def forget_unfinished(self) -> int:
        """Quarantined and void matches are missing again; how many there were."""
        places = (*self._span(), *UNFINISHED)
        chosen = "number BETWEEN ? AND ? AND ending IN (?, ?)"
        with self.league.file.transaction() as db:
            for table in ("actions", "seats"):
                db.execute(f"DELETE FROM {table} WHERE match IN (SELECT number FROM matches WHERE {chosen})", places)
            count = db.execute(f"DELETE FROM matches WHERE {chosen}", places).rowcount
            gone = (self.tournament.number, *UNFINISHED)
            db.execute("DELETE FROM forfeits WHERE tournament = ? AND ending IN (?, ?)", gone)
            if count:
                self.league.update_tournament(self.tournament.number, State.STOPPED, played=-count)
                if self._skills is not None:
                    rebuild(db, self._pool)
        return count

    def settle(self, state: State, note: str = "") -> None:
        """Its new state; where it ends, the ratings of its pool are kept for the history."""
        if self.tournament.state is State.CANCELLED:
            raise NotNow(f"{self.tournament.name!r} was cancelled")
        from engine.league.standings import snapshot  # it reads what this module writes

        with self.league.file.transaction() as db:
            self.league.update_tournament(self.tournament.number, state, note, self.plan.length)
            if self._skills is not None and not self._skills.latest and not state.open:
                rebuild(db, self._pool)
            if state in (State.FINISHED, State.STOPPED, State.CANCELLED) and self.played:
                snapshot(self.league, self.tournament)
        self.tournament = self.league.tournament(self.tournament.number)


def finishes_of(entries: Entries, seatings: Sequence[Seating]) -> dict[int, Finish]:
    """By place, for skills: who finished where; None for what is not rated."""
    columns = entries.results.columns
    rows = zip(entries.places, seatings, columns.ranks.tolist(), columns.kinds.tolist(), strict=True)
    return {place: (seated.numbers, ranks) if ENDINGS[kind].rated else None for place, seated, ranks, kind in rows}
