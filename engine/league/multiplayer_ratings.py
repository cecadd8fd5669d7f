"""Skills in games of more than two seats, kept up to date while a tournament is played.

Plackett-Luce depends on the order of the matches, so they count in the order of the plan: a result that arrives early
waits until all before it are there.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence

from engine.league.ratings import Skill, update_skills
from engine.league.storage.match_rows import unpack_players
from engine.league.storage.schema import PLACES
from engine.league.storage.league import League
from engine.play.match import UNRATED

Finish = tuple[Sequence[int], Sequence[int]] | None  # players and their ranks; None for a match that does not count


def recount(db: sqlite3.Connection, pool: int) -> dict[int, dict[int, Skill]]:
    """All skills of a pool from its matches, tournament by tournament; under 0 those of everything together."""
    unrated = {kind.value for kind in UNRATED}
    scopes: dict[int, dict[int, Skill]] = {0: {}}
    for (number,) in db.execute("SELECT number FROM tournaments WHERE pool = ? ORDER BY number", (pool,)).fetchall():
        scopes[number] = {}
        sql = "SELECT number & ?, players, ranks, ending FROM matches WHERE number BETWEEN ? AND ? ORDER BY number"
        rows = db.execute(sql, (PLACES - 1, number * PLACES, (number + 1) * PLACES - 1))
        for expected, (place, players, ranks, ending) in enumerate(rows, 1):
            if place != expected:
                break  # what comes after a gap waits
            if ending not in unrated:
                for scope in (0, number):
                    update_skills(scopes[scope], unpack_players(players), ranks)
    return scopes


def rebuild(db: sqlite3.Connection, pool: int) -> None:
    """Write them anew: when a tournament that is not the latest of its pool has changed."""
    db.execute("DELETE FROM skills WHERE pool = ?", (pool,))
    for scope, skills in recount(db, pool).items():
        rows = [(pool, scope, agent, *skill) for agent, skill in skills.items()]
        db.executemany("INSERT INTO skills VALUES (?,?,?,?,?)", rows)


def pool_skills(league: League, pool: int) -> dict[int, Skill]:
    """As they are kept or, while an earlier tournament is played after a later one, from the matches."""
    sql = "SELECT agent, mean, deviation FROM skills WHERE pool = ? AND tournament = 0"
    kept = {agent: (mean, deviation) for agent, mean, deviation in league.file.read(sql, pool)}
    if kept:
        return kept
    with league.file.reading() as db:
        return recount(db, pool)[0]


class SkillBook:
    """The skills of everybody in one tournament and, if it is the latest of its pool, in all of them."""

    def __init__(self, league: League, pool: int, tournament: int) -> None:
        self._pool = pool
        sql = "SELECT 1 FROM tournaments WHERE pool = ? AND number > ? AND played > 0"
        self._latest = not league.file.read(sql, pool, tournament)
        sql = "SELECT agent, mean, deviation FROM skills WHERE pool = ? AND tournament = ?"
        alone = {agent: (mean, deviation) for agent, mean, deviation in league.file.read(sql, pool, tournament)}
        self._scopes: dict[int, dict[int, Skill]] = {tournament: alone}
        if self._latest:
            self._scopes[0] = pool_skills(league, pool)
        self._next = 1  # the first place that has not counted yet
        self._waiting: dict[int, Finish] = {}

    def found(self, finishes: Mapping[int, Finish]) -> None:
        """What was recorded before, by place: all of it without a gap has counted then."""
        self._waiting = dict(finishes)
        while self._next in self._waiting:
            del self._waiting[self._next]
            self._next += 1

    @property
    def latest(self) -> bool:
        """Whether the pool's skills go on from here; else they are counted anew when they are asked for."""
        return self._latest

    def add(self, finishes: Mapping[int, Finish]) -> tuple[SkillBook, list[tuple[object, ...]]]:
        """The book with these as well, and the rows that change; this one stays as it is until they are saved."""
        after = SkillBook.__new__(SkillBook)
        after._pool, after._next, after._latest = self._pool, self._next, self._latest
        after._waiting = {**self._waiting, **finishes}
        after._scopes = {scope: dict(skills) for scope, skills in self._scopes.items()}
        touched: set[int] = set()
        while after._next in after._waiting:
            finish = after._waiting.pop(after._next)
            after._next += 1
            if finish is not None:
                touched.update(finish[0])
                for skills in after._scopes.values():
                    update_skills(skills, *finish)
        rows: list[tuple[object, ...]] = [
            (self._pool, scope, agent, *skills[agent])
            for scope, skills in after._scopes.items()
            for agent in sorted(touched)
        ]
        return after, rows
