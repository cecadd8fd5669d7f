"""What code of others may do where it is called: raise anything, and say anything.

Its texts are cleaned here, once, where they enter: everywhere else a text is one line of valid Unicode, which fits into
a message, a row of the league file, a terminal and a window.
"""

from __future__ import annotations

import re
import signal
import threading
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")
LONGEST = 500  # characters of the text of an error
LONGEST_MESSAGE = 2000  # of a sentence about a whole run
REPLACED = "\N{REPLACEMENT CHARACTER}"
# Control characters, lone surrogates, and the marks that change the direction of what follows
FORBIDDEN = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
name_of_class = type.__dict__["__name__"].__get__  # a metaclass may define another `__name__`

# Foreign code may raise any BaseException, such as asyncio's CancelledError: catch all but these. Only where SIGINT is
# not ignored, as it is in a worker, does KeyboardInterrupt come from the user.
INTERRUPTS: tuple[type[BaseException], ...] = (KeyboardInterrupt,)
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    INTERRUPTS = ()


def clean_text(text: str, length: int = LONGEST) -> str:
    """One line of at most so many characters that can be stored and shown anywhere."""
    exact = str.__getitem__(text, slice(0, 4 * length + 1))  # not a subclass, whose methods are foreign code too
    line = FORBIDDEN.sub(REPLACED, " ".join(exact.split()))
    return line if len(line) <= length else line[:length] + "..."


def clean_lines(text: str) -> str:
    """Lines that can be stored and shown anywhere."""
    return "\n".join([FORBIDDEN.sub(REPLACED, line.expandtabs(4)) for line in text.splitlines()])


def text_of(error: BaseException, length: int = LONGEST) -> str:
    """The text of an error, which is made by foreign code and may fail itself."""
    try:
        return clean_text(str(error), length)
    except INTERRUPTS:
        raise
    except BaseException as worse:
        return f"(no text: its __str__ raised {clean_text(name_of_class(type(worse)))})"


def name_and_text(error: BaseException, length: int = LONGEST) -> str:
    """The type and the text of an error."""
    name, text = clean_text(name_of_class(type(error))), text_of(error, length)
    return f"{name}: {text}" if text else name


def call_within(seconds: float, call: Callable[[], T]) -> T:
    """What a function returns or raises. One that takes longer goes on in its thread, and TimeoutError is raised."""
    results: list[T] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            results.append(call())
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=run, daemon=True, name="foreign-code")
    thread.start()
    thread.join(seconds)
    if errors:
        raise errors[0]
    if not results:
        raise TimeoutError(f"it did not return within {seconds:g} s")
    return results[0]
