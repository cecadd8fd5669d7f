"""Finds what there is to learn in matches: the actions that were played, or a teacher's answers in their positions."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from agents.training.hybrid.lessons.players import Players, Questions, Stop, StopWatch
from agents.training.hybrid.lessons.practice import Practice
from agents.training.hybrid.lessons.replay import LANES, Moves, Replay, Turns
from agents.training.hybrid.lessons.sampling import Start
from agents.training.records import MatchRecord
from engine.closing import Closing
from engine.errors import BadValue
from engine.game import RESIGN, Bools, Game, Ints
from engine.play.lane_kernels import bits_for, slots_of, unpack
from engine.play.match import AgentSpec
from engine.seeding import derive

MOST_STEPS = 10_000  # of a match: what follows says little that is new
TOGETHER = 32  # matches in which a teacher is asked before it is checked whether there are enough answers
NO_LABEL = -1


class Answered(NamedTuple):
    """A match whose turns have labels."""

    name: str
    start: Start
    actions: NDArray[Any]  # of all its turns
    seats: NDArray[np.uint8]  # of each turn
    labels: NDArray[np.int32]  # of each turn: the action to learn, or NO_LABEL
    weights: tuple[float, ...]  # by seat


def played(game: Game, records: Sequence[MatchRecord], winners: float, stop: Stop) -> list[Answered]:
    """The actions of the chosen agents in recorded matches; a winner's weigh `winners` times those of a loser. Raises
    BadValue if a match cannot be played again, and Stopped."""
    return _labelled(game, records, None, [weights_of(record, winners) for record in records], stop)


def answered(
    game: Game, records: Sequence[MatchRecord], teacher: AgentSpec, seed: int, stop: Stop
) -> Generator[list[Answered]]:
    """What a teacher answers at the turns of the chosen agents in recorded matches, some matches at a time. It is asked
    at each of them, because it may remember the earlier ones."""
    with Teacher(game, teacher, seed, stop) as asked:
        for first in range(0, len(records), TOGETHER):
            some = records[first : first + TOGETHER]
            yield _labelled(game, some, asked, [(1.0,) * game.info.seats] * len(some), stop)


def practised(
    game: Game,
    teacher: AgentSpec,
    bots: str,
    *,
    seed: int,
    noise: float,
    spacing: int,
    most: int,
    weight: float,
    setting: str,
    stop: Stop,
) -> Generator[list[Answered]]:
    """What a teacher answers in at most `most` matches of its own, some matches at a time. `setting`: that names it."""
    kind = np.min_scalar_type(game.info.actions)
    with Practice(game, teacher, bots, seed=seed, noise=noise, spacing=spacing, setting=setting, stop=stop) as practice:
        for first in range(0, most, practice.together):
            yield [
                Answered(
                    match.name,
                    Start(match.seed, None),
                    np.array(match.actions, kind),
                    np.array(match.seats, np.uint8),
                    np.array(match.answers, np.int32),
                    (weight,) * game.info.seats,
                )
                for match in practice.play(first)
            ]


def learned_seats(record: MatchRecord) -> list[int]:
    """The seats of chosen agents that did not fail."""
    return [seat for seat in record.chosen if seat not in record.failed]


def weights_of(record: MatchRecord, winners: float) -> tuple[float, ...]:
    """By seat: from 1 for the last to `winners` for the first, by the share of opponents that it beat."""
    ranks, others = record.ranks, max(len(record.ranks) - 1, 1)
    beaten = [sum((own < other) + 0.5 * (own == other) for other in ranks) - 0.5 for own in ranks]
    return tuple(1.0 + (winners - 1.0) * share / others for share in beaten)


def _labelled(
    game: Game,
    records: Sequence[MatchRecord],
    teacher: Teacher | None,
    weights: Sequence[tuple[float, ...]],
    stop: Stop,
) -> list[Answered]:
    moves = [_moves(record, game) for record in records]
    seats_of = [learned_seats(record) for record in records]
    learned: Bools = np.array([[seat in seats for seat in range(game.info.seats)] for seats in seats_of])
    first = np.cumsum([0, *[len(match.actions) for match in moves]])
    seats, labels = np.zeros(first[-1], np.uint8), np.full(first[-1], NO_LABEL, np.int32)
    watch = StopWatch(stop)
    replay = Replay(game, moves, LANES if teacher is None else teacher.lanes)
    for turns in replay.turns():
        watch.check()
        at = first[turns.matches] + turns.places
        seats[at] = turns.seats
        rows = learned[turns.matches, turns.seats]
        if teacher is not None:
            teacher.begin(replay, turns, learned, records)
        labels[at[rows]] = turns.actions[rows] if teacher is None else teacher.answers(replay, turns, rows)
    return [
        Answered(
            record.name,
            Start(record.seed, record.start),
            match.actions,
            seats[first[at] : first[at + 1]],
            labels[first[at] : first[at + 1]],
            weights[at],
        )
        for at, (record, match) in enumerate(zip(records, moves, strict=True))
    ]


class Teacher(Closing):
    """An agent that is asked for its actions in matches that are played again."""

    def __init__(self, game: Game, agent: AgentSpec, seed: int, stop: Stop) -> None:
        self._game, self._seed = game, seed
        self.lanes = min(TOGETHER, game.info.lanes or TOGETHER)
        self._players = Players(game, self.lanes, [agent], ["teacher"], stop)
        if (most := self._players.capacity) is not None:
            self.lanes = max(min(self.lanes, most // game.info.seats), 1)

    def close(self) -> None:
        self._players.close()

    def begin(self, replay: Replay, turns: Turns, learned: Bools, records: Sequence[MatchRecord]) -> None:
        """Begin the matches that are dealt now, on the seats that are learned from. Its random numbers depend on the
        match and the seat alone."""
        slots = slots_of(turns.dealt.tolist(), self._game.info.seats)
        lanes, seats = np.divmod(slots, np.uint32(self._game.info.seats))
        matches = replay.match[lanes]
        own = learned[matches, seats]
        each = zip(matches[own].tolist(), seats[own].tolist(), strict=True)
        seeds = [derive("teacher", self._seed, records[match].name, seat) for match, seat in each]
        if seeds:
            self._players.begin(slots[own], np.zeros(len(seeds), np.int64), np.array(seeds, np.uint64))

    def answers(self, replay: Replay, turns: Turns, rows: Bools) -> Ints:
        """Its answers in these rows; NO_LABEL where it resigns."""
        who: Ints = np.zeros(len(turns.seats), np.int64)
        questions = Questions(who, turns.lanes, turns.seats, turns.plies, turns.legal).at(rows)
        answers = self._players.ask(replay.boards, questions)
        return np.where(answers == RESIGN, NO_LABEL, answers)


def _moves(record: MatchRecord, game: Game) -> Moves:
    """Raises BadValue unless the actions have the size of such a match."""
    bits, seats = bits_for(game.info.actions), game.info.seats
    size = len(record.actions)
    fits = record.steps * bits <= 8 * size <= record.steps * seats * bits + 64 and size % max(bits // 8, 1) == 0
    if not fits or len(record.ranks) != seats:
        raise BadValue(f"match {record.name}", f"{size:,} bytes of actions", f"actions of {record.steps:,} steps")
    steps = min(record.steps, MOST_STEPS)
    log = record.actions[: -(-steps * seats * bits // 8)]
    return Moves(record.name, record.seed, record.start, unpack(log, bits).astype(f"u{max(bits // 8, 1)}"), steps)
