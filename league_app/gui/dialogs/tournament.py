"""The sheet that a tournament is drawn up on: everything is filled in, so that Enter starts it."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from PySide6.QtCore import Qt, QTimer, Signal, Slot
from PySide6.QtWidgets import QDialog, QFrame, QHBoxLayout, QLineEdit, QScrollArea, QVBoxLayout, QWidget

from engine.errors import BadValue, RingsideError
from engine.play.concurrent import MOST_WORKERS
from engine.registry import FORMATS, GAMES, all_games
from league_app.core.changes import Change
from league_app.gui.context import Desk
from league_app.core.tournament_draft import MANY_AGENTS, Count, Draft, Drawing, Terms, Weighed, enter, kept_of, ratings
from league_app.gui.dialogs.usi_engine import confirm_sheet
from league_app.gui.widgets.basics import Card, Combo, button, column, label, line, row
from league_app.gui.widgets.fields import NumberBox
from league_app.gui.widgets.form import CONTROL, LABEL, Form
from league_app.gui.widgets.agent_picker import Picks

SOON = 200  # milliseconds after the last edit
WAITING = "\N{HORIZONTAL ELLIPSIS}"


class TournamentSheet(QDialog):
    """`open` it. What was used last is there again the next time, for each game by itself."""

    started = Signal(int)  # the number of the tournament
    planned = Signal(int)

    def __init__(self, desk: Desk, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle("New tournament")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setModal(True)
        self.desk, self._drawing = desk, Drawing()
        self._count: Count | None = None
        self._quiet, self._busy = True, False
        self._soon = QTimer(self)
        self._soon.setSingleShot(True)
        self._soon.setInterval(SOON)
        self._soon.timeout.connect(self._weigh)
        self._build()
        self.resize(980, 660)
        self._fill_games()
        self._quiet = False
        desk.changed.connect(self._hear)
        desk.opened.connect(self.reject)
        self._look()
        self._weigh()
        self.start.setFocus()

    # What it is made of

    def _build(self) -> None:
        self.picks = Picks()
        self.picks.edited.connect(self._edit)
        who = Card("Agents")
        who.body.addWidget(self.picks, 1)
        self._make_controls()
        self.rules: Form | None = None
        self.options: Form | None = None
        self.terms = Form(Terms, shown=2)
        self.terms.edited.connect(self._edit)
        self._rules_place, self._options_place = column(), column()
        inner = QWidget()
        inner.setLayout(
            column(
                self._asked("Name", self.name),
                self._asked("Game", self.game),
                self._rules_place,
                line(),
                self._asked("Format", self.format),
                self.about,
                self._options_place,
                line(),
                self.terms,
                line(),
                self._asked("Seed", self.seed),
                self._asked("Workers", self.workers),
                1,
                gap=12,
                margin=16,
            )
        )
        scroll = QScrollArea()
        scroll.setAccessibleName("Settings")
        scroll.setWidgetResizable(True)
        scroll.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        scroll.setFrameShape(QFrame.Shape.NoFrame)
        scroll.setWidget(inner)
        what = Card(margin=1)
        what.body.addWidget(scroll)
        what.setMinimumWidth(460)
        body = row(gap=16)
        body.addWidget(who, 10)
        body.addWidget(what, 11)
        whole = column(gap=12, margin=16)
        whole.addLayout(body, 1)
        whole.addLayout(self._footer())
        self.setLayout(whole)

    def _make_controls(self) -> None:
        self.name = QLineEdit()
        self.name.setMaxLength(120)
        self.name.textChanged.connect(self._edit)
        self.game, self.format = Combo(), Combo()
        self.game.currentIndexChanged.connect(self._take_game)
        self.format.addItems([one.replace("-", " ").capitalize() for one in FORMATS.working()])
        for place, one in enumerate(FORMATS.working()):
            self.format.setItemData(place, one)
        self.format.currentIndexChanged.connect(self._take_format)
        self.about = label("", "caption", wrap=True)
        self.about.setContentsMargins(LABEL + 12, 0, 0, 0)
        self.seed = NumberBox()
        self.seed.edited.connect(self._edit)
        self.workers = NumberBox(True, 1, MOST_WORKERS)
        self.workers.edited.connect(self._edit)

    def _asked(self, text: str, control: QWidget) -> QHBoxLayout:
        """A title and a control, in line with those of the forms."""
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
        self.wrong = label("", tone="bad", wrap=True)
        for one in (self.note, self.wrong):
            one.hide()
        self.offer = button("", self._take_offer, link=True)
        self.offer.hide()
        self.start = button("Start", self._start, primary=True, icon="play")
        self.start.setDefault(True)
        self.plan = button("Save as planned", self._plan)
        self.cancel = button("Cancel", self.reject)
        problem = row(self.wrong, self.offer)
        problem.setStretch(0, 1)
        told = column(self.sentence, self.caption, problem, self.note, gap=4)
        return column(told, row(1, self.cancel, self.plan, self.start), gap=12)

    # What stands in it

    def _fill_games(self) -> None:
        state = self.desk.state
        playing = dict.fromkeys(one.game for one in state.agents()) if state is not None else {}
        games = all_games(playing)
        for name in sorted(games, key=lambda one: (one not in playing, games[one].info.title)):
            self.game.addItem(games[name].info.title, name)
        wanted = self.desk.game or next(iter(playing), None)
        self.game.setCurrentIndex(max(self.game.findData(wanted), 0))
        cores = state.budget.cores if state is not None else 1
        self.workers.set_value(cores)
        self._take_game()

    @Slot()
    def _take_game(self) -> None:
        name, state = self.game.currentData(), self.desk.state
        if name is None or state is None:
            return
        quiet, self._quiet = self._quiet, True
        kept: dict[str, Any] = self.desk.settings.get(self._kept_as(name), {})
        agents = state.agents(name)
        self.rules = self._form(
            self._rules_place, self.rules, GAMES.get(name).Options, self._usual_rules(name, kept), 2
        )
        known = {one.id for one in agents}
        chosen = [one for one in kept.get("agents") or [] if one in known]
        self.picks.show_agents(agents, chosen if len(chosen) > 1 else known)
        self.format.setCurrentIndex(max(self.format.findData(kept.get("format", "round-robin")), 0))
        self._take_format()
        _put(self.terms, kept.get("terms"))
        self._quiet = quiet
        self._edit()

    def _usual_rules(self, name: str, kept: Mapping[str, Any]) -> Mapping[str, Any]:
        """Those that are looked at, or those that were used last."""
        if self.desk.pool is not None and self.desk.pool.name == name:
            return dict(self.desk.pool.options)
        found = kept.get("rules")
        return found if isinstance(found, dict) else dict(self.desk.league.game_of(name).options)

    @Slot()
    def _take_format(self) -> None:
        format = FORMATS.get(self.format.currentData())
        quiet, self._quiet = self._quiet, True
        kept = self.desk.settings.get(self._kept_as(self.game.currentData()), {}).get("options")
        values = kept.get(format.name) if isinstance(kept, dict) else None
        if values is None and any(one.name == "rounds" for one in dataclasses.fields(format.Options)):
            values = {"rounds": 2 if len(self.picks.model.every) < MANY_AGENTS else 1}
        about = format.about[:1].upper() + format.about[1:]
        self.about.setText(about)
        self.options = self._form(self._options_place, self.options, format.Options, values or {}, 4)
        self._quiet = quiet
        self._edit()

    def _form(self, place: QVBoxLayout, old: Form | None, kind: type, values: Mapping[str, Any], shown: int) -> Form:
        if old is not None:
            place.removeWidget(old)
            old.hide()
            old.deleteLater()
        made = Form(kind, shown=shown)
        _put(made, values)
        made.edited.connect(self._edit)
        place.addWidget(made)
        return made

    def draft(self) -> Draft:
        """What stands there now; BadValue if something of it cannot be."""
        assert self.rules is not None
        assert self.options is not None
        return Draft(
            self.game.currentData(),
            self.rules.values(),
            self.picks.chosen,
            self.format.currentData(),
            self.options.values(),
            Terms(**self.terms.values()),  # type: ignore[arg-type]
            _whole("seed", self.seed) if self.seed.text().strip() else None,
            self.name.text().strip() or None,
            _whole("workers", self.workers, 1, MOST_WORKERS),
        )

    # What it would take

    @Slot()
    def _edit(self) -> None:
        if not self._quiet:
            self._soon.start()

    @Slot()
    def _weigh(self) -> None:
        state = self.desk.state
        if state is None or self.rules is None:
            return
        try:
            draft = self.draft()
        except RingsideError as error:
            self._count = None  # it was of another draft
            self._tell_wrong(str(error))
            return
        self.desk.reads.ask(f"tournament count {id(self)}", partial(self._drawing.count, state, draft), self._counted)
        self.desk.reads.ask(f"tournament ratings {id(self)}", partial(ratings, state, draft), self.picks.model.rate)

    @Slot(object)
    def _counted(self, count: Count) -> None:
        self._count = count
        self.name.setPlaceholderText(count.name)
        self.seed.lineEdit().setPlaceholderText(f"{count.free}, the next free one")
        if count.wrong:
            self._tell_wrong(count.wrong, count.field)
            return
        self._tell_wrong("")
        self.sentence.setText(f"{count.sentence}: {WAITING}")
        state = self.desk.state
        if state is not None:
            draft = self.draft()
            question = partial(self._drawing.weigh, state, draft)
            self.desk.work.ask(f"tournament weigh {id(self)}", question, self._weighed)

    @Slot(object)
    def _weighed(self, told: Weighed) -> None:
        if told.count == self._count and not told.count.wrong:
            self.sentence.setText(told.sentence)
            self.caption.setText(told.caption)

    def _tell_wrong(self, text: str, field: str = "") -> None:
        """In words, beside the buttons; nothing can be started until it is right."""
        self.wrong.setText(text)
        self.wrong.setVisible(bool(text))
        for name, control in (("seed", self.seed), ("name", self.name)):
            if bool(control.property("wrong")) != (name == field):
                control.setProperty("wrong", name == field)
                control.style().unpolish(control)
                control.style().polish(control)
        self.offer.setText(self._mending(field) if text else "")
        self.offer.setVisible(bool(self.offer.text()))
        self.caption.setVisible(not text)
        if text:
            self.sentence.setText("Not yet")
        self._look()

    def _mending(self, field: str) -> str:
        """What would put it right with one click."""
        if self._count is None:
            return ""
        if self._count.engine:
            return "Confirm..."
        return f"Use {self._count.free}" if field == "seed" else ""

    def _take_offer(self) -> None:
        count = self._count
        if count is not None and count.engine:
            sheet = self.desk.attempt(partial(confirm_sheet, self.desk, count.engine, self))
            if sheet is not None:
                sheet.open()
        elif count is not None:
            self.seed.set_value(count.free)

    @Slot(object)
    def _hear(self, changes: Sequence[Change]) -> None:
        self._look()
        if any(one.what == "agents" for one in changes):
            self._edit()  # one of them may have been confirmed

    def _look(self) -> None:
        """Whether it may be started now."""
        state = self.desk.state
        wrong = bool(self.wrong.text())
        locked = state is None or state.league.read_only
        job = state.job if state is not None else None
        self.start.setEnabled(not (wrong or locked or self._busy) and job is None)
        self.plan.setEnabled(not (wrong or locked or self._busy))
        reason = ""
        if state is not None and locked:
            reason = f"{state.league.path.name} was opened read-only: nothing can be played in it"
        elif job is not None:
            reason = f"{job.name} is being played: save this one as planned, and start it afterwards"
        self.note.setText(reason)
        self.note.setVisible(bool(reason))

    # Starting

    def _start(self) -> None:
        self._enter(True)

    def _plan(self) -> None:
        self._enter(False)

    def _enter(self, play: bool) -> None:
        state = self.desk.state
        if state is None or self._busy:
            return
        try:
            draft = self.draft()
        except RingsideError as error:
            self._tell_wrong(str(error))
            return
        self._busy = True
        self._look()
        question = partial(enter, state, draft, self._drawing, play)
        self.desk.orders.ask("tournament enter", question, self._started if play else self._planned, self._refused)

    @Slot(object)
    def _started(self, number: int) -> None:
        self._remember()
        desk = self.desk
        spec, shown = self.draft().spec, desk.league.show_visuals
        self.started.emit(number)
        self.accept()
        desk.look_at(spec)
        desk.show("live") if shown else desk.show("standings", number)

    @Slot(object)
    def _planned(self, number: int) -> None:
        self._remember()
        self.planned.emit(number)
        self.accept()
        self.desk.say(f"Saved as tournament {number}: it can be started in the panel at the right", "good")

    @Slot(object)
    def _refused(self, error: Exception) -> None:
        self._busy = False
        if isinstance(error, RingsideError):
            self._tell_wrong(str(error), str(error).partition(" = ")[0])
        else:
            self._look()
            self.desk.failed.emit(error)

    def done(self, how: int) -> None:
        """Closed, one way or the other: there is nothing more to weigh."""
        self._quiet = True
        self._soon.stop()
        super().done(how)

    def _kept_as(self, game: str) -> str:
        """Of each league by itself: five thousand rounds here are not meant there."""
        return f"tournament/{game}/{self.desk.league.league.path.absolute()}"

    def _remember(self) -> None:
        draft, settings = self.draft(), self.desk.settings
        everybody = len(draft.agents) == len(self.picks.model.every)
        name = self._kept_as(draft.game)
        settings.set(name, kept_of(draft, settings.get(name, {}), everybody))
        settings.set("workers", draft.workers)


def _put(form: Form, values: object) -> None:
    """What was kept may be of another time: then it is as usual."""
    if isinstance(values, Mapping):
        try:
            form.set_values(values)
        except RingsideError:
            form.reset()


def _whole(name: str, box: NumberBox, low: int = 0, high: int = 2**64 - 1) -> int:
    try:
        value = int(box.value())
    except ValueError:
        value = -1
    if not low <= value <= high:
        raise BadValue(name, box.text(), f"a whole number from {low} to {high:,}")
    return value
