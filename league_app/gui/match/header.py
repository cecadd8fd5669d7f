"""The header of a match: a plate for each player, the score, and a badge such as LIVE or REPLAY."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFont, QFontMetrics, QPainter, QPaintEvent, QPen, QPolygonF
from PySide6.QtWidgets import QGridLayout, QSizePolicy, QWidget

from engine.scene import SEATS, Scene, Sprite, is_hollow, seat_colour, seat_corners
from league_app.core.formatting import score_line, seat_label
from league_app.gui import theme
from league_app.gui.match.info import MatchInfo, SeatInfo, leaders
from league_app.gui.widgets.agent_colours import colour_of
from league_app.gui.widgets.basics import ElidedLabel, column, label, row, tooltip_html

HEIGHT, CHIP, TILE, GAP, DOT, PAD = 44, 14, 32, 12, 8, 6
GROUND = "101826"  # background of the canvas, so that seat colours look the same on a plate
VERDICT = 280  # pixels at most, in place of the score
ACROSS = 5  # plates in a row if there are more than two
TONES = {"LIVE": "bad", "REPLAY": "accent", "EXHIBITION": "warn", "PAUSED": "muted", "ENDED": "muted"}
DIVIDER = "  \u00b7  "
NO_RATING, UNRATED = "not rated yet", "unrated"  # the second for narrow plates


class PlayerPlate(QWidget):
    """Seat colour, agent colour and name; below, kind and rating. The right plate of two is mirrored.

    With more than two players each plate is `scored`: it shows the seat's shape as the board does instead of the
    agent's colour, and the score in the second line. If the board does not use the seat colours, plates show numbers.
    """

    def __init__(self, seat: int, mirrored: bool = False, scored: bool = False) -> None:
        super().__init__()
        self.seat, self._mirrored, self._scored = seat, mirrored, scored
        self._player: SeatInfo | None = None
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
        """The second line; on a narrow plate the most important part comes first."""
        player = self._player
        if player is None:
            return ""
        rating = UNRATED if self._scored else NO_RATING
        if player.rating is not None:
            rating = f"{player.rating:z.0f} \u00b1 {player.error:.0f}"
        parts = [player.kind, rating if not player.human else "at this keyboard"]
        return DIVIDER.join(filter(None, (player.seat_name, *(reversed(parts) if self._scored else parts))))

    def set_player(self, player: SeatInfo | None) -> None:
        if player != self._player:
            self._player = player
            name = player.name if player is not None else ""
            self.setToolTip(tooltip_html(f"{name}\n{self.text}" if self._scored else name))
            self.setAccessibleName(f"{seat_label(self.seat, player.seat_name if player is not None else '')}: {name}")
            self._describe()

    def set_score(self, score: str, leads: bool) -> None:
        if self._scored and (score, leads) != (self._score, self._leads):
            self._score, self._leads = score, leads
            self._describe()

    def set_mark(self, text: str, tone: str) -> None:
        """Show the outcome of this player, beside the name or, on a scored plate, after the score."""
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
        used = self._paint_name(painter, top, "" if self._scored else self._mark[0])
        if self._scored:
            self._paint_score(painter, bottom)
            if self._mark[0]:
                pill = QRectF(bottom.left(), bottom.center().y() - 9, self._mark_width(self._mark[0]), 18)
                self._paint_mark(painter, pill)
                return
        elif used:
            self._paint_mark(painter, used)
        painter.setFont(theme.font("body"))
        painter.setPen(theme.colour("muted"))
        metrics, text = QFontMetrics(painter.font()), self.text
        if self._scored and metrics.horizontalAdvance(text) > bottom.width():
            text = text.partition(DIVIDER)[0]
        elided = metrics.elidedText(text, Qt.TextElideMode.ElideRight, int(bottom.width()))
        painter.drawText(bottom, self._flags(), elided)

    def _flags(self) -> Qt.AlignmentFlag:
        side = Qt.AlignmentFlag.AlignRight if self._mirrored else Qt.AlignmentFlag.AlignLeft
        return side | Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignAbsolute

    def _mark_width(self, mark: str) -> int:
        """Return the width of the mark in pixels."""
        return QFontMetrics(theme.font("caption")).horizontalAdvance(mark) + 16

    def _paint_name(self, painter: QPainter, top: QRectF, mark: str) -> QRectF | None:
        """Paint the agent's colour and name; return the place of the mark beside them, if there is one."""
        assert self._player is not None
        painter.setFont(theme.font("section"))
        metrics = QFontMetrics(painter.font())
        tail = self._mark_width(mark) + 8 if mark else 0
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

    def _paint_mark(self, painter: QPainter, pill: QRectF) -> None:
        painter.setPen(theme.colour(self._mark[1]))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.drawRoundedRect(pill.adjusted(0.5, 0.5, -0.5, -0.5), 9, 9)
        painter.setFont(theme.font("caption"))
        painter.drawText(pill, Qt.AlignmentFlag.AlignCenter, self._mark[0])

    def _paint_score(self, painter: QPainter, bottom: QRectF) -> None:
        """Paint the score at the left of `bottom`, highlighted for the leader, and shrink `bottom` to the rest. At the
        right the score would look like that of the next plate."""
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


