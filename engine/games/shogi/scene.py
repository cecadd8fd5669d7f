"""Draws a Shogi board: wooden board and pieces, hands at the sides, the last move outlined.

The kanji on the pieces are polygons from `assets/shogi`, so that no font is needed; letters are an alternative style.
The items of each piece are cached for each square.
"""

from __future__ import annotations

import functools
import json

from engine.files import asset
from engine.games.shogi.lanes import MATE
from engine.games.shogi.notation import LETTERS, Cells, write_usi
from engine.games.shogi.play import FROM, TARGET
from engine.games.shogi.tables import HANDS, KING, KINGS, PROMOTED, SIDE, WHITE
from engine.scene import Circle, Item, Line, Point, Polygon, Rect, Scene, Text

GROUND, BOARD, EDGE, LINES = "101826", "E3BE82", "B98A4A", "5C3D14"
PIECE, RIM, SHADE = "F6E3B8", "A57C42", "C79F60"
INK, RED, LABEL = "1B1F27", "A3231B", "9AA4B5"
LAST, TINT, CHECK, TURN = "2456C8", "EBD078", "B3261E", "4CC38A"
KANJI, LATIN = "kanji", "letters"
STYLES = (KANJI, LATIN)  # the first is the default

ASPECT = 1.4
WIDE, HIGH = 0.0915, 0.1  # a square
LEFT, TOP = (ASPECT - 9 * WIDE) / 2, 0.052
TRAY = (0.022, 0.207)  # distance from the edge of the picture, and width
ROW, GAP = 0.104, 0.014  # of a tray
SHAPE = ((0.0, -0.5), (0.36, -0.355), (0.46, 0.5), (-0.46, 0.5), (-0.36, -0.355))  # a piece one high, pointing up
SIZES = (0.0, 0.8, 0.84, 0.86, 0.9, 0.95, 0.95, 0.9, 1.0)  # by type: a king is larger than a pawn
IN_HAND = (6, 5, 7, 4, 3, 2, 1)  # rook first
SIDES = ("Black", "White")
ENDINGS = ("", "no legal move", "fourfold repetition", "perpetual check", "entering king", "move limit")


@functools.cache
def _glyphs() -> dict[str, list[tuple[Point, ...]]]:
    """Polygons by piece, in units of the glyph height around its centre; empty if the asset is not installed."""
    file = asset("shogi/kanji.json")
    if file is None:
        return {}
    found = json.loads(file.read_text(encoding="utf-8"))
    return {
        name: [tuple((x / 1000, y / 1000) for x, y in outline) for outline in outlines]
        for name, outlines in found.items()
    }


@functools.cache
def _piece(code: int, x: float, y: float, style: str) -> tuple[Item, ...]:
    """A piece centred here; White's pieces are upside down."""
    kind, white = code & 15, code >= WHITE
    plain = kind - PROMOTED * (kind > KING)
    size = SIZES[plain] * 0.09
    turn = -1 if white else 1
    outline = [(x + turn * size * across * 0.9, y + turn * size * down) for across, down in SHAPE]
    items: list[Item] = [
        Polygon(tuple((px, py + 0.0035) for px, py in outline), SHADE),
        Polygon(tuple(outline), PIECE),
        Polygon(tuple(outline), RIM, 0.0016),
    ]
    colour = RED if kind > KING else INK
    letter = "+" * (kind > KING) + LETTERS[plain]
    shapes = _glyphs().get("k" if letter == "K" and white else letter)
    if style == LATIN or shapes is None:
        items.append(Text(x, y + turn * size * 0.06, letter, size * 0.62, colour))
        return tuple(items)
    scale, middle = size * 0.6 * turn, y + turn * size * 0.075
    for shape in shapes:
        items.append(Polygon(tuple((x + scale * across, middle + scale * down) for across, down in shape), colour))
    return tuple(items)


