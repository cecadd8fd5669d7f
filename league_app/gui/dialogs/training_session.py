"""The sheets that a training session begins on, or goes on from with other settings. Enter starts it."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtWidgets import QDialog, QFrame, QGridLayout, QLineEdit, QScrollArea, QWidget

from agents.human import KIND
from engine.errors import RingsideError
from engine.league.storage.session_rows import Session
from engine.options import Value, build
from engine.play.concurrent import MOST_WORKERS
from engine.play.match import GameSpec
from engine.registry import GAMES, TRAINERS, all_games, new_game
from league_app.gui.context import Desk
from league_app.gui.training.sessions_model import readable
from league_app.core.state import LeagueState
from league_app.core.training_jobs import ANCESTOR
from league_app.gui.widgets.basics import Card, button, clear, column, label, line, row
from league_app.gui.widgets.fields import ChoiceBox, NumberBox
from league_app.gui.widgets.form import CONTROL, LABEL, Form

FIRST = 7  # settings that are seen at once
REMEMBERED = "session"
SEED = "seed"  # another one each time, or two sessions would be one and the same


@dataclass(frozen=True)
class Choices:
    """What the league offers."""

    trainers: dict[str, str]  # about, by name
    games: dict[str, str]  # titles, by name
    agents: dict[str, list[tuple[str, str]]]  # names and ids, by game
    sessions: int
    cores: int


def choices(state: LeagueState) -> Choices:
    agents: dict[str, list[tuple[str, str]]] = {}
    for one in state.agents():
        if one.kind != KIND.name:
            agents.setdefault(one.game, []).append((one.name, one.id))
    trainers = {name: str(kind.about) for name, kind in TRAINERS.working().items()}
    games = {name: game.info.title for name, game in all_games(agents).items()}
    return Choices(trainers, games, agents, len(state.training.sessions.every()), state.budget.cores)


class _Sheet(QDialog):
    """A form in a card, a sentence on what is wrong, and the button that starts."""

    started = Signal(int)  # the number of the session

    def __init__(self, desk: Desk, title: str, text: str, parent: QWidget | None) -> None:
        super().__init__(parent)
        self.desk = desk
        self.setWindowTitle(title)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setModal(True)
        self.form: Form | None = None
        self.inside = column(gap=12, margin=16)
        inner = QWidget()
        inner.setLayout(self.inside)
        scroll = QScrollArea()
        scroll.setWidgetResizable(True)
        scroll.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        scroll.setFrameShape(QFrame.Shape.NoFrame)
        scroll.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        scroll.setWidget(inner)
        card = Card(margin=1)
        card.body.addWidget(scroll)
        self.wrong = label("", tone="bad", wrap=True)
        self.wrong.hide()
        self.told = label("", "caption", wrap=True)
        self.start = button(text, self._press, primary=True, icon="play")
        self.start.setDefault(True)
        self.cancel = button("Cancel", self.reject)
        self._text = text
        whole = column(gap=12, margin=16)
        whole.addWidget(card, 1)
        whole.addWidget(self.wrong)
        footer = row(gap=8)
        footer.addWidget(self.told, 1)
        footer.addWidget(self.cancel)
        footer.addWidget(self.start)
        whole.addLayout(footer)
        self.setLayout(whole)
        self.resize(760, 600)
        desk.opened.connect(self.reject)

    def grid(self, *rows: tuple[str, QWidget]) -> QGridLayout:
        """Titles and controls, in line with those of the form."""
        made = QGridLayout()
        made.setContentsMargins(0, 0, 0, 0)
        made.setHorizontalSpacing(12)
        made.setVerticalSpacing(4)
        for place, (text, control) in enumerate(rows):
            title = label(text)
            title.setFixedWidth(LABEL)
            title.setBuddy(control)
            control.setAccessibleName(text)
            control.setFixedHeight(30)
            control.setMinimumWidth(CONTROL)
            made.addWidget(title, place, 0)
            made.addWidget(control, place, 1)
        made.setColumnStretch(1, 1)
        return made

    def _press(self) -> None:
        """Whatever is wrong is told here, and nothing has changed then."""
        state = self.desk.state
        if state is None or not self.start.isEnabled():
            return
        try:
            doing = self.prepared(state)
        except RingsideError as error:
            self._refused(error)
            return
        self.tell("")
        self.start.setEnabled(False)
        self.start.setText("Checking\u2026")
        self.desk.work.ask("session/start", doing, self._begun, self._refused)

    def prepared(self, state: LeagueState) -> Any:
        """What is to be done beside the window; it gives the number of the session."""
        raise NotImplementedError

    def _begun(self, number: object) -> None:
        assert isinstance(number, int)
        self.keep()
        self.started.emit(number)
        self.accept()

    def keep(self) -> None:
        """For the next time."""

    def _refused(self, error: object) -> None:
        assert isinstance(error, Exception)
        self.start.setEnabled(True)
        self.start.setText(self._text)
        at_field = self.form is not None and self.form.accuse(error)
        self.tell(readable(error), at_field)

    def tell(self, wrong: str, at_field: bool = False) -> None:
        text = wrong[:1].upper() + wrong[1:]
        self.wrong.setText(f"{text}." if text and text[-1] not in ".!?" else text)
        self.wrong.setVisible(bool(wrong))


class SessionSheet(_Sheet):
    """A new session: trainer, game, ancestor, preset. What was used last is there again."""

    def __init__(self, desk: Desk, parent: QWidget | None = None) -> None:
        super().__init__(desk, "New training session", "Start", parent)
        self._choices: Choices | None = None
        self.trainer, self.game, self.ancestor = ChoiceBox(), ChoiceBox(), ChoiceBox()
        self.name, self.workers = QLineEdit(), NumberBox(True, 1, MOST_WORKERS)
        self.name.setMaxLength(120)
        self.about = label("", "caption", wrap=True)
        self.about.setContentsMargins(LABEL + 12, 0, 0, 4)
        self.rules: Form | None = None
        self.rules_button = button("Rules of the game", self._toggle_rules, link=True, icon="chevron-right")
        self._rules_place, self._form_place = column(), column()
        self.inside.addLayout(self.grid(("Trainer", self.trainer)))
        self.inside.addWidget(self.about)
        first = ("Game", self.game), ("Start from", self.ancestor)
        self.inside.addLayout(self.grid(*first, ("Name", self.name), ("Workers", self.workers)))
        self.inside.addLayout(row(self.rules_button, 1))
        self.inside.addLayout(self._rules_place)
        self.inside.addWidget(line())
        self.inside.addLayout(self._form_place)
        self.inside.addStretch(1)
        self.start.setEnabled(False)
        desk.ask("session/choices", choices, self.fill)

    def fill(self, found: object) -> None:
        """With what there is; the first time with the first preset, then as it was left."""
        assert isinstance(found, Choices)
        self._choices = found
        kept = self.desk.settings.get(REMEMBERED, {})
        for name in found.trainers:
            self.trainer.addItem(name, name)
        for name, title in found.games.items():
            self.game.addItem(title, name)
        pool = self.desk.pool
        game = pool.name if pool is not None else str(kept.get("game", "pong"))
        self.trainer.setCurrentIndex(max(self.trainer.findData(kept.get("trainer")), 0))
        self.game.setCurrentIndex(max(self.game.findData(game), 0))
        self.workers.set_value(found.cores)
        self.trainer.edited.connect(self._take_trainer)
        self.game.edited.connect(self._take_game)
        self._take_trainer()
        self._take_game()
        self.start.setEnabled(bool(found.trainers and found.games))
        if not found.trainers:
            self.tell("no trainer is installed")
        self.start.setFocus()

    @Slot()
    def _take_trainer(self) -> None:
        assert self._choices is not None
        name = str(self.trainer.currentData() or "")
        if not name:
            return
        kind: Any = TRAINERS.get(name)
        self.about.setText(self._choices.trainers[name])
        clear(self._form_place)
        fresh = {SEED: self._choices.sessions + 1} if SEED in kind.__dataclass_fields__ else {}
        self.form = Form(kind, presets=kind.presets, shown=FIRST, usual=fresh)
        if kind.presets:
            self.form.set_preset(next(iter(kind.presets)))
        self._restore(name, kind)
        self._form_place.addWidget(self.form)
        self.name.setPlaceholderText(f"its mode and the number {self._choices.sessions + 1}")

    def _restore(self, name: str, kind: Any) -> None:
        """As it was left; what no longer fits is passed over."""
        assert self.form is not None
        values = self.desk.settings.get(f"{REMEMBERED}/{name}", {})
        known = {one: value for one, value in values.items() if one in kind.__dataclass_fields__ and one != SEED}
        try:
            build(kind, known)
            self.form.set_values(known)
        except (RingsideError, TypeError):
            pass

    @Slot()
    def _take_game(self) -> None:
        assert self._choices is not None
        name = str(self.game.currentData() or "")
        if not name:
            return
        self.ancestor.clear()
        self.ancestor.addItem("Scratch", None)
        for agent, id in self._choices.agents.get(name, []):
            self.ancestor.addItem(agent, id)
        pool = self.desk.pool
        options = dict(pool.options) if pool is not None and pool.name == name else {}
        clear(self._rules_place)
        self.rules = Form(GAMES.get(name).Options)
        with suppress(RingsideError):  # of another version of the game
            self.rules.set_values(options)
        self.rules.hide()
        self.rules.edited.connect(self._tell_rules)
        self._rules_place.addWidget(self.rules)
        self._tell_rules()

    @Slot()
    def _tell_rules(self) -> None:
        try:
            changed = len(self.rules.changed()) if self.rules is not None else 0
            self.rules_button.setText(f"Rules of the game ({changed} changed)" if changed else "Rules of the game")
        except RingsideError:
            self.rules_button.setText("Rules of the game (one cannot be)")

    @Slot()
    def _toggle_rules(self) -> None:
        if self.rules is not None:
            self.rules.setVisible(not self.rules.isVisible())
            icon = "chevron-down" if self.rules.isVisible() else "chevron-right"
            self.rules_button.set_icon(icon)  # type: ignore[attr-defined]

    def spec(self) -> GameSpec:
        assert self.rules is not None
        return new_game(str(self.game.currentData()), **self.rules.values()).spec

    def prepared(self, state: LeagueState) -> Any:
        assert self.form is not None
        values: Mapping[str, Value] = self.form.values()
        name = self.name.text().strip() or None
        ancestor = self.ancestor.currentData()
        try:
            workers = int(self.workers.value())
        except ValueError:
            workers = 0  # which is told as any other wrong number
        trainer = str(self.trainer.currentData())
        return partial(_start, state, trainer, dict(values), self.spec(), name, ancestor, workers)

    def keep(self) -> None:
        assert self.form is not None
        trainer = str(self.trainer.currentData())
        self.desk.settings.set(REMEMBERED, {"trainer": trainer, "game": str(self.game.currentData())})
        values = {name: value for name, value in self.form.values().items() if name != SEED}
        self.desk.settings.set(f"{REMEMBERED}/{trainer}", values)


def _start(
    state: LeagueState,
    trainer: str,
    settings: dict[str, object],
    game: GameSpec,
    name: str | None,
    ancestor: str | None,
    workers: int,
) -> int:
    if workers != state.budget.cores:
        state.budget.cores = workers
    return state.training.start(trainer, settings, game=game, name=name, ancestor=ancestor).number


class ResumeSheet(_Sheet):
    """A session that goes on with other settings: those it began with for good cannot be changed."""

    def __init__(self, desk: Desk, session: Session, parent: QWidget | None = None) -> None:
        super().__init__(desk, "Go on with other settings", "Go on", parent)
        self._session = session
        self._before: dict[str, Value] = {name: value for name, value in session.config if name != ANCESTOR}
        name = label(session.name, "section", wrap=True)
        self.inside.addWidget(name)
        try:
            kind: Any = TRAINERS.get(session.trainer)
            self.form = Form(kind, shown=FIRST, fixed=getattr(kind, "fixed", ()))
            self.form.set_values(self._before)
            self.inside.addWidget(self.form)
        except RingsideError as error:
            self.start.setEnabled(False)
            self.tell(readable(error))
        told = "It goes on from its newest checkpoint"
        self.told.setText(told if session.state.open else f"{told}; for that it needs something more to do")
        self.inside.addStretch(1)

    def prepared(self, state: LeagueState) -> Any:
        assert self.form is not None
        values = self.form.values()
        changes: dict[str, object] = {name: value for name, value in values.items() if value != self._before.get(name)}
        return partial(_resume, state, self._session.number, changes)


def _resume(state: LeagueState, number: int, changes: dict[str, object]) -> int:
    return state.training.resume(number, changes).number
