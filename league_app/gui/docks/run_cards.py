"""The parts of the panel at the right: what is played, what came of it, what could go on, who trains, the queue."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QProgressBar, QSizePolicy, QSpinBox, QVBoxLayout, QWidget

from engine.league.records import State
from engine.play.concurrent import MOST_WORKERS
from engine.telemetry import RunView
from league_app.core.queries.highlights import Summary, Upset
from league_app.core.run_monitor import RunNow, TrainingView, Waiting
from league_app.gui.widgets.basics import Card, Elided, IconButton, Telling, button, column, label, plain, row, set_tone
from league_app.core.formatting import chance, each_second, lasting, many, percent

MARGIN = 12
FEW = 3  # tournaments that could go on, and upsets, that are shown


def clear(layout: QVBoxLayout) -> None:
    """Its parts go, and whatever they show."""
    while (item := layout.takeAt(0)) is not None:
        if (widget := item.widget()) is not None:
            widget.hide()
            widget.deleteLater()


def part(*parts: QWidget | int) -> QWidget:
    """Beside one another, as one thing that can be taken away."""
    made, inner = QWidget(), row(*parts, gap=8)
    for place, one in enumerate(parts):
        if isinstance(one, Elided):
            inner.setStretch(place, 1)
    made.setLayout(inner)
    return made


class RunCard(Card):
    """The tournament that is played: how far it is, and what may be asked of it."""

    pause, finish, stop, new = Signal(), Signal(), Signal(), Signal()
    workers = Signal(int)

    def __init__(self) -> None:
        super().__init__(margin=MARGIN)
        self.body.setSpacing(8)
        self.name = Elided("", "section")
        self.text = label("", "muted", wrap=True)
        self.bar = QProgressBar()
        self.bar.setTextVisible(False)
        self.bar.setAccessibleName("Matches played")
        self.count, self.share = label(), label("", "muted")
        self.rate, self.left = label("", "caption"), label("", "caption")
        self.flip = button("Pause", self.pause.emit, icon="pause", tip="Finish what is being played, then wait")
        self.flip.setSizePolicy(self.bar.sizePolicy())
        self.ending = IconButton("finish", "Finish what is being played, then stop", self.finish.emit, flat=False)
        self.halt = IconButton("stop", "Stop now: what is being played is played again later", self.stop.emit, False)
        self.begin = button("New tournament", self.new.emit, icon="tournament")
        self.cores = QSpinBox()
        self.cores.setRange(1, MOST_WORKERS)
        self.cores.setKeyboardTracking(False)
        self.cores.setAccessibleName("Workers")
        self.cores.lineEdit().setTextMargins(6, 0, 0, 0)
        self.cores.valueChanged.connect(self.workers)
        self._figures = part(self.flip, self.ending, self.halt)
        self._numbers = QWidget()
        self._numbers.setLayout(column(self.bar, row(self.count, 1, self.share), row(self.rate, 1, self.left), gap=4))
        title = label("Workers")
        title.setBuddy(self.cores)
        for one in (self.name, self.text, self._numbers, self._figures, self.begin, part(title, 1, self.cores)):
            self.body.addWidget(one)
        self.show_run(None, False)

    def show_run(self, run: RunNow | None, locked: bool) -> None:
        """`locked`: nothing can be played in a league that was opened for looking only."""
        self._numbers.setVisible(run is not None)
        self._figures.setVisible(run is not None)
        self.begin.setVisible(run is None)
        self.begin.setEnabled(not locked)
        if run is None:
            self.name.setText("Nothing is played")
            self.text.setText("The league was opened for looking only." if locked else "")
            self.text.setVisible(locked)
            set_tone(self.text, "")
            return
        now = run.progress
        paused = now.state is State.PAUSED or "paused" in now.text
        self.name.setText(run.name)
        self.text.setText(now.text[:1].upper() + now.text[1:])
        self.text.show()
        set_tone(self.text, "warn" if now.text.startswith("waiting") else "")
        self.bar.setRange(0, max(now.total, 1))
        self.bar.setValue(now.played)
        self.count.setText(f"{now.played:,} of {now.total:,}")
        self.share.setText(percent(now.played / max(now.total, 1)))
        moving = not paused and now.state is State.RUNNING
        self.rate.setText(each_second(run.rate) if run.rate and moving else "")
        left = run.seconds_left
        self.left.setText(f"{lasting(left)} left" if left is not None and moving and now.played < now.total else "")
        self.flip.setText("Go on" if paused else "Pause")
        self.flip.set_icon("play" if paused else "pause")  # type: ignore[attr-defined]

    def set_cores(self, cores: int) -> None:
        if self.cores.value() != cores and not self.cores.hasFocus():
            self.cores.blockSignals(True)
            self.cores.setValue(cores)
            self.cores.blockSignals(False)


class SummaryCard(Card):
    """What came of the last run; it stays until the next one."""

    watch = Signal(str)  # the reference of a match
    table, failures = Signal(int), Signal(int)  # the number of the tournament

    def __init__(self) -> None:
        super().__init__(margin=MARGIN)
        self.body.setSpacing(8)
        self.name, self.sentence = Elided("", "caption"), label("", "section", wrap=True)
        self.figures = label("", "caption", wrap=True)
        self.notes = label("", "caption", tone="warn", wrap=True)
        self._top, self._upsets = column(gap=4), column(gap=4)
        self.failed = button("Failures", self._failures, link=True, icon="failure")
        self.shown = button("Show the table", self._table, link=True, icon="standings")
        self._number = 0
        for one in (self.name, self.sentence, self.figures):
            self.body.addWidget(one)
        self.body.addLayout(self._top)
        self.body.addLayout(self._upsets)
        self.body.addWidget(self.failed, 0, Qt.AlignmentFlag.AlignLeft)
        self.body.addWidget(self.notes)
        self.body.addWidget(self.shown, 0, Qt.AlignmentFlag.AlignLeft)
        self.hide()

    def show_summary(self, one: Summary) -> None:
        self._number = one.tournament
        over = one.state is State.FINISHED
        self.name.setText(one.name)
        self.sentence.setText(one.sentence)
        told = [each_second(one.rate)] if one.rate else []
        told += [] if over else [f"stopped after {one.played:,} of {one.total:,}"]
        told += ["no failures"] if not one.failures else []
        told += [f"{one.identical:,} games went as an earlier one"] if one.identical else []
        self.figures.setText(", ".join(told))
        clear(self._top)
        for place, who in enumerate(one.top, 1):
            rating = label(f"{who.rating:z.0f} \N{PLUS-MINUS SIGN}{who.error:.0f}", "muted")
            number = label(f"{place}", "muted")
            number.setFixedWidth(12)
            self._top.addWidget(part(number, Elided(who.name), rating))
        clear(self._upsets)
        if one.upsets:
            self._upsets.addWidget(label("Upsets", "caption"))
        for upset in one.upsets[:FEW]:
            line = UpsetLine(upset)
            line.watch.connect(self.watch)
            self._upsets.addWidget(line)
        names = ", ".join(one.failing)
        self.failed.setText(many(one.failures, "failure"))
        self.failed.setToolTip(plain(names))
        self.failed.setVisible(bool(one.failures))
        notes = "\n".join(sentence for sentence in (one.overload, one.note) if sentence)
        self.notes.setText(notes)
        self.notes.setVisible(bool(notes))
        self.show()

    def _table(self) -> None:
        self.table.emit(self._number)

    def _failures(self) -> None:
        self.failures.emit(self._number)


class UpsetLine(QWidget):
    """An upset in a line, with a button that plays it."""

    watch = Signal(str)

    def __init__(self, upset: Upset) -> None:
        super().__init__()
        self._upset = upset
        likely = label(chance(upset.chance), "caption")
        likely.setToolTip(plain(f"The chance of {upset.winner_name} by the ratings: {upset.winner_rating:z.0f} against "
                                f"{upset.loser_rating:z.0f}"))  # fmt: skip
        self.play = IconButton("play", f"Watch {upset.winner_name} beat {upset.loser_name}", self._play)
        told = Telling("{} beat {}", upset.winner_name, upset.loser_name)
        told.setToolTip(plain(upset.text))
        inner = row(told, likely, self.play, gap=4)
        inner.setStretch(0, 1)
        self.setLayout(inner)

    def _play(self) -> None:
        self.watch.emit(self._upset.match)


class WaitingCard(Card):
    """Tournaments that could go on, the latest first."""

    resume = Signal(int)

    def __init__(self) -> None:
        super().__init__("Not finished", margin=MARGIN)
        self.body.setSpacing(8)
        self._list = column(gap=4)
        self.more = label("", "caption")
        self.body.addLayout(self._list)
        self.body.addWidget(self.more)
        self.lines: list[WaitingLine] = []
        self.hide()

    def show_waiting(self, found: Sequence[Waiting], enabled: bool) -> None:
        clear(self._list)
        self.lines = [WaitingLine(one, enabled) for one in found[:FEW]]
        for one in self.lines:
            one.resume.connect(self.resume)
            self._list.addWidget(one)
        self.more.setText(f"and {len(found) - FEW:,} more" if len(found) > FEW else "")
        self.more.setVisible(len(found) > FEW)
        self.setVisible(bool(found))


class WaitingLine(QWidget):
    resume = Signal(int)

    def __init__(self, one: Waiting, enabled: bool) -> None:
        super().__init__()
        self._number = one.number
        verb = "Start" if one.planned else "Resume"
        self.button = button(verb, self._resume)
        self.button.setAccessibleName(f"{verb} {one.name}")
        self.button.setEnabled(enabled)
        told = f"planned, {many(one.total, 'match')}" if one.planned else f"{one.played:,} of {one.total:,}"
        self.button.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        made = row(gap=8)
        made.addLayout(column(Elided(one.name), Elided(told, "caption"), gap=0), 1)
        made.addWidget(self.button)
        self.setLayout(made)

    def _resume(self) -> None:
        self.resume.emit(self._number)


class TrainingCard(Card):
    """Sessions that run."""

    flip, stop, open = Signal(int), Signal(int), Signal(int)

    def __init__(self) -> None:
        super().__init__("Training", margin=MARGIN)
        self.body.setSpacing(8)
        self._list = column(gap=8)
        self.body.addLayout(self._list)
        self.lines: dict[int, TrainingLine] = {}
        self.hide()

    def show_training(self, sessions: Sequence[TrainingView]) -> None:
        """Lines stay where they are: a button must not go away under a finger."""
        if [one.number for one in sessions] != list(self.lines):
            clear(self._list)
            self.lines = {one.number: TrainingLine(one.number) for one in sessions}
            for line in self.lines.values():
                line.flip.connect(self.flip)
                line.stop.connect(self.stop)
                self._list.addWidget(line)
        for one in sessions:
            self.lines[one.number].show_view(one)
        self.setVisible(bool(sessions))


class TrainingLine(QWidget):
    flip, stop = Signal(int), Signal(int)

    def __init__(self, number: int) -> None:
        super().__init__()
        self._number = number
        self.name, self.text = Elided(), Elided("", "caption")
        self.bar = QProgressBar()
        self.bar.setTextVisible(False)
        self.pause = IconButton("pause", "Pause", self._flip)
        self.halt = IconButton("stop", "Stop", self._stop)
        self.setLayout(column(row(self.name, self.pause, self.halt, gap=4), self.bar, self.text, gap=4))

    def show_view(self, one: TrainingView) -> None:
        self.name.setText(one.name)
        verb = "Resume" if one.paused else "Pause"
        self.pause.set_icon("play" if one.paused else "pause", f"{verb} {one.name}")
        self.halt.set_icon("stop", f"Stop {one.name}, with a last checkpoint")
        now = one.progress
        self.bar.setRange(0, max(now.total, 1) if now is not None else 1)
        self.bar.setValue(now.step if now is not None else 0)
        self.bar.setVisible(now is None or now.total > 0)
        told = one.trouble or (now.text if now is not None else "starting")
        left = f", {lasting(now.seconds_left)} left" if now is not None and now.seconds_left and not one.paused else ""
        self.text.setText(f"{'Paused: ' if one.paused else ''}{told}{left}")

    def _flip(self) -> None:
        self.flip.emit(self._number)

    def _stop(self) -> None:
        self.stop.emit(self._number)


class QueueCard(Card):
    """Where the matches are."""

    def __init__(self) -> None:
        super().__init__("Queue", margin=MARGIN)
        self.body.setSpacing(4)
        self._values = {name: label("0") for name in ("Playing", "Waiting", "Suspects", "Failures")}
        tips = {
            "Playing": "Matches that workers have",
            "Waiting": "Matches that no worker has yet; more are taken from the plan as these go",
            "Suspects": "Matches that are played one by one, because a worker died with them",
            "Failures": "Matches in which an agent broke",
        }
        for name, value in self._values.items():
            title = label(name, "muted")
            title.setToolTip(plain(tips[name]))
            value.setAccessibleName(name)
            self.body.addLayout(row(title, 1, value))
        self.quarantined = Elided("", "caption")
        self.quarantined.hide()
        self.body.addWidget(self.quarantined)

    def show_queue(self, queue: RunView, quarantined: Sequence[str]) -> None:
        figures = (queue.playing, queue.waiting, queue.suspects, queue.failures)
        for value, figure in zip(self._values.values(), figures, strict=True):
            value.setText(f"{figure:,}")
        set_tone(self._values["Failures"], "bad" if queue.failures else "")
        set_tone(self._values["Suspects"], "warn" if queue.suspects else "")
        self.quarantined.setText(f"Quarantined: {', '.join(quarantined)}")
        self.quarantined.setVisible(bool(quarantined))

    def figure(self, name: str) -> str:
        return self._values[name].text()
