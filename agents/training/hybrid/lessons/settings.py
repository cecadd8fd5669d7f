"""Where the examples of a league come from: settings of the trainer `hybrid`."""

from __future__ import annotations

from dataclasses import dataclass

from agents.training.matchmaking import split_names
from agents.training.records import RecordQuery
from engine.errors import BadValue
from engine.game import Game
from engine.options import option, validate

STRONGEST, ALL = "strongest", "all"  # values of `from_league` besides names
SHOWN_A_SECOND = 10  # positions of a player are this far apart, in seconds of play as it is shown
MOST_EXAMPLES = 10_000_000
MOST_MATCHES = 10_000


@dataclass(frozen=True)
class LessonSettings:
    """Which matches and positions a search learns from, and whose actions."""

    from_league: str = option(
        "",
        bare=STRONGEST,
        help="learn from recorded matches of the league: strongest, all, or names of agents separated by commas; "
        "empty: from matches of the teacher",
    )
    strongest: int = option(1, low=1, high=100, help="how many agents count as the strongest")
    teacher: str = option(
        "",
        help="an agent of the league or a ready-made agent whose action is learned in each position; empty: the "
        "actions that were played",
    )
    matches: int = option(1000, low=2, high=MOST_MATCHES, help="maximum number of matches to learn from")
    examples: int = option(
        40_000, low=100, high=MOST_EXAMPLES, help="maximum number of positions to learn from and select by"
    )
    winners: float = option(
        2.0, low=1.0, high=100.0, help="weight of a winner's recorded actions; those of a loser have 1"
    )
    selection_share: float = option(
        0.2, low=0.01, high=0.5, help="share of the matches on which models are compared and that none learns from"
    )
    spacing: int = option(
        0, low=0, high=100_000, help="turns between two positions of a player in a match; 0: by the pace of the game"
    )
    practice: float = option(
        0.5,
        low=0.0,
        high=1.0,
        help="share of the positions that come from practice matches; all if there are no recorded matches",
    )
    bots: str = option("", help="ready-made agents that are played in practice matches, by name; empty: all")
    noise: float = option(
        0.5, low=0.0, high=0.9, help="share of random actions in practice matches; the agent's answers are learned"
    )

    def __post_init__(self) -> None:
        validate(self)
        if any(name.endswith(".league") for name in split_names(self.from_league)):
            needed = f"{STRONGEST}, {ALL} or names of agents; the league file is named before the options"
            raise BadValue("from_league", self.from_league, needed)
        if len(split_names(self.teacher)) > 1:
            raise BadValue("teacher", self.teacher, "the name of one agent")

    def records(self) -> RecordQuery | None:
        """The recorded matches to learn from; see `agents.training.trainer.Trainer.records`."""
        names = split_names(self.from_league)
        if not names:
            return None
        words = {STRONGEST: self.strongest, ALL: 0}
        named = len(names) > 1 or names[0] not in words
        agents, strongest = (tuple(names), 0) if named else ((), words[names[0]])
        alone = not self.teacher.strip()  # no other agent is asked
        practise = alone and self.practice > 0
        return RecordQuery("from_league", agents, strongest, self.matches, practise, alone, "name a teacher")

    def check_lessons(self, game: Game) -> None:
        """Raises BadValue unless these settings give lessons in this game."""
        if not self.from_league.strip() and not self.teacher.strip():
            raise BadValue("from_league", self.from_league, f"{STRONGEST}, {ALL} or names of agents, or name a teacher")
        if len(game.info.observation) not in (1, 3):
            needed = "a game whose observations are vectors, or images as planes, rows and columns"
            raise BadValue("game", game.spec.name, needed)

    def spacing_in(self, game: Game) -> int:
        """Turns between two positions of a player: positions of a fast game hardly differ from one to the next."""
        return self.spacing or max(round(game.info.pace / SHOWN_A_SECOND), 1)
