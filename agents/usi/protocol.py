"""The USI protocol: identity and options of an engine, new games, and moves."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from agents.usi.engine_spec import EngineSpec
from agents.usi.process import EngineProcess
from agents.usi.transcript import Transcript
from engine.errors import BadValue, RingsideError, UnknownName
from engine.game import AgentFault
from engine.play.match import EndingKind, TimeLeft

MOST_LINES = 4096  # that an engine may write before 'usiok'
MOST_OPTIONS = 1024
OPTION = re.compile(r"option name (.+?) type (check|spin|combo|button|string|filename)(?: (.*))?")
# Keywords after an option's type. The default of a string may contain any of these words.
PARTS = {"spin": "default|min|max", "combo": "default|var"}
MIXES_CLOCKS = "Fairy-Stockfish"  # takes Black's time for White's (seen in 11.1): it receives its own time for both
EMPTY = "<empty>"  # an empty string in USI
CANNOT_START = EndingKind.CANNOT_START


@dataclass(frozen=True)
class Option:
    """An option that an engine announces."""

    name: str
    kind: str  # check, spin, combo, button, string or filename
    default: str = ""
    low: int | None = None
    high: int | None = None
    choices: tuple[str, ...] = ()

    def check(self, value: str) -> None:
        """Raises BadValue unless the option accepts this value."""
        field = f"options.{self.name}"
        if self.kind == "button":
            raise BadValue(field, value, "omitted: this option is a button and has no value")
        if self.kind == "check" and value not in ("true", "false"):
            raise BadValue(field, value, "true or false")
        if self.kind == "combo" and value not in self.choices:
            raise BadValue(field, value, f"one of {', '.join(self.choices)}")
        if self.kind == "spin":
            if not re.fullmatch(r"-?[0-9]{1,18}", value):
                raise BadValue(field, value, "an integer")
            if not (self.low is None or self.low <= int(value)) or not (self.high is None or int(value) <= self.high):
                raise BadValue(field, value, f"from {self.low} to {self.high}")


# Options that USI defines for every engine, whether it announces them or not.
COMMON = (Option("USI_Hash", "spin", "16", 1, 1 << 20), Option("USI_Ponder", "check", "false"))


@dataclass(frozen=True)
class Identity:
    """What an engine says about itself."""

    name: str
    author: str
    options: tuple[Option, ...]

    def option(self, name: str) -> Option:
        known = {option.name: option for option in (*COMMON, *self.options)}
        if name not in known:
            raise UnknownName("option of this engine", name, known)
        return known[name]


def read_option(line: str) -> Option | None:
    """Parses an `option` line; None if it is not a valid one."""
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
    if low is not None and high is not None and low > high:  # no value would be valid
        return None
    return Option(match[1], match[2], "" if default == EMPTY else default, low, high, tuple(words["var"]))


class Conversation:
    """A USI session with one engine, from its start to its end."""

    def __init__(self, engine: EngineSpec, variant: str = "", transcript: Transcript | None = None) -> None:
        self.engine = engine
        self._transcript = transcript
        self._deadline = 0.0  # deadline of its answer
        self.thinking = False
        self.process = EngineProcess(engine, self._log)
        try:
            self.identity = self._read_identity()
            self._set_options(variant)
        except BaseException as error:
            self.process.close()
            if isinstance(error, AgentFault) and error.kind is EndingKind.CRASH:  # it ended before it was ready
                raise AgentFault(CANNOT_START, str(error)) from None
            raise

    def _log(self, sign: str, text: str) -> None:
        if self._transcript is not None:
            self._transcript.note(sign, text)

    def _read_identity(self) -> Identity:
        lines: list[str] = []

        def done(line: str) -> bool:
            lines.append(line)
            if len(lines) > MOST_LINES:
                raise self.process.fault(EndingKind.PROTOCOL, f"wrote {MOST_LINES:,} lines without 'usiok'")
            return line.strip() == "usiok"

        self.process.send("usi")
        if not self.process.await_line(done, time.monotonic() + self.engine.startup):
            raise self.process.fault(
                CANNOT_START, f"did not answer 'usi' with 'usiok' within {self.engine.startup:g} s"
            )
        identity = {"name": "", "author": ""}
        options: dict[str, Option] = {}
        for line in lines:
            words = line.split(maxsplit=2)
            if len(words) == 3 and words[0] == "id" and words[1] in identity:
                identity[words[1]] = "".join(letter if letter.isprintable() else "?" for letter in words[2])[:200]
            elif (option := read_option(line)) and len(options) < MOST_OPTIONS:
                options[option.name] = option
        return Identity(identity["name"], identity["author"], tuple(options.values()))

    def _set_options(self, variant: str) -> None:
        given = dict(self.engine.options)
        try:
            check_options(given, self.identity)
        except RingsideError as error:
            raise AgentFault(CANNOT_START, str(error)) from None
        announced = {option.name: option for option in self.identity.options}
        for name, value in (("Threads", "1"), ("USI_Ponder", "false"), ("Ponder", "false"), ("UCI_Variant", variant)):
            if name in announced and value:  # one thread is repeatable; no engine thinks in its opponent's time
                given.setdefault(name, value)
        for name, value in given.items():
            self.process.send(f"setoption name {name} value {value or EMPTY}")

    def new_game(self, transcript: Transcript | None = None) -> None:
        """Clears the engine's memory of earlier games, and waits until it is ready."""
        self._transcript = transcript or self._transcript
        for option in self.identity.options:
            words = set(re.split(r"[^a-z]+", _split_case(option.name).lower()))
            if option.kind == "button" and {"clear", "hash"} <= words:
                self.process.send(f"setoption name {option.name}")
        self.process.send("isready")
        startup = self.engine.startup
        if not self.process.await_line(lambda line: line.strip() == "readyok", time.monotonic() + startup):
            raise self.process.fault(CANNOT_START, f"did not answer 'isready' with 'readyok' within {startup:g} s")
        self.process.send("usinewgame")

    def ask(self, position: str, seat: int, left: TimeLeft | None) -> None:
        """Asks for a move."""
        if any(map(_bestmove, self.process.lines())):  # it would be taken for the answer to this `go`
            raise self.process.fault(EndingKind.PROTOCOL, "sent 'bestmove' without a 'go'")
        if left is not None and self.identity.name.startswith(MIXES_CLOCKS):
            left = replace(left, base=(left.base[seat],) * 2)
        self.process.send(f"position {position}")
        self.process.send(go_line(self.engine, left))
        self.thinking = True
        self._deadline = time.monotonic() + self.engine.movetime + self.engine.patience
        if left is not None:
            self._deadline += max(left.base) + left.clock.move  # the match itself checks the clock

    def answer(self) -> str | None:
        """The engine's move in USI notation; None while it thinks."""
        moves = [words for line in self.process.lines() if (words := _bestmove(line))]
        if moves:
            self.thinking = False
            if len(moves) > 1:
                raise self.process.fault(EndingKind.PROTOCOL, "sent 'bestmove' more than once")
            if len(moves[0]) < 2:
                raise self.process.fault(EndingKind.PROTOCOL, "sent 'bestmove' without a move")
            return moves[0][1][:20]
        if time.monotonic() > self._deadline:
            waited = self.engine.movetime + self.engine.patience
            raise self.process.fault(EndingKind.TIMEOUT, f"did not answer 'go' within {waited:g} s")
        return None

    def game_over(self, word: str) -> None:
        self.process.send(f"gameover {word}")

    def close(self, politely: bool = False) -> None:
        self.process.close(politely)
        if self._transcript is not None:
            self._transcript.close()


def _bestmove(line: str) -> list[str]:
    """The words of a `bestmove` line; an empty list for other lines."""
    words = line.split()
    return words if words[:1] == ["bestmove"] else []


def _split_case(name: str) -> str:
    """Splits 'ClearHash' into two words."""
    return re.sub(r"([a-z])([A-Z])", r"\1 \2", name)


def check_options(given: Mapping[str, str], identity: Identity) -> None:
    """Raises BadValue or UnknownName unless the engine accepts these options."""
    for name, value in given.items():
        identity.option(name).check(value)


def go_line(engine: EngineSpec, left: TimeLeft | None) -> str:
    """The `go` command with the limits of a move; times are in milliseconds."""
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
    """Starts a program, reads its identity, and ends it. Raises BadValue if it does not speak USI."""
    try:
        talk = Conversation(EngineSpec(command, tuple(arguments), nodes=1, startup=startup))
    except AgentFault as fault:
        raise BadValue("engine", command, f"a program that speaks USI, but {fault}") from None
    talk.close(politely=True)
    return talk.identity
