"""What an error of an agent's code means for its match: a kind of ending, and a reason in one line."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple, cast

from engine.errors import BrokenPlugin
from engine.foreign_code import INTERRUPTS, clean_text, name_and_text, name_of_class, text_of
from engine.game import AgentFault, NoAction
from engine.play.match import FAILURES, EndingKind

OURS = (NoAction, AgentFault, BrokenPlugin)  # their texts are made for users, and their place does not help
BLAMED = FAILURES | {EndingKind.ILLEGAL_ACTION}  # the endings that a pilot may give a match by an AgentFault


class Fault(NamedTuple):
    """How an agent failed."""

    kind: EndingKind
    reason: str


def fault_of(error: BaseException, usual: EndingKind) -> Fault:
    """The fault that an error of an agent's code stands for; `usual` is the kind for other errors of the same call.

    Call it while the call is still marked in the heartbeat: it runs code of the error, which may fail, crash or hang.
    """
    kind = usual
    if _is_a(error, AgentFault):
        kind = _kind_of(error, usual)
    elif usual is EndingKind.EXCEPTION and _is_a(error, MemoryError):
        kind = EndingKind.MEMORY
    elif usual is EndingKind.EXCEPTION and _is_a(error, NoAction):
        kind = EndingKind.PROTOCOL
    return Fault(kind, describe_error(error))


def _kind_of(error: BaseException, usual: EndingKind) -> EndingKind:
    """The kind of an AgentFault, which a pilot may raise with any value, or without one."""
    try:
        kind = cast(AgentFault, error).kind
        return kind if isinstance(kind, EndingKind) and kind in BLAMED else usual
    except INTERRUPTS:
        raise
    except BaseException:
        return usual


def describe_error(error: BaseException) -> str:
    """An error of an agent's code in one line, with its place. It never fails."""
    try:
        if _is_a(error, *OURS):
            return text_of(error)
        text = name_and_text(error)
        if _is_a(error, MemoryError) and text == "MemoryError":
            text = "MemoryError: out of memory"
        return text + _place(error)
    except INTERRUPTS:
        raise
    except BaseException as worse:  # an error may be of any class, with any attributes
        return f"an error that cannot be described, because of a {clean_text(name_of_class(type(worse)))}"


def _place(error: BaseException) -> str:
    """The line that raised it, without reading any file: `traceback` fails for some names of files."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if trace is None:
        return ""
    return f" ({clean_text(Path(trace.tb_frame.f_code.co_filename).name)}, line {trace.tb_lineno})"


def _is_a(error: BaseException, *classes: type[BaseException]) -> bool:
    """As `isinstance`, which would ask the error for its class."""
    return issubclass(type(error), classes)


def describe_illegal(answer: int, actions: int) -> str:
    """The reason of an ending by an answer that is not a legal action."""
    if 0 <= answer < actions:
        return f"answered {answer}, which was not legal"
    return f"answered {answer if abs(answer) < 2**62 else 'a number that is too large'}; actions are 0 to {actions - 1}"
