"""The head of a match: a plate for each who plays, the score between them, and a badge that says what one sees."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QEvent, QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFont, QFontMetrics, QPainter, QPaintEvent, QPen, QPolygonF
from PySide6.QtWidgets import QGridLayout, QSizePolicy, QWidget

from engine.scene import SEATS, Scene, Sprite, is_hollow, seat_colour, seat_corners
from league_app.gui import theme
from league_app.gui.match.info import Bill, Player, leaders
from league_app.gui.widgets.basics import Elided, column, label, plain, row
from league_app.gui.widgets.agent_colours import colour_of
from league_app.core.formatting import between, seat_words

HEIGHT, CHIP, TILE, GAP, DOT, PAD = 44, 14, 32, 12, 8, 6
GROUND = "101826"  # of the canvas: a seat's colour is seen against the same
VERDICT = 280  # pixels at most, in the place of the score
ACROSS = 5  # plates in a row, where there are more than two
TONES = {"LIVE": "bad", "REPLAY": "accent", "EXHIBITION": "warn", "PAUSED": "muted", "ENDED": "muted"}
DIVIDER = "  \u00b7  "
NO_RATING, UNRATED = "not rated yet", "unrated"


class Plate(QWidget):
    """Seat colour, agent colour and name; below, its kind and rating. The one at the right is mirrored.

    A scored one is one of many: it shows the seat as the board does, which is colour enough, and its score in the
    second line. Where the board is not in our colours, seats have numbers.
    """

    def __init__(self, seat: int, mirrored: bool = False, scored: bool = False) -> None:
        super().__init__()
        self.seat, self._mirrored, self._scored = seat, mirrored, scored
        self._player: Player | None = None
        self._score = ""
        self._leads, self._coloured = False, True
        self._mark = ("", "")
        self.setFixedHeight(HEIGHT)
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self.setMinimumWidth(96 if scored else 120)

    def sizeHint(self) -> QSize:  # noqa: N802
        return QSize(220, HEIGHT)

    @property
    def text(self) -> str:
        """The second line: where there is little room, what matters most comes first."""
        one = self._player
        if one is None:
            return ""
        told = UNRATED if self._scored else NO_RATING
        if one.rating is not None:
            told = f"{one.rating:z.0f} \u00b1 {one.error:.0f}"
        parts = [one.kind, told if not one.human else "at this keyboard"]
        return DIVIDER.join(filter(None, (one.seat, *(reversed(parts) if self._scored else parts))))

    def set_player(self, player: Player | None) -> None:
        if player != self._player:
            self._player = player
            name = player.name if player is not None else ""
            self.setToolTip(plain(f"{name}\n{self.text}" if self._scored else name))
            self.setAccessibleName(f"{seat_words(self.seat, player.seat if player is not None else '')}: {name}")
            self._describe()

    def set_score(self, score: str, leads: bool) -> None:
        if self._scored and (score, leads) != (self._score, self._leads):
            self._score, self._leads = score, leads
            self._describe()

    def set_mark(self, text: str, tone: str) -> None:
        """What came of it for this one, beside the name or, of many, after the score."""
        if (text, tone) != self._mark:
            self._mark = text, tone
            self._describe()

    def set_coloured(self, on: bool) -> None:
        if on != self._coloured:
            self._coloured = on
            self.update()

    @property
    def coloured(self) -> bool:
        return self._coloured

    def _describe(self) -> None:
        leads = "leads" if self._leads and not self._mark[0] else ""
        self.setAccessibleDescription(", ".join(filter(None, (self._mark[0], self._score, leads, self.text))))
        self.update()

    @property
    def mark(self) -> str:
        return self._mark[0]

    @property
    def leads(self) -> bool:
        return self._leads

    def changeEvent(self, event: QEvent) -> None:  # noqa: N802
        if event.type() == QEvent.Type.PaletteChange:
            self.update()
        super().changeEvent(event)

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802
        if self._player is None:
            return
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        area, wide = QRectF(self.rect()), TILE if self._scored or not self._coloured else CHIP
        chip = QRectF(area.right() - wide if self._mirrored else area.left(), area.top(), wide, area.height())
        painter.setBrush(QColor(f"#{GROUND}"))
        painter.drawRoundedRect(chip, 4, 4)
        if not self._coloured:
            painter.setPen(QColor(f"#{SEATS[-1]}"))
            painter.setFont(theme.font("section"))
            painter.drawText(chip, Qt.AlignmentFlag.AlignCenter, str(self.seat + 1))
        elif self._scored:
            draw_seat(painter, self.seat, chip.center(), TILE * 0.34)
        else:
            painter.setBrush(QColor(f"#{seat_colour(self.seat)}"))
            painter.drawRoundedRect(chip.adjusted(4, 8, -4, -8), 2.5, 2.5)
        gap = wide + (8 if self._scored else GAP)
        rest = area.adjusted(0, 0, -gap, 0) if self._mirrored else area.adjusted(gap, 0, 0, 0)
        top = QRectF(rest.left(), rest.top(), rest.width(), rest.height() * 0.55)
        bottom = QRectF(rest.left(), top.bottom(), rest.width(), rest.height() - top.height())
        used = self._name(painter, top, "" if self._scored else self._mark[0])
        if self._scored:
            self._count(painter, bottom)
            if self._mark[0]:
                pill = QRectF(bottom.left(), bottom.center().y() - 9, self._marked(self._mark[0]), 18)
                self._pill(painter, pill)
                return
        elif used:
            self._pill(painter, used)
        painter.setFont(theme.font("body"))
        painter.setPen(theme.colour("muted"))
        metrics, text = QFontMetrics(painter.font()), self.text
        if self._scored and metrics.horizontalAdvance(text) > bottom.width():
            text = text.partition(DIVIDER)[0]
        told = metrics.elidedText(text, Qt.TextElideMode.ElideRight, int(bottom.width()))
        painter.drawText(bottom, self._flags(), told)

    def _flags(self) -> Qt.AlignmentFlag:
        side = Qt.AlignmentFlag.AlignRight if self._mirrored else Qt.AlignmentFlag.AlignLeft
        return side | Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignAbsolute

    def _marked(self, mark: str) -> int:
        """How wide its pill is."""
        return QFontMetrics(theme.font("caption")).horizontalAdvance(mark) + 16

    def _name(self, painter: QPainter, top: QRectF, mark: str) -> QRectF | None:
        """The agent's colour and name; where its mark belongs, if it comes beside them."""
        assert self._player is not None
        painter.setFont(theme.font("section"))
        metrics = QFontMetrics(painter.font())
        tail = self._marked(mark) + 8 if mark else 0
        dot = DOT + 8 if not self._scored else 0
        room = max(int(top.width()) - dot - tail, 0)
        name = metrics.elidedText(self._player.name, Qt.TextElideMode.ElideRight, room)
        if dot:
            at = top.right() - DOT if self._mirrored else top.left()
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(QColor(f"#{colour_of(self._player.id, self._player.colour)}"))
            painter.drawEllipse(QRectF(at, top.center().y() - DOT / 2, DOT, DOT))
        painter.setPen(theme.colour("text"))
        shift = (0, -dot) if self._mirrored else (dot, 0)
        painter.drawText(top.adjusted(shift[0], 0, shift[1], 0), self._flags(), name)
        if not tail:
            return None
        used = dot + metrics.horizontalAdvance(name) + 8
        left = top.right() - used - tail + 8 if self._mirrored else top.left() + used
        return QRectF(left, top.center().y() - 9, tail - 8, 18)

    def _pill(self, painter: QPainter, pill: QRectF) -> None:
        painter.setPen(theme.colour(self._mark[1]))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.drawRoundedRect(pill.adjusted(0.5, 0.5, -0.5, -0.5), 9, 9)
        painter.setFont(theme.font("caption"))
        painter.drawText(pill, Qt.AlignmentFlag.AlignCenter, self._mark[0])

    def _count(self, painter: QPainter, bottom: QRectF) -> None:
        """The score below the name, on a ground of its own for whoever leads; what it takes is cut off. At the right it
        would look like the next one's."""
        painter.setFont(theme.font("section"))
        wide = QFontMetrics(painter.font()).horizontalAdvance(self._score) + 2 * PAD
        place = QRectF(bottom.left() - PAD, bottom.top() - 1, wide, bottom.height() + 1)
        if self._leads:
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(theme.colour("accent"))
            painter.drawRoundedRect(place, 4, 4)
        painter.setPen(theme.colour("on_accent" if self._leads else "text"))
        painter.drawText(place, Qt.AlignmentFlag.AlignCenter, self._score)
        bottom.setLeft(place.right() + 4)


