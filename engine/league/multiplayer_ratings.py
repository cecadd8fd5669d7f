"""Skill ratings for games of more than two seats, updated while a tournament is played.

Plackett-Luce depends on the order of the matches, so they count in schedule order: a result that arrives early waits
until all before it have arrived.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence

from engine.league.ratings import Skill, update_skills
from engine.league.storage.league import League
from engine.league.storage.match_rows import unpack_players
from engine.league.storage.schema import PLACES
from engine.play.match import UNRATED

Finish = tuple[Sequence[int], Sequence[int]] | None  # players and their ranks; None for a match that does not count


def recount(db: sqlite3.Connection, pool: int) -> dict[int, dict[int, Skill]]:
    """All skills of a pool, computed from its matches: by tournament, and under 0 those of the whole pool."""
    unrated = {kind.value for kind in UNRATED}
    scopes: dict[int, dict[int, Skill]] = {0: {}}
    for (number,) in db.execute("SELECT number FROM tournaments WHERE pool = ? ORDER BY number", (pool,)).fetchall():
        scopes[number] = {}
        sql = "SELECT number & ?, players, ranks, ending FROM matches WHERE number BETWEEN ? AND ? ORDER BY number"
        rows = db.execute(sql, (PLACES - 1, number * PLACES, (number + 1) * PLACES - 1))
        for expected, (place, players, ranks, ending) in enumerate(rows, 1):
            if place != expected:
                break  # matches after a gap have to wait
            if ending not in unrated:
                for scope in (0, number):
                    update_skills(scopes[scope], unpack_players(players), ranks)
    return scopes


def rebuild(db: sqlite3.Connection, pool: int) -> None:
    """Computes and saves all skills again, after a change in a tournament that is not the latest of its pool."""
    db.execute("DELETE FROM skills WHERE pool = ?", (pool,))
    for scope, skills in recount(db, pool).items():
        rows = [(pool, scope, agent, *skill) for agent, skill in skills.items()]
        db.executemany("INSERT INTO skills VALUES (?,?,?,?,?)", rows)


def pool_skills(league: League, pool: int) -> dict[int, Skill]:
    """The saved skills of the pool; computed from its matches while a tournament that is not the latest is played."""
    sql = "SELECT agent, mean, deviation FROM skills WHERE pool = ? AND tournament = 0"
    saved = {agent: (mean, deviation) for agent, mean, deviation in league.file.read(sql, pool)}
    if saved:
        return saved
    return league.file.read_with(lambda db: recount(db, pool)[0])


class SkillTracker:
    """The skills of all agents in one tournament and, if it is the latest of its pool, in the whole pool."""

    def __init__(self, league: League, pool: int, tournament: int) -> None:
        self._pool = pool
        sql = "SELECT 1 FROM tournaments WHERE pool = ? AND number > ? AND played > 0"
        self._latest = not league.file.read(sql, pool, tournament)
        sql = "SELECT agent, mean, deviation FROM skills WHERE pool = ? AND tournament = ?"
        alone = {agent: (mean, deviation) for agent, mean, deviation in league.file.read(sql, pool, tournament)}
        self._scopes: dict[int, dict[int, Skill]] = {tournament: alone}
        if self._latest:
            self._scopes[0] = pool_skills(league, pool)
        self._next = 1  # the first place that is not rated yet
        self._waiting: dict[int, Finish] = {}

    def load(self, finishes: Mapping[int, Finish]) -> None:
        """Takes the recorded matches, by place: those before the first gap are rated already."""
        self._waiting = dict(finishes)
        while self._next in self._waiting:
            del self._waiting[self._next]
            self._next += 1

    @property
    def latest(self) -> bool:
        """Whether this tournament updates the pool's skills; else they are computed again when they are read."""
        return self._latest

    def add(self, finishes: Mapping[int, Finish]) -> tuple[SkillTracker, list[tuple[object, ...]]]:
        """A new tracker that includes these matches, and the rows to save; this tracker does not change."""
        after = SkillTracker.__new__(SkillTracker)
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
