"""TournamentStore: the schedule of one tournament and its recorded results.

A batch of results and everything derived from it (tallies, forfeits, skills, progress) is one transaction. Nothing
depends on the order in which results arrive.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from math import isclose

from engine.clock import now
from engine.errors import BadLeague, BadValue, NotNow
from engine.league.formats import Group
from engine.league.head_to_head import Halves, Sums, add_encounters, add_games, pair_up
from engine.league.multiplayer_ratings import Finish, SkillTracker, rebuild
from engine.league.played_matches import every_match
from engine.league.records import Lineup, RunState, Tournament
from engine.league.schedule import MOST_MATCHES, ScheduledMatch
from engine.league.standings import snapshot
from engine.league.storage.league import League
from engine.league.storage.match_rows import pack_actions, pack_matches, points, unpack_players
from engine.league.storage.result_columns import PlayedEntries, PlayedEntry, Seating, Seatings, agents_of, seats_of
from engine.league.storage.schema import PLACES
from engine.league.storage.statements import Column, insert_columns
from engine.play.match import AgentSpec, EndingKind
from engine.play.results import CODES, ENDINGS

CHUNK = 10_000  # matches that are read at once
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


class TournamentStore:
    """Lists the missing matches of a tournament and records results."""

    def __init__(self, league: League, number: int) -> None:
        self.league = league
        self.tournament: Tournament = league.tournament(number)
        self.plan = league.take_plan(self.tournament)
        [(self._pool,)] = league.file.read("SELECT pool FROM tournaments WHERE number = ?", number)
        self._base = number * PLACES
        self._present = bytearray(1)
        self._halves = Halves()
        self._skills = SkillTracker(league, self._pool, number) if self.plan.game.info.seats > 2 else None
        self._points: dict[int, list[tuple[str, float]]] = {}  # by place, for formats that read results
        self.quarantined: set[str] = set()
        self.played = 0
        self._read()
        self._extend()

    # Reading

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
            self._skills.load(finishes)

    def _span(self) -> tuple[int, int]:
        return self._base + 1, self._base + PLACES - 1

    def _extend(self) -> None:
        """Asks the format for more rounds as long as all scheduled matches are played."""
        while self.played >= self.plan.length and not self.plan.complete:
            self.plan.extend(self._scores)

    def _mark(self, places: Sequence[int]) -> None:
        """Marks these places of the schedule as played."""
        if not 0 < min(places) <= max(places) <= MOST_MATCHES:
            wrong = next(place for place in places if not 0 < place <= MOST_MATCHES)
            raise BadLeague(f"{self.league.path} is damaged: no schedule has a match {self.tournament.number}.{wrong}")
        if max(places) >= len(self._present):
            self._present.extend(bytes(max(places) + 4096 - len(self._present)))
        for place in places:
            self._present[place] = 1
        self.played += len(places)

    def _scores(self, first: int, games: int, group: Group) -> tuple[float, ...]:
        """Points per game of a group in a meeting. In quarantined matches the blamed agents get 0, the others 1/2."""
        if first not in self._points:  # in chunks: formats read all of them
            self._read_points(first)
        sums = dict.fromkeys(group, 0.0)
        for place in range(first, first + games):
            for agent, earned in self._points[place]:
                sums[agent] += earned
        return tuple(sums[agent] / games for agent in group)

    def _read_points(self, first: int) -> None:
        ids = self.league.ids()
        sql = "SELECT number - ?, players, ranks, ending, blamed FROM matches WHERE number >= ? AND number < ?"
        low = self._base + first
        for place, packed, ranks, ending, blamed in self.league.file.read(sql, self._base, low, low + CHUNK):
            unfinished = ending in UNFINISHED
            self._points[place] = [
                (ids[agent], (0.0 if blamed >> seat & 1 else 0.5) if unfinished else points(ranks, seat))
                for seat, agent in enumerate(unpack_players(packed))
            ]

    @property
    def over(self) -> bool:
        return self.plan.complete and self.played >= self.plan.length

    def missing(self) -> Iterator[ScheduledMatch]:
        """Scheduled matches that are not recorded, in schedule order."""
        return self.plan.matches(self.agents(), self._present)

    def agents(self) -> dict[str, AgentSpec]:
        return {id: self.league.spec(id) for id in self.tournament.all_entrants}

    def check_change(self, first_round: int, entrants: Sequence[str]) -> None:
        """Raises BadValue unless the format can continue with these entrants from this round on."""
        self.plan.check_change(first_round, entrants, self._scores)

    def next_round(self) -> int:
        """The first round without a recorded match."""
        last = max((place for place in range(len(self._present)) if self._present[place]), default=0)
        return self.plan.round_of(last) + 1 if last else 0

    # Recording

    def record(self, entries: Iterable[PlayedEntry]) -> list[PlayedEntry]:
        """Saves results to the disk, without cancelled and known ones; returns those that were saved."""
        first: dict[int, PlayedEntry] = {}
        for entry in entries:
            if entry.result.ending.kind is not EndingKind.CANCELLED:
                first.setdefault(entry.place, entry)
        added = self.record_batches(PlayedEntries.of(first.values()))
        saved = {place for some in added for place in some.places}
        return [entry for place, entry in first.items() if place in saved]

    def record_batches(self, given: Iterable[PlayedEntries]) -> list[PlayedEntries]:
        """Like `record`, for results in columns."""
        added = PlayedEntries.joined(self._fresh(given))
        if not added:
            return []
        halves, at, agents = dict(self._halves), now(), Seatings(self.league.numbers())
        sums, finishes, count = Sums(), dict[int, Finish](), sum(map(len, added))
        tables: list[tuple[str, Sequence[Column]]] = []
        forfeits: list[Row] = []
        for entries in added:
            batch, seatings = entries.results, agents.of(entries.results)
            numbers = [self._base + place for place in entries.places]
            tables += [
                ("matches", pack_matches(numbers, at, batch, [seating.packed for seating in seatings])),
                ("actions", pack_actions(numbers, batch)),
                ("seats", seats_of(numbers, seatings)),
            ]
            forfeits += self._forfeits(entries, seatings)
            self._tally(sums, halves, entries, seatings)
            if self._skills is not None:
                finishes |= finishes_of(entries, seatings)
        with self.league.file.transaction() as db:
            for table, columns in tables:
                insert_columns(db, table, columns)
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
            self._mark_recorded(entries)
        self._extend()
        return added

    def _mark_recorded(self, entries: PlayedEntries) -> None:
        """Updates the state in memory after a write to the file."""
        self._mark(entries.places)
        for at, ending in entries.results.detailed_endings.items():
            if ending.kind is EndingKind.QUARANTINED:
                self.quarantined |= {entries.results.specs[at].players[seat].id for seat in ending.seats}

    def _fresh(self, given: Iterable[PlayedEntries]) -> list[PlayedEntries]:
        """Leaves out results that were cancelled or are recorded already."""
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

    def _tally(self, sums: Sums, halves: Halves, entries: PlayedEntries, seatings: Sequence[Seating]) -> None:
        """Adds games, scores and pairs of every two agents that met, from the view of the one that joined first."""
        agents = agents_of(seatings)
        add_games(sums, entries.results, agents)
        if self.plan.paired:
            add_encounters(sums, halves, entries.places, entries.results, agents)

    def _tally_rows(self, sums: Sums) -> list[Row]:
        scopes = (0, self.tournament.number)
        return [(self._pool, scope, *pair, *tally) for scope in scopes for pair, tally in sums.items()]

    def _forfeits(self, entries: PlayedEntries, seatings: Sequence[Seating]) -> list[Row]:
        return [
            (self.tournament.number, seatings[at].numbers[seat], ending.kind.value, 1, entries.places[at])
            for at, ending in entries.results.detailed_endings.items()
            for seat in ending.seats
        ]

    def audit(self) -> list[str]:
        """Names of the derived tables that do not agree with the matches."""
        seen, halves, sums, agents = 0, Halves(), Sums(), Seatings(self.league.numbers())
        forfeits: Counter[Row] = Counter()
        seats: set[tuple[int, int]] = set()
        matches = every_match(self.league, self.tournament.number)
        while some := [
            PlayedEntry(match.place, match.spec, match.result) for match in itertools.islice(matches, CHUNK)
        ]:
            seen += len(some)
            for entries in PlayedEntries.of(some):
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
        return [name for name, correct in checks.items() if not correct]

    def forget_unfinished(self) -> int:
        """Deletes quarantined and void matches so that they are played again; returns how many."""
        places = (*self._span(), *UNFINISHED)
        chosen = "number BETWEEN ? AND ? AND ending IN (?, ?)"
        with self.league.file.transaction() as db:
            for table in ("actions", "seats"):
                db.execute(f"DELETE FROM {table} WHERE match IN (SELECT number FROM matches WHERE {chosen})", places)
            count = db.execute(f"DELETE FROM matches WHERE {chosen}", places).rowcount
            db.execute(
                "DELETE FROM forfeits WHERE tournament = ? AND ending IN (?, ?)", (self.tournament.number, *UNFINISHED)
            )
            if count:
                self.league.update_tournament(self.tournament.number, RunState.STOPPED, played=-count)
                if self._skills is not None:
                    rebuild(db, self._pool)
        return count

    def settle(self, state: RunState, note: str = "") -> None:
        """Sets the state; at the end of a run, also saves the ratings of the pool for the rating history."""
        if self.tournament.state is RunState.CANCELLED:
            raise NotNow(f"{self.tournament.name!r} was cancelled")
        with self.league.file.transaction() as db:
            self.league.update_tournament(self.tournament.number, state, note, self.plan.length)
            if self._skills is not None and not self._skills.latest and not state.open:
                rebuild(db, self._pool)
            if state in (RunState.FINISHED, RunState.STOPPED, RunState.CANCELLED) and self.played:
                snapshot(self.league, self.tournament)
        self.tournament = self.league.tournament(self.tournament.number)


def finishes_of(entries: PlayedEntries, seatings: Sequence[Seating]) -> dict[int, Finish]:
    """By place, for skill ratings: players and ranks, or None for a match that is not rated."""
    columns = entries.results.columns
    rows = zip(entries.places, seatings, columns.ranks.tolist(), columns.kinds.tolist(), strict=True)
    return {place: (seated.numbers, ranks) if ENDINGS[kind].rated else None for place, seated, ranks, kind in rows}


def change_entrants(league: League, number: int, join: Iterable[str], leave: Iterable[str]) -> Tournament:
    """Changes who takes part, by id, from the next round on; rounds that have begun are finished as they are."""
    with league.file.transaction():
        tournament, store = league.tournament(number), TournamentStore(league, number)
        if not tournament.state.open:
            raise NotNow(f"{tournament.name!r} is {tournament.state.value}: its entrants cannot change any more")
        joining, leaving = tuple(join), tuple(leave)
        for entrant in leaving:
            if entrant not in tournament.entrants:
                raise BadValue("leave", entrant, f"one of {', '.join(tournament.entrants)}")
        league.check_agents(joining, tournament.settings.game)
        entrants = tuple(entrant for entrant in tournament.entrants if entrant not in leaving) + joining
        first = store.next_round()
        store.check_change(first, entrants)
        begun = [lineup for lineup in tournament.lineups if lineup.first_round < first]
        league.set_lineups(number, [*begun, Lineup(tournament.lineups[-1].version + bool(begun), first, entrants)])
    league.update_tournament(number, total=TournamentStore(league, number).plan.length)
    return league.tournament(number)
