"""A match once more: played again and compared, or kept as a file. No Qt in here."""

from __future__ import annotations

from pathlib import Path

from engine.errors import BadValue
from engine.files import write_whole
from engine.league import standings as tables
from engine.play import replay
from engine.play.concurrent import ConcurrentMatchExecutor
from engine.registry import game_of
from league_app.core.queries import matches as looks
from league_app.core.state import LeagueState


class Reproduce:
    """Plays a match once more, in a worker process of its own; what came of it in words, and their tone."""

    def __init__(self, state: LeagueState, match: str) -> None:
        self._state, self._match = state, match

    def __call__(self) -> tuple[str, str]:
        found = tables.match(self._state.league, self._match)
        with ConcurrentMatchExecutor(1) as executor:
            result = executor.execute_match(found.spec)
        if result.digest() == found.result.digest():
            return f"{self._match} came out the same, to the bit", "good"
        told = f"{self._match} came out differently: {looks.words_of(result.ending.kind.value)} after {result.steps:,}"
        told += f" steps, and it was {looks.words_of(found.result.ending.kind.value)} after {found.result.steps:,}"
        if not found.result.repeatable:
            told += ". It was recorded as not repeatable: it depended on time, memory or who failed first"
        return told, "warn"


class SaveReplay:
    """As a replay, or as other programs read it, if the file's name ends so."""

    def __init__(self, state: LeagueState, match: str, path: Path) -> None:
        self._state, self._match, self._path = state, match, path

    def __call__(self) -> tuple[str, str]:
        found = tables.match(self._state.league, self._match)
        notation, names = self._path.suffix.removeprefix("."), self._state.league.names()
        try:
            if notation in game_of(found.spec.game).info.notations:
                playback = replay.verified(found.spec, found.result)
                players = [names[one.id] for one in found.spec.players]
                write_whole(self._path, playback.written(notation, players, found.result.ending).encode())
            else:
                replay.save(self._path, found.spec, found.result)
        except OSError as error:
            raise BadValue("file", str(self._path), f"one that can be written ({error.strerror})") from None
        return f"{self._match} is saved as {self._path.name}", "good"