def _corner(square: int) -> Point:
    return LEFT + WIDE * (square % 9), TOP + HIGH * (square // 9)


def _outline(square: int, colour: str, width: float) -> Rect:
    x, y = _corner(square)
    return Rect(x, y, WIDE, HIGH, colour, outline=width)


@functools.cache
def _empty_board() -> tuple[Item, ...]:
    """The empty board with lines, file and rank labels, and two trays for hands."""
    rim = 0.014
    items: list[Item] = [
        Rect(LEFT - rim, TOP - rim + 0.005, 9 * WIDE + 2 * rim, 9 * HIGH + 2 * rim, EDGE, 0.008),
        Rect(LEFT - rim, TOP - rim, 9 * WIDE + 2 * rim, 9 * HIGH + 2 * rim, BOARD, 0.008),
    ]
    for k in range(10):
        x, y, width = LEFT + k * WIDE, TOP + k * HIGH, 0.0032 if k in (0, 9) else 0.0018
        items.append(Line((x, TOP), (x, TOP + 9 * HIGH), LINES, width))
        items.append(Line((LEFT, y), (LEFT + 9 * WIDE, y), LINES, width))
    for column in (3, 6):
        items += [Circle(LEFT + column * WIDE, TOP + row * HIGH, 0.0055, LINES) for row in (3, 6)]
    for k in range(9):
        items.append(Text(LEFT + (k + 0.5) * WIDE, 0.02, str(9 - k), 0.026, LABEL))
        items.append(Text(LEFT + 9 * WIDE + 0.033, TOP + (k + 0.5) * HIGH, "abcdefghi"[k], 0.026, LABEL))
    for side in range(2):
        x, y = _tray(side)
        high = 4 * ROW + 2 * GAP
        items.append(Rect(x, y + 0.005, TRAY[1], high, EDGE, 0.008))
        items.append(Rect(x, y, TRAY[1], high, BOARD, 0.008))
    return tuple(items)


def _tray(side: int) -> Point:
    """The upper left corner of a tray: Black's is at the lower right, White's at the upper left."""
    high = 4 * ROW + 2 * GAP
    return (TRAY[0], TOP - 0.014) if side else (ASPECT - TRAY[0] - TRAY[1], TOP + 9 * HIGH + 0.014 - high)


@functools.cache
def _hand_piece(side: int, place: int, kind: int, count: int, style: str) -> tuple[Item, ...]:
    """A piece in hand with its count; White's tray is rotated like its pieces."""
    left, top = _tray(side)
    column, row = place % 2, place // 2
    if side:
        column, row = 1 - column, 3 - row
    x, y = left + TRAY[1] * (0.26 + 0.45 * column), top + GAP + ROW * (row + 0.5)
    items = _piece(kind + WHITE * side, x, y, style)
    if count == 1:
        return items
    x, y = x + 0.034, y + 0.031
    return (*items, Circle(x, y, 0.0165, LINES), Text(x, y, str(count), 0.025, PIECE))


def _hand(cells: Cells, side: int, style: str) -> list[Item]:
    items: list[Item] = []
    held = [(kind, int(cells[HANDS + 8 * side + kind])) for kind in IN_HAND]
    for place, (kind, count) in enumerate((kind, count) for kind, count in held if count):
        items += _hand_piece(side, place, kind, count, style)
    return items


def ending_of(reason: int, checked: bool) -> str:
    """How the match ended by the rules; empty while it is running."""
    return "checkmate" if reason == MATE and checked else ENDINGS[reason]


def board_scene(cells: Cells, last: int | None, caption: str, ending: str, checked: bool, style: str = KANJI) -> Scene:
    """`last` is the move that led to this position."""
    items: list[Item] = list(_empty_board())
    if last is not None:
        for square in (last >> FROM & 127, last >> TARGET & 127):
            if square < 81:
                x, y = _corner(square)
                items.append(Rect(x + 0.001, y + 0.001, WIDE - 0.002, HIGH - 0.002, TINT))
                items.append(_outline(square, LINES, 0.0018))
    side = int(cells[SIDE])
    if not ending:
        x, y = _tray(side)
        items.append(Rect(x - 0.006, y - 0.006, TRAY[1] + 0.012, 4 * ROW + 2 * GAP + 0.012, TURN, 0.012, 0.004))
    for square, code in enumerate(cells[:81].tolist()):
        if code:
            x, y = _corner(square)
            items += _piece(code, x + WIDE / 2, y + HIGH / 2, style)
    for hand in range(2):
        items += _hand(cells, hand, style)
    if last is not None:
        items.append(_outline(last >> TARGET & 127, LAST, 0.005))
    if checked:
        items.append(_outline(int(cells[KINGS + side]), CHECK, 0.005))
    return Scene(ASPECT, GROUND, tuple(items), caption, ending)


def caption(cells: Cells, last: int | None, number: int, ending: str, checked: bool, scores: list[float]) -> str:
    """One line of text: the last move, the side to move or the result, and the hands."""
    words = [f"Shogi, move {number}"]
    if last is not None:
        words.append(f"after {write_usi(last)}")
    if ending:
        winner = "draw" if scores[0] == scores[1] else f"{SIDES[scores[1] > scores[0]]} wins"
        words.append(f"{winner} by {ending}")
    else:
        words.append(f"{SIDES[cells[SIDE]]} to move" + (" and in check" if checked else ""))
    for side, name in enumerate(SIDES):
        held = [(LETTERS[kind], int(cells[HANDS + 8 * side + kind])) for kind in IN_HAND]
        if any(count for _, count in held):
            words.append(f"{name} holds " + " ".join(f"{n if n > 1 else ''}{letter}" for letter, n in held if n))
    return ", ".join(words)
