"""Matches of genomes on worker processes: what trainers play with, and what a training loop of your own can use.

with ConcurrentTrainingExecutor(config_path="neat_config.txt") as executor:
    for result in executor.execute_matches([(genome1, genome2), (genome3, genome4)]):
        result["match_result"].scores, result["contact_metrics"][0]["hits"], result["error"]
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from agents.neat import genome as genomes
from agents.neat.config import config_text, read_config
from agents.neat.pilot import KIND
from engine.errors import BadValue
from engine.play.concurrent import ConcurrentMatchExecutor
from engine.play.match import AgentSpec, EndingKind, GameSpec, Limits, MatchResult, MatchSpec
from engine.play.results import ResultBatch
from engine.registry import game_of, new_game
from engine.seeding import derive


class ConcurrentTrainingExecutor:
    """The league's own executor, without records of actions and without quarantine: a genome that fails says so in each
    of its matches, and the others go on."""

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
        """`config_path`: neat-python's configuration file; without one, that of the game. `max_workers`: one less than
        there are cores, if not given. `seed`: another seed, other matches. `limits`: such as Limits(steps=3000)."""
        self.game = new_game(game) if isinstance(game, str) else game_of(game)
        self._seed, self._limits, self._calls = seed, limits, 0
        self._config_path = None if config_path is None else str(config_path)
        self._config: Any = None
        if config_path is not None:
            self._genome_config()  # what is wrong with the file is told now
        self._executor = ConcurrentMatchExecutor(
            max_workers, batch_size, record=False, quarantine_after=None, plugins=plugins
        )

    def _genome_config(self) -> Any:
        if self._config is None:
            self._config = read_config(config_text(self._config_path or "", self.game), self.game)
        return self._config.genome_config

    def execute_matches(self, genome_pairs: Sequence[Sequence[Any]], seed: int | None = None) -> list[dict[str, Any]]:
        """One match for each pair (or group, where a game has more seats) of neat-python's genomes, in that order and
        with the first at the first seat; whether they are recurrent is read from the configuration. Without a `seed`
        each call plays other matches. For each a dict:
        `match_result`, `contact_metrics` (the game's statistics by name, one dict for each genome) and `error`, None
        unless the match failed: its kind, who failed, and why."""
        config, players = self._genome_config(), dict[int, AgentSpec]()
        specs, seats = [], self.game.info.seats
        self._calls += 1
        drawn = derive(self._seed, self._calls) if seed is None else seed
        for number, pair in enumerate(genome_pairs):
            if not isinstance(pair, Sequence) or len(pair) != seats:
                given = len(pair) if isinstance(pair, Sequence) else pair
                raise BadValue("genome_pairs", given, f"{seats} genomes, one for each seat")
            for genome in pair:
                if not hasattr(genome, "nodes") or not hasattr(genome, "connections"):
                    raise BadValue("genome_pairs", genome, "made of neat-python's genomes")
                if id(genome) not in players:
                    payload = genomes.dump(genomes.of_neat(genome, config))
                    players[id(genome)] = AgentSpec(f"{genome.key}/{len(players)}", KIND.name, payload, KIND.version)
            seated = tuple(players[id(genome)] for genome in pair)
            specs.append(
                MatchSpec(str(number), self.game.spec, seated, derive(drawn, "pair", number), None, self._limits)
            )
        return [self._told(result) for result in self._executor.execute_matches(specs)]

    def _told(self, result: MatchResult) -> dict[str, Any]:
        names, ending, error = self.game.info.stats, result.ending, None
        if ending.kind.failure or not ending.kind.rated or ending.kind is EndingKind.ILLEGAL_ACTION:
            error = {"kind": ending.kind.value, "seats": ending.seats, "reason": ending.reason}
        metrics = tuple(dict(zip(names, row, strict=True)) for row in result.stats)
        return {"match_result": result, "contact_metrics": metrics, "error": error}

    def play(self, specs: Sequence[MatchSpec], stopping: Callable[[], bool] = lambda: False) -> ResultBatch | None:
        """Results in the order of the specs; `stopping` is asked all the time, and None means that it said yes. A match
        that was not played has zeros for statistics."""
        stopped = False

        def heed() -> bool:
            nonlocal stopped
            stopped = stopping()
            return stopped

        seats, stats = self.game.info.seats, len(self.game.info.stats)
        found = [ResultBatch.empty(seats, stats)]
        for batch in self._executor.batches(specs, heed):
            found.append(batch if batch.shape[1] == stats else batch.without_stats(stats))
        return None if stopped else ResultBatch.joined(found).in_order(specs)

    @property
    def workers(self) -> int:
        return self._executor.workers

    @workers.setter
    def workers(self, count: int) -> None:
        if count != self._executor.workers:
            self._executor.workers = count

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the worker processes."""
        self._executor.close()
