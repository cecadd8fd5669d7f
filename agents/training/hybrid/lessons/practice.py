"""Matches that a teacher plays for its lessons, with some random actions.

A network that has learned from flawless play reaches unknown positions with its first mistake. So some of the teacher's
actions are replaced by random ones, while its own answers are recorded (Laskey and others 2017, DART).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np

from agents.training.hybrid.lessons.players import Players, Questions, Stop
from agents.training.matchmaking import joined_names, ready_bots, split_names
from engine.closing import Closing
from engine.game import RESIGN, Boards, Bools, Game, Indices, Ints
from engine.play.guarded_boards import GuardedBoards
from engine.play.match import AgentSpec
from engine.registry import KINDS, agents_for
from engine.seeding import chance, derive, pick, purpose

TOGETHER = 32  # matches that are played at once
POSITIONS = 200  # of a player in a match, at most: long matches say little that is new
STRETCHES_A_SECOND = 4  # random actions are kept so long, in seconds of play as it is shown
NOISE, ACTION = purpose("lessons.noise"), purpose("lessons.action")
TEACHER = 0  # its index among the players


@dataclass
class PracticeMatch:
    """A match that was played, its turns in order."""

    name: str
    seed: int
    actions: list[int]
    seats: list[int]  # of each action
    answers: list[int]  # of the teacher; -1 at the turns of others


def practice_bots(game: Game, names: str) -> list[AgentSpec]:
    """The ready-made agents that a teacher plays, by name, separated by commas; by default all that play alike each
    time."""
    if split_names(names):
        return ready_bots(game, names)
    found = []
    for kind, agents in agents_for(game).items():
        about = KINDS.get(kind)
        if not about.live and about.admit is None:
            found += [agent.id for agent in agents if about.repeats(agent) and not about.timed(agent)]
    return ready_bots(game, joined_names(found)) if found else []


def _players(game: Game, teacher: AgentSpec, names: str) -> list[AgentSpec]:
    """The teacher, and the bots that it plays."""
    same = (teacher.kind, teacher.payload)
    return [teacher, *(bot for bot in practice_bots(game, names) if (bot.kind, bot.payload) != same)]


class Practice(Closing):
    """Plays practice matches of a teacher."""

    def __init__(
        self,
        game: Game,
        teacher: AgentSpec,
        bots: str,
        *,
        seed: int,
        noise: float,
        spacing: int,
        setting: str,
        stop: Stop,
    ) -> None:
        """`bots`: names of ready-made agents that it plays. `setting`: that names the teacher, for error messages."""
        self._game, self._info, self._noise = game, game.info, noise
        self._teacher, self._seed = teacher, derive("practice", seed, teacher.id)
        self._agents = _players(game, teacher, bots)
        self._steps = POSITIONS * spacing * (1 if game.info.simultaneous or game.info.together else game.info.seats)
        self._hold = max(round(game.info.pace / STRETCHES_A_SECOND), 1)
        self.together = min(TOGETHER, game.info.lanes or TOGETHER)
        named = [setting, *["bots"] * (len(self._agents) - 1)]
        self._players = Players(game, self.together, self._agents, named, stop)
        if (most := self._players.capacity) is not None:
            self.together = max(min(self.together, most // game.info.seats), 1)
        self._boards = cast(Boards, GuardedBoards(game, self.together))

    def close(self) -> None:
        self._players.close()

    def play(self, first: int) -> list[PracticeMatch]:
        """The next matches, numbered from `first`. Raises BadValue if an agent fails, and Stopped."""
        lanes = np.arange(self.together, dtype=np.uint32)
        matches = [
            PracticeMatch(
                f"{number} of {self._teacher.id}'s practice",
                derive("match", self._seed, number // self._info.seats),
                [],
                [],
                [],
            )
            for number in range(first, first + self.together)
        ]
        who = np.array([self._lineup(number) for number in range(first, first + self.together)], np.int64)
        seeds = np.array([match.seed for match in matches], np.uint64)
        self._boards.deal(lanes, seeds, [None] * self.together)
        slots = np.arange(self.together * self._info.seats, dtype=np.uint32)
        own = [derive("player", self._seed, first, slot) for slot in slots.tolist()]
        self._players.begin(slots, who.reshape(-1), np.array(own, np.uint64))
        live = lanes[self._boards.over() == 0]
        ply = 0
        while live.size and ply < self._steps:
            live = self._step(live, matches, who, ply)
            ply += 1
        self._players.end(slots)
        return matches

    def _lineup(self, number: int) -> list[int]:
        """Indices of the players by seat: the teacher at one seat, which rotates, opponents at the others."""
        own, turn = number % self._info.seats, number // self._info.seats
        return [
            TEACHER if seat == own else (turn + (seat - own) % self._info.seats - 1) % len(self._agents)
            for seat in range(self._info.seats)
        ]

    def _step(self, live: Indices, matches: Sequence[PracticeMatch], who: Ints, ply: int) -> Indices:
        """Play a step on these lanes; returns those that go on."""
        rows, seats = np.nonzero(self._boards.acting()[live])
        lanes, acting = live[rows], seats.astype(np.uint32)
        legal: Bools | None = None
        if self._info.masked:
            legal = np.ones((len(lanes), self._info.actions), np.bool_)
            self._boards.legal(lanes, acting, legal)
        questions = Questions(who[lanes, seats], lanes, acting, np.full(len(lanes), ply, np.int64), legal)
        answers = self._players.ask(self._boards, questions)
        resigned = set(lanes[answers == RESIGN].tolist())
        played: Ints = np.zeros((self.together, self._info.seats), np.int64)
        each = zip(lanes.tolist(), seats.tolist(), answers.tolist(), questions.who.tolist(), strict=True)
        for row, (lane, seat, answer, player) in enumerate(each):
            if lane in resigned:
                continue
            match = matches[lane]
            action = answer if player != TEACHER else self._with_noise(answer, match.seed, seat, ply, legal, row)
            match.actions.append(action)
            match.seats.append(seat)
            match.answers.append(answer if player == TEACHER else -1)
            played[lane, seat] = action
        moved: Indices = live[~np.isin(live, list(resigned))]
        self._boards.apply(moved, played)
        left: Indices = moved[self._boards.over()[moved] == 0]
        return left

    def _with_noise(self, answer: int, seed: int, seat: int, ply: int, legal: Bools | None, row: int) -> int:
        """The answer, or a random action: for a stretch, because single actions of a fast game change little."""
        stretch = ply // self._hold
        if chance(seed, NOISE, seat, stretch) >= self._noise:
            return answer
        if legal is None:
            return pick(self._info.actions, seed, ACTION, seat, stretch)
        choices = np.flatnonzero(legal[row])
        return int(choices[pick(len(choices), seed, ACTION, seat, ply)])
