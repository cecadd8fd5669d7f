"""Plays a recorded match again to compare it, or saves it as a file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from engine.files import write_file
from engine.league import played_matches
from engine.play import replay
from engine.play.executors import new_executor
from engine.registry import game_of
from league_app.core.queries import matches
from league_app.core.state import LeagueState


def reproduce(state: LeagueState, match: str, cancelled: Callable[[], bool] | None = None) -> tuple[str, str]:
    """Plays a match again in a worker process of its own; returns a message and its tone. `cancelled` is called several
    times a second: when it returns True, the process is ended."""
    found = played_matches.match(state.league, match)
    with new_executor(workers=1) as executor:  # on this machine, wherever tournaments are played
        results = list(executor.run([found.spec], cancelled))
    if not results:
        return f"{match} was not played to its end", "info"
    [result] = results
    if result.digest() == found.result.digest():
        return f"{match} was reproduced exactly", "good"
    text = f"{match} has a different result: {matches.ending_text(result.ending.kind.value)} after {result.steps:,}"
    before = found.result
    text += f" steps, instead of {matches.ending_text(before.ending.kind.value)} after {before.steps:,}"
    if not before.repeatable:
        text += ". It was recorded as not repeatable: it depended on time, memory or which player failed first"
    return text, "warn"


def save_replay(state: LeagueState, match: str, path: Path, overwrite: bool = False) -> tuple[str, str]:
    """Saves a match as a replay or, by the suffix of the path, in a notation of its game; returns a message and its
    tone."""
    found = played_matches.match(state.league, match)
    notation, names = path.suffix.removeprefix("."), state.league.names()
    if notation in game_of(found.spec.game).info.notations:
        playback = replay.verified(found.spec, found.result)
        players = [names[player.id] for player in found.spec.players]
        write_file(path, playback.written(notation, players, found.result.ending).encode(), overwrite)
    else:
        replay.save(path, found.spec, found.result, overwrite)
    return f"{match} was saved as {path.name}", "good"
