"""The cards of the run dock: running tournament, summary, unfinished tournaments, training, queue."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QProgressBar, QSizePolicy, QSpinBox, QVBoxLayout, QWidget

from engine.league.records import RunState
from engine.play.play_settings import MOST_WORKERS
from engine.telemetry import RunView
from league_app.core.formatting import chance, duration, match_rate, percent, plural, shorten
from league_app.core.queries.highlights import Summary, Upset
from league_app.core.run_monitor import TournamentView, TrainingView, TrainingWorker, UnfinishedTournament
from league_app.gui.widgets.basics import (
    Card,
    ElidedLabel,
    ElidedPairLabel,
    IconButton,
    button,
    column,
    label,
    row,
    set_tone,
    tooltip_html,
)

MARGIN = 12
MAX_WORKER_NAME = 18  # characters
MAX_TRAINING_WORKERS = 16  # listed for one session
BAR = 1000  # steps of a progress bar of training
MAX_LINES = 3  # unfinished tournaments, and upsets, that are shown


def clear(layout: QVBoxLayout) -> None:
    """Removes and deletes all widgets of a layout."""
    while (item := layout.takeAt(0)) is not None:
        if (widget := item.widget()) is not None:
            widget.hide()
            widget.deleteLater()


def row_widget(*parts: QWidget | int) -> QWidget:
    """Widgets side by side, in one widget that can be removed."""
    widget, inner = QWidget(), row(*parts, gap=8)
    for place, part in enumerate(parts):
        if isinstance(part, ElidedLabel):
            inner.setStretch(place, 1)
    widget.setLayout(inner)
    return widget


class RunCard(Card):
    """The running tournament: progress and controls."""

    pause, finish, stop, new = Signal(), Signal(), Signal(), Signal()
    workers = Signal(int)

    def __init__(self) -> None:
        super().__init__(margin=MARGIN)
        self.body.setSpacing(8)
        self.name = ElidedLabel("", "section")
        self.text = label("", "muted", wrap=True)
        self.bar = QProgressBar()
        self.bar.setTextVisible(False)
        self.bar.setAccessibleName("Matches played")
        self.count, self.share = label(), label("", "muted")
        self.rate, self.left = label("", "caption"), label("", "caption")
        self.pause_button = button("Pause", self.pause.emit, icon="pause", tip="Finish running matches, then pause")
        self.pause_button.setSizePolicy(self.bar.sizePolicy())
        self.finish_button = IconButton("finish", "Finish running matches, then stop", self.finish.emit, flat=False)
        self.stop_button = IconButton(
            "stop", "Stop now: running matches are played again when the tournament is resumed", self.stop.emit, False
        )
        self.new_button = button("New tournament", self.new.emit, icon="tournament")
        self.cores = QSpinBox()
        self.cores.setRange(1, MOST_WORKERS)
        self.cores.setKeyboardTracking(False)
        self.cores.setAccessibleName("Workers")
        self.cores.lineEdit().setTextMargins(6, 0, 0, 0)
        self.cores.valueChanged.connect(self.workers)
        self._figures = row_widget(self.pause_button, self.finish_button, self.stop_button)
        self._numbers = QWidget()
        self._numbers.setLayout(column(self.bar, row(self.count, 1, self.share), row(self.rate, 1, self.left), gap=4))
        title = label("Workers")
        title.setBuddy(self.cores)
        for widget in (
            self.name,
            self.text,
            self._numbers,
            self._figures,
            self.new_button,
            row_widget(title, 1, self.cores),
        ):
            self.body.addWidget(widget)
        self.show_run(None, False)

    def show_run(self, run: TournamentView | None, locked: bool, training: bool = False) -> None:
        """`locked`: the league is read-only, so no tournament can be started. `training`: a session is running."""
        self._numbers.setVisible(run is not None)
        self._figures.setVisible(run is not None)
        self.new_button.setVisible(run is None)
        self.new_button.setEnabled(not locked)
        if run is None:
            self.name.setText("No tournament running" if training else "Idle")
            self.text.setText("This league is open read-only." if locked else "")
            self.text.setVisible(locked)
            set_tone(self.text, "")
            return
        now = run.progress
        paused = now.state is RunState.PAUSED or now.paused
        self.name.setText(run.name)
        self.text.setText(now.text[:1].upper() + now.text[1:])
        self.text.show()
        set_tone(self.text, "warn" if now.trouble else "")
        self.bar.setRange(0, max(now.total, 1))
        self.bar.setValue(now.played)
        self.count.setText(f"{now.played:,} of {now.total:,}")
        self.share.setText(percent(now.played / max(now.total, 1)))
        moving = not paused and now.state is RunState.RUNNING
        self.rate.setText(match_rate(run.rate) if run.rate and moving else "")
        left = run.seconds_left
        self.left.setText(f"{duration(left)} left" if left is not None and moving and now.played < now.total else "")
        self.pause_button.setText("Resume" if paused else "Pause")
        self.pause_button.set_icon("play" if paused else "pause")

    def set_cores(self, cores: int) -> None:
        if self.cores.value() != cores and not self.cores.hasFocus():
            self.cores.blockSignals(True)
            self.cores.setValue(cores)
            self.cores.blockSignals(False)


class SummaryCard(Card):
    """The summary of the last run, shown until the next one starts."""

    watch = Signal(str)  # the reference of a match
    table, failures = Signal(int), Signal(int)  # the number of the tournament

    def __init__(self) -> None:
        super().__init__(margin=MARGIN)
        self.body.setSpacing(8)
        self.name, self.sentence = ElidedLabel("", "caption"), label("", "section", wrap=True)
        self.figures = label("", "caption", wrap=True)
        self.notes = label("", "caption", tone="warn", wrap=True)
        self._top, self._upsets = column(gap=4), column(gap=4)
        self.failed = button("Failures", self._failures, link=True, icon="failure")
        self.shown = button("Show standings", self._table, link=True, icon="standings")
        self._number = 0
        for widget in (self.name, self.sentence, self.figures):
            self.body.addWidget(widget)
        self.body.addLayout(self._top)
        self.body.addLayout(self._upsets)
        self.body.addWidget(self.failed, 0, Qt.AlignmentFlag.AlignLeft)
        self.body.addWidget(self.notes)
        self.body.addWidget(self.shown, 0, Qt.AlignmentFlag.AlignLeft)
        self.hide()

    def show_summary(self, summary: Summary) -> None:
        self._number = summary.tournament
        over = summary.state is RunState.FINISHED
        self.name.setText(summary.name)
        self.sentence.setText(summary.sentence)
        figures = [match_rate(summary.rate)] if summary.rate else []
        figures += [] if over else [f"stopped after {summary.played:,} of {summary.total:,}"]
        figures += ["no failures"] if not summary.failures else []
        figures += [f"{plural(summary.identical, 'game')} identical to an earlier one"] if summary.identical else []
        self.figures.setText(", ".join(figures))
        clear(self._top)
        for place, agent in enumerate(summary.top, 1):
            rating = label(f"{agent.rating:z.0f} \N{PLUS-MINUS SIGN}{agent.error:.0f}", "muted")
            number = label(f"{place}", "muted")
            number.setFixedWidth(12)
            self._top.addWidget(row_widget(number, ElidedLabel(agent.name), rating))
        clear(self._upsets)
        if summary.upsets:
            self._upsets.addWidget(label("Upsets", "caption"))
        for upset in summary.upsets[:MAX_LINES]:
            line = UpsetLine(upset)
            line.watch.connect(self.watch)
            self._upsets.addWidget(line)
        names = ", ".join(summary.failing)
        self.failed.setText(plural(summary.failures, "failure"))
        self.failed.setToolTip(tooltip_html(names))
        self.failed.setVisible(bool(summary.failures))
        notes = "\n".join(sentence for sentence in (summary.overload, summary.note) if sentence)
        self.notes.setText(notes)
        self.notes.setVisible(bool(notes))
        self.show()

    def _table(self) -> None:
        self.table.emit(self._number)

    def _failures(self) -> None:
        self.failures.emit(self._number)


class UpsetLine(QWidget):
    """One line for an upset, with a button that replays it."""

    watch = Signal(str)

    def __init__(self, upset: Upset) -> None:
        super().__init__()
        self._upset = upset
        likely = label(chance(upset.chance), "caption")
        ratings = f"{upset.winner_rating:z.0f} against {upset.loser_rating:z.0f}"
        likely.setToolTip(tooltip_html(f"Expected chance of {upset.winner_name}, by rating: {ratings}"))
        self.play = IconButton("play", f"Watch {upset.winner_name} beat {upset.loser_name}", self._play)
        text = ElidedPairLabel("{} beat {}", upset.winner_name, upset.loser_name)
        text.setToolTip(tooltip_html(upset.text))
        inner = row(text, likely, self.play, gap=4)
        inner.setStretch(0, 1)
        self.setLayout(inner)

    def _play(self) -> None:
        self.watch.emit(self._upset.match)


class UnfinishedCard(Card):
    """Unfinished tournaments, latest first."""

    resume = Signal(int)

    def __init__(self) -> None:
        super().__init__("Unfinished", margin=MARGIN)
        self.body.setSpacing(8)
        self._list = column(gap=4)
        self.more = label("", "caption")
        self.body.addLayout(self._list)
        self.body.addWidget(self.more)
        self.lines: list[UnfinishedLine] = []
        self.hide()

    def show_tournaments(self, found: Sequence[UnfinishedTournament], enabled: bool) -> None:
        clear(self._list)
        self.lines = [UnfinishedLine(tournament, enabled) for tournament in found[:MAX_LINES]]
        for line in self.lines:
            line.resume.connect(self.resume)
            self._list.addWidget(line)
        self.more.setText(f"and {len(found) - MAX_LINES:,} more" if len(found) > MAX_LINES else "")
        self.more.setVisible(len(found) > MAX_LINES)
        self.setVisible(bool(found))


class UnfinishedLine(QWidget):
    resume = Signal(int)

    def __init__(self, tournament: UnfinishedTournament, enabled: bool) -> None:
        super().__init__()
        self._number = tournament.number
        verb = "Start" if tournament.planned else "Resume"
        self.button = button(verb, self._resume)
        self.button.setAccessibleName(f"{verb} {tournament.name}")
        self.button.setEnabled(enabled)
        text = (
            f"planned, {plural(tournament.total, 'match')}"
            if tournament.planned
            else f"{tournament.played:,} of {tournament.total:,}"
        )
        self.button.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        layout = row(gap=8)
        layout.addLayout(column(ElidedLabel(tournament.name), ElidedLabel(text, "caption"), gap=0), 1)
        layout.addWidget(self.button)
        self.setLayout(layout)

    def _resume(self) -> None:
        self.resume.emit(self._number)


class TrainingCard(Card):
    """The running training sessions."""

    flip, stop, open = Signal(int), Signal(int), Signal(int)

    def __init__(self) -> None:
        super().__init__("Training", margin=MARGIN)
        self.body.setSpacing(8)
        self._list = column(gap=8)
        self.body.addLayout(self._list)
        self.lines: dict[int, TrainingLine] = {}
        self.hide()

    def show_training(self, sessions: Sequence[TrainingView]) -> None:
        """Reuses lines, so that a button does not disappear while it is clicked."""
        if [session.number for session in sessions] != list(self.lines):
            clear(self._list)
            self.lines = {session.number: TrainingLine(session.number) for session in sessions}
            for line in self.lines.values():
                line.flip.connect(self.flip)
                line.stop.connect(self.stop)
                self._list.addWidget(line)
        for session in sessions:
            self.lines[session.number].show_view(session)
        self.setVisible(bool(sessions))


class TrainingLine(QWidget):
    flip, stop = Signal(int), Signal(int)

    def __init__(self, number: int) -> None:
        super().__init__()
        self._number = number
        self.name, self.text = ElidedLabel(), ElidedLabel("", "caption")
        self.bar = QProgressBar()
        self.bar.setTextVisible(False)
        self.pause = IconButton("pause", "Pause", self._flip)
        self.halt = IconButton("stop", "Stop", self._stop)
        self._list = column(gap=2)
        self.workers: list[WorkerLine] = []
        self.more = label("", "caption")  # replaced with the lines of workers
        whole = column(row(self.name, self.pause, self.halt, gap=4), self.bar, self.text, gap=4)
        whole.addLayout(self._list)
        self.setLayout(whole)

    def show_view(self, view: TrainingView) -> None:
        self.name.setText(view.name)
        verb = "Resume" if view.paused else "Pause"
        self.pause.set_icon("play" if view.paused else "pause", f"{verb} {view.name}")
        self.halt.set_icon("stop", f"Save a checkpoint and stop {view.name}")
        now = view.progress
        self.bar.setRange(0, BAR)
        done = now.fraction if now is not None else 0.0
        self.bar.setValue(round(BAR * (done or 0.0)))
        self.bar.setVisible(done is not None)
        text = view.trouble or (now.text if now is not None else "starting")
        left = (
            f", {duration(now.seconds_left)} left" if now is not None and now.seconds_left and not view.paused else ""
        )
        self.text.setText(f"{'Paused: ' if view.paused else ''}{text}{left}")
        self._show_workers(view.workers)

    def _show_workers(self, workers: Sequence[TrainingWorker]) -> None:
        """The first ones: the panels below must stay in reach."""
        shown = workers[:MAX_TRAINING_WORKERS]
        if len(shown) != len(self.workers):
            clear(self._list)
            self.workers = [WorkerLine() for _ in shown]
            self.more = label("", "caption")
            for line in (*self.workers, self.more):
                self._list.addWidget(line)
        for line, worker in zip(self.workers, shown, strict=True):
            line.show_worker(worker)
        hidden = len(workers) - len(shown)
        self.more.setText(f"and {plural(hidden, 'more worker')}")
        self.more.setVisible(hidden > 0)

    def _flip(self) -> None:
        self.flip.emit(self._number)

    def _stop(self) -> None:
        self.stop.emit(self._number)


class WorkerLine(QWidget):
    """A worker of a training session: its name and state."""

    def __init__(self) -> None:
        super().__init__()
        self.name, self.text = label("", "caption"), ElidedLabel("", "caption")
        inner = row(self.name, self.text, gap=8)
        inner.setStretch(1, 1)
        self.setLayout(inner)

    def show_worker(self, shown: TrainingWorker) -> None:
        self.name.setText(shorten(shown.worker.name, MAX_WORKER_NAME))
        self.text.setText(shown.text)
        pid = f"pid {shown.worker.pid}" if shown.worker.pid is not None else ""
        lines = (shown.worker.name, shown.worker.task, shown.text, pid)
        self.setToolTip(tooltip_html("\n".join(line for line in lines if line)))


class QueueCard(Card):
    """The number of matches in each state."""

    def __init__(self) -> None:
        super().__init__("Queue", margin=MARGIN)
        self.body.setSpacing(4)
        self._values = {name: label("0") for name in ("Playing", "Waiting", "Suspects", "Failures")}
        tips = {
            "Playing": "Matches being played by workers",
            "Waiting": "Matches waiting for a worker; the schedule supplies more as these start",
            "Suspects": "Matches played again one by one because a worker died while playing them",
            "Failures": "Matches in which an agent failed",
        }
        for name, value in self._values.items():
            title = label(name, "muted")
            title.setToolTip(tooltip_html(tips[name]))
            value.setAccessibleName(name)
            self.body.addLayout(row(title, 1, value))
        self.quarantined = ElidedLabel("", "caption")
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
