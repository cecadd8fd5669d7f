"""The first thing that is seen: a match that plays itself, three things to do, and leagues to open."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from PySide6.QtCore import Slot
from PySide6.QtWidgets import QFrame, QProgressBar, QScrollArea, QStackedWidget, QWidget

from engine.errors import RingsideError
from engine.league import standings as tables
from engine.play.match import GameSpec
from engine.play.replay import Playback, verified
from league_app.core import paths as places
from league_app.gui.context import Desk
from league_app.gui.game_selector import GameBox
from league_app.core.queries.highlights import best_match
from league_app.gui.league_files import Leagues
from league_app.gui.page import Page
from league_app.core.exhibitions import any_seed
from league_app.core.state import LeagueState
from league_app.gui.widgets.basics import Card, Elided, Empty, Icon, button, clear, column, label, row
from league_app.gui.match.preview import Preview
from league_app.core.formatting import listed, many

FIRST = 6  # of the table
SHOWN = 5  # recent leagues


@dataclass(frozen=True)
class Glance:
    """The open league, as far as the welcome page tells of it."""

    name: str
    agents: int
    matches: int
    best: tuple[str, ...]  # ids, no more than there are seats
    top: tuple[tuple[str, str], ...]  # name, rating in words
    reference: str | None
    names: tuple[str, ...]
    playback: Playback | None
    unfinished: tuple[str, ...] = ()  # tournaments that were begun, the latest last


class WelcomePage(Page):
    title, icon = "Welcome", "home"
    watches = frozenset({"agents", "tournaments"})

    def __init__(self, desk: Desk, leagues: Leagues) -> None:
        super().__init__(desk)
        self._leagues = leagues
        self._reference: str | None = None
        self._best: tuple[str, ...] = ()  # no more than there are seats
        self._missing: int | None = None  # agents there are, where nothing plays itself
        inner = QWidget()
        parts = column(self._head(), self._stage(), self._files(), margin=24, gap=16)
        parts.setStretch(1, 1)
        inner.setLayout(parts)
        area = QScrollArea()
        area.setAccessibleName("Welcome")
        area.setWidget(inner)
        area.setWidgetResizable(True)
        area.setFrameShape(QFrame.Shape.NoFrame)
        self.setLayout(column(area))

    # Its parts

    def _head(self) -> QWidget:
        made = QWidget()
        words = column(label("Ringside", "title"), label("Watch, compete, train, and trust the table.", "muted"), gap=0)
        self.busy = label("", "muted")
        self.bar = QProgressBar()
        self.bar.setRange(0, 0)
        self.bar.setFixedWidth(140)
        self.bar.setTextVisible(False)
        self.bar.hide()
        made.setLayout(row(Icon("ringside", 40, "accent"), words, 1, self.busy, self.bar, gap=12))
        return made

    def _stage(self) -> QWidget:
        made = QWidget()
        self.preview = Preview()
        self.preview.setMinimumHeight(280)
        self.preview.chosen.connect(self._watch_best)
        self.caption = Elided("", "caption")
        self.nothing = Empty("live", "", "Run a tournament", self._begin)
        instead = Card()
        instead.body.addWidget(self.nothing)
        self.stage = QStackedWidget()
        self.stage.addWidget(self.preview)
        self.stage.addWidget(instead)
        left = column(self.stage, self.caption, gap=4)
        self.card = Card("")
        self.card.setFixedWidth(360)
        self.facts = label("", "muted", wrap=True)
        self.table = column(gap=4)
        self.watch = button("Watch a match", self._watch, primary=True, icon="live")
        self.run = button("Run a tournament", self._run, icon="tournament")
        self.teach = button("Train an agent", self._train, icon="training")
        self.enter = button("Open the dashboard", self._enter, link=True)
        self.name = Elided("", "section")
        self.games = GameBox(self.desk)
        for part in (self.name, self.facts, self.games):
            self.card.body.addWidget(part)
        self.card.body.addLayout(self.table)
        self.card.body.addStretch(1)
        self.resume = button("", self._resume, icon="play")
        self.resume.hide()
        for one in (self.resume, self.watch, self.run, self.teach, self.enter):
            self.card.body.addWidget(one)
        inner = row(left, self.card, gap=16)
        inner.setStretch(0, 1)
        made.setLayout(inner)
        return made

    def _files(self) -> QWidget:
        made = Card()
        heading = row(  # at the left: toasts come at the right
            label("Leagues", "section"),
            button("New", self._leagues.new, icon="new"),
            button("Open", self._leagues.open, icon="open"),
            button("Sample league", self._leagues.sample, icon="ringside"),
            1,
        )
        heading.insertSpacing(1, 16)
        made.body.addLayout(heading)
        self.recent = column(gap=0)
        made.body.addLayout(self.recent)
        made.body.addWidget(label("Or drop a league, a replay or an agent on this window.", "caption"))
        return made

    # What it shows

    def refresh(self) -> None:
        self._list_recent()
        self.games.fill()
        self.games.setVisible(self.games.count() > 1)
        state = self.desk.state
        for part in (self.watch, self.run, self.teach, self.enter):
            part.setEnabled(state is not None)
        if state is None:
            self.name.setText("No league is open")
            self.facts.setText("Open one below, or begin a new one: a league is one file with its agents and results.")
            self.caption.setText("")
            self.preview.play(None)
            self._reference, self._best = None, ()
            self.resume.hide()
            clear(self.table)
            return
        self.desk.ask("welcome", _Glancing(self.desk.pool, self._reference, self.preview.playback), self._show)

    def _show(self, glance: Glance) -> None:
        self.name.setText(glance.name)
        self.facts.setText(f"{many(glance.agents, 'agent')}, {many(glance.matches, 'match')} played")
        clear(self.table)
        for place, (name, rating) in enumerate(glance.top, 1):
            inner = row(Elided(f"{place}.  {name}" if rating else name), label(rating, "muted"))
            inner.setStretch(0, 1)
            self.table.addLayout(inner)
        self._best = glance.best
        if glance.playback is not self.preview.playback:
            self.preview.play(glance.playback)
        self._reference = glance.reference
        self._tell_nothing(glance.agents, glance.playback is None)
        self.resume.setVisible(bool(glance.unfinished) and not self.desk.league.running)
        self.resume.setText(f"Resume {_short(glance.unfinished[-1])}" if glance.unfinished else "")
        for part in (self.watch, self.run):
            part.setEnabled(glance.agents > 1)
        between = " against ".join(glance.names) if len(glance.names) == 2 else listed(glance.names)
        told = f"The best match so far: {between} ({glance.reference}). Click to look at it closely."
        self.caption.setText(told if glance.reference else "")

    def say_busy(self, words: str) -> None:
        if words and self.desk.state is None:
            self.name.setText(words)
            self.facts.setText("This may take a moment.")
        self.busy.setText(words)
        self.bar.setVisible(bool(words))
        if not words and self.desk.state is None:
            self._tell_nothing(None, True)

    def _tell_nothing(self, agents: int | None, nothing: bool) -> None:
        """What there is to do where no match can play itself; `agents` is None if no league is open."""
        self.stage.setCurrentIndex(int(nothing))
        told, todo = (
            ("A league is one file with its agents and their results.", "Open the sample league")
            if agents is None
            else ("The best match plays itself here. Somebody has to play it first.", "Run a tournament")
            if agents > 1
            else ("The best match plays itself here. It takes two agents to play one.", "Add ready-made agents")
        )
        self._missing = agents
        self.nothing.sentence.setText(told)
        self.nothing.button.setText(todo)

    def _list_recent(self) -> None:
        clear(self.recent)
        state = self.desk.state
        here = state.league.path.absolute() if state is not None else None
        paths = self.desk.settings.recent[:SHOWN]
        for path in paths:
            self.recent.addWidget(_Recent(path, path == here, self._leagues))
        if not paths:
            self.recent.addWidget(label("None yet.", "muted"))

    # What can be done

    @Slot()
    def _watch_best(self) -> None:
        if self._reference:
            self.desk.show("match", self._reference)

    @Slot()
    def _watch(self) -> None:
        """The best, now; unrated."""
        pool = self.desk.pool
        if len(self._best) < 2 or pool is None:
            self.desk.say("It takes two agents to watch: add ready-made ones from the menu Agents", "warn")
            self.desk.show("dashboard")
            return
        live = self.desk.attempt(_Exhibit(self.desk.league, self._best, pool))
        if live is not None:
            self.desk.show("match", live)

    @Slot()
    def _begin(self) -> None:
        if self._missing is None:
            self._leagues.sample()
        elif self._missing > 1:
            self._run()
        else:
            self.desk.show("dashboard")
            self.desk.show("ready-made-sheet")

    @Slot()
    def _resume(self) -> None:
        self.desk.show("dashboard")
        self.desk.show("resume")

    @Slot()
    def _run(self) -> None:
        self.desk.show("dashboard")
        self.desk.show("tournament-sheet")

    @Slot()
    def _train(self) -> None:
        self.desk.show("training")
        self.desk.show("session-sheet")

    @Slot()
    def _enter(self) -> None:
        self.desk.show("dashboard")


def _short(name: str, longest: int = 30) -> str:
    """On a button, where an ampersand would be a shortcut."""
    return (name if len(name) <= longest else name[: longest - 1] + "\u2026").replace("&", "&&")


class _Recent(QWidget):
    """A league that was open before: a line with its name and its place."""

    def __init__(self, path: Path, here: bool, leagues: Leagues) -> None:
        super().__init__()
        self._path, self._leagues = path, leagues
        name = button(path.stem.replace("&", "&&"), self._open, link=True, icon="league")
        name.setMaximumWidth(320)
        name.setEnabled(not here)
        where = Elided(str(path.parent), "caption")
        told = "open now" if here else "sample" if path == places.sample_league() else ""
        inner = row(name, where, label(told, "caption"), gap=12)
        inner.setStretch(1, 1)
        self.setLayout(inner)

    @Slot()
    def _open(self) -> None:
        self._leagues.open_path(self._path)


class _Exhibit:
    def __init__(self, state: LeagueState, agents: Sequence[str], game: GameSpec | None) -> None:
        self._state, self._agents, self._game = state, agents, game

    def __call__(self) -> object:
        return self._state.exhibit(list(self._agents), self._game, any_seed())


class _Glancing:
    """Reads it all in one go; a playback that is shown already is kept."""

    def __init__(self, pool: GameSpec | None, reference: str | None, playback: Playback | None) -> None:
        self._pool, self._reference, self._playback = pool, reference, playback

    def __call__(self, state: LeagueState) -> Glance:
        league = state.league
        matches = sum(one.played for one in league.tournaments())
        begun = tuple(one.name for one in state.unfinished() if one.played) if not league.read_only else ()
        told = Glance(league.name, len(state.agents()), matches, (), (), None, (), None, begun)
        if self._pool is None:
            return told
        table = tables.standings(league, self._pool)
        rows = [row for row in table.rows if row.total.played]
        top = tuple((row.name, f"{row.rating:z.0f} \u00b1 {row.error:.0f}") for row in rows[:FIRST])
        everybody = state.agents(self._pool.name)
        top = top or tuple((one.name, "") for one in everybody[:FIRST])
        ids = [row.agent for row in rows] or [one.id for one in everybody]
        best = tuple(ids[: table.seats])
        reference, playback, names = best_match(league, self._pool), self._playback, tuple[str, ...]()
        if reference is not None:
            try:
                one = tables.match(league, reference)
                known = league.names()
                names = tuple(known.get(player, player) for player in one.result.players)
                if reference != self._reference or playback is None:
                    playback = verified(one.spec, one.result)
            except RingsideError:  # its rules are not installed, or it cannot be shown: then there is no picture
                reference, playback = None, None
        return Glance(league.name, told.agents, matches, best, top, reference, names, playback, begun)
