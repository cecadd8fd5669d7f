"""Plays matches of neat-python's genomes on worker processes, for a training loop of your own.

with ConcurrentTrainingExecutor(config_path="neat_config.txt") as executor:
    for result in executor.execute_matches([(genome1, genome2), (genome3, genome4)]):
        result["match_result"].scores, result["contact_metrics"][0]["hits"], result["error"]
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from agents.neat.config import config_text, read_config
from agents.neat.genome import from_neat
from agents.neat.payload import dump
from agents.neat.pilot import KIND
from agents.training.evaluator import MatchEvaluator
from engine.errors import BadValue
from engine.play.match import AgentSpec, EndingKind, GameSpec, Limits, MatchResult, MatchSpec
from engine.seeding import derive


class ConcurrentTrainingExecutor(MatchEvaluator):
    """A match evaluator that takes neat-python's genomes."""

    def __init__(
        self,
        config_path: str | Path | None = None,
        max_workers: int | None = None,
        batch_size: int = 10,
        *,
        game: str | GameSpec = "pong",
        seed: int = 1,
        limits: Limits = Limits(),  # noqa: B008 - frozen
        plugins: Sequence[str] = (),
    ) -> None:
        """`config_path`: neat-python's configuration file; defaults to the one for the game. `max_workers`: defaults to
        one less than the number of cores. `seed`: determines the matches. `limits`: such as Limits(steps=3000)."""
        super().__init__(max_workers, batch_size, game=game, plugins=plugins)
        self._seed, self._limits, self._calls = seed, limits, 0
        self._config_path = None if config_path is None else str(config_path)
        self._config: Any = None
        if config_path is not None:
            self._genome_config()  # an invalid file raises here, not in the first match

    def _genome_config(self) -> Any:
        if self._config is None:
            self._config = read_config(config_text(self._config_path or "", self.game), self.game)
        return self._config.genome_config

    def execute_matches(self, genome_pairs: Sequence[Sequence[Any]], seed: int | None = None) -> list[dict[str, Any]]:
        """Plays one match for each pair of neat-python's genomes (or group, if the game has more seats). Results are in
        that order, and the first genome of a pair has the first seat. The configuration says whether genomes are
        recurrent. Without a `seed` each call plays different matches. Each result is a dict:
        `match_result`, `contact_metrics` (the game's statistics by name, one dict for each genome) and `error`, None
        unless the match failed: the kind of failure, the seats that failed, and the reason."""
        config, agents = self._genome_config(), dict[int, AgentSpec]()
        specs, seats = [], self.game.info.seats
        self._calls += 1
        call_seed = derive(self._seed, self._calls) if seed is None else seed
        for number, pair in enumerate(genome_pairs):
            if not isinstance(pair, Sequence) or len(pair) != seats:
                given = len(pair) if isinstance(pair, Sequence) else pair
                raise BadValue("genome_pairs", given, f"{seats} genomes, one for each seat")
            for genome in pair:
                if not hasattr(genome, "nodes") or not hasattr(genome, "connections"):
                    raise BadValue("genome_pairs", genome, "made of neat-python's genomes")
                if id(genome) not in agents:
                    payload = dump(from_neat(genome, config))
                    agents[id(genome)] = AgentSpec(f"{genome.key}/{len(agents)}", KIND.name, payload, KIND.version)
            players = tuple(agents[id(genome)] for genome in pair)
            match_seed = derive(call_seed, "pair", number)
            specs.append(MatchSpec(str(number), self.game.spec, players, match_seed, None, self._limits))
        return [self._as_dict(result) for result in self._executor.execute_matches(specs)]

    def _as_dict(self, result: MatchResult) -> dict[str, Any]:
        names, ending, error = self.game.info.stats, result.ending, None
        if ending.kind.failure or not ending.kind.rated or ending.kind is EndingKind.ILLEGAL_ACTION:
            error = {"kind": ending.kind.value, "seats": ending.seats, "reason": ending.reason}
        metrics = tuple(dict(zip(names, row, strict=True)) for row in result.stats)
        return {"match_result": result, "contact_metrics": metrics, "error": error}
