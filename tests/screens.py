"""Takes screenshots of the program: `python3 launch.py screenshots [FOLDER]`.

Every page in both themes and two sizes goes to FOLDER (`.screens`), those of the README also to `assets/screens`;
`--readme` takes only those. It plays a league and trains a network on Qt's offscreen platform: it takes minutes.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from engine.play.executors import SequentialMatchExecutor
from engine.play.match import MatchSpec
from engine.play.replay import Playback, verified
from engine.registry import KINDS, new_game
from league_app.rendering.painter import save_png

ROOT = Path(__file__).parents[1]
README, EVERYTHING = ROOT / "assets" / "screens", ROOT / ".screens"
SIZES = ((1280, 720), (1920, 1080))
THEMES = ("light", "dark")
IN_README = {  # by picture: theme and size
    "welcome": ("dark", SIZES[0]),
    "match": ("light", SIZES[0]),
    "hunt": ("dark", SIZES[0]),
    "standings": ("light", SIZES[0]),
    "training": ("dark", SIZES[0]),
    "learners": ("light", SIZES[0]),
    "timeline": ("light", SIZES[0]),
    "population": ("light", SIZES[1]),
    "dashboard": ("light", SIZES[0]),
    "tournament": ("light", SIZES[0]),
}
BOTS = ("Predictor", "Shaky", "Tracker", "Lazy", "Still", "Random", "Evolved", "Dice")
HUNTERS = ("Squirrel", "Magpie", "Badger", "Drifter")
FAILING = "raising"  # an agent that fails, for the page of failures
PLUGINS = ("tests.plugins.everyone",)


def pong() -> Playback:
    """A rally between two good bots, with the ball in play."""
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


def shogi() -> Playback:
    """The middle of a game, with pieces in both hands."""
    game = new_game("shogi")
    agents = {agent.id: agent for agent in KINDS.get("shogi-bot").samples(game)}
    spec = MatchSpec("picture", game.spec, (agents["Adept"], agents["Apprentice"]), 5)
    with SequentialMatchExecutor(1) as executor:
        playback = verified(spec, executor.execute_match(spec))
    playback.seek(min(60, playback.steps // 2))
    return playback


STILLS = {"pong": (pong, 450), "shogi": (shogi, 560)}  # pictures of a board without the window, and their heights


class Studio:
    """The real application with a league, which takes screenshots."""

    def __init__(self, folder: Path, seconds: float) -> None:
        os.environ["QT_QPA_PLATFORM"] = "offscreen"
        os.environ["RINGSIDE_HOME"] = str(folder / "home")
        import tests.plugins.everyone  # noqa: F401 - registers the agent that fails
        from league_app.core.state import LeagueState
        from league_app.gui.application import Application, make_application

        app = make_application()
        assert app is not None
        self.app = app
        self.application = Application(app, None)
        self.context, self.window = self.application.context, self.application.window
        state = LeagueState.new(folder / "Masters.league", plugins=PLUGINS)
        state.add_samples("pong", (*BOTS, FAILING))
        state.change_agent(FAILING, name="Sketchy")
        state.add_samples("treasure-hunt", HUNTERS)
        self.context.adopt(state)
        self.state = state
        self.window.show()
        self._play("First hunt", 5, HUNTERS, 4, "treasure-hunt")
        for seed in (1, 2, 3):
            self._play(f"Autumn cup {seed}", seed, BOTS, 4)
        self._play("Qualifying", 4, (*BOTS[:3], "Sketchy"), 2)
        self.learners = self._train_learners()
        self.searched = self._train_search()
        self.evolved = self._train(seconds)

    def _play(self, name: str, seed: int, agents: tuple[str, ...], rounds: int, game: str = "pong") -> None:
        self.state.start_tournament(name=name, game=game, agents=agents, options={"rounds": rounds}, seed=seed)
        self.until(lambda: not self.state.running)

    def _train(self, seconds: float) -> int:
        from engine.registry import TRAINERS

        preset = dict(TRAINERS.get("neat").presets["60 seconds"])
        preset["minutes"] = seconds / 60
        job = self.state.training.start("neat", preset, game="pong", name="First steps")
        self.until(lambda: not self.state.training.jobs)
        return job.number

    def _train_learners(self) -> int:
        """Independent learners, while the actor plays."""
        from engine.registry import TRAINERS

        settings = {"epochs": 60, "epsilon_epochs": 40, "evaluate_every": 4, "async_learning": True}
        preset = {**TRAINERS.get("independent").presets["Treasure Hunt"], **settings}
        job = self.state.training.start("independent", preset, game="treasure-hunt", name="Four hunters")
        self.until(lambda: not self.state.training.jobs)
        return job.number

    def _train_search(self) -> int:
        """A search for architectures, which learns from the matches that were played."""
        bots = "Still,Lazy,Tracker,Predictor"  # not those that fail
        settings = {
            "population_size": 8, "max_generations": 6, "examples": 10_000, "validate_pairs": 2, "seed": 3,
            "bots": bots, "validate_bots": bots,
        }  # fmt: skip
        job = self.state.training.start("hybrid", settings, game="pong", name="Apprentice")
        self.until(lambda: not self.state.training.jobs)
        return job.number

    # Screenshots

    def until(self, done: Callable[[], object], patience: float = 1200.0) -> None:
        end = time.monotonic() + patience
        while not done():
            assert time.monotonic() < end, "timed out"
            self.process_events(0.05)

    def process_events(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.app.processEvents()
            time.sleep(0.005)

    def save(self, widget: Any, path: Path) -> None:
        for toast in list(self.window.toasts.shown):
            toast.dismiss()
        self.process_events(0.2)
        path.parent.mkdir(parents=True, exist_ok=True)
        widget.grab().save(str(path))

    def pictures(self, theme: str, size: tuple[int, int]) -> Iterator[tuple[str, Any]]:
        """Shows each page and dialog, and yields its name and widget."""
        from PySide6.QtWidgets import QApplication

        window = self.window
        window.view.set_theme(theme)
        window.resize(*size)
        window.show_page("welcome")
        self.until(lambda: window.welcome.preview.playback is not None)
        self.process_events(2.5)
        yield "welcome", window
        for name in ("standings", "history"):
            window.show_page(name)
            self.process_events(1.5)
            yield name, window
        yield from self._training()
        window.show_page("agent", "Evolved")
        self.process_events(1.5)
        yield "agent", window
        window.show_page("history", {"tab": "failures"})
        self.process_events(1.0)
        yield "failures", window
        page = window.page("standings")
        for place, name in ((1, "crosstable"), (2, "superiority")):
            window.show_page("standings")
            page.tabs.setCurrentIndex(place)
            self.process_events(1.0)
            yield name, window
        page.tabs.setCurrentIndex(0)
        for name, method in (("tournament", window.new), ("session", window.page("training").new_session)):
            window.show_page("dashboard")
            method()
            self.process_events(3.0)
            yield name, QApplication.activeModalWidget()
            QApplication.activeModalWidget().close()
        window.help.palette()
        self.process_events(0.5)
        yield "palette", QApplication.activeModalWidget()
        QApplication.activeModalWidget().close()
        with self._running(visual=True):
            window.show_page("live")
            self.until(lambda: window.page("match").shown is not None and window.page("match").shown.steps > 400)
            yield "match", window
        with self._treasure_hunt():
            yield "hunt", window
        with self._running(visual=False):
            window.show_page("dashboard")
            self.process_events(2.5)
            yield "dashboard", window

    def _training(self) -> Iterator[tuple[str, Any]]:
        window = self.window
        sessions = (("search", self.searched), ("learners", self.learners), ("training", self.evolved))
        for name, session in sessions:
            window.show_page("training", session)
            self.process_events(1.5)
            yield name, window
            page = window.page("training")
            tabs = {self.learners: ("timeline", page.timeline), self.searched: ("population", page.population)}
            if session in tabs:
                tab, view = tabs[session]
                page.tabs.setCurrentIndex(page.stack.indexOf(view))
                self.process_events(1.5)
                yield tab, window
                page.tabs.setCurrentIndex(0)

    @contextmanager
    def _treasure_hunt(self) -> Iterator[None]:
        """Shows a match of four agents; afterwards the previous game is selected again."""
        from league_app.gui.context import pools

        before, page = self.context.pool, self.window.page("match")
        hunt = next(pool for pool in pools(self.state) if pool.name == "treasure-hunt")
        self.context.select_pool(hunt)
        live = self.state.exhibit(list(HUNTERS), hunt, seed=4)
        self.window.show_page("match", live)
        self.until(lambda: page.shown is not None and page.shown.live is live and page.shown.step > 60)
        yield
        page.stop()
        self.context.select_pool(before)

    @contextmanager
    def _running(self, visual: bool) -> Iterator[None]:
        """Runs a long tournament, and cancels it afterwards."""
        self.state.show_visuals = visual
        seed = len(self.state.league.tournaments()) + 1
        agents = ("Predictor", "Shaky", "Evolved", "Tracker", "Lazy")
        job = self.state.start_tournament(
            name="The long one", game="pong", agents=agents, options={"rounds": 3000}, seed=seed
        )
        yield
        job.stop(cancel=True)
        self.until(lambda: not self.state.running)
        self.state.show_visuals = False

    def close(self) -> None:
        self.window.close_without_asking()
        self.until(lambda: not self.window.isVisible())
        self.application.stop()


def main(folder: Path | None = EVERYTHING, readme: Path = README, seconds: float = 40.0) -> None:
    """Without a folder, only the pictures of the README are taken."""
    readme.mkdir(parents=True, exist_ok=True)
    for name, (play, height) in STILLS.items():
        save_png(play().scene(), readme / f"{name}.png", height, overwrite=True)
    with tempfile.TemporaryDirectory(prefix="ringside-") as home:
        studio = Studio(Path(home), seconds)
        for theme in THEMES:
            for size in SIZES:
                if folder is None and (theme, size) not in IN_README.values():
                    continue
                for name, widget in studio.pictures(theme, size):
                    if folder is not None:
                        studio.save(widget, folder / f"{name}-{theme}-{size[0]}.png")
                    if IN_README.get(name) == (theme, size):
                        studio.save(widget, readme / f"{name}.png")
        studio.close()


if __name__ == "__main__":
    if sys.argv[1:] == ["--readme"]:
        main(None)
    else:
        main(Path(sys.argv[1]) if len(sys.argv) > 1 else EVERYTHING)
