"""Running matches of a rollout as bytes: a JSON list and columns, without pickle.

A match is saved as its spec and all its actions. To restore it, it is dealt again and its actions are repeated. Its
players are saved by id: a trainer keeps its agents, and gives them to the restored rollout. Only players that the
rollout was not given, because its plan made them, are saved whole.
"""

from __future__ import annotations

import hashlib
import json
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.errors import BadSpec
from engine.game import Game
from engine.play.match import AgentSpec, GameSpec, Limits, MatchSpec
from engine.play.rollout_log import action_type
from engine.processes.channel import HEADER, frame

FORMAT = 1


@dataclass(frozen=True)
class SavedPlayer:
    """A player of saved matches."""

    agent: AgentSpec  # without its payload, unless it is saved whole
    whole: bool
    digest: str = ""  # of an agent that must not change; empty: it learns, so its weights change


@dataclass(frozen=True, eq=False)
class SavedStream:
    """A stream between two segments."""

    stream: int
    next: int  # index of its next match
    match: MatchSpec | None  # the running match, with players as in `SavedPlayer`
    actions: NDArray[Any]  # of the running match, as in `ActionLog`


@dataclass(frozen=True)
class SavedRollout:
    """The streams of a rollout, and the players of their running matches by id."""

    game: GameSpec
    streams: tuple[SavedStream, ...]
    players: Mapping[str, SavedPlayer]

    def pack(self) -> bytes:
        used = [player for one in self.streams if one.match is not None for player in one.match.players]
        ids = list(dict.fromkeys(player.id for player in used))  # in the order of their appearance
        numbers = {id: number for number, id in enumerate(ids)}
        players, body = [], []
        for player in (self.players[id] for id in ids):
            agent = player.agent
            players.append([agent.id, agent.kind, agent.version, player.digest, len(agent.payload), player.whole])
            body.append(agent.payload)
        streams: list[list[object]] = []
        for one in self.streams:
            fields: list[object] = [one.stream, one.next]
            if (match := one.match) is not None:
                seats = [numbers[player.id] for player in match.players]
                fields += [match.id, match.seed, match.start, match.limits.steps, seats, len(one.actions)]
                body.append(one.actions.tobytes())
            streams.append(fields)
        return frame(["rollout", FORMAT, _fields_of(self.game), players, streams], b"".join(body))

    def spec_of(self, match: MatchSpec, agents: Mapping[str, AgentSpec]) -> MatchSpec:
        """A running match with the players of `agents`, or else those that were saved whole."""
        players = []
        for player in match.players:
            saved, given = self.players[player.id], agents.get(player.id)
            if given is None and not saved.whole:
                raise BadSpec(
                    f"saved match {match.id!r}: its player {player.id!r}, of kind {player.kind!r}, is not among the "
                    "agents that were given"
                )
            players.append(saved.agent if given is None else given)
        return replace(match, players=tuple(players))


def unpack(data: bytes, game: Game) -> SavedRollout:
    """Read what `SavedRollout.pack` wrote; raises BadSpec if it is damaged or of another game."""
    try:
        line, size = HEADER.unpack_from(data)
        word, form, spec, players, streams = json.loads(data[HEADER.size : HEADER.size + line])
        if (word, type(form), len(data)) != ("rollout", int, HEADER.size + line + size):
            raise ValueError
        if form != FORMAT:
            raise BadSpec(f"the saved matches have format {form}; this version of Ringside reads format {FORMAT}")
        if spec != _fields_of(game.spec):
            raise BadSpec(f"the saved matches are of {spec[0]} {spec[1:]}, but the rollout plays {game.spec}")
        return _unpack(game, players, streams, data[HEADER.size + line :])
    except (TypeError, ValueError, LookupError, RecursionError, OverflowError, struct.error):
        raise BadSpec("the saved matches are damaged, or were not saved by a rollout") from None


def _unpack(game: Game, players: Any, streams: Any, body: bytes) -> SavedRollout:
    known: list[SavedPlayer] = []
    at = 0
    for id, kind, version, digest, size, whole in players:
        _check_types((id, str), (kind, str), (version, int), (digest, str), (whole, bool))
        known.append(SavedPlayer(AgentSpec(id, kind, body[at : at + _count(size)], version), whole, digest))
        at += size
    actions = action_type(game.info)
    found = []
    for stream, following, *rest in streams:
        _check_types((stream, int))
        match, played = None, np.zeros(0, actions)
        if rest:
            id, seed, start, limit, seats, count = rest
            _check_types((id, str), (seed, int), (start, str | None), (limit, int | None))
            own = tuple(known[_count(seat)].agent for seat in seats)
            match = MatchSpec(id, game.spec, own, seed, start, Limits(limit))
            played = np.frombuffer(body, actions, _count(count), at)
            at += played.nbytes
        found.append(SavedStream(stream, _count(following), match, played))
    if at != len(body):
        raise ValueError
    return SavedRollout(game.spec, tuple(found), {player.agent.id: player for player in known})


def joined_saves(saves: Sequence[bytes], game: Game) -> bytes:
    """The saved matches of several rollouts, stream by stream in this order: as if one rollout had all streams."""
    parts = [unpack(saved, game) for saved in saves]
    players = {id: player for part in reversed(parts) for id, player in part.players.items()}
    return SavedRollout(game.spec, tuple(one for part in parts for one in part.streams), players).pack()


def digest_of(agent: AgentSpec) -> str:
    """A text that changes with an agent."""
    hashed = hashlib.blake2b(f"{agent.kind} {agent.version} ".encode(), digest_size=16)
    hashed.update(agent.payload)
    return hashed.hexdigest()


def _fields_of(game: GameSpec) -> list[object]:
    return [game.name, game.version, [list(pair) for pair in game.options]]


def _count(value: object) -> int:
    if type(value) is not int or value < 0:
        raise ValueError
    return value


def _check_types(*pairs: tuple[object, Any]) -> None:
    for value, kind in pairs:
        if not isinstance(value, kind) or (type(value) is bool and kind is not bool):
            raise TypeError
