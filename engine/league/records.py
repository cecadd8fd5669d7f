"""Records of a league file: agents, tournaments, entrants and played matches, and checks of their fields."""

from __future__ import annotations

import hashlib
import unicodedata
from dataclasses import dataclass, field
from enum import Enum

from engine.errors import BadValue
from engine.options import Value
from engine.play.match import GameSpec, Limits, MatchResult, MatchSpec

NAME_LENGTH = 120
NOTES_LENGTH = 10_000
TAGS = 32
LARGEST_PAYLOAD = 512 << 20  # bytes
NO_LIMITS = Limits()


@dataclass(frozen=True)
class Agent:
    """A player. Its payload never changes; its name, notes, colour and tags may."""

    id: str  # its first name in this league; stays when the agent is renamed
    name: str  # unique within its game
    game: str  # the name of the game it plays
    kind: str
    version: int  # of the kind's code
    payload: str  # content hash, in hexadecimal
    notes: str = ""
    colour: str = ""  # RRGGBB, or empty for a default
    tags: tuple[str, ...] = ()
    created: float = 0.0  # seconds since 1970
    parents: tuple[str, ...] = ()  # ids or names
    origin: str = ""  # such as "imported from x.agent"
    archived: float | None = None  # when; its matches stay
    session: int | None = None  # the number of the training session that it comes from


class RunState(Enum):
    """The state of a tournament or a training session."""

    PLANNED = "planned"  # no match played yet
    RUNNING = "running"  # or its program died; it can be resumed
    PAUSED = "paused"
    STOPPED = "stopped"  # can be resumed
    FINISHED = "finished"
    CANCELLED = "cancelled"  # cannot be resumed; its matches stay

    @property
    def open(self) -> bool:
        """Whether it can be started or resumed."""
        return self not in (RunState.FINISHED, RunState.CANCELLED)


@dataclass(frozen=True)
class TournamentSettings:
    """Settings of a tournament. The same settings and entrants give the same matches, to the bit, on any machine."""

    game: GameSpec
    format: str = "round-robin"
    options: tuple[tuple[str, Value], ...] = ()  # all options of the format, in alphabetical order
    seed: int = 1
    games: int = 1  # encounters of a group in each round; with sides swapped, each is one game for every seating
    swap: bool = True  # play each encounter from every seat, with one seed and one start
    starts: tuple[str, ...] = ()  # openings, one drawn for each encounter; empty for the game's default start
    limits: Limits = NO_LIMITS


@dataclass(frozen=True)
class Lineup:
    """The entrants from a certain round on."""

    version: int  # of the schedule, from 1
    first_round: int
    entrants: tuple[str, ...]  # ids of agents, in the order they were entered


@dataclass(frozen=True)
class Tournament:
    """A tournament and its current state."""

    number: int
    name: str
    settings: TournamentSettings
    lineups: tuple[Lineup, ...]
    state: RunState
    created: float
    finished: float | None = None
    played: int = 0  # matches recorded
    total: int | None = None  # matches scheduled, if known
    note: str = ""  # why it stopped

    @property
    def entrants(self) -> tuple[str, ...]:
        """The current ones."""
        return self.lineups[-1].entrants

    @property
    def all_entrants(self) -> tuple[str, ...]:
        """The current and the former ones."""
        return tuple(dict.fromkeys(agent for lineup in self.lineups for agent in lineup.entrants))


@dataclass(frozen=True)
class PlayedMatch:
    """A recorded match: its place in the schedule, its spec and its result."""

    tournament: int
    place: int  # in the tournament's schedule, from 1
    spec: MatchSpec
    result: MatchResult
    at: float  # when it was recorded, in seconds since 1970

    @property
    def reference(self) -> str:
        """Its name in commands, as in `reproduce 3.17`."""
        return f"{self.tournament}.{self.place}"


@dataclass(frozen=True)
class Snapshot:
    """Ratings of a pool at one time."""

    pool: int
    tournament: int
    at: float
    ratings: tuple[tuple[str, float, float], ...] = field(default=())  # agent, rating, half of the 95 % interval


def check_name(field: str, name: object) -> str:
    """The normalised name; raises BadValue for control characters and others that could disguise it on a screen."""
    if not isinstance(name, str) or not name.strip() or len(name) > NAME_LENGTH:
        raise BadValue(field, name, f"text of 1 to {NAME_LENGTH} characters")
    given, name = name, unicodedata.normalize("NFC", name)  # two encodings of one name must not be two names
    if len(name) > NAME_LENGTH:
        raise BadValue(field, given, f"text of 1 to {NAME_LENGTH} characters when it is composed")
    for letter in name:
        if unicodedata.category(letter) in ("Cc", "Cs", "Zl", "Zp", "Cn", "Co") or letter in BIDI:
            raise BadValue(field, name, f"text that can be shown, without {f'U+{ord(letter):04X}'}")
    if name != name.strip():
        raise BadValue(field, name, "text that neither begins nor ends with a space")
    return name


BIDI = "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"  # overrides: they make one name look like another


def content_hash(payload: bytes) -> str:
    """The hash that identifies a payload."""
    return hashlib.blake2b(payload, digest_size=16).hexdigest()


def check_text(field: str, text: object, longest: int = NOTES_LENGTH) -> str:
    if not isinstance(text, str) or len(text) > longest:
        raise BadValue(field, text, f"text of at most {longest:,} characters")
    if any(unicodedata.category(letter) in ("Cs", "Cc") and letter not in "\n\t" for letter in text):
        raise BadValue(field, text, "text without control characters and lone surrogates")
    return text


def check_colour(colour: object) -> str:
    if not isinstance(colour, str) or (colour and (len(colour) != 6 or set(colour) - set("0123456789ABCDEF"))):
        raise BadValue("colour", colour, "six digits such as 4A9BFF, or nothing")
    return colour


def check_tags(tags: object) -> tuple[str, ...]:
    if not isinstance(tags, tuple | list) or len(tags) > TAGS:
        raise BadValue("tags", tags, f"a list of at most {TAGS}")
    return tuple(dict.fromkeys(check_name("tags", tag) for tag in tags))
