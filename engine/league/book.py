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
from typing import NamedTuple

from engine.errors import BadLeague, NotNow
from engine.league.file import insert_many
from engine.league.formats import Group
from engine.league.plan import MOST_MATCHES, Plan, Planned
from engine.league.records import State, Tournament
from engine.league.rows import pack_match, pack_players, points, unpack_players
from engine.league.schema import PLACES
from engine.league.skills import Finish, SkillBook, rebuild
from engine.league.store import League
from engine.play.match import UNRATED, AgentSpec, EndingKind, MatchResult, MatchSpec

TWO = ((0, 1),)
STRETCH = 10_000  # matches that are read at once
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


class Entry(NamedTuple):
    """A result on its way into the books."""

    place: int
    spec: MatchSpec
    result: MatchResult


class Book:
    """Open it to see what is missing; `record` what has been played."""

    def __init__(self, league: League, number: int) -> None:
        self.league = league
        self.tournament: Tournament = league.tournament(number)
        self.plan = Plan(self.tournament.settings, self.tournament.lineups)
        [(self._pool,)] = league.file.read("SELECT pool FROM tournaments WHERE number = ?", number)
        self._base = number * PLACES
        self._present = bytearray(1)
        self._halves: dict[int, float | None] = {}  # by encounter: what the first of a pair has made of its first game
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
            self._mark(place)
            players = unpack_players(packed)
            if self.plan.paired:
                self._pair(self._halves, place, players, ranks if ending not in UNFINISHED else None)
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

    def _mark(self, place: int) -> None:
        if not 0 < place <= MOST_MATCHES:
            raise BadLeague(f"{self.league.path} is damaged: no plan has a match {self.tournament.number}.{place}")
        if place >= len(self._present):
            self._present.extend(bytes(place + 4096 - len(self._present)))
        self._present[place] = 1
        self.played += 1

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
        fresh: dict[int, Entry] = {}
        for entry in entries:
            known = entry.place < len(self._present) and self._present[entry.place]
            if not known and entry.result.ending.kind is not EndingKind.CANCELLED:
                fresh.setdefault(entry.place, entry)
        if not fresh:
            return []
        added = list(fresh.values())
        halves, at = dict(self._halves), time.time()
        players = {entry.result.players for entry in added}
        agents = self.league.numbers()
        numbers = {group: tuple([agents[agent] for agent in group]) for group in players}
        packed = {group: pack_players(agents) for group, agents in numbers.items()}
        rows = [
            pack_match(self._base + one.place, at, one.spec, one.result, packed[one.result.players]) for one in added
        ]
        seats = [
            (agent, self._base + one.place) for one in added for agent in dict.fromkeys(numbers[one.result.players])
        ]
        with self.league.file.transaction() as db:
            insert_many(db, "matches", rows)
            logs = [(self._base + one.place, one.result.actions) for one in added if one.result.actions]
            insert_many(db, "actions", logs)
            insert_many(db, "seats", seats)
            db.executemany(TALLY, self._tallies(added, numbers, halves))
            db.executemany(FORFEIT, self._forfeits(added, numbers))
            self.league.update_tournament(self.tournament.number, played=len(added))
            skills = self._skills
            if skills is not None:
                finishes = {one.place: self._finish(one.result, numbers) for one in added}
                skills, changed = skills.add(finishes)
                db.executemany("INSERT OR REPLACE INTO skills VALUES (?,?,?,?,?)", changed)
                if not skills.latest:
                    db.execute("DELETE FROM skills WHERE pool = ? AND tournament = 0", (self._pool,))
        self._halves, self._skills = halves, skills
        for entry in added:
            self._mark(entry.place)
            if entry.result.ending.kind is EndingKind.QUARANTINED:
                self.quarantined |= {entry.result.players[seat] for seat in entry.result.ending.seats}
        self._extend()
        return added

    def _tallies(
        self, entries: Sequence[Entry], numbers: dict[tuple[str, ...], tuple[int, ...]], halves: dict[int, float | None]
    ) -> list[tuple[object, ...]]:
        """For every two that met: games, scores and pairs from the view of the one that is older in the league."""
        sums: dict[tuple[int, int], list[float]] = {}
        for entry in entries:
            result = entry.result
            agents, ranks, scores = numbers[result.players], result.ranks, result.scores
            rated = result.ending.kind not in UNRATED
            if self.plan.paired:
                self._count_pair(self._pair(halves, entry.place, agents, ranks if rated else None), agents, sums)
            if not rated:
                continue
            for i, j in TWO if len(agents) == 2 else itertools.combinations(range(len(agents)), 2):
                a, b = (i, j) if agents[i] < agents[j] else (j, i)
                pair = (agents[a], agents[b])
                tally = sums.get(pair) or sums.setdefault(pair, [0] * 10)
                tally[0 if ranks[a] < ranks[b] else 1 if ranks[a] == ranks[b] else 2] += 1
                tally[3] += scores[a]
                tally[4] += scores[b]
        scopes = (0, self.tournament.number)
        return [(self._pool, scope, *pair, *tally) for scope in scopes for pair, tally in sums.items()]

    def _pair(
        self, halves: dict[int, float | None], place: int, players: Sequence[int], ranks: Sequence[int] | None
    ) -> float | None:
        """What the older one has made of an encounter, from 0 to 2, once both of its games are there and count."""
        own = None if ranks is None else points(ranks, 0 if players[0] < players[1] else 1)
        encounter = (place - 1) // 2
        if encounter not in halves:
            halves[encounter] = own
            return None
        other = halves.pop(encounter)
        return None if own is None or other is None else own + other

    def _count_pair(
        self, made: float | None, agents: tuple[int, ...], sums: dict[tuple[int, int], list[float]]
    ) -> None:
        if made is not None:
            pair = (min(agents), max(agents))
            sums.setdefault(pair, [0] * 10)[5 + int(made * 2)] += 1

    def _finish(self, result: MatchResult, numbers: dict[tuple[str, ...], tuple[int, ...]]) -> Finish:
        return (numbers[result.players], result.ranks) if result.ending.kind.rated else None

    def _forfeits(
        self, entries: Sequence[Entry], numbers: dict[tuple[str, ...], tuple[int, ...]]
    ) -> list[tuple[object, ...]]:
        return [
            (self.tournament.number, numbers[one.result.players][seat], one.result.ending.kind.value, 1, one.place)
            for one in entries
            if one.result.ending.seats
            for seat in one.result.ending.seats
        ]

    def audit(self) -> list[str]:
        """What is kept and does not follow from the matches; nothing, if all is well."""
        from engine.league.tables import every_match  # it reads what this module writes

        seen, halves, numbers = 0, dict[int, float | None](), self.league.numbers()
        tallies: dict[tuple[object, ...], list[float]] = {}
        forfeits: Counter[tuple[object, ...]] = Counter()
        seats: set[tuple[int, int]] = set()
        for match in every_match(self.league, self.tournament.number):
            seen += 1
            entry = Entry(match.place, match.spec, match.result)
            group = {match.result.players: tuple([numbers[agent] for agent in match.result.players])}
            for row in self._tallies([entry], group, halves):
                sums = tallies.setdefault(row[:4], [0] * 10)
                tallies[row[:4]] = [a + b for a, b in zip(sums, row[4:], strict=True)]  # type: ignore[operator]
            forfeits.update({row[:3]: 1 for row in self._forfeits([entry], group)})
            seats |= {(agent, self._base + match.place) for agent in group[match.result.players]}
        read, number = self.league.file.read, self.tournament.number
        kept = {row[:4]: list(row[4:]) for row in read("SELECT * FROM tallies WHERE tournament = ?", number)}
        counts = {row[:3]: row[3] for row in read("SELECT * FROM forfeits WHERE tournament = ?", number)}
        sat = set(read("SELECT agent, match FROM seats WHERE match BETWEEN ? AND ?", *self._span()))
        own = {key: sums for key, sums in tallies.items() if key[1] == number}
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
        from engine.league.tables import snapshot  # it reads what this module writes

        with self.league.file.transaction() as db:
            self.league.update_tournament(self.tournament.number, state, note, self.plan.length)
            if self._skills is not None and not self._skills.latest and not state.open:
                rebuild(db, self._pool)
            if state in (State.FINISHED, State.STOPPED, State.CANCELLED) and self.played:
                snapshot(self.league, self.tournament)
        self.tournament = self.league.tournament(self.tournament.number)
