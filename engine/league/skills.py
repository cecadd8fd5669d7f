"""Skills in games of more than two seats, kept up to date while a tournament is played.

Plackett-Luce depends on the order of the matches, so they count in the order of the plan: a result that arrives early
waits until all before it are there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from engine.league.ratings import Skill, update_skills
from engine.league.store import League

Finish = tuple[Sequence[int], Sequence[int]] | None  # players and their ranks; None for a match that does not count


class SkillBook:
    """The skills of everybody in one tournament, and in its whole pool."""

    def __init__(self, league: League, pool: int, tournament: int) -> None:
        self._pool = pool
        self._scopes: dict[int, dict[int, Skill]] = {
            scope: {
                agent: (mean, deviation)
                for agent, mean, deviation in league.file.read(
                    "SELECT agent, mean, deviation FROM skills WHERE pool = ? AND tournament = ?", pool, scope
                )
            }
            for scope in (0, tournament)
        }
        self._next = 1  # the first place that has not counted yet
        self._waiting: dict[int, Finish] = {}

    def found(self, finishes: Mapping[int, Finish]) -> None:
        """What was recorded before, by place: all of it without a gap has counted then."""
        self._waiting = dict(finishes)
        while self._next in self._waiting:
            del self._waiting[self._next]
            self._next += 1

    def add(self, finishes: Mapping[int, Finish]) -> tuple[SkillBook, list[tuple[object, ...]]]:
        """The book with these as well, and the rows that change; this one stays as it is until they are saved."""
        after = SkillBook.__new__(SkillBook)
        after._pool, after._next = self._pool, self._next
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
