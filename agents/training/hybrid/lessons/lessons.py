"""Lessons: positions of recorded matches, and the actions of strong agents in them, for a network to learn.

Lessons hold matches as their actions and where the examples are, not observations: these are computed when the matches
are played again. So they are small enough for a checkpoint, and what is learned from them is the same to the bit.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Self

import numpy as np

from agents.training.hybrid.data import Task
from agents.training.hybrid.lessons.answers import Answered, answered, learned_seats, played, practised
from agents.training.hybrid.lessons.examples import examples_of, most_examples
from agents.training.hybrid.lessons.format import Lesson, pack, unpack
from agents.training.hybrid.lessons.players import Stop, Stopped
from agents.training.hybrid.lessons.sampling import Start, available, in_random_order, quotas, selecting, spread
from agents.training.hybrid.lessons.settings import LessonSettings
from agents.training.matchmaking import joined_names
from agents.training.records import MatchRecord
from engine.errors import BadValue, NotConfirmed
from engine.game import Game
from engine.play.lane_kernels import bits_for
from engine.play.match import AgentSpec, GameSpec
from engine.registry import kind_of

MOST_TURNS = 40_000_000  # of all matches together

Progress = Callable[[int, int], None]  # (done, total)
Note = Callable[[str, bool], None]  # (text, whether it is a warning)


@dataclass(frozen=True, eq=False)
class Lessons:
    """Examples of a game, as the matches that they come from."""

    game: GameSpec
    seats: int
    matches: tuple[Lesson, ...]

    def __len__(self) -> int:
        """Number of examples."""
        return sum(len(match.places) for match in self.matches)

    def save(self) -> bytes:
        return pack(self.game, self.seats, self.matches)

    @classmethod
    def load(cls, data: bytes) -> Self:
        """Reads what `save` wrote; raises BadValue for anything else."""
        header, matches = unpack(data)
        return cls(header.game, header.seats, tuple(matches))

    def task(self, game: Game) -> Task:
        """The examples as arrays; plays the matches again. Raises BadValue if they are not of this game, or cannot have
        happened."""
        if game.spec != self.game or game.info.seats != self.seats:
            raise BadValue("lessons", self.game, f"of {game.spec}, the game of the session")
        if len(self) > most_examples(game):
            raise BadValue("lessons", f"{len(self):,} examples", f"at most {most_examples(game):,} of this game")
        sides = [[match for match in self.matches if match.selects == selects] for selects in (False, True)]
        for side, name in zip(sides, ("to learn from", "to select by"), strict=True):
            if not side:
                raise BadValue("lessons", "no match", f"at least one {name}")
        train, select = (examples_of(game, side) for side in sides)
        return Task(train, select)


def lessons_from(
    records: Sequence[MatchRecord],
    agents: Sequence[AgentSpec],
    game: Game,
    settings: LessonSettings,
    *,
    seed: int,
    stop: Stop = lambda: False,
    progress: Progress = lambda done, total: None,
    note: Note = lambda text, warning: None,
) -> Lessons | None:
    """Lessons from recorded matches, and from matches that agents play for it. `agents` as in `Context.agents`: the
    teacher first, if there is one; otherwise those of `from_league`. Returns None once `stop` returns True; it is
    called several times a second. `progress` gets the number of positions found and wanted, `note` texts for the log.
    Raises BadValue if there are too few matches, or an agent fails."""
    maker = _Maker(game, settings, seed, stop, progress, note)
    try:
        return maker.lessons(records, agents)
    except Stopped:
        return None


class _Maker:
    """Finds positions with answers, and chooses the examples among them."""

    def __init__(
        self, game: Game, settings: LessonSettings, seed: int, stop: Stop, progress: Progress, note: Note
    ) -> None:
        self._game, self._settings, self._seed = game, settings, seed
        self._stop, self._progress, self._note = stop, progress, note
        self._spacing = settings.spacing_in(game)
        self._wanted = min(settings.examples, most_examples(game))
        self._found = 0  # examples of the sources that are complete
        if self._wanted < settings.examples:
            note(f"{self._wanted:,} examples instead of {settings.examples:,}: more would not fit into memory", True)

    def lessons(self, records: Sequence[MatchRecord], agents: Sequence[AgentSpec]) -> Lessons:
        settings, teacher = self._settings, agents[0] if self._settings.teacher.strip() and agents else None
        share = settings.practice if records else 1.0
        practising: list[AgentSpec] = []
        if share:
            practising = [teacher] if teacher is not None else [agent for agent in agents if self._can_practise(agent)]
        if not records and not practising:
            raise BadValue("from_league", settings.from_league, "recorded matches, or name a teacher")
        sources: list[tuple[list[Answered], int]] = []  # matches, and how many examples are taken from them
        if records:
            wanted = round((1 - share) * self._wanted) if practising else self._wanted
            sources.append(self._watched(records, teacher, wanted))
        for at, agent in enumerate(practising):
            wanted = (self._wanted - self._found) // (len(practising) - at)
            sources.append(self._practised(agent, teacher, wanted))
        found = Lessons(self._game.spec, self._game.info.seats, tuple(self._chosen(sources)))
        self._progress(len(found), len(found))
        self._note(_described(found, teacher, practising, "some" if records else "all"), False)
        return found

    def _can_practise(self, agent: AgentSpec) -> bool:
        """Whether an agent that the league has chosen can be asked: a program must be allowed, and fast."""
        kind = kind_of(agent)
        reason = "a person plays it" if kind.live else "it thinks in real time" if kind.timed(agent) else ""
        try:
            if not reason and kind.admit is not None:
                kind.admit(agent)
        except NotConfirmed:
            reason = "its program was not confirmed"
        if reason:
            self._note(f"{agent.id} plays no practice matches, because {reason}: only its records are learned", True)
        return not reason

    def _watched(
        self, records: Sequence[MatchRecord], teacher: AgentSpec | None, wanted: int
    ) -> tuple[list[Answered], int]:
        """Recorded matches: all, or as many as are needed if a teacher must be asked."""
        if not wanted:
            return [], 0
        matches = _useful(records, self._game, self._seed, self._note)
        if teacher is None:
            found = played(self._game, matches, self._settings.winners, self._stop)
            return self._counted(found, wanted)
        return self._collected(answered(self._game, matches, teacher, self._seed, self._stop), wanted)

    def _practised(self, agent: AgentSpec, teacher: AgentSpec | None, wanted: int) -> tuple[list[Answered], int]:
        """Matches that an agent plays, with its answers."""
        settings = self._settings
        parts = practised(
            self._game,
            agent,
            settings.bots,
            seed=self._seed,
            noise=settings.noise,
            spacing=self._spacing,
            most=settings.matches,
            weight=settings.winners if teacher is None else 1.0,
            setting="from_league" if teacher is None else "teacher",
            stop=self._stop,
        )
        return self._collected(parts, wanted)

    def _collected(self, parts: Generator[list[Answered]], wanted: int) -> tuple[list[Answered], int]:
        """Matches until they have as many examples as are wanted."""
        found: list[Answered] = []
        with closing(parts):
            for some in parts if wanted else ():
                found += some
                available = self._available(found)
                self._progress(min(self._found + available, self._wanted), self._wanted)
                if available >= wanted:
                    break
        return self._counted(found, wanted)

    def _counted(self, matches: list[Answered], wanted: int) -> tuple[list[Answered], int]:
        taken = min(self._available(matches), wanted)
        self._found += taken
        return matches, taken

    def _available(self, matches: Sequence[Answered]) -> int:
        return sum(available(match.seats, match.labels, self._spacing) for match in matches)

    def _chosen(self, sources: Sequence[tuple[Sequence[Answered], int]]) -> Iterator[Lesson]:
        """The examples of each source: as evenly distributed over its matches, and in each over its turns, as
        possible."""
        kept = [(_with_labels(matches)[:count], count) for matches, count in sources]
        starts = [match.start for matches, _ in kept for match in matches]
        sides = iter(selecting(starts, self._settings.selection_share, self._seed))
        for matches, count in kept:
            limits = [available(match.seats, match.labels, self._spacing) for match in matches]
            for match, quota in zip(matches, quotas(limits, count), strict=True):
                yield _lesson(match, quota, next(sides), self._seed)


def _with_labels(matches: Sequence[Answered]) -> list[Answered]:
    return [match for match in matches if (match.labels >= 0).any()]


def _useful(records: Sequence[MatchRecord], game: Game, seed: int, note: Note) -> list[MatchRecord]:
    """Matches with something to learn, in a random order, as many as fit into memory."""
    bits = bits_for(game.info.actions)
    order = in_random_order([Start(record.seed, record.start) for record in records], seed)
    useful = [records[at] for at in order if records[at].steps and learned_seats(records[at])]
    turns: list[int] = [len(record.actions) * 8 // bits for record in useful]
    count = int(np.searchsorted(np.cumsum(turns), MOST_TURNS, side="right"))
    if count < len(useful):
        note(f"{count:,} of {len(useful):,} recorded matches are used: more would not fit into memory", True)
    return useful[:count]


def _lesson(match: Answered, quota: int, selects: bool, seed: int) -> Lesson:
    turns = np.flatnonzero(match.labels >= 0)
    by_seat = turns[np.argsort(match.seats[turns], kind="stable")]
    places = np.sort(by_seat[spread(len(turns), quota, seed, match.name)])
    return Lesson(
        match.name,
        match.start.seed,
        match.start.start,
        selects,
        match.actions[: places[-1] + 1],
        match.weights,
        places.astype(np.uint32),
        match.labels[places].astype(np.int64),
    )


def _described(lessons: Lessons, teacher: AgentSpec | None, practising: Sequence[AgentSpec], share: str) -> str:
    kept = [match for match in lessons.matches if match.selects]
    selecting = sum(len(match.places) for match in kept)
    text = f"{len(lessons):,} positions of {len(lessons.matches):,} matches"
    if practising:
        text += f", {share} of them played for practice by {joined_names(agent.id for agent in practising)}"
    by = "" if teacher is None else f", with the answers of {teacher.id}"
    return f"{text}{by}; {selecting:,} positions of {len(kept):,} matches are kept for selection"
