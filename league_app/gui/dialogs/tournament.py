"""The dialog for a new tournament: everything has a default, so that Enter starts it."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from PySide6.QtCore import Qt, QTimer, Signal, Slot
from PySide6.QtWidgets import QDialog, QHBoxLayout, QLineEdit, QVBoxLayout, QWidget

from engine.errors import RingsideError
from engine.play.executors import DEFAULT
from engine.play.match import SEED_LIMIT
from engine.play.play_settings import MOST_WORKERS
from engine.registry import FORMATS, GAMES, all_games
from league_app.core.changes import Change
from league_app.core.tournament_draft import (
    MANY_AGENTS,
    DraftCheck,
    DraftEstimate,
    DraftEstimator,
    MatchTerms,
    TournamentDraft,
    create_tournament,
    form_values,
    ratings,
)
from league_app.gui.context import AppContext
from league_app.gui.dialogs.executor_choice import ExecutorChoice
from league_app.gui.dialogs.help_key import add_help_key
from league_app.gui.dialogs.usi_engine import confirm_engine_dialog
from league_app.gui.widgets.agent_picker import AgentPicker
from league_app.gui.widgets.basics import Card, Combo, button, column, label, line, row, scroll_area
from league_app.gui.widgets.fields import NumberBox
from league_app.gui.widgets.form import CONTROL, LABEL, Form

DELAY = 200  # milliseconds from the last edit to the estimate
HEIGHT, TITLE_BAR = 720, 40  # pixels
WAITING = "..."
COMPILING = f"compiling kernels to measure the speed, a minute or two{WAITING}"


class TournamentDialog(QDialog):
    """Call `open`. Remembers the settings used last, separately for each game and league."""

    started = Signal(int)  # the number of the tournament
    planned = Signal(int)

    def __init__(self, context: AppContext, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        add_help_key(self, context, "tournaments")
        self.setWindowTitle("New tournament")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setModal(True)
        self.context, self._estimator = context, DraftEstimator()
        self._count: DraftCheck | None = None
        self._filling, self._busy = True, False
        self._edit_timer = QTimer(self)
        self._edit_timer.setSingleShot(True)
        self._edit_timer.setInterval(DELAY)
        self._edit_timer.timeout.connect(self._check)
        self._build()
        self.resize(980, min(HEIGHT, self.screen().availableGeometry().height() - TITLE_BAR))
        self._fill_games()
        self._filling = False
        context.changed.connect(self._on_changes)
        context.opened.connect(self.reject)
        self._update_buttons()
        self._check()
        self.start.setFocus()

    # Parts

    def _build(self) -> None:
        self.picks = AgentPicker()
        self.picks.edited.connect(self._on_edited)
        agents = Card("Agents")
        agents.body.addWidget(self.picks, 1)
        self._make_controls()
        self.rules: Form | None = None
        self.options: Form | None = None
        self.terms = Form(MatchTerms, shown=2)
        self.terms.edited.connect(self._on_edited)
        self._rules_place, self._options_place = column(), column()
        inner = QWidget()
        inner.setLayout(
            column(
                self._row("Name", self.name),
                self._row("Game", self.game),
                self._rules_place,
                line(),
                self._row("Format", self.format),
                self.about,
                self._options_place,
                line(),
                self.terms,
                line(),
                self._row("Seed", self.seed),
                1,
                gap=12,
                margin=16,
            )
        )
        settings = Card(margin=1)
        settings.body.addWidget(scroll_area(inner, "Settings"))
        settings.setMinimumWidth(460)
        body = row(gap=16)
        body.addWidget(agents, 10)
        body.addWidget(settings, 11)
        whole = column(gap=12, margin=16)
        whole.addLayout(body, 1)
        whole.addLayout(self._footer())
        self.setLayout(whole)

    def _make_controls(self) -> None:
        self.name = QLineEdit()
        self.name.setMaxLength(120)
        self.name.textChanged.connect(self._on_edited)
        self.game, self.format = Combo(), Combo()
        self.game.currentIndexChanged.connect(self._on_game_chosen)
        for name in FORMATS.working():
            self.format.addItem(name.replace("-", " ").capitalize(), name)
        self.format.currentIndexChanged.connect(self._on_format_chosen)
        self.about = label("", "caption", wrap=True)
        self.about.setContentsMargins(LABEL + 12, 0, 0, 0)
        self.seed = NumberBox()
        self.seed.edited.connect(self._on_edited)
        self.workers = NumberBox(True, 1, MOST_WORKERS)
        self.workers.edited.connect(self._on_edited)
        self.executor = ExecutorChoice()
        self.executor.currentIndexChanged.connect(self._on_edited)

    def _row(self, text: str, control: QWidget) -> QHBoxLayout:
        """Lay out a title and a control, aligned with those of the forms."""
        title = label(text)
        title.setFixedWidth(LABEL)
        title.setBuddy(control)
        control.setAccessibleName(text)
        control.setFixedHeight(30)
        if control is self.name:
            return row(title, control, gap=12)
        control.setFixedWidth(CONTROL)
        return row(title, control, 1, gap=12)

    def _footer(self) -> QVBoxLayout:
        self.sentence = label("", "section", wrap=True)
        self.caption = label("", "caption", wrap=True)
        self.note = label("", "caption", tone="warn", wrap=True)
        self.error = label("", tone="bad", wrap=True)
        self.note.hide()
        self.error.hide()
        self.fix = button("", self._apply_fix, link=True)
        self.fix.hide()
        self.start = button("Start", self._start, primary=True, icon="play")
        self.start.setDefault(True)
        self.plan = button("Save for later", self._plan)
        problem = row(self.error, self.fix)
        problem.setStretch(0, 1)
        texts = column(self.sentence, self.caption, problem, self.note, gap=4)
        buttons = row(1, button("Cancel", self.reject), self.plan, self.start)
        return column(self._place_row(), texts, buttons, gap=12)

    def _place_row(self) -> QHBoxLayout:
        """Where the tournament is played. It is no setting of the tournament itself, and is visible at any height."""
        titles = [label("Play on"), label("Workers")]
        for title, control in zip(titles, (self.executor, self.workers), strict=True):
            title.setBuddy(control)
            control.setAccessibleName(title.text())
            control.setFixedHeight(30)
        self.executor.setMinimumWidth(150)
        self.workers.setFixedWidth(90)
        place = row(titles[0], self.executor, titles[1], self.workers, self.executor.caption, gap=12)
        place.setStretchFactor(self.executor.caption, 1)
        return place

    # Contents

    def _fill_games(self) -> None:
        state = self.context.state
        playing = dict.fromkeys(agent.game for agent in state.agents()) if state is not None else {}
        games = all_games(playing)
        for name in sorted(games, key=lambda title: (title not in playing, games[title].info.title)):
            self.game.addItem(games[name].info.title, name)
        selected = self.context.game or next(iter(playing), None)
        self.game.setCurrentIndex(max(self.game.findData(selected), 0))
        self.workers.set_value(state.budget.cores if state is not None else 1)
        self.executor.set_value(state.executor if state is not None else DEFAULT)
        self._on_game_chosen()

    @Slot()
    def _on_game_chosen(self) -> None:
        name, state = self.game.currentData(), self.context.state
        if name is None or state is None:
            return
        filling, self._filling = self._filling, True
        last: dict[str, Any] = self.context.settings.get(self._setting(name), {})
        agents = state.agents(name)
        rules = self._initial_rules(name, last)
        self.rules = self._form(self._rules_place, self.rules, GAMES.get(name).Options, rules, 2)
        known = {agent.id for agent in agents}
        chosen = [id for id in last.get("agents") or [] if id in known]
        self.picks.show_agents(agents, chosen if len(chosen) > 1 else known)
        self.format.setCurrentIndex(max(self.format.findData(last.get("format", "round-robin")), 0))
        self._on_format_chosen()
        self.terms.restore(last.get("terms"))
        self._filling = filling
        self._on_edited()

    def _initial_rules(self, name: str, last: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the rules of the game that is shown, or those used last."""
        if self.context.pool is not None and self.context.pool.name == name:
            return dict(self.context.pool.options)
        rules = last.get("rules")
        return rules if isinstance(rules, dict) else dict(self.context.league.game_of(name).options)

    @Slot()
    def _on_format_chosen(self) -> None:
        format = FORMATS.get(self.format.currentData())
        filling, self._filling = self._filling, True
        last = self.context.settings.get(self._setting(self.game.currentData()), {}).get("options")
        values = last.get(format.name) if isinstance(last, dict) else None
        if values is None and any(field.name == "rounds" for field in dataclasses.fields(format.Options)):
            values = {"rounds": 2 if len(self.picks.model.all_rows) < MANY_AGENTS else 1}
        self.about.setText(format.about[:1].upper() + format.about[1:])
        self.options = self._form(self._options_place, self.options, format.Options, values or {}, 4)
        self._filling = filling
        self._on_edited()

    def _form(self, place: QVBoxLayout, old: Form | None, kind: type, values: Mapping[str, Any], shown: int) -> Form:
        if old is not None:
            place.removeWidget(old)
            old.hide()
            old.deleteLater()
        form = Form(kind, shown=shown)
        form.restore(values)
        form.edited.connect(self._on_edited)
        place.addWidget(form)
        return form

    def draft(self) -> TournamentDraft:
        """Return what the dialog holds; raises BadValue if a field is invalid."""
        assert self.rules is not None
        assert self.options is not None
        return TournamentDraft(
            self.game.currentData(),
            self.rules.values(),
            self.picks.chosen,
            self.format.currentData(),
            self.options.values(),
            MatchTerms(**self.terms.values()),  # type: ignore[arg-type]
            self.seed.whole_number("seed", 0, SEED_LIMIT - 1) if self.seed.text().strip() else None,
            self.name.text().strip() or None,
            self.workers.whole_number("workers", 1, MOST_WORKERS),
            self.executor.value,
        )

    # Checking and estimating

    @Slot()
    def _on_edited(self) -> None:
        if not self._filling:
            self._edit_timer.start()

    @Slot()
    def _check(self) -> None:
        state = self.context.state
        if state is None or self.rules is None:
            return
        try:
            draft = self.draft()
        except RingsideError as error:
            self._count = None  # it belongs to another draft
            self._show_error(str(error))
            return
        count, rate = partial(self._estimator.check, state, draft), partial(ratings, state, draft)
        self.context.read_queue.submit(f"tournament count {id(self)}", count, self._on_counted)
        self.context.read_queue.submit(f"tournament ratings {id(self)}", rate, self.picks.model.set_ratings)

    @Slot(object)
    def _on_counted(self, count: DraftCheck) -> None:
        self._count = count
        self.name.setPlaceholderText(count.name)
        self.seed.lineEdit().setPlaceholderText(f"{count.free_seed} (next free seed)")
        if count.error:
            self._show_error(count.error, count.field)
            return
        self._show_error("")
        self.sentence.setText(f"{count.sentence}: {COMPILING if count.compiles else WAITING}")
        state = self.context.state
        if state is not None:
            estimate = partial(self._estimator.estimate, state, self.draft())
            self.context.slow_queue.submit(f"tournament weigh {id(self)}", estimate, self._show_estimate)

    @Slot(object)
    def _show_estimate(self, estimate: DraftEstimate) -> None:
        if estimate.check == self._count and not estimate.check.error:
            self.sentence.setText(estimate.sentence)
            self.caption.setText(estimate.caption)

    def _show_error(self, text: str, field: str = "") -> None:
        """Show an error above the buttons and mark its field; an empty text clears it."""
        self.error.setText(text)
        self.error.setVisible(bool(text))
        for name, control in (("seed", self.seed), ("name", self.name)):
            if bool(control.property("wrong")) != (name == field):
                control.setProperty("wrong", name == field)
                control.style().unpolish(control)
                control.style().polish(control)
        self.fix.setText(self._fix_text(field) if text else "")
        self.fix.setVisible(bool(self.fix.text()))
        self.caption.setVisible(not text)
        if text:
            self.sentence.setText("Cannot start yet")
        self._update_buttons()

    def _fix_text(self, field: str) -> str:
        """Return the label of a button that fixes the error, if there is one."""
        if self._count is None:
            return ""
        if self._count.engine:
            return "Confirm engine..."
        return f"Use seed {self._count.free_seed}" if field == "seed" else ""

    def _apply_fix(self) -> None:
        count = self._count
        if count is not None and count.engine:
            dialog = self.context.attempt(partial(confirm_engine_dialog, self.context, count.engine, self))
            if dialog is not None:
                dialog.open()
        elif count is not None:
            self.seed.set_value(count.free_seed)

    @Slot(object)
    def _on_changes(self, changes: Sequence[Change]) -> None:
        self._update_buttons()
        if any(change.what == "agents" for change in changes):
            self._on_edited()  # an engine may have been confirmed

    def _update_buttons(self) -> None:
        """Enable the buttons, or say why the tournament cannot be started."""
        state = self.context.state
        locked = state is None or state.league.read_only
        ready = not (self.error.text() or locked or self._busy)
        job = state.job if state is not None else None
        self.start.setEnabled(ready and job is None)
        self.plan.setEnabled(ready)
        reason = ""
        if state is not None and locked:
            reason = f"{state.league.path.name} is open read-only: no tournament can be started"
        elif job is not None:
            reason = f"{job.name} is running: save this tournament, and start it afterwards"
        self.note.setText(reason)
        self.note.setVisible(bool(reason))

    # Starting

    def _start(self) -> None:
        self._enter(True)

    def _plan(self) -> None:
        self._enter(False)

    def _enter(self, play: bool) -> None:
        state = self.context.state
        if state is None or self._busy:
            return
        try:
            draft = self.draft()
        except RingsideError as error:
            self._show_error(str(error))
            return
        self._busy = True
        self._update_buttons()
        task, on_done = partial(create_tournament, state, draft, play), self._on_started
        self.context.command_queue.run(task, on_done if play else self._on_planned, self._on_failed)

    @Slot(object)
    def _on_started(self, number: int) -> None:
        self._remember()
        spec, visual = self.draft().spec, self.context.league.show_visuals
        self.started.emit(number)
        self.accept()
        self.context.select_pool(spec)
        self.context.navigate("live") if visual else self.context.navigate("standings", number)

    @Slot(object)
    def _on_planned(self, number: int) -> None:
        self._remember()
        self.planned.emit(number)
        self.accept()
        self.context.notify(f"Saved as tournament {number}: start it from the Run panel", "good")

    @Slot(object)
    def _on_failed(self, error: Exception) -> None:
        self._busy = False
        if isinstance(error, RingsideError):
            self._show_error(str(error), error.field)
        else:
            self._update_buttons()
            self.context.failed.emit(error)

    def done(self, result: int) -> None:
        """Stop estimating: the dialog is closed."""
        self._filling = True
        self._edit_timer.stop()
        super().done(result)

    def _setting(self, game: str) -> str:
        """Return the key of the settings used last: separate for each league, which may be of another size."""
        return f"tournament/{game}/{self.context.league.league.path.absolute()}"

    def _remember(self) -> None:
        draft, settings = self.draft(), self.context.settings
        all_agents = len(draft.agents) == len(self.picks.model.all_rows)
        name = self._setting(draft.game)
        settings.set(name, form_values(draft, settings.get(name, {}), all_agents))
        settings.set("workers", draft.workers)
        settings.set("executor", draft.executor)
