"""What can go wrong, and how it is said.

RingsideError
├── UnknownName       no such game, agent kind, format, trainer or option; names the nearest known one
├── BadValue          a value of the wrong type or out of its range; names the field and the value
├── NotConfirmed      a program that nobody has allowed to run on this machine; shows its whole command
├── BadSpec           a match that cannot be played as it is described
├── VersionMismatch   a record made by other rules, or by other code, than those installed here
├── BrokenPlugin      an installed plug-in that cannot be loaded; the rest goes on without it
├── WorkersFailed     worker processes cannot be started here
├── GameFailed        rules that raise an error while a match is played: nobody's forfeit, and no result can be trusted
├── DriverRefused     row functions that numba cannot compile; its last lines say why
├── PolicyFailed      an answer that is not a legal action while trajectories are collected; names agent and stream
├── BadReplay         a replay that is malformed, or that does not lead to the result it states
├── BadAgentFile      an .agent file that is malformed or hostile; names the field, and nothing of it is used
└── LeagueError       a league file
    ├── BadLeague     it is no league, it is damaged, or a newer Ringside made it
    ├── LeagueHeld    another program has it open for writing; names it
    ├── ReadOnly      it was opened for looking only
    ├── StorageFailed what was to be written is not on the disk: it is full, or gone; nothing acknowledged is lost
    └── NotNow        what was asked for does not fit what is going on, such as resuming what is finished
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Sequence

LISTED = 12  # names that are told of a table
ALIKE = 0.75  # of the letters of two names: with less, a guess is more often wrong than right
BEGUN = 0.5  # of the letters of a name, from its first one on, that stand for all of it


class RingsideError(Exception):
    """Base of every error that is meant for a person: its text says what happened and what to do."""


class UnknownName(RingsideError):  # noqa: N818 - reads as what it is
    """A name that is not in a table, with the nearest one that is, or else with those that are."""

    def __init__(
        self, noun: str, name: object, known: Iterable[str], more: Iterable[str] = (), otherwise: str = ""
    ) -> None:
        """`more` are names that are suggested where they are near, but too many to be listed; `otherwise` is said in
        place of a list where nothing is near."""
        names = sorted(known)
        text = repr(name)
        text = text if len(text) <= 120 else text[:117] + "..."
        listed = f"known: {', '.join(names[:LISTED]) or 'none'}{', ...' if len(names) > LISTED else ''}"
        near = _nearest(str(name)[:120], [*names, *more])
        hint = f"did you mean {near!r}?" if near else otherwise or listed
        if near and noun.startswith("option") and len(names) <= LISTED:  # so few that all of them may be meant
            hint += f" ({listed})"
        super().__init__(f"unknown {noun} {text}: {hint}")


def _nearest(name: str, known: Sequence[str]) -> str | None:
    """The one that was probably meant; what comes before a colon, such as a family of games, says nothing."""
    ends = {one.rpartition(":")[2]: one for one in reversed(known)}
    wanted = name.rpartition(":")[2]
    begun = [end for end in ends if end.startswith(wanted) and len(wanted) >= BEGUN * len(end)]
    near = difflib.get_close_matches(wanted, ends, n=1, cutoff=ALIKE) or begun[:1]
    return ends[near[0]] if near else None


class BadValue(RingsideError):  # noqa: N818
    """A value that its field cannot take."""

    def __init__(self, field: str, value: object, needed: str) -> None:
        text = repr(value)
        super().__init__(f"{field} = {text if len(text) <= 120 else text[:117] + '...'}: must be {needed}")


class NotConfirmed(RingsideError):  # noqa: N818
    """A program of somebody else's that a person on this machine has to look at first."""

    def __init__(self, agent: str, text: str) -> None:
        super().__init__(text)
        self.agent = agent  # its id


class BadSpec(RingsideError):  # noqa: N818
    """A match that cannot be played."""


class VersionMismatch(RingsideError):  # noqa: N818
    """Recorded by one version, asked of another."""

    def __init__(self, noun: str, name: str, recorded: object, installed: object) -> None:
        super().__init__(
            f"{noun} {name!r} was recorded under version {recorded}, version {installed} is installed: "
            f"it would not be the same; install the version that made it"
        )


class BrokenPlugin(RingsideError):  # noqa: N818
    """An entry point whose code does not load."""


class GameFailed(RingsideError):  # noqa: N818
    """The rules themselves broke."""

    def __init__(self, name: str, error: Exception) -> None:
        super().__init__(f"the game {name!r} failed: {type(error).__name__}: {error}")

    @classmethod
    def retold(cls, text: str) -> GameFailed:
        """The same error, from another process: only its text has come across."""
        error = cls.__new__(cls)
        Exception.__init__(error, text)
        return error


class WorkersFailed(RingsideError):  # noqa: N818
    """No worker process comes up."""

    def __init__(self, tries: int, reason: str) -> None:
        super().__init__(
            f"{tries} worker processes in a row could not be started: {reason}. "
            "Nothing was lost; mend that and run again, or play in this process with SequentialMatchExecutor"
        )


class DriverRefused(RingsideError):  # noqa: N818
    """Row functions that cannot be compiled into a driver."""

    def __init__(self, told: str) -> None:
        lines = [line.strip() for line in re.sub(r"\x1b\[[0-9;]*m", "", told).splitlines() if line.strip()]
        super().__init__(f"row functions cannot be compiled: {' | '.join(lines[-4:])[:600]}")


class PolicyFailed(RingsideError):  # noqa: N818
    """A player that cannot go on in a rollout."""


class BadReplay(RingsideError):  # noqa: N818
    """A replay that cannot be trusted."""


class BadAgentFile(RingsideError):  # noqa: N818
    """An agent that cannot be imported."""


class LeagueError(RingsideError):
    """Something about a league file."""


class BadLeague(LeagueError):  # noqa: N818
    """A file that is not, or no longer, a league of ours."""


class LeagueHeld(LeagueError):  # noqa: N818
    """Somebody else writes to it."""


class ReadOnly(LeagueError):  # noqa: N818
    """Looking is all that is allowed."""


class StorageFailed(LeagueError):  # noqa: N818
    """The disk did not take it."""


class NotNow(LeagueError):  # noqa: N818
    """Right in itself, but not in the present state."""
