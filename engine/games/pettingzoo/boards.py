"""PettingZoo environments as boards: one environment per board, stored as its seed and the actions played."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from engine.errors import BadValue, RingsideError
from engine.foreign_code import name_and_text
from engine.game import GameInfo, Observations
from engine.games.pettingzoo.discovery import QUIET, exclusive, isolated, missing_package
from engine.games.pettingzoo.environments import EnvTable, legal_actions, new_table, to_array
from engine.games.pettingzoo.keyframes import KeyframeCache
from engine.games.pettingzoo.probe_env import STATS, EnvProbe, Traits
from engine.games.pettingzoo.probe_process import probe_options
from engine.plain import PlainBoard, PlainGame
from engine.pygame_headless import HEADLESS
from engine.registry import game_of
from engine.scene import Scene, Sprite

GROUND = "101826"


class ZooGame(PlainGame):
    """An environment with its options; `family.game_class` makes a subclass for each module."""

    module: ClassVar[Any]
    title: ClassVar[str]  # if empty, made from the name
    probe_results: ClassVar[dict[object, tuple[GameInfo, Traits] | RingsideError]] = {}  # per process
    copy_results: ClassVar[dict[object, bool]] = {}
    render_error = ""  # why rendering failed, once it did

    def __init__(self, options: Any) -> None:
        super().__init__(options)
        self._probe = EnvProbe(self.name, self.environment, self.title)
        self._key = type(self), tuple(option for option in self.spec.options if option[0] != "step_limit")
        if self._key not in self.probe_results:
            self._measure()
        found = self.probe_results[self._key]
        if isinstance(found, RingsideError):
            raise found.with_traceback(None)
        self.info, self.traits = found

    def __reduce__(self) -> Any:
        return game_of, (self.spec,)  # its class is created at run time and cannot be imported

    def __deepcopy__(self, memo: object) -> ZooGame:
        return self  # immutable

    def check_start(self, start: str | None) -> None:
        if start is not None:
            raise BadValue("start", start, f"None: the start of {self.name} follows from the seed alone")

    def new(self, seed: int, start: str | None) -> ZooBoard:
        return ZooBoard(self, seed)

    def environment(self, render_mode: str | None = None) -> Any:
        """A new environment of the module, preferably a parallel one."""
        values = {field.name: getattr(self.options, field.name) for field in dataclasses.fields(self.options)}
        del values["step_limit"]
        make = getattr(self.module, "parallel_env", None) or self.module.env
        return make(**values, render_mode=render_mode)

    def table(self, seed: int, render_mode: str | None = None) -> EnvTable:
        """A new match."""
        with HEADLESS:
            return new_table(self.environment(render_mode), self.traits.seats, seed)

    def isolated(self) -> contextlib.AbstractContextManager[None]:
        """The context in which code of the environment runs."""
        return isolated() if self.traits.uses_global_rng else QUIET

    def can_copy(self) -> bool:
        """Whether a copy of a table continues like the table; tested on the first call."""
        if self._key not in self.copy_results:
            with exclusive():
                try:
                    self.copy_results[self._key] = self._probe.can_copy(self.traits)
                except Exception:  # code of the environment, which need not support copies
                    self.copy_results[self._key] = False
        return self.copy_results[self._key]

    def _measure(self) -> None:
        """Probe the environment. Options that differ from the defaults are first tried in a child process, outside the
        lock, so that other games need not wait."""
        if self._changed_options() and (why := probe_options(self.spec, type(self))):
            self.probe_results[self._key] = self._probe.refusal(why)
        with contextlib.nullcontext() if self._key in self.probe_results else exclusive():
            if self._key not in self.probe_results:  # another thread may have been faster
                self.probe_results[self._key] = self._probe_result()

    def _probe_result(self) -> tuple[GameInfo, Traits] | RingsideError:
        """Info and traits, or the error; both are cached."""
        try:
            return self._probe.measure(self._first_environment())
        except RingsideError as error:
            return error
        except Exception as error:  # code of the environment, or a violation of PettingZoo's API
            return self._probe.refusal(f"a trial match fails ({name_and_text(error)})")

    def _first_environment(self) -> Any:
        """The first environment with these options; raises an error that names options it does not accept."""
        try:
            return self.environment()
        except ImportError as error:
            raise self._probe.refusal(missing_package(error)) from error
        except Exception as error:  # constructors may reject values with any error
            changed, reason = self._changed_options(), name_and_text(error)
            if not changed:
                raise self._probe.refusal(f"it cannot be created ({reason})") from error
            field, value = next(iter(changed.items())) if len(changed) == 1 else ("options", changed)
            raise BadValue(field, value, f"a value that {self.name} accepts ({reason})") from error

    def _changed_options(self) -> dict[str, object]:
        """Options that differ from their defaults, except step_limit, which the environment does not see."""
        defaults = self.Options()
        names = [field.name for field in dataclasses.fields(self.options) if field.name != "step_limit"]
        values = {name: getattr(self.options, name) for name in names}
        return {name: value for name, value in values.items() if value != getattr(defaults, name)}


class ZooBoard(PlainBoard):
    """A match is its seed and the actions played; its environment is created when needed.

    A copy of a board has no environment. If it is used, it copies a keyframe or replays the actions.
    """

    def __init__(self, game: ZooGame, seed: int) -> None:
        self._game, self._seed = game, seed
        self._moves: list[Mapping[int, int]] = []  # copies share the list; each uses the first `_count`
        self._count = 0
        self._render_table: EnvTable | None = None  # the same match in an environment that renders
        self._scene: tuple[int, Scene] | None = None
        self._new_caches()
        with game.isolated():
            self._table: EnvTable | None = game.table(seed)
            self._acting = self._table.acting()
        self._scores = [0.0] * game.info.seats
        self._stats = [[0.0] * len(STATS) for _ in self._scores]

    def __deepcopy__(self, memo: object) -> ZooBoard:
        if self._table is not None:
            with self._game.isolated():
                self._keyframes.add(self._table)
        other = object.__new__(ZooBoard)
        vars(other).update(vars(self), _table=None, _render_table=None, _scene=None)
        other._scores, other._stats = self._scores[:], [stats[:] for stats in self._stats]
        return other

    def __getstate__(self) -> dict[str, Any]:
        """Everything except environments, which need not be picklable."""
        state = vars(self) | {"_table": None, "_render_table": None, "_moves": self._moves[: self._count]}
        del state["_keyframes"], state["_render_keyframes"]
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._new_caches()

    def _new_caches(self) -> None:
        game, seed = self._game, self._seed
        self._keyframes = KeyframeCache(lambda: game.table(seed), game.can_copy)
        self._render_keyframes = KeyframeCache(lambda: game.table(seed, "rgb_array"), game.can_copy)

    def acting(self) -> Sequence[int]:
        return self._acting

    def play(self, actions: Mapping[int, int]) -> None:
        with self._game.isolated():
            table = self._current_table()
            rewards = table.step(actions)
            self._acting = table.acting()
        if self._moves[self._count : self._count + 1] != [dict(actions)]:
            if len(self._moves) > self._count:  # another copy has played other actions
                self._moves = self._moves[: self._count]
                self._keyframes, self._render_keyframes = (
                    self._keyframes.until(self._count),
                    self._render_keyframes.until(self._count),
                )
            self._moves.append(dict(actions))
        self._count += 1
        self._table = table
        for seat, reward in enumerate(rewards):
            self._scores[seat] += reward
            self._stats[seat][0] += seat in actions
            self._stats[seat][1] += max(reward, 0.0)
            self._stats[seat][2] += max(-reward, 0.0)
        self.truncated = table.truncated
        if self._acting and self._count >= self._game.options.step_limit:
            self._acting, self.truncated = [], True

    def scores(self) -> Sequence[float]:
        return self._scores

    def observe(self, seat: int) -> Observations:
        with self._game.isolated():
            self._table = self._current_table()
            traits = self._game.traits
            return to_array(traits.spaces[seat], self._table.observation(seat), traits.seats.agents[seat])

    def legal(self, seat: int) -> Sequence[int]:
        with self._game.isolated():
            self._table = self._current_table()
            mask = legal_actions(self._table, seat)
        legal = range(self._game.traits.counts[seat]) if mask is None else mask
        if not legal:
            raise RuntimeError(f"{self._game.traits.seats.agents[seat]} must act but has no legal action")
        return legal

    def stats(self, seat: int) -> Sequence[float]:
        return self._stats[seat]

    def scene(self) -> Scene:
        if self._scene is None or self._scene[0] != self._count:
            self._scene = self._count, self._new_scene()
        return self._scene[1]

    def _current_table(self) -> EnvTable:
        """The table after all actions played so far."""
        if self._table is not None:  # never behind
            return self._table
        return self._keyframes.table(self._moves[: self._count])

    def _new_scene(self) -> Scene:
        names = self._game.traits.seats.agents
        scores = ", ".join(f"{name} {score:g}" for name, score in zip(names, self._scores, strict=True))
        caption = f"{self._game.info.title}, step {self._count}: {scores}"
        frame = self._frame()
        if frame is None:
            return dataclasses.replace(super().scene(), caption=f"{caption} (no picture: {self._game.render_error})")
        rows, columns = frame.shape[:2]
        sprite = Sprite(0.0, 0.0, columns / rows, 1.0, (columns, rows), frame.tobytes())
        return Scene(columns / rows, GROUND, (sprite,), caption)

    def _frame(self) -> Any:
        """An image rendered by the environment, or None. The environment is never closed, as that may quit pygame."""
        if self._game.render_error:
            return None
        try:
            with HEADLESS, isolated():
                self._render_table = self._render_keyframes.table(self._moves[: self._count], self._render_table)
                frame = np.asarray(self._render_table.env.render())
            if frame.ndim != 3 or frame.shape[2] != 3 or frame.dtype != np.uint8 or not frame.size:
                raise ValueError(f"render() returned {frame.dtype} of shape {frame.shape}, not 8-bit RGB")
        except Exception as error:  # code of the environment: a match can be played without pictures
            self._game.render_error, self._render_table = name_and_text(error), None
            return None
        return frame
