"""Export of matches in CSA notation, version 3.0: the first version with a move limit and UTF-8 text.

http://www2.computer-shogi.org/protocol/record_v3.html
"""

from __future__ import annotations

from collections.abc import Sequence

from engine.games.shogi.lanes import DECLARED, MATE, PERPETUAL
from engine.games.shogi.notation import read_sfen
from engine.games.shogi.play import FROM, PROMOTING, TARGET
from engine.games.shogi.tables import DROPS, HANDS, PROMOTED, SIDE, WHITE
from engine.play.match import Ending, EndingKind

TYPES = ("*", "FU", "KY", "KE", "GI", "KA", "HI", "KI", "OU", "TO", "NY", "NK", "NG", "UM", "RY")
BY_RULE = {MATE: "TSUMI", DECLARED: "KACHI"}
DRAWN = {EndingKind.NO_CONTEST: "SENNICHITE", EndingKind.STEP_LIMIT: "MAX_MOVES"}
# Words for a loss of the side to move. Any other loss is written as an illegal action of the side that lost.
LOST_AT_TURN = {EndingKind.RESIGNED: "TORYO", EndingKind.TIMEOUT: "TIME_UP", EndingKind.ILLEGAL_ACTION: "ILLEGAL_MOVE"}
BROKEN_OFF = "CHUDAN"


def ending_word(ending: Ending, reason: int, side: int, scores: Sequence[float]) -> str:
    """The CSA word for this ending; `reason` is the lane's, `side` is the side to move."""
    if ending.kind in DRAWN:
        return DRAWN[ending.kind]
    if ending.kind is EndingKind.FINISHED:
        if reason == PERPETUAL:  # the side that gave check loses; either side may have made the last move
            return _illegal(scores.index(min(scores)))
        return BY_RULE.get(reason, BROKEN_OFF)
    if len(ending.seats) != 1 or not ending.kind.rated:  # no seat lost, or both did
        return BROKEN_OFF
    [loser] = ending.seats
    return (LOST_AT_TURN.get(ending.kind) if loser == side else None) or _illegal(loser)


def _illegal(loser: int) -> str:
    return f"{'+-'[loser]}ILLEGAL_ACTION"


def write_csa(
    start: str, moves: Sequence[int], names: Sequence[str] = ("Black", "White"), ending: str = "", comment: str = ""
) -> str:
    """A match as CSA text; `ending` is a CSA word such as TORYO or SENNICHITE."""
    cells, _, _ = read_sfen(start)
    lines = ["'CSA encoding=UTF-8", "V3.0"]
    lines += [f"N{sign}{_one_line(name)}" for sign, name in zip("+-", names, strict=True)]
    for row in range(9):
        lines.append(f"P{row + 1}" + "".join(_piece(int(code)) for code in cells[9 * row : 9 * row + 9]))
    for side, sign in enumerate("+-"):
        held = [kind for kind in range(1, DROPS + 1) for _ in range(cells[HANDS + 8 * side + kind])]
        if held:
            lines.append(f"P{sign}" + "".join("00" + TYPES[kind] for kind in held))
    side = int(cells[SIDE])
    lines.append("+-"[side])
    kinds = [int(code) & 15 for code in cells[:81]]
    for move in moves:
        source, target = move >> FROM & 127, move >> TARGET & 127
        drop = source == 81
        kind = (move & 0xFFF) // 81 - 19 if drop else kinds[source] + PROMOTED * (move >> PROMOTING & 1)
        lines.append(f"{'+-'[side]}{'00' if drop else _digits(source)}{_digits(target)}{TYPES[kind]}")
        if not drop:
            kinds[source] = 0
        kinds[target] = kind
        side = 1 - side
    if ending:
        lines.append(f"%{ending}")
    if comment:
        lines.append(f"'{_one_line(comment)}")
    return "\n".join(lines) + "\n"


def _one_line(text: str) -> str:
    return " ".join("".join(character if character.isprintable() else " " for character in text).split())


def _piece(code: int) -> str:
    return " * " if not code else "+-"[code >= WHITE] + TYPES[code & 15]


def _digits(square: int) -> str:
    return f"{9 - square % 9}{square // 9 + 1}"
