"""What learners report: notes for a log, spans of time, and which agents learn no more."""

from __future__ import annotations

from collections.abc import Mapping

from agents.training.events import Span
from agents.training.independent.learning import Learning
from agents.training.independent.parallel import ParallelSettings
from agents.training.independent.reports import Note
from agents.training.independent.timeline import MOST_WAITING


class LearningLog:
    """Collects it, also from learners that are closed before it is taken."""

    def __init__(self, roles: Mapping[int, str]) -> None:
        """`roles`: the names of the agents by seat."""
        self._roles = dict(roles)
        self.notes: list[Note] = []
        self.stopped: set[int] = set()  # seats of agents that learn no more
        self._spans: list[Span] = []

    def collect(self, learning: Learning | None) -> None:
        """Adds what was reported since the last call."""
        if learning is None:
            return
        self._spans += learning.spans()[: MOST_WAITING - len(self._spans)]
        self.notes += [Note(text, True) for text in learning.notes()]
        for seat, why in learning.stopped().items():
            if seat not in self.stopped:
                self.stopped.add(seat)
                text = f"{self._roles[seat]} has stopped learning; it keeps its last good weights: {why}"
                self.notes.append(Note(text, True))

    def take_notes(self, learning: Learning | None) -> list[Note]:
        """Lines for a log since the last call."""
        self.collect(learning)
        notes = self.notes.copy()
        self.notes.clear()
        return notes

    def take_spans(self, learning: Learning | None) -> list[Span]:
        """Since the last call."""
        self.collect(learning)
        spans, self._spans = self._spans, []
        return spans


def switched_off(parallel: ParallelSettings) -> list[Note]:
    """That switches have no effect because `enabled` is off, if some were set."""
    names = parallel.without_effect
    text = f"enabled is false, so {' and '.join(names)} ha{'ve' if len(names) > 1 else 's'} no effect: agents act and "
    return [Note(f"{text}learn one after the other")] if names else []


def chosen_mode(learning: Learning, workers: int) -> Note:
    """The mode that was chosen by measuring, with so many workers for threads or processes."""
    return Note(f"training mode {learning.mode}: {learning.reason}, with {workers} worker{'s' * (workers > 1)}")
