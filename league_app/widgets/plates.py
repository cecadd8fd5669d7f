"""The head of a match: a plate for each who plays, the score between them, and a badge that says what one sees."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QEvent, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFont, QFontMetrics, QPainter, QPaintEvent
from PySide6.QtWidgets import QGridLayout, QSizePolicy, QWidget

from league_app import theme
from league_app.visual.bill import Bill, Player
from league_app.widgets.basics import column, label, plain, row
from league_app.widgets.colours import colour_of

HEIGHT, CHIP, GAP, DOT = 44, 14, 12, 8
GROUND = "101826"  # of the canvas: a seat's colour is seen against the same
ACROSS = 5  # plates in a row, where there are more than two
TONES = {"LIVE": "bad", "REPLAY": "accent", "EXHIBITION": "warn", "PAUSED": "muted", "ENDED": "muted"}
NO_RATING = "not rated yet"


def seat_colour(seat: int) -> QColor:
    return QColor(f"#{theme.SEATS[seat % len(theme.SEATS)]}")


class Plate(QWidget):
    """Seat colour, agent colour and name; below, its kind and rating. The one at the right is mirrored."""

    def __init__(self, seat: int, mirrored: bool = False, scored: bool = False) -> None:
        super().__init__()
        self.seat, self._mirrored, self._scored = seat, mirrored, scored
        self._player: Player | None = None
        self._score = ""
        self._mark = ("", "")
        self.setFixedHeight(HEIGHT)
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self.setMinimumWidth(120)

    def sizeHint(self) -> QSize:  # noqa: N802
        return QSize(220, HEIGHT)

    @property
    def text(self) -> str:
        """The second line."""
        one = self._player
        if one is None:
            return ""
        told = f"{one.rating:.0f} \u00b1 {one.error:.0f}" if one.rating is not None else NO_RATING
        return f"{one.kind}  \u00b7  {told}" if not one.human else f"{one.kind}  \u00b7  at this keyboard"

    def set_player(self, player: Player | None) -> None:
        if player != self._player:
            self._player = player
            name = player.name if player is not None else ""
            self.setToolTip(plain(name))
            self.setAccessibleName(f"Seat {self.seat + 1}: {name}")
            self.setAccessibleDescription(self.text)
            self.update()

    def set_score(self, score: str) -> None:
        if score != self._score:
            self._score = score
            if self._scored:
                self.update()

    def set_mark(self, text: str, tone: str) -> None:
        """What came of it for this one, beside the name."""
        if (text, tone) != self._mark:
            self._mark = text, tone
            self.setAccessibleDescription(f"{text}, {self.text}" if text else self.text)
            self.update()

    @property
    def mark(self) -> str:
        return self._mark[0]

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
        area = QRectF(self.rect())
        chip = QRectF(area.right() - CHIP if self._mirrored else area.left(), area.top(), CHIP, area.height())
        painter.setBrush(QColor(f"#{GROUND}"))
        painter.drawRoundedRect(chip, 4, 4)
        painter.setBrush(seat_colour(self.seat))
        painter.drawRoundedRect(chip.adjusted(4, 8, -4, -8), 2.5, 2.5)
        rest = area.adjusted(0, 0, -CHIP - GAP, 0) if self._mirrored else area.adjusted(CHIP + GAP, 0, 0, 0)
        if self._scored:
            painter.setFont(theme.font("title"))
            painter.setPen(theme.colour("text"))
            painter.drawText(rest, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter, self._score)
            rest.adjust(0, 0, -QFontMetrics(painter.font()).horizontalAdvance(self._score) - GAP, 0)
        self._write(painter, rest)

    def _write(self, painter: QPainter, rest: QRectF) -> None:
        assert self._player is not None
        top = QRectF(rest.left(), rest.top(), rest.width(), rest.height() * 0.55)
        bottom = QRectF(rest.left(), top.bottom(), rest.width(), rest.height() - top.height())
        painter.setFont(theme.font("section"))
        metrics, word = QFontMetrics(painter.font()), QFontMetrics(theme.font("caption"))
        tail = word.horizontalAdvance(self._mark[0]) + 24 if self._mark[0] else 0
        room = max(int(rest.width()) - DOT - 8 - tail, 0)
        name = metrics.elidedText(self._player.name, Qt.TextElideMode.ElideRight, room)
        side = Qt.AlignmentFlag.AlignRight if self._mirrored else Qt.AlignmentFlag.AlignLeft
        flags = side | Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignAbsolute
        at = rest.right() - DOT if self._mirrored else rest.left()
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(f"#{colour_of(self._player.id, self._player.colour)}"))
        painter.drawEllipse(QRectF(at, top.center().y() - DOT / 2, DOT, DOT))
        painter.setPen(theme.colour("text"))
        shift = (0, -DOT - 8) if self._mirrored else (DOT + 8, 0)
        painter.drawText(top.adjusted(shift[0], 0, shift[1], 0), flags, name)
        if tail:
            used = DOT + 8 + metrics.horizontalAdvance(name) + 8
            left = rest.right() - used - tail + 8 if self._mirrored else rest.left() + used
            pill = QRectF(left, top.center().y() - 9, tail - 8, 18)
            painter.setPen(theme.colour(self._mark[1]))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRoundedRect(pill.adjusted(0.5, 0.5, -0.5, -0.5), 9, 9)
            painter.setFont(theme.font("caption"))
            painter.drawText(pill, Qt.AlignmentFlag.AlignCenter, self._mark[0])
        painter.setFont(theme.font("body"))
        painter.setPen(theme.colour("muted"))
        told = QFontMetrics(painter.font()).elidedText(self.text, Qt.TextElideMode.ElideRight, int(rest.width()))
        painter.drawText(bottom, flags, told)


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
        self.badge = Badge()
        self._left, self._right, self._many = column(), column(), QGridLayout()
        for side in (self._left, self._right):
            side.setAlignment(Qt.AlignmentFlag.AlignVCenter)
        middle = column(self.score, row(1, self.badge, 1), gap=2)
        top = row(gap=16)
        top.addLayout(self._left, 1)
        top.addLayout(middle)
        top.addLayout(self._right, 1)
        self._many.setSpacing(8)
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
            self.score.setVisible(two)
            for seat, plate in enumerate(self.plates):
                if two:
                    (self._right if seat else self._left).addWidget(plate)
                else:
                    self._many.addWidget(plate, seat // ACROSS, seat % ACROSS)
        for plate, player in zip(self.plates, bill.players, strict=True):
            plate.set_player(player)

    def set_scores(self, scores: Sequence[float]) -> None:
        told = [f"{score:g}" for score in scores]
        text = " \u2013 ".join(told)
        if text != self.score.text():
            self.score.setText(text)
            self.score.setAccessibleName(f"Score {' to '.join(told)}")
            for plate, score in zip(self.plates, told, strict=False):
                plate.set_score(score)

    def set_marks(self, marks: Sequence[tuple[str, str]]) -> None:
        """Texts and tones by seat; none while it is played."""
        for seat, plate in enumerate(self.plates):
            plate.set_mark(*(marks[seat] if seat < len(marks) else ("", "")))
