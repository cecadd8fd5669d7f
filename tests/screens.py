"""Takes the pictures in the README: `python -m tests.screens`. They are what the program shows, not drawings."""

from __future__ import annotations

from pathlib import Path

from engine.play.executors import SequentialMatchExecutor
from engine.play.match import MatchSpec
from engine.play.replay import Playback, verified
from engine.registry import KINDS, new_game
from league_app.visual.paint import save_png

FOLDER = Path(__file__).parents[1] / "assets" / "screens"


def pong() -> Playback:
    """A rally of two good bots, the ball on its way."""
    game = new_game("pong")
    agents = {agent.id: agent for agent in KINDS.get("pong-bot").samples(game)}
    spec = MatchSpec("picture", game.spec, (agents["Predictor"], agents["Shaky"]), 6)
    with SequentialMatchExecutor(1) as executor:
        playback = verified(spec, executor.execute_match(spec))
    playback.seek(playback.steps * 2 // 3)
    while playback.boards.records[0]["rally"] < 6 or abs(playback.boards.records[0]["y"]) < 60:  # type: ignore[attr-defined]
        playback.seek(playback.step + 1)
    playback.seek(playback.step + 12)
    return playback


def main(folder: Path = FOLDER) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    save_png(pong().scene(), folder / "pong.png", 450)


if __name__ == "__main__":
    main()
