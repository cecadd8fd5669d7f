"""Environments of PettingZoo as boards: one environment each, remembered as the actions that were played on it."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from engine.errors import BadValue, RingsideError
from engine.game import GameInfo, Observations
from engine.games.pettingzoo.loading import HUSHED, aside, kept_apart, lacking
from engine.games.pettingzoo.probe import objection
from engine.games.pettingzoo.shelf import Shelf
from engine.games.pettingzoo.tables import Table, dealt, mask_of, numbers
from engine.games.pettingzoo.trial import STATS, Traits, Trial
from engine.plain import PlainBoard, PlainGame
from engine.pygame_headless import SILENCE
from engine.registry import game_of
from engine.scene import Scene, Sprite

GROUND = "101826"


class ZooGame(PlainGame):
    """An environment with its options; the family makes a subclass for each."""

    module: ClassVar[Any]
    title: ClassVar[str]  # or nothing: the name tells
    measured: ClassVar[dict[object, tuple[GameInfo, Traits] | RingsideError]] = {}  # once in a process
    copied: ClassVar[dict[object, bool]] = {}
    undrawn = ""  # why there are no pictures, once that is known

    def __init__(self, options: Any) -> None:
        super().__init__(options)
        self._tried = Trial(self.name, self.environment, self.title)
        self._key = type(self), tuple(one for one in self.spec.options if one[0] != "step_limit")
        if self._key not in self.measured:
            self._find_out()
        found = self.measured[self._key]
        if isinstance(found, RingsideError):
            raise found.with_traceback(None)
        self.info, self.traits = found

    def __reduce__(self) -> Any:
        return game_of, (self.spec,)  # its class is made here, and has no place to be found at

    def __deepcopy__(self, memo: object) -> ZooGame:
        return self  # one serves everybody

    def check_start(self, start: str | None) -> None:
        if start is not None:
            raise BadValue("start", start, f"None: how {self.name} begins follows from the seed alone")

    def new(self, seed: int, start: str | None) -> ZooBoard:
        return ZooBoard(self, seed)

    def environment(self, render_mode: str | None = None) -> Any:
        """As the module makes it, in parallel where it can."""
        values = {one.name: getattr(self.options, one.name) for one in dataclasses.fields(self.options)}
        del values["step_limit"]
        make = getattr(self.module, "parallel_env", None) or self.module.env
        return make(**values, render_mode=render_mode)

    def table(self, seed: int, render_mode: str | None = None) -> Table:
        """A match that has just been dealt."""
        with SILENCE:
            return dealt(self.environment(render_mode), self.traits.seats, seed)

    def apart(self) -> contextlib.AbstractContextManager[None]:
        return kept_apart() if self.traits.careful else HUSHED

    def copies(self) -> bool:
        """Whether a copy of a table goes on as the table does; tried when it is first asked."""
        if self._key not in self.copied:
            with aside():
                try:
                    self.copied[self._key] = self._tried.copies(self.traits)
                except Exception:  # its own code, which nobody has said can be copied
                    self.copied[self._key] = False
        return self.copied[self._key]

    def _find_out(self) -> None:
        """Unusual options are tried elsewhere first; nobody who wants another game has to wait for that."""
        if self._unusual() and (why := objection(self.spec, type(self))):
            self.measured[self._key] = self._tried.refusal(why)
        with contextlib.nullcontext() if self._key in self.measured else aside():
            if self._key not in self.measured:  # another thread may have been first
                self.measured[self._key] = self._outcome()

    def _outcome(self) -> tuple[GameInfo, Traits] | RingsideError:
        """What it is, or why it is refused: that, too, is found out once."""
        try:
            return self._tried.measure(self._first())
        except RingsideError as error:
            return error
        except Exception as error:  # its own code, or a step that does not do what PettingZoo says it does
            return self._tried.refusal(f"it fails when it is tried ({type(error).__name__}: {error})")

    def _first(self) -> Any:
        """The first of its kind: what it refuses to be made with is told here."""
        try:
            return self.environment()
        except ImportError as error:
            raise self._tried.refusal(lacking(error)) from error
        except Exception as error:  # whatever it does with values that it does not like
            other, said = self._unusual(), f"{type(error).__name__}: {error}"
            if not other:
                raise self._tried.refusal(f"it cannot be made ({said})") from error
            field, value = next(iter(other.items())) if len(other) == 1 else ("options", other)
            raise BadValue(field, value, f"something that {self.name} takes ({said})") from error

    def _unusual(self) -> dict[str, object]:
        """Options other than the usual ones; the limit is ours, and no matter of the environment."""
        usual = self.Options()
        names = [one.name for one in dataclasses.fields(self.options) if one.name != "step_limit"]
        values = {name: getattr(self.options, name) for name in names}
        return {name: value for name, value in values.items() if value != getattr(usual, name)}


class ZooBoard(PlainBoard):
    """A match is its seed and the actions played; the environment that holds it is made when it is needed.

    A copy of a board has none: it takes one from the shelf, or plays the actions again, if it is looked at.
    """

    def __init__(self, game: ZooGame, seed: int) -> None:
        self._game, self._seed = game, seed
        self._moves: list[Mapping[int, int]] = []  # copies share the list, each with its own number of them
        self._count = 0
        self._picture: Table | None = None  # the same match, in an environment that draws
        self._scene: tuple[int, Scene] | None = None
        self._shelve()
        with game.apart():
            self._table: Table | None = game.table(seed)
            self._acting = self._table.acting()
        self._scores = [0.0] * game.info.seats
        self._stats = [[0.0] * len(STATS) for _ in self._scores]

    def __deepcopy__(self, memo: object) -> ZooBoard:
        if self._table is not None:
            with self._game.apart():
                self._shelf.keep(self._table)
        other = object.__new__(ZooBoard)
        vars(other).update(vars(self), _table=None, _picture=None, _scene=None)
        other._scores, other._stats = self._scores[:], [one[:] for one in self._stats]
        return other

    def __getstate__(self) -> dict[str, Any]:
        """What goes to another process: all but the environments."""
        state = vars(self) | {"_table": None, "_picture": None, "_moves": self._moves[: self._count]}
        del state["_shelf"], state["_gallery"]
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._shelve()

    def _shelve(self) -> None:
        game, seed = self._game, self._seed
        self._shelf = Shelf(lambda: game.table(seed), game.copies)
        self._gallery = Shelf(lambda: game.table(seed, "rgb_array"), game.copies)

    def acting(self) -> Sequence[int]:
        return self._acting

    def play(self, actions: Mapping[int, int]) -> None:
        with self._game.apart():
            table = self._brought_up()
            rewards = table.step(actions)
            self._acting = table.acting()
        if self._moves[self._count : self._count + 1] != [dict(actions)]:
            if len(self._moves) > self._count:  # another copy has gone its own way
                self._moves = self._moves[: self._count]
                self._shelf, self._gallery = self._shelf.until(self._count), self._gallery.until(self._count)
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
        with self._game.apart():
            self._table = self._brought_up()
            traits = self._game.traits
            return numbers(traits.spaces[seat], self._table.seen(seat), traits.seats.agents[seat])

    def legal(self, seat: int) -> Sequence[int]:
        with self._game.apart():
            self._table = self._brought_up()
            mask = mask_of(self._table, seat)
        legal = range(self._game.traits.counts[seat]) if mask is None else mask
        if not legal:
            raise RuntimeError(f"{self._game.traits.seats.agents[seat]} has to act and has no legal action")
        return legal

    def stats(self, seat: int) -> Sequence[float]:
        return self._stats[seat]

    def scene(self) -> Scene:
        if self._scene is None or self._scene[0] != self._count:
            self._scene = self._count, self._drawn()
        return self._scene[1]

    def _brought_up(self) -> Table:
        """The table, with all that has been played here."""
        if self._table is not None:  # it is never behind
            return self._table
        return self._shelf.table(self._moves[: self._count])

    def _drawn(self) -> Scene:
        names = self._game.traits.seats.agents
        held = ", ".join(f"{name} {score:g}" for name, score in zip(names, self._scores, strict=True))
        caption = f"{self._game.info.title}, step {self._count}: {held}"
        frame = self._frame()
        if frame is None:
            return dataclasses.replace(super().scene(), caption=f"{caption} (no picture: {self._game.undrawn})")
        rows, columns = frame.shape[:2]
        sprite = Sprite(0.0, 0.0, columns / rows, 1.0, (columns, rows), frame.tobytes())
        return Scene(columns / rows, GROUND, (sprite,), caption)

    def _frame(self) -> Any:
        """A picture by the environment itself, or None. It is never closed: that may shut down all of pygame."""
        if self._game.undrawn:
            return None
        try:
            with SILENCE, kept_apart():
                self._picture = self._gallery.table(self._moves[: self._count], self._picture)
                frame = np.asarray(self._picture.env.render())
            if frame.ndim != 3 or frame.shape[2] != 3 or frame.dtype != np.uint8 or not frame.size:
                raise ValueError(f"it draws {frame.dtype} in the shape {frame.shape}, not 8-bit red, green and blue")
        except Exception as error:  # its own code: a match that cannot be drawn can still be played, and told in words
            self._game.undrawn, self._picture = f"{type(error).__name__}: {error}", None
            return None
        return frame
