"""A replay is a match and its actions. Playing it again must lead to the same result, or it is rejected.

Actions are logged as one stream, step by step and by seat among those that act, each in a fixed number of bits (see
`lane_kernels.bits_for`). A `Playback` may still grow: a live match is a replay without an end yet.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import numpy as np

from engine import codec
from engine.errors import BadReplay, BadValue, RingsideError
from engine.files import read_file, write_file
from engine.game import Floats, Game, Indices, Ints, NotedBoards, StyledBoards, check_match
from engine.play.lane_kernels import bits_for, rank, unpack
from engine.play.match import Ending, EndingKind, MatchResult, MatchSpec
from engine.registry import game_of
from engine.scene import Scene

FORMAT, VERSION = "ringside-replay", 2
START, CHECKSUM = b'{"checksum":"', 32  # how a file of version 2 begins; hexadecimal digits
VIEW, HEAD, KEYS = 0, 1, 2  # lanes: the step that is shown, the newest step, and from here on the key frames
KEY_FRAMES = 64


@dataclass(frozen=True)
class Replay:
    """The content of a replay file."""

    format: str
    version: int  # of the format: 2 has a checksum, 1 had none
    match: MatchSpec
    result: MatchResult


class Playback:
    """The boards of one match, at any step that has been played so far."""

    def __init__(self, match: MatchSpec, game: Game | None = None) -> None:
        self.match = match
        self.game = game or game_of(match.game)
        check_match(match, self.game)
        self.boards = self.game.boards(KEYS + KEY_FRAMES)
        self.steps = 0  # played so far
        self.step = 0  # shown
        self.received = 0  # actions, including those of an unfinished step
        self._rows: list[list[int]] = []  # actions by step and seat; -1 where a seat did not act
        self._unread: list[int] = []
        self._spacing = 16  # steps between key frames; doubled when they run out
        self._keys = 1
        lanes = np.array([VIEW, HEAD, KEYS], np.uint32)
        self.boards.deal(lanes, np.full(3, match.seed, np.uint64), [match.start] * 3)

    @property
    def over(self) -> bool:
        return bool(self.boards.over()[HEAD])

    def feed(self, actions: Iterable[int], until: int | None = None) -> list[int]:
        """Play these actions, at most to this step; returns those that were not needed.

        The actions of an unfinished step are kept for the next call.
        """
        unread = len(self._unread)
        self._unread += actions
        self.received += len(self._unread) - unread
        used = 0
        while not self.over and self.steps != until:
            seats = np.flatnonzero(self.boards.acting()[HEAD]).tolist()
            given = self._unread[used : used + len(seats)]
            if len(given) < len(seats):
                break
            used += len(seats)
            row = [-1] * self.game.info.seats
            for seat, action in zip(seats, given, strict=True):
                self._check(seat, action)
                row[seat] = action
            self._rows.append(row)
            self._apply(HEAD, row)
            self.steps += 1
            if self.steps % self._spacing == 0:
                self._add_key_frame()
        del self._unread[:used]
        return self._unread

    def seek(self, step: int) -> None:
        """Show this step, starting from the nearest key frame before it."""
        step = min(max(step, 0), self.steps)
        key = min(step // self._spacing, self._keys - 1)
        if not self.step <= step < self.step + self._spacing:
            self.boards.copy(KEYS + key, VIEW)
            self.step = key * self._spacing
        while self.step < step:
            self._apply(VIEW, self._rows[self.step])
            self.step += 1

    def actions_of(self, seat: int) -> list[int]:
        """The actions of this seat before the step that is shown."""
        return [row[seat] for row in self._rows[: self.step] if row[seat] >= 0]

    def scene(self, style: str | None = None) -> Scene:
        """The scene of the step that is shown, in the default style or one of `game.info.styles`."""
        if style is None:
            return self.boards.scene(VIEW)
        if style not in self.game.info.styles:
            known = ", ".join(map(repr, self.game.info.styles)) or "omitted: this game has only one style"
            raise BadValue("style", style, f"one of {known}" if self.game.info.styles else known)
        return cast(StyledBoards, self.boards).scene(VIEW, style)

    def written(self, notation: str, names: Sequence[str], ending: Ending) -> str:
        """The whole match as text, in one of `game.info.notations`."""
        known = self.game.info.notations
        if notation not in known:
            offered = f"one of {', '.join(known)}" if known else f"omitted: {self.game.info.title} has no notation"
            raise BadValue("notation", notation, offered)
        return cast(NotedBoards, self.boards).written(HEAD, notation, names, ending)

    def scores(self) -> tuple[float, ...]:
        return tuple(self.boards.scores()[VIEW].tolist())

    def stats(self) -> tuple[tuple[float, ...], ...]:
        return tuple(map(tuple, self.boards.stats(_index(VIEW))[0].tolist()))

    def _apply(self, lane: int, row: list[int]) -> None:
        actions: Ints = np.zeros((KEYS + KEY_FRAMES, len(row)), np.int64)
        actions[lane] = row
        self.boards.apply(_index(lane), actions)

    def _add_key_frame(self) -> None:
        if self._keys == KEY_FRAMES:  # keep every second one
            for k in range(KEY_FRAMES // 2):
                self.boards.copy(KEYS + 2 * k, KEYS + k)
            self._keys = KEY_FRAMES // 2
            self._spacing *= 2
        if self.steps % self._spacing == 0:
            self.boards.copy(HEAD, KEYS + self._keys)
            self._keys += 1

    def _check(self, seat: int, action: int) -> None:
        info = self.game.info
        legal = 0 <= action < info.actions
        if legal and info.masked:
            mask = np.zeros((1, info.actions), np.bool_)
            self.boards.legal(_index(HEAD), _index(seat), mask)
            legal = bool(mask[0, action])
        if not legal:
            raise BadReplay(f"match {self.match.id!r}, step {self.steps}: seat {seat} cannot play {action}")


def verified(match: MatchSpec, result: MatchResult) -> Playback:
    """Play the match again; raise BadReplay if it does not lead to this result."""
    what = f"match {match.id!r}"
    if match.id != result.id or tuple(player.id for player in match.players) != result.players:
        raise BadReplay(f"{what}: the result belongs to {result.id!r}, {' against '.join(result.players)}")
    playback = Playback(match)
    bits, seats = bits_for(playback.game.info.actions), playback.game.info.seats
    if not 0 <= result.steps <= len(result.actions) * 8 or len(result.actions) > result.steps * seats * bits // 8 + 4:
        raise BadReplay(f"{what}: {len(result.actions)} bytes of actions do not make {result.steps} steps")
    left = playback.feed(unpack(result.actions, bits).tolist(), until=result.steps)
    if any(left) or len(left) * bits >= 8:  # a log is padded to whole bytes
        raise BadReplay(f"{what}: there are actions after its end at step {playback.steps}")
    playback.seek(playback.steps)
    for name, recorded, played in (
        ("steps", result.steps, playback.steps),
        ("scores", result.scores, playback.scores()),
        ("ranks", result.ranks, ranks_after(playback, result.ending.seats)),
        ("statistics", result.stats, playback.stats()),
    ):
        if recorded != played:
            raise BadReplay(f"{what}: {name} recorded as {recorded}, played again as {played}")
    _check_ending(match, result.ending, playback)
    return playback


def _check_ending(match: MatchSpec, ending: Ending, playback: Playback) -> None:
    """Raise BadReplay if a match with these actions cannot have this ending."""
    over, limit = int(playback.boards.over()[VIEW]), match.limits.steps
    within = limit is None or playback.steps <= limit
    if ending.kind in (EndingKind.FINISHED, EndingKind.STEP_LIMIT, EndingKind.NO_CONTEST):
        plain = {1: EndingKind.FINISHED, 2: EndingKind.STEP_LIMIT, 3: EndingKind.NO_CONTEST}
        expected = plain.get(over) or (EndingKind.STEP_LIMIT if playback.steps == limit else None)
        possible = ending.kind is expected and not ending.seats
    else:
        in_order = sorted(set(ending.seats)) == list(ending.seats)
        possible = bool(ending.seats) and in_order and set(ending.seats) <= set(range(playback.game.info.seats))
        running = not over or ending.kind is EndingKind.EXCEPTION  # a player may fail in `end`, after the match
        possible &= ending.kind.rated and running
    if not (possible and within):
        description = f"{ending.kind.value} by seats {ending.seats}" if ending.seats else ending.kind.value
        raise BadReplay(f"match {match.id!r}: after {playback.steps} steps it cannot have ended as {description}")


def save(path: Path, match: MatchSpec, result: MatchResult, overwrite: bool = False, field: str = "file") -> None:
    """Write a replay file; see `write_file`."""
    content = codec.dump(Replay(FORMAT, VERSION, match, result)).encode()
    write_file(path, _with_checksum(content), overwrite, field)


def load(path: Path) -> tuple[Replay, Playback]:
    """Read a replay and play it again; raises BadReplay if anything is wrong with it."""
    try:
        data = read_file(path, codec.MAX_BYTES)
    except BadValue as error:  # it names the file
        raise BadReplay(str(error)) from error
    try:
        replay = _decoded(data)
        return replay, verified(replay.match, replay.result)
    except RingsideError as error:
        raise BadReplay(f"{path}: {error}") from error


def _with_checksum(content: bytes) -> bytes:
    """The same JSON object with the checksum of all the rest as its first field. Playing a match again verifies its
    actions, but not who played: a changed name or payload would be shown as that of the player."""
    rest = b'",' + content[1:]
    return START + hashlib.blake2b(rest, digest_size=CHECKSUM // 2).hexdigest().encode() + rest


def _decoded(data: bytes) -> Replay:
    if data.startswith(START):
        content = b"{" + data[len(START) + CHECKSUM + 2 :]
        if data != _with_checksum(content):
            raise BadReplay("it was changed after it was saved: its checksum is wrong")
        return codec.load(Replay, content, format=FORMAT, version=VERSION)
    try:
        return codec.load(Replay, data, format=FORMAT, version=1)
    except BadValue as error:
        if error.field == "file.version" and error.value == VERSION:
            raise BadReplay("it was changed after it was saved: its checksum is missing") from None
        raise


def ranks_after(playback: Playback, forfeited: Sequence[int]) -> tuple[int, ...]:
    """The ranks at the step that is shown, if these seats forfeit."""
    scores: Floats = np.array([playback.scores()])
    forfeits = np.array([[seat in forfeited for seat in range(scores.shape[1])]])
    ranks: Ints = np.empty(scores.shape, np.int64)
    rank(scores, forfeits, ranks)
    return tuple(ranks[0].tolist())


def _index(lane: int) -> Indices:
    return np.array([lane], np.uint32)
