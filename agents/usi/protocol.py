"""The conversation with an engine: who it is, what it can be set to, a new game, a move."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from agents.usi.engine_spec import Engine
from agents.usi.process import EngineProcess
from agents.usi.transcript import Transcript
from engine.errors import BadValue, RingsideError, UnknownName
from engine.game import AgentFault
from engine.play.match import EndingKind, TimeLeft

MOST_LINES = 4096  # that an engine may say before it is ready
MOST_OPTIONS = 1024
OPTION = re.compile(r"option name (.+?) type (check|spin|combo|button|string|filename)(?: (.*))?")
# What may stand behind an option of each kind: a text may hold any of these words.
PARTS = {"spin": "default|min|max", "combo": "default|var"}
MIXES_CLOCKS = "Fairy-Stockfish"  # takes Black's time for White's (seen in 11.1): it is told its own for both
EMPTY = "<empty>"  # how an engine writes that a text is none
CANNOT_START = EndingKind.CANNOT_START


@dataclass(frozen=True)
class Option:
    """Something that an engine can be set to, as it announces it."""

    name: str
    kind: str  # check, spin, combo, button, string or filename
    default: str = ""
    low: int | None = None
    high: int | None = None
    choices: tuple[str, ...] = ()

    def check(self, value: str) -> None:
        """Raise BadValue unless it takes this value."""
        field = f"options.{self.name}"
        if self.kind == "button":
            raise BadValue(field, value, "left alone: it is a button, and has no value")
        if self.kind == "check" and value not in ("true", "false"):
            raise BadValue(field, value, "true or false")
        if self.kind == "combo" and value not in self.choices:
            raise BadValue(field, value, f"one of {', '.join(self.choices)}")
        if self.kind == "spin":
            if not re.fullmatch(r"-?[0-9]{1,18}", value):
                raise BadValue(field, value, "a whole number")
            if not (self.low is None or self.low <= int(value)) or not (self.high is None or int(value) <= self.high):
                raise BadValue(field, value, f"from {self.low} to {self.high}")


# What USI lets every engine be told, whether it says so or not.
COMMON = (Option("USI_Hash", "spin", "16", 1, 1 << 20), Option("USI_Ponder", "check", "false"))


@dataclass(frozen=True)
class Identity:
    """Who an engine says it is."""

    name: str
    author: str
    options: tuple[Option, ...]

    def option(self, name: str) -> Option:
        known = {one.name: one for one in (*COMMON, *self.options)}
        if name not in known:
            raise UnknownName("option of this engine", name, known)
        return known[name]


def read_option(line: str) -> Option | None:
    """What a line announces; None if that cannot be made out."""
    match = OPTION.fullmatch(line.strip())
    if match is None or not line.strip().isprintable():
        return None
    words: dict[str, list[str]] = {"default": [], "min": [], "max": [], "var": []}
    parts = re.split(rf"(?<!\S)({PARTS[match[2]]})(?: |$)" if match[2] in PARTS else "^(default) ", match[3] or "")
    for key, text in zip(parts[1::2], parts[2::2], strict=True):
        words[key].append(text.strip())
    default = " ".join(words["default"])
    try:
        low, high = (int(words[key][0]) if words[key] else None for key in ("min", "max"))
    except ValueError:
        return None
    if low is not None and high is not None and low > high:  # nothing could be chosen
        return None
    return Option(match[1], match[2], "" if default == EMPTY else default, low, high, tuple(words["var"]))


class Conversation:
    """With one engine, from its start to its end."""

    def __init__(self, engine: Engine, variant: str = "", transcript: Transcript | None = None) -> None:
        self.engine = engine
        self._transcript = transcript
        self._until = 0.0  # when it must have answered
        self.thinking = False
        self.process = EngineProcess(engine, self._note)
        try:
            self.identity = self._introduce()
            self._set(variant)
        except BaseException as error:
            self.process.close()
            if isinstance(error, AgentFault) and error.kind is EndingKind.CRASH:  # it was not even ready
                raise AgentFault(CANNOT_START, str(error)) from None
            raise

    def _note(self, sign: str, text: str) -> None:
        if self._transcript is not None:
            self._transcript.note(sign, text)

    # Beginning

    def _introduce(self) -> Identity:
        said: list[str] = []

        def done(line: str) -> bool:
            said.append(line)
            if len(said) > MOST_LINES:
                raise self.process.fault(EndingKind.PROTOCOL, f"wrote {MOST_LINES:,} lines and no 'usiok'")
            return line.strip() == "usiok"

        self.process.send("usi")
        if not self.process.await_line(done, time.monotonic() + self.engine.startup):
            raise self.process.fault(CANNOT_START, f"did not answer 'usi' by 'usiok' within {self.engine.startup:g} s")
        told = {"name": "", "author": ""}
        options: dict[str, Option] = {}
        for line in said:
            words = line.split(maxsplit=2)
            if len(words) == 3 and words[0] == "id" and words[1] in told:
                told[words[1]] = "".join(letter if letter.isprintable() else "?" for letter in words[2])[:200]
            elif (option := read_option(line)) and len(options) < MOST_OPTIONS:
                options[option.name] = option
        return Identity(told["name"], told["author"], tuple(options.values()))

    def _set(self, variant: str) -> None:
        given = dict(self.engine.options)
        try:
            check_options(given, self.identity)
        except RingsideError as error:
            raise AgentFault(CANNOT_START, str(error)) from None
        announced = {one.name: one for one in self.identity.options}
        for name, value in (("Threads", "1"), ("USI_Ponder", "false"), ("Ponder", "false"), ("UCI_Variant", variant)):
            if name in announced and value:  # one thread is repeatable; nobody thinks in another's time
                given.setdefault(name, value)
        for name, value in given.items():
            self.process.send(f"setoption name {name} value {value or EMPTY}")

    def new_game(self, transcript: Transcript | None = None) -> None:
        """As if nothing had been played before. Waits until the engine is ready."""
        self._transcript = transcript or self._transcript
        for one in self.identity.options:
            if one.kind == "button" and {"clear", "hash"} <= set(re.split(r"[^a-z]+", _split_case(one.name).lower())):
                self.process.send(f"setoption name {one.name}")
        self.process.send("isready")
        startup = self.engine.startup
        if not self.process.await_line(lambda line: line.strip() == "readyok", time.monotonic() + startup):
            raise self.process.fault(CANNOT_START, f"did not answer 'isready' by 'readyok' within {startup:g} s")
        self.process.send("usinewgame")

    # Playing

    def ask(self, position: str, seat: int, left: TimeLeft | None) -> None:
        """Have it think about its move."""
        if any(map(_best, self.process.lines())):  # or it would be taken for the answer to this question
            raise self.process.fault(EndingKind.PROTOCOL, "said 'bestmove' though nobody had asked")
        if left is not None and self.identity.name.startswith(MIXES_CLOCKS):
            left = replace(left, base=(left.base[seat],) * 2)
        self.process.send(f"position {position}")
        self.process.send(go_line(self.engine, left))
        self.thinking = True
        self._until = time.monotonic() + self.engine.movetime + self.engine.patience
        if left is not None:
            self._until += max(left.base) + left.clock.move  # the clock itself is looked at elsewhere

    def answer(self) -> str | None:
        """The move it has decided on, as it writes it; None while it thinks."""
        said = [words for line in self.process.lines() if (words := _best(line))]
        if said:
            self.thinking = False
            if len(said) > 1:
                raise self.process.fault(EndingKind.PROTOCOL, "said 'bestmove' more than once")
            if len(said[0]) < 2:
                raise self.process.fault(EndingKind.PROTOCOL, "said 'bestmove' and no move")
            return said[0][1][:20]
        if time.monotonic() > self._until:
            waited = self.engine.movetime + self.engine.patience
            raise self.process.fault(EndingKind.TIMEOUT, f"has not answered 'go' for {waited:g} s")
        return None

    def game_over(self, word: str) -> None:
        self.process.send(f"gameover {word}")

    def close(self, politely: bool = False) -> None:
        self.process.close(politely)
        if self._transcript is not None:
            self._transcript.close()


def _best(line: str) -> list[str]:
    """The words of a line that tells a move; none of any other line."""
    words = line.split()
    return words if words[:1] == ["bestmove"] else []


def _split_case(name: str) -> str:
    """'ClearHash' is two words."""
    return re.sub(r"([a-z])([A-Z])", r"\1 \2", name)


def check_options(given: Mapping[str, str], identity: Identity) -> None:
    """Raise BadValue or UnknownName unless the engine takes these."""
    for name, value in given.items():
        identity.option(name).check(value)


def go_line(engine: Engine, left: TimeLeft | None) -> str:
    """How long it may think, in the words of USI: milliseconds."""
    if left is not None:
        black, white = (round(seconds * 1000) for seconds in left.base)
        line = f"go btime {black} wtime {white}"
        if left.clock.increment:
            step = round(left.clock.increment * 1000)
            line += f" binc {step} winc {step}"
        if left.clock.move or not left.clock.increment:
            line += f" byoyomi {round(left.clock.move * 1000)}"
        return line
    if engine.nodes:
        return f"go nodes {engine.nodes}"
    return f"go btime 0 wtime 0 byoyomi {max(round(engine.movetime * 1000), 1)}"


def ask_engine(command: str, arguments: Sequence[str] = (), startup: float = 10.0) -> Identity:
    """Start a program, ask who it is, and end it. Raises BadValue if it is no engine."""
    try:
        talk = Conversation(Engine(command, tuple(arguments), nodes=1, startup=startup))
    except AgentFault as fault:
        raise BadValue("engine", command, f"a program that speaks USI; {fault}") from None
    talk.close(politely=True)
    return talk.identity