def in_our_colours(scene: Scene, named: bool = False) -> bool:
    """Whether who sits where is told by colour: a picture that a game brings along has colours of its own, and so may
    a game whose seats have names."""
    own = named or any(isinstance(item, Sprite) for item in scene.items)
    return not own or any(not isinstance(item, Sprite) and item.colour in SEATS[:2] for item in scene.items)


def draw_seat(painter: QPainter, seat: int, middle: QPointF, radius: float) -> None:
    """Its shape and number, as a board shows them."""
    colour, ground = QColor(f"#{seat_colour(seat)}"), QColor(f"#{GROUND}")
    corners = QPolygonF([middle + QPointF(x, y) * radius for x, y in seat_corners(seat)])
    painter.setPen(QPen(colour, 2.0) if is_hollow(seat) else Qt.PenStyle.NoPen)
    painter.setBrush(Qt.BrushStyle.NoBrush if is_hollow(seat) else colour)
    if corners.isEmpty():
        painter.drawEllipse(middle, radius, radius)
    else:
        painter.drawPolygon(corners)
    painter.setFont(theme.font("caption"))
    painter.setPen(colour if is_hollow(seat) else ground)
    low = 2.0 if corners.size() == 3 else 0.0  # a triangle has its room below
    box = QRectF(middle.x() - 20, middle.y() - 10 + low, 40, 20)
    painter.drawText(box, Qt.AlignmentFlag.AlignCenter, str(seat + 1))


