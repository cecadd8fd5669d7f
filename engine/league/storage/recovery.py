"""Corrects the state of runs that were interrupted because their program ended."""

from __future__ import annotations

import dataclasses

from engine.league.records import RunState
from engine.league.storage import tournament_rows
from engine.league.storage.database import Database
from engine.league.storage.session_rows import SESSION, session_of, update_session

INTERRUPTED = (RunState.RUNNING, RunState.PAUSED)
NOTE = "interrupted: the program ended"


def stop_interrupted_runs(file: Database) -> None:
    """Marks tournaments and training sessions as stopped that the file calls running or paused.

    Call it when the file has just been opened for writing: only one program may write, so none of them is running.
    """
    with file.transaction() as db:
        for row in db.execute(f"SELECT {tournament_rows.COLUMNS} FROM tournaments ORDER BY number").fetchall():
            if tournament_rows.checked_tournament(row, file.path).state in INTERRUPTED:
                changed = list(row[:-1])
                tournament_rows.set_state(changed, RunState.STOPPED)
                changed[tournament_rows.NOTE] = NOTE
                tournament_rows.write_row(db, changed)
        for row in db.execute(f"SELECT {SESSION} FROM sessions ORDER BY number").fetchall():
            session = session_of(row, file.path)
            if session.state in INTERRUPTED:
                update_session(
                    db, dataclasses.replace(session, state=RunState.STOPPED, finished=None, note=NOTE, failed=False)
                )
