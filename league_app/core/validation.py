"""What a person asks for, made into what can be played, or an error that says why not."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from engine.errors import BadValue, NotConfirmed, RingsideError
from engine.game import GameInfo
from engine.league.records import Agent, Settings
from engine.league.storage.league import League
from engine.options import build, items, parse
from engine.play.match import AgentSpec, GameSpec, Limits
from engine.registry import FORMATS, GAMES, KINDS, kind_of, new_game, usual_game


def installed(game: GameSpec) -> bool:
    """Whether these rules are, in this version and with such options; whether they take the values is told later.

    What is only looked at is not made with the options of a file: that may take for ever.
    """
    try:
        made = GAMES.get(game.name)
        build(made.Options, dict(game.options), f"option of {game.name}")
    except RingsideError:
        return False
    return made.version == game.version


def usual_info(game: GameSpec) -> GameInfo | None:
    """What is true of a game with its usual options, such as its title; None where these rules are not installed."""
    usual = usual_game(game.name) if installed(game) else None
    return usual.info if usual is not None else None


def check_size(size: object) -> int:
    if isinstance(size, bool) or not isinstance(size, int) or not 1 <= size <= 10_000:
        raise BadValue("batch_size", size, "a whole number from 1 to 10,000")
    return size


def make_settings(game: GameSpec, format: str, options: Mapping[str, object], **more: object) -> Settings:
    """From what a person gives; texts are read as the option's type."""
    kind = FORMATS.get(format)
    noun = f"option of {format}"
    texts = {name: value for name, value in options.items() if isinstance(value, str)}
    rest = {name: value for name, value in options.items() if name not in texts}
    made = parse(kind.Options, texts, noun) if texts else build(kind.Options, rest, noun)
    if texts and rest:
        made = build(kind.Options, {**dict(items(made)), **rest}, noun)
    limits = more.pop("limits", None) or Limits()
    return Settings(game, format, items(made), limits=limits, **more)  # type: ignore[arg-type]


def check_admitted(league: League, players: Iterable[AgentSpec]) -> None:
    """Raise NotConfirmed if one of them is a program that nobody has allowed to run here, before anything runs."""
    names = league.names()
    for one in players:
        try:
            kind = kind_of(one)
        except RingsideError:  # that is told when it is to play
            continue
        try:
            if kind.admit is not None:
                kind.admit(replace(one, id=names.get(one.id, one.id)))  # people know it by its name
        except NotConfirmed as error:
            raise NotConfirmed(one.id, str(error)) from None


def unconfirmed(league: League, agents: Iterable[Agent]) -> list[Agent]:
    """Those of them that are programs which nobody has let run on this machine."""
    return [one for one in agents if _is_program(one.kind) and not _admitted(league, one)]


def _is_program(kind: str) -> bool:
    try:
        return KINDS.get(kind).admit is not None
    except RingsideError:
        return False


def _admitted(league: League, agent: Agent) -> bool:
    try:
        check_admitted(league, [league.spec(agent.id)])
    except NotConfirmed:
        return False
    return True


def check_playable(spec: AgentSpec, game: str) -> None:
    """Have its kind look at it, so that a payload that cannot be played is refused before it is kept."""
    kind, board = KINDS.get(spec.kind), new_game(game)
    if not kind.plays(board):
        raise BadValue("kind", spec.kind, f"one that plays {game}")
    pilot = kind.pilot(board, board.info.seats)
    try:
        pilot.load(spec)
    except Exception as error:  # the kind's own code says what is wrong with the payload
        told = str(error) if isinstance(error, RingsideError) else f"{type(error).__name__}: {error}"
        raise BadValue("payload", spec.payload[:80], f"what {spec.kind} can play ({told})") from None
    finally:
        pilot.close()
