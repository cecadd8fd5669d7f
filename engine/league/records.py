"""What a league file holds, as data: agents, tournaments, entrants and played matches."""

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
NO_LIMITS = Limits()


@dataclass(frozen=True)
class Agent:
    """Somebody who plays. What it is made of never changes; what is said about it may."""

    id: str  # its first name in this league; stays when the agent is renamed
    name: str  # unique within its game
    game: str  # the name of the game it plays
    kind: str
    version: int  # of the kind's code
    payload: str  # content hash of what the kind makes of it, in hexadecimal
    notes: str = ""
    colour: str = ""  # RRGGBB, or empty for one of the window's own
    tags: tuple[str, ...] = ()
    created: float = 0.0  # seconds since 1970
    parents: tuple[str, ...] = ()  # ids or names of those it comes from
    origin: str = ""  # how it came to be, such as "imported from x.agent"
    archived: float | None = None  # when it was put away; it still has its matches


class State(Enum):
    """How far a tournament is."""

    PLANNED = "planned"  # nothing played yet
    RUNNING = "running"  # or it was, when its program died: then it can be resumed
    PAUSED = "paused"
    STOPPED = "stopped"  # can be resumed
    FINISHED = "finished"
    CANCELLED = "cancelled"  # will not be resumed; its matches stay

    @property
    def open(self) -> bool:
        """Whether there may be more to play."""
        return self not in (State.FINISHED, State.CANCELLED)


@dataclass(frozen=True)
class Settings:
    """What a tournament is made of. The same settings and entrants give the same matches, to the bit, anywhere."""

    game: GameSpec
    format: str = "round-robin"
    options: tuple[tuple[str, Value], ...] = ()  # of the format, all of them, in alphabetical order
    seed: int = 1
    games: int = 1  # encounters of a group in each round; with sides swapped, each is one game for every seating
    swap: bool = True  # play each encounter from every seat, with one seed and one start
    starts: tuple[str, ...] = ()  # openings, one drawn for each encounter; none: the game's usual start
    limits: Limits = NO_LIMITS


@dataclass(frozen=True)
class Lineup:
    """Who takes part from a certain round on."""

    version: int  # of the plan, from 1
    first_round: int
    entrants: tuple[str, ...]  # ids of agents, in the order they were entered


@dataclass(frozen=True)
class Tournament:
    """A tournament as it stands."""

    number: int
    name: str
    settings: Settings
    lineups: tuple[Lineup, ...]
    state: State
    created: float
    finished: float | None = None
    played: int = 0  # matches recorded
    total: int | None = None  # matches planned, where the format can tell
    note: str = ""  # why it stopped, for people

    @property
    def entrants(self) -> tuple[str, ...]:
        """Who is in it now."""
        return self.lineups[-1].entrants

    @property
    def everybody(self) -> tuple[str, ...]:
        """Who is or was in it."""
        return tuple(dict.fromkeys(agent for lineup in self.lineups for agent in lineup.entrants))


@dataclass(frozen=True)
class PlayedMatch:
    """A match of the league: its place, what was to be played, and what came of it."""

    tournament: int
    place: int  # in the tournament's plan, from 1
    spec: MatchSpec
    result: MatchResult
    at: float  # when it was recorded, in seconds since 1970

    @property
    def reference(self) -> str:
        """What a person calls it, as in `reproduce 3.17`."""
        return f"{self.tournament}.{self.place}"


@dataclass(frozen=True)
class Snapshot:
    """Ratings of a pool at one moment."""

    pool: int
    tournament: int
    at: float
    ratings: tuple[tuple[str, float, float], ...] = field(default=())  # agent, rating, half of the 95 % interval


def check_name(field: str, name: object) -> str:
    """A name as it may be kept: anything a person can read, but nothing that tricks a screen."""
    if not isinstance(name, str) or not name.strip() or len(name) > NAME_LENGTH:
        raise BadValue(field, name, f"text of 1 to {NAME_LENGTH} characters")
    given, name = name, unicodedata.normalize("NFC", name)  # two spellings of one name must not be two names
    if len(name) > NAME_LENGTH:
        raise BadValue(field, given, f"text of 1 to {NAME_LENGTH} characters when it is composed")
    for letter in name:
        if unicodedata.category(letter) in ("Cc", "Cs", "Zl", "Zp", "Cn", "Co") or letter in BIDI:
            raise BadValue(field, name, f"text that can be shown, without {f'U+{ord(letter):04X}'}")
    if name != name.strip():
        raise BadValue(field, name, "text that neither begins nor ends with a blank")
    return name


BIDI = "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"  # overrides: they make one name look like another


def content_hash(payload: bytes) -> str:
    """What a payload is known by."""
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
