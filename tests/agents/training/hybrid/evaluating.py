"""Evaluators for tests, and what they note."""

from __future__ import annotations

from typing import Any

from agents.training.events import Span
from agents.training.hybrid.evaluation import Evaluator
from agents.training.hybrid.evaluators import PROCESSES, ConcurrencySettings, new_evaluator
from agents.training.hybrid.genome import Genome
from agents.training.hybrid.outcome import LearningPlan, Outcome
from tests.agents.training.hybrid.model_tasks import stripe_task

PLAN = LearningPlan(epochs=3, batch_size=32)
MODE = "evaluation mode "


class Setting:
    """An evaluator with what it notes."""

    def __init__(
        self, mode: str = PROCESSES, models: int = 2, *, cores: int = 4, plan: LearningPlan = PLAN, task: Any = None,
        settings: dict[str, Any] | None = None, **more: Any,
    ) -> None:  # fmt: skip
        self.notes: list[tuple[str, bool]] = []  # but those of the mode
        self.modes: list[str] = []  # the notes of the mode
        self.spans: list[Span] = []
        chosen = ConcurrencySettings(mode=mode, concurrent_models=models, **(settings or {}))
        self.evaluator: Evaluator = new_evaluator(
            task or stripe_task(),
            plan,
            chosen,
            cores=cores,
            note=self._note,
            span=self.spans.append,
            **more,
        )

    def _note(self, text: str, warning: bool) -> None:
        if text.startswith(MODE) and not warning:
            self.modes.append(text.removeprefix(MODE))
        else:
            self.notes.append((text, warning))

    def __enter__(self) -> Setting:
        return self

    def __exit__(self, *_: object) -> None:
        self.evaluator.close()

    def outcomes(self, genomes: list[Genome]) -> list[Outcome]:
        """In the order of the genomes."""
        found = {outcome.key: outcome for outcome in self.evaluator.evaluate(genomes, lambda: False)}
        return [found[genome.key] for genome in genomes if genome.key in found]
