"""The errors of Ringside.

RingsideError
├── UnknownName       no such game, agent kind, format, trainer or option; suggests the nearest known name
├── BadValue          a value of the wrong type or out of range; names the field and the value
├── NotConfirmed      an external program that the user has not allowed to run; shows its whole command
├── BadSpec           a match spec that cannot be played
├── VersionMismatch   a record made with another version of the rules or of the agent's code
├── BrokenPlugin      an installed plug-in that cannot be loaded or fails; everything else still works
├── WorkersFailed     worker processes cannot be started
├── GameFailed        the rules raised an error during a match: no agent forfeits, and no result is recorded
├── DriverRefused     numba cannot compile row functions; shows the last lines of its message
├── PolicyFailed      an agent failed or gave no legal action in a rollout; names agent and stream
├── BadReplay         a replay that is malformed, or that does not lead to its recorded result
├── BadAgentFile      an .agent file that is malformed or hostile; names the field, and nothing is imported
└── LeagueError       an error about a league file
    ├── BadLeague     not a league file, damaged, or written by a newer Ringside
    ├── LeagueHeld    another program has the file open for writing; names it
    ├── LeagueChanged another program changed the file while it was read without locks; reading it again succeeds
    ├── ReadOnly      the file was opened read-only
    ├── StorageFailed a write failed, for example on a full disk; nothing that was acknowledged is lost
    │   └── LeagueGone the open file was deleted, moved or replaced: nothing more is saved
    └── NotNow        not possible in the current state, such as resuming a finished tournament
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Sequence

from engine.foreign_code import name_and_text

MAX_LISTED = 12  # most names listed in a message
MIN_SIMILARITY = 0.75  # of two names (difflib ratio): below it, most suggestions are wrong
MIN_PREFIX = 0.5  # share of a name that a prefix must cover to be suggested for it


class RingsideError(Exception):
    """Base of all errors meant for the user: the text says what happened and what to do."""

    field = ""  # that the error is about, if it is about one


class UnknownName(RingsideError):  # noqa: N818
    """An unknown name, with the nearest known name or a list of known names."""

    def __init__(
        self, noun: str, name: object, known: Iterable[str], more: Iterable[str] = (), otherwise: str = ""
    ) -> None:
        """`more` are names that are suggested but too many to be listed; `otherwise` replaces the list if no name is
        near."""
        self.name = str(name)
        names = sorted(known)
        text = repr(name)
        text = text if len(text) <= 120 else text[:117] + "..."
        listed = f"known: {', '.join(names[:MAX_LISTED]) or 'none'}{', ...' if len(names) > MAX_LISTED else ''}"
        near = nearest(str(name)[:120], [*names, *more])
        hint = f"did you mean {near!r}?" if near else otherwise or listed
        if near and noun.startswith("option") and len(names) <= MAX_LISTED:  # few enough to list all of them as well
            hint += f" ({listed})"
        super().__init__(f"unknown {noun} {text}: {hint}")


def nearest(name: str, known: Sequence[str]) -> str | None:
    """The name that was probably meant; compares only the part after a colon, so not the family of a game."""
    ends = {full.rpartition(":")[2]: full for full in reversed(known)}
    own = name.rpartition(":")[2]
    completed = [end for end in ends if end.startswith(own) and len(own) >= MIN_PREFIX * len(end)]
    near = difflib.get_close_matches(own, ends, n=1, cutoff=MIN_SIMILARITY) or completed[:1]
    return ends[near[0]] if near else None


class BadValue(RingsideError):  # noqa: N818
    """A value that its field does not accept."""

    def __init__(self, field: str, value: object, needed: str) -> None:
        self.field, self.value, self.needed = field, value, needed
        text = repr(value)
        super().__init__(f"{field} = {text if len(text) <= 120 else text[:117] + '...'}: must be {needed}")


class NotConfirmed(RingsideError):  # noqa: N818
    """An external program that the user of this machine must confirm first."""

    def __init__(self, agent: str, text: str) -> None:
        super().__init__(text)
        self.agent = agent  # the id of the agent that would run it


class BadSpec(RingsideError):  # noqa: N818
    """A match spec that cannot be played."""


class VersionMismatch(RingsideError):  # noqa: N818
    """A record of one version, used with another."""

    def __init__(self, noun: str, name: str, recorded: object, installed: object) -> None:
        super().__init__(
            f"{noun} {name!r} was recorded with version {recorded}, but version {installed} is installed "
            f"and would play differently: install version {recorded}"
        )


class BrokenPlugin(RingsideError):  # noqa: N818
    """An entry point that cannot be loaded, or an executor that breaks its promises."""


class GameFailed(RingsideError):  # noqa: N818
    """The rules of a game raised an error."""

    def __init__(self, name: str, error: BaseException) -> None:
        super().__init__(f"the game {name!r} failed: {name_and_text(error)}")

    @classmethod
    def from_text(cls, text: str) -> GameFailed:
        """Recreates an error of another process from its text."""
        error = cls.__new__(cls)
        Exception.__init__(error, text)
        return error


class WorkersFailed(RingsideError):  # noqa: N818
    """Worker processes cannot be started."""

    def __init__(self, tries: int, reason: str) -> None:
        super().__init__(
            f"{tries} worker processes in a row could not be started: {reason}. "
            "No result was lost. Fix the cause and run again, or play in this process, on the executor `sequential`"
        )


class DriverRefused(RingsideError):  # noqa: N818
    """Row functions that numba cannot compile into a driver."""

    def __init__(self, message: str) -> None:
        lines = [line.strip() for line in re.sub(r"\x1b\[[0-9;]*m", "", message).splitlines() if line.strip()]
        super().__init__(f"row functions cannot be compiled: {' | '.join(lines[-4:])[:600]}")


class PolicyFailed(RingsideError):  # noqa: N818
    """An agent that cannot continue in a rollout."""


class BadReplay(RingsideError):  # noqa: N818
    """A replay that cannot be trusted."""


class BadAgentFile(RingsideError):  # noqa: N818
    """An agent file that cannot be imported."""


class LeagueError(RingsideError):
    """Base of errors about a league file."""


class BadLeague(LeagueError):  # noqa: N818
    """A file that is not a readable league."""


class LeagueHeld(LeagueError):  # noqa: N818
    """Another program has the league open for writing."""


class LeagueChanged(LeagueError):  # noqa: N818
    """Another program changed the league while it was read without locks."""


class ReadOnly(LeagueError):  # noqa: N818
    """The league was opened read-only."""


class StorageFailed(LeagueError):  # noqa: N818
    """A write to the disk failed."""


class LeagueGone(StorageFailed):
    """The file was deleted, moved or replaced while it was open."""


class NotNow(LeagueError):  # noqa: N818
    """Valid, but not possible in the current state."""