def uses_seat_colours(scene: Scene, named: bool = False) -> bool:
    """Return whether the board shows seats by our colours. Sprites have colours of their own, and so may a game that
    names its seats."""
    own = named or any(isinstance(item, Sprite) for item in scene.items)
    return not own or any(not isinstance(item, Sprite) and item.colour in SEATS[:2] for item in scene.items)


def draw_seat(painter: QPainter, seat: int, middle: QPointF, radius: float) -> None:
    """Draw the shape and number of a seat, as a board shows them."""
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
    low = 2.0 if corners.size() == 3 else 0.0  # a triangle is wider at the bottom
    box = QRectF(middle.x() - 20, middle.y() - 10 + low, 40, 20)
    painter.drawText(box, Qt.AlignmentFlag.AlignCenter, str(seat + 1))


class Badge(QWidget):
    """One word on a coloured background."""

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
        font = theme.font("caption")
        font.setWeight(QFont.Weight.DemiBold)
        font.setLetterSpacing(QFont.SpacingType.AbsoluteSpacing, 0.6)
        return font

    def sizeHint(self) -> QSize:  # noqa: N802
        return QSize(QFontMetrics(self._font()).horizontalAdvance(self._text) + 20, 20)

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


class MatchHeader(QWidget):
    """Two plates face each other with the score between them; more than two stand in rows, each with its score."""

    def __init__(self) -> None:
        super().__init__()
        self.plates: list[PlayerPlate] = []
        self.score = label("", "score")
        self.score.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.verdict = ElidedLabel("", "section")
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

    def set_info(self, info: MatchInfo) -> None:
        if len(info.players) != len(self.plates):
            for plate in self.plates:
                plate.hide()
                plate.deleteLater()
            two = len(info.players) == 2
            self.plates = [PlayerPlate(seat, two and seat == 1, not two) for seat in range(len(info.players))]
            for seat, plate in enumerate(self.plates):
                if two:
                    (self._right if seat else self._left).addWidget(plate)
                else:
                    self._many.addWidget(plate, seat // ACROSS, seat % ACROSS)
            self.set_verdict("")
        for plate, player in zip(self.plates, info.players, strict=True):
            plate.set_player(player)

    def set_coloured(self, on: bool) -> None:
        for plate in self.plates:
            plate.set_coloured(on)

    def set_scores(self, scores: Sequence[float]) -> None:
        texts = [f"{score:g}" for score in scores]
        line = score_line(texts)
        if line != self.score.text():
            self.score.setText(line)
            self.score.setAccessibleName(f"Score {' to '.join(texts)}")
            ahead = leaders(scores)
            for plate, text in zip(self.plates, texts, strict=False):
                plate.set_score(text, plate.seat in ahead)

    def set_verdict(self, text: str) -> None:
        """Show who won in place of the score, with two players; an empty text shows the score."""
        two = len(self.plates) == 2
        if text != self.verdict.text():
            self.verdict.setText(text)
            self.verdict.setFixedHeight(self.score.sizeHint().height())
            wide = QFontMetrics(theme.font("section")).horizontalAdvance(text) + 2
            self.verdict.setFixedWidth(min(wide, VERDICT))
        self.verdict.setVisible(two and bool(text))
        self.score.setVisible(two and not text)

    def set_marks(self, marks: Sequence[tuple[str, str]]) -> None:
        """Show texts and tones by seat; empty until the match has ended."""
        for seat, plate in enumerate(self.plates):
            plate.set_mark(*(marks[seat] if seat < len(marks) else ("", "")))
