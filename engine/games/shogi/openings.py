"""The opening set of Shogi: short, sound developments selected for Ringside, in USI notation.

They make matches between deterministic agents differ; they are not a theory book. None leaves either side with more
than about a pawn's advantage.
"""

from __future__ import annotations

LINES: dict[str, str] = {
    "standard position": "",
    "both bishops open": "7g7f 3c3d",
    "both rook pawns": "2g2f 8c8d",
    "bishop against rook pawn": "7g7f 8c8d",
    "rook pawn against bishop": "2g2f 3c3d",
    "centre pawn": "5g5f 3c3d",
    "centre pawns": "5g5f 5c5d",
    "edge pawns": "1g1f 1c1d 9g9f 9c9d",
    "left edge pawn": "7g7f 3c3d 9g9f 9c9d",
    "right edge pawn": "7g7f 1c1d 1g1f 3c3d",
    "early gold": "6i7h 8c8d 2g2f 4a3b",
    "early silver": "3i4h 3c3d 7g7f 4c4d",
    "answered by a gold": "7g7f 4a3b 2g2f 3c3d",
    "bishop shield": "2g2f 3c3d 2f2e 2b3c",
    "bishop shield, lines closed": "2g2f 3c3d 2f2e 2b3c 7g7f 4c4d",
    "rook pawns race": "2g2f 8c8d 2f2e 8d8e 6i7h 4a3b",
    "rook pawns race, silvers ready": "2g2f 8c8d 2f2e 8d8e 6i7h 4a3b 3i3h 7a7b",
    "double wing, rook to 2f": "2g2f 8c8d 2f2e 8d8e 6i7h 4a3b 2e2d 2c2d 2h2d P*2c 2d2f 7a7b",
    "double wing, rook to 2h": "2g2f 8c8d 2f2e 8d8e 6i7h 4a3b 2e2d 2c2d 2h2d P*2c 2d2h 7a7b",
    "double wing, both exchanged": "2g2f 8c8d 2f2e 8d8e 6i7h 4a3b 2e2d 2c2d 2h2d P*2c 2d2f 8e8f 8g8f 8b8f P*8g 8f8b",
    "side pawn": "7g7f 3c3d 2g2f 8c8d 2f2e 8d8e 6i7h 4a3b 2e2d 2c2d 2h2d 8e8f 8g8f 8b8f 2d3d",
    "side pawn, not taken yet": "7g7f 3c3d 2g2f 8c8d 2f2e 8d8e 6i7h 4a3b",
    "bishop exchange": "7g7f 8c8d 2g2f 8d8e 8h7g 3c3d 7i8h 4a3b 6i7h 2b7g+ 8h7g 3a4b 3i3h 7a7b",
    "bishop exchange, not yet made": "7g7f 8c8d 2g2f 8d8e 8h7g 3c3d 7i8h 4a3b 6i7h 3a4b",
    "bishop exchange, a turn late": "7g7f 3c3d 2g2f 2b8h+ 7i8h 3a2b 8h7g 2b3c",
    "fortress": "7g7f 8c8d 7i6h 3c3d 6g6f 7a6b 5g5f 5c5d 3i4h 3a4b 4i5h 4a3b",
    "fortress, silver up": "7g7f 8c8d 7i6h 3c3d 6h7g 7a6b 2g2f 3a4b 3i4h 4a3b",
    "fortress, golds joined": "7g7f 8c8d 7i6h 3c3d 6h7g 7a6b 5g5f 5c5d 4i5h 6a5b 6i7h 4a3b",
    "wild geese": "7g7f 3c3d 2g2f 4c4d 2f2e 2b3c 3i4h 3a4b 5i6h 4b4c",
    "fourth-file rook": "7g7f 3c3d 2g2f 4c4d 3i4h 8b4b 5i6h 5a6b 6h7h 6b7b",
    "fourth-file rook and boat": "7g7f 3c3d 2g2f 4c4d 3i4h 8b4b 5i6h 5a6b 6h7h 6b7b 5g5f 7b8b 4i5h 7a7b",
    "fourth-file rook and bear": "7g7f 3c3d 2g2f 4c4d 3i4h 8b4b 5i6h 5a6b 6h7h 6b7b 5g5f 7b8b 8h7g 7a7b 7h8h 9c9d",
    "third-file rook": "7g7f 3c3d 2g2f 4c4d 3i4h 3d3e 5i6h 8b3b 6h7h 5a6b",
    "opposing rook": "7g7f 3c3d 2g2f 4c4d 2f2e 2b3c 3i4h 8b2b 5i6h 5a6b",
    "central rook": "7g7f 3c3d 2g2f 5c5d 2f2e 8b5b",
    "central rook, king first": "7g7f 3c3d 2g2f 5c5d 5i6h 8b5b 6h7h 5a6b",
    "Black's central rook": "7g7f 8c8d 5g5f 8d8e 8h7g 7a6b 2h5h 5a4b 5i4h 4b3b",
    "Black's fourth-file rook": "7g7f 3c3d 6g6f 8c8d 2h6h 7a6b 5i4h 5a4b 4h3h 4b3b",
    "Black's fourth-file rook, castled": "7g7f 8c8d 6g6f 3c3d 2h6h 7a6b 5i4h 5a4b 4h3h 4b3b 3h2h 5c5d 3i3h 6a5b",
    "Black's third-file rook": "7g7f 8c8d 6g6f 8d8e 8h7g 3c3d 2h7h 7a6b 5i4h 5a4b",
    "stone field": "7g7f 3c3d 7f7e 8c8d 2h7h 7a6b 5i4h 5a4b",
    "two ranging rooks": "7g7f 3c3d 6g6f 3d3e 2h6h 8b3b 5i4h 5a6b",
}
STARTS = tuple(f"startpos moves {moves}" for moves in LINES.values())  # the first is the standard position
