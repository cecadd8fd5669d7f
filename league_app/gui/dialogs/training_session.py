"""Dialogs that start a training session, or resume one with other settings."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

from PySide6.QtCore import Slot
from PySide6.QtWidgets import QLineEdit, QWidget

from agents.human import KIND
from agents.training.trainer import presets_for
from engine.errors import BadValue, RingsideError
from engine.league.storage.session_rows import Session
from engine.options import Value, build
from engine.play.match import GameSpec
from engine.play.play_settings import MOST_WORKERS
from engine.registry import GAMES, TRAINERS, all_games, new_game
from league_app.core.formatting import error_text
from league_app.core.state import LeagueState
from league_app.core.trainers import SEED, trainer_facts
from league_app.core.training_job import ANCESTOR
from league_app.core.validation import rename_ancestor
from league_app.gui.context import AppContext
from league_app.gui.dialogs.session_dialog import SessionDialog
from league_app.gui.widgets.basics import button, clear, column, label, line, row
from league_app.gui.widgets.fields import ChoiceBox, NumberBox
from league_app.gui.widgets.form import LABEL, Form

FIRST = 7  # settings that are visible at first
START_FROM = "Start from"  # title of the field with the agent to start from
REMEMBERED = "session"  # key of the preferences


@dataclass(frozen=True)
class Choices:
    """What can be chosen for a new session."""

    trainers: dict[str, str]  # descriptions by name
    games: dict[str, str]  # titles by name
    agents: dict[str, list[tuple[str, str]]]  # names and ids by game
    sessions: int
    cores: int


def choices(state: LeagueState) -> Choices:
    agents: dict[str, list[tuple[str, str]]] = {}
    for agent in state.agents():
        if agent.kind != KIND.name:
            agents.setdefault(agent.game, []).append((agent.name, agent.id))
    trainers = {name: str(kind.about) for name, kind in TRAINERS.working().items()}
    games = {name: game.info.title for name, game in all_games(agents).items()}
    return Choices(trainers, games, agents, len(state.training.sessions.all()), state.budget.cores)


class NewSessionDialog(SessionDialog):
    """Starts a session: trainer, game, ancestor, settings. Remembers the settings used last."""

    def __init__(self, context: AppContext, parent: QWidget | None = None) -> None:
        super().__init__(context, "New training session", "Start", parent)
        self._choices: Choices | None = None
        self._presets: Mapping[str, Mapping[str, Value]] = {}  # those in the form
        self.trainer, self.game, self.ancestor = ChoiceBox(), ChoiceBox(), ChoiceBox()
        self.name, self.workers = QLineEdit(), NumberBox(True, 1, MOST_WORKERS)
        self.name.setMaxLength(120)
        self.about = label("", "caption", wrap=True)
        self.about.setContentsMargins(LABEL + 12, 0, 0, 4)
        self.rules: Form | None = None
        self.rules_button = button("Game rules", self._toggle_rules, link=True, icon="chevron-right")
        self._rules_place, self._form_place = column(), column()
        self.inside.addLayout(self.grid(("Trainer", self.trainer)))
        self.inside.addWidget(self.about)
        first = ("Game", self.game), (START_FROM, self.ancestor)
        self.inside.addLayout(self.grid(*first, ("Name", self.name), ("Workers", self.workers)))
        self.inside.addLayout(row(self.rules_button, 1))
        self.inside.addLayout(self._rules_place)
        self.inside.addWidget(line())
        self.inside.addLayout(self._form_place)
        self.inside.addStretch(1)
        self.start.setEnabled(False)
        context.ask("session/choices", choices, self.fill)

    def fill(self, found: object) -> None:
        """Fill the controls: with the first preset for the game at first, later with the settings used last."""
        assert isinstance(found, Choices)
        self._choices = found
        last = self.context.settings.get(REMEMBERED, {})
        for name in found.trainers:
            self.trainer.addItem(name, name)
        for name, title in found.games.items():
            self.game.addItem(title, name)
        pool = self.context.pool
        game = pool.name if pool is not None else str(last.get("game", "pong"))
        own = [name for name in TRAINERS.own() if name in found.trainers and presets_for(TRAINERS.get(name), game)]
        for_all = [name for name in own if not getattr(TRAINERS.get(name), "preset_games", {})]
        # At first one with presets for every game: it needs no recorded matches, and shows progress soon.
        chosen = last.get("trainer") or next(iter(for_all or own), None)
        self.trainer.setCurrentIndex(max(self.trainer.findData(chosen), 0))
        self.game.setCurrentIndex(max(self.game.findData(game), 0))
        self.workers.set_value(found.cores)
        self.trainer.edited.connect(self._on_trainer_chosen)
        self.game.edited.connect(self._on_game_chosen)
        for control in (self.trainer, self.game, self.ancestor, self.workers):
            control.edited.connect(self._on_edited)
        self.name.textChanged.connect(self._on_edited)
        self._on_game_chosen()
        self._on_trainer_chosen()
        self.start.setEnabled(bool(found.trainers and found.games))
        if not found.trainers:
            self.show_error("no trainer is installed")
        self.start.setFocus()

    @Slot()
    def _on_trainer_chosen(self) -> None:
        assert self._choices is not None
        name = str(self.trainer.currentData() or "")
        if not name:
            return
        kind: Any = TRAINERS.get(name)
        self.about.setText(self._choices.trainers[name])
        clear(self._form_place)
        fresh = {SEED: self._choices.sessions + 1} if SEED in kind.__dataclass_fields__ else {}
        self._presets = presets_for(kind, str(self.game.currentData() or ""))
        self.form = Form(kind, presets=self._presets, shown=FIRST, defaults=fresh)
        if self._presets:
            self.form.set_preset(next(iter(self._presets)))
        self._restore(kind)
        self.form.edited.connect(self._on_edited)
        self._offer_agents(name)
        self._form_place.addWidget(self.form)
        self.name.setPlaceholderText("automatic")

    def _offer_agents(self, trainer: str) -> None:
        """Disable *Start from* for a trainer that always begins with new networks."""
        offered = trainer_facts(trainer).starts_from_agent
        self.ancestor.setEnabled(offered)
        self.ancestor.setToolTip("" if offered else f"The trainer {trainer} always starts from scratch")
        if not offered:
            self.ancestor.setCurrentIndex(0)

    def _remembered_key(self) -> str:
        """Where the settings used last are saved: for each game if the trainer has presets for games."""
        trainer, game = str(self.trainer.currentData()), str(self.game.currentData())
        by_game = getattr(TRAINERS.get(trainer), "preset_games", {})
        return f"{REMEMBERED}/{trainer}/{game}" if by_game else f"{REMEMBERED}/{trainer}"

    def _restore(self, kind: Any) -> None:
        """Restore the settings used last; ignores them if they are no longer valid."""
        assert self.form is not None
        values = self.context.settings.get(self._remembered_key(), {})
        known = {name: value for name, value in values.items() if name in kind.__dataclass_fields__ and name != SEED}
        try:
            build(kind, known)
            self.form.set_values(known)
        except (RingsideError, TypeError):
            pass

    @Slot()
    def _on_game_chosen(self) -> None:
        assert self._choices is not None
        name = str(self.game.currentData() or "")
        if not name:
            return
        self.ancestor.clear()
        self.ancestor.addItem("Scratch", None)
        for agent, id in self._choices.agents.get(name, []):
            self.ancestor.addItem(agent, id)
        pool = self.context.pool
        options = dict(pool.options) if pool is not None and pool.name == name else {}
        clear(self._rules_place)
        self.rules = Form(GAMES.get(name).Options)
        with suppress(RingsideError):  # options of another version of the game
            self.rules.set_values(options)
        self.rules.hide()
        self.rules.edited.connect(self._update_rules_button)
        self.rules.edited.connect(self._on_edited)
        self._rules_place.addWidget(self.rules)
        self._update_rules_button()
        trainer = str(self.trainer.currentData() or "")
        if self.form is not None and presets_for(TRAINERS.get(trainer), name) != self._presets:
            self._on_trainer_chosen()  # the form has the presets of another game

    @Slot()
    def _update_rules_button(self) -> None:
        try:
            changed = len(self.rules.changed()) if self.rules is not None else 0
            self.rules_button.setText(f"Game rules ({changed} changed)" if changed else "Game rules")
        except RingsideError:
            self.rules_button.setText("Game rules (invalid)")

    @Slot()
    def _toggle_rules(self) -> None:
        if self.rules is not None:
            self.rules.setVisible(not self.rules.isVisible())
            icon = "chevron-down" if self.rules.isVisible() else "chevron-right"
            self.rules_button.set_icon(icon)

    def trainer_name(self) -> str:
        return str(self.trainer.currentData() or "")

    def forms(self) -> list[Form]:
        return [form for form in (self.form, self.rules) if form is not None]

    def control_of(self, field: str) -> QWidget | None:
        controls = {"workers": self.workers, "name": self.name}
        return self.ancestor if field.endswith(START_FROM) else controls.get(field)

    def spec(self) -> GameSpec:
        assert self.rules is not None
        return new_game(str(self.game.currentData()), **self.rules.values()).spec

    def start_task(self, state: LeagueState) -> Any:
        assert self.form is not None
        values: Mapping[str, Value] = self.form.values()
        name = self.name.text().strip() or None
        ancestor, shown = self.ancestor.currentData(), self.ancestor.currentText()
        try:
            workers = int(self.workers.value())
        except ValueError:
            workers = 0  # rejected below, like any other invalid number
        trainer = str(self.trainer.currentData())
        return partial(_start, state, trainer, dict(values), self.spec(), name, ancestor, shown, workers)

    def remember(self) -> None:
        assert self.form is not None
        trainer = str(self.trainer.currentData())
        self.context.settings.set(REMEMBERED, {"trainer": trainer, "game": str(self.game.currentData())})
        values = {name: value for name, value in self.form.values().items() if name != SEED}
        self.context.settings.set(self._remembered_key(), values)


def _start(
    state: LeagueState,
    trainer: str,
    settings: dict[str, object],
    game: GameSpec,
    name: str | None,
    ancestor: str | None,
    ancestor_name: str,
    workers: int,
) -> int:
    if workers != state.budget.cores:
        state.budget.cores = workers
    try:
        return state.training.start(trainer, settings, game=game, name=name, ancestor=ancestor).number
    except BadValue as error:
        raise rename_ancestor(error, START_FROM, ancestor_name) from None


class ResumeSessionDialog(SessionDialog):
    """Resumes a session with other settings; settings that are fixed at the start cannot be changed."""

    def __init__(self, context: AppContext, session: Session, parent: QWidget | None = None) -> None:
        super().__init__(context, "Resume with other settings", "Resume", parent)
        self._session = session
        self._before: dict[str, Value] = {name: value for name, value in session.config if name != ANCESTOR}
        name = label(session.name, "section", wrap=True)
        self.inside.addWidget(name)
        try:
            kind: Any = TRAINERS.get(session.trainer)
            self.form = Form(kind, shown=FIRST, fixed=getattr(kind, "fixed", ()))
            self.form.set_values(self._before)
            self.form.edited.connect(self._on_edited)
            self.inside.addWidget(self.form)
        except RingsideError as error:
            self.start.setEnabled(False)
            self.show_error(error_text(error))
        note = "Resumes from the newest checkpoint"
        more = "the session has finished, so raise one of its limits"
        self.note.setText(f"{note}." if session.state.open else f"{note}; {more}.")
        self.inside.addStretch(1)

    def trainer_name(self) -> str:
        return self._session.trainer

    def start_task(self, state: LeagueState) -> Any:
        assert self.form is not None
        values = self.form.values()
        changes: dict[str, object] = {name: value for name, value in values.items() if value != self._before.get(name)}
        return partial(_resume, state, self._session.number, changes)


def _resume(state: LeagueState, number: int, changes: dict[str, object]) -> int:
    return state.training.resume(number, changes).number