class Badge(QWidget):
    """One word on a coloured ground."""

    def __init__(self) -> None:
        super().__init__()
        self._text = ""
        self.setFixedHeight(20)
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)

    @property
    def text(self) -> str:
        return self._text

    def set_text(self, text: str) -> None:
        if text != self._text:
            self._text = text
            self.setAccessibleName(text)
            self.updateGeometry()
            self.update()

    def _font(self) -> QFont:
        made = theme.font("caption")
        made.setWeight(QFont.Weight.DemiBold)
        made.setLetterSpacing(QFont.SpacingType.AbsoluteSpacing, 0.6)
        return made

    def sizeHint(self) -> QSize:  # noqa: N802
        return QSize(QFontMetrics(self._font()).horizontalAdvance(self._text) + 20, 20)

    def changeEvent(self, event: QEvent) -> None:  # noqa: N802
        if event.type() == QEvent.Type.PaletteChange:
            self.update()
        super().changeEvent(event)

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802
        if not self._text:
            return
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        tone = TONES.get(self._text, "muted")
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(theme.colour(tone))
        painter.drawRoundedRect(QRectF(self.rect()), 10, 10)
        painter.setFont(self._font())
        painter.setPen(theme.colour("surface"))
        painter.drawText(self.rect(), Qt.AlignmentFlag.AlignCenter, self._text)


class Head(QWidget):
    """Two face each other with the score in the middle; more stand in rows, each with its own score."""

    def __init__(self) -> None:
        super().__init__()
        self.plates: list[Plate] = []
        self.score = label("", "score")
        self.score.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.verdict = Elided("", "section")
        self.verdict.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.verdict.hide()
        self.badge = Badge()
        self._left, self._right, self._many = column(), column(), QGridLayout()
        for side in (self._left, self._right):
            side.setAlignment(Qt.AlignmentFlag.AlignVCenter)
        middle = column(self.score, self.verdict, row(1, self.badge, 1), gap=2)
        top = row(gap=16)
        top.addLayout(self._left, 1)
        top.addLayout(middle)
        top.addLayout(self._right, 1)
        self._many.setHorizontalSpacing(16)
        self._many.setVerticalSpacing(8)
        whole = column(top, gap=8)
        whole.addLayout(self._many)
        self.setLayout(whole)

    def set_bill(self, bill: Bill) -> None:
        if len(bill.players) != len(self.plates):
            for plate in self.plates:
                plate.hide()
                plate.deleteLater()
            two = len(bill.players) == 2
            self.plates = [Plate(seat, two and seat == 1, not two) for seat in range(len(bill.players))]
            for seat, plate in enumerate(self.plates):
                if two:
                    (self._right if seat else self._left).addWidget(plate)
                else:
                    self._many.addWidget(plate, seat // ACROSS, seat % ACROSS)
            self.set_verdict("")
        for plate, player in zip(self.plates, bill.players, strict=True):
            plate.set_player(player)

    def set_coloured(self, on: bool) -> None:
        for plate in self.plates:
            plate.set_coloured(on)

    def set_scores(self, scores: Sequence[float]) -> None:
        told = [f"{score:g}" for score in scores]
        text = between(told)
        if text != self.score.text():
            self.score.setText(text)
            self.score.setAccessibleName(f"Score {' to '.join(told)}")
            ahead = leaders(scores)
            for plate, one in zip(self.plates, told, strict=False):
                plate.set_score(one, plate.seat in ahead)

    def set_verdict(self, text: str) -> None:
        """Who won, of two, in the place of a score that does not say so; nothing where it does."""
        two = len(self.plates) == 2
        if text != self.verdict.text():
            self.verdict.setText(text)
            self.verdict.setFixedHeight(self.score.sizeHint().height())
            wide = QFontMetrics(theme.font("section")).horizontalAdvance(text) + 2
            self.verdict.setFixedWidth(min(wide, VERDICT))
        self.verdict.setVisible(two and bool(text))
        self.score.setVisible(two and not text)

    def set_marks(self, marks: Sequence[tuple[str, str]]) -> None:
        """Texts and tones by seat; none while it is played."""
        for seat, plate in enumerate(self.plates):
            plate.set_mark(*(marks[seat] if seat < len(marks) else ("", "")))
