"""Turns what a person asks for into something playable, or raises an error that says why it cannot be played."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from engine.errors import BadValue, NotConfirmed, NotNow, RingsideError
from engine.game import GameInfo
from engine.league.records import Agent, TournamentSettings
from engine.league.storage.league import League
from engine.options import build, items, parse
from engine.play.match import AgentSpec, GameSpec, Limits
from engine.registry import FORMATS, GAMES, KINDS, game_of, kind_of, new_game, usual_game


def is_installed(game: GameSpec) -> bool:
    """Whether this game is installed in this version and has options of these names; their values are not checked.

    It does not construct the game with options from a file, which could take arbitrarily long.
    """
    try:
        found = GAMES.get(game.name)
        build(found.Options, dict(game.options), f"option of {game.name}")
    except RingsideError:
        return False
    return found.version == game.version


def game_info(game: GameSpec) -> GameInfo | None:
    """The info of a game with its default options, such as its title; None if it is not installed."""
    found = usual_game(game.name) if is_installed(game) else None
    return found.info if found is not None else None


def check_batch_size(size: object) -> int:
    if isinstance(size, bool) or not isinstance(size, int) or not 1 <= size <= 10_000:
        raise BadValue("batch_size", size, "a whole number from 1 to 10,000")
    return size


def make_settings(game: GameSpec, format: str, options: Mapping[str, object], **more: object) -> TournamentSettings:
    """Builds settings from user input; text is parsed as the option's type."""
    kind = FORMATS.get(format)
    noun = f"option of {format}"
    texts = {name: value for name, value in options.items() if isinstance(value, str)}
    rest = {name: value for name, value in options.items() if name not in texts}
    parsed = parse(kind.Options, texts, noun) if texts else build(kind.Options, rest, noun)
    if texts and rest:
        parsed = build(kind.Options, {**dict(items(parsed)), **rest}, noun)
    limits = more.pop("limits", None) or Limits()
    return TournamentSettings(game, format, items(parsed), limits=limits, **more)  # type: ignore[arg-type]


def check_admitted(league: League, players: Iterable[AgentSpec]) -> None:
    """Raises NotConfirmed if one of them is a program that no person has allowed to run on this machine."""
    names = league.names()
    for one in players:
        try:
            kind = kind_of(one)
        except RingsideError:  # reported when it is to play
            continue
        try:
            if kind.admit is not None:
                kind.admit(replace(one, id=names.get(one.id, one.id)))  # the message names it
        except NotConfirmed as error:
            raise NotConfirmed(one.id, str(error)) from None


def unconfirmed(league: League, agents: Iterable[Agent]) -> list[Agent]:
    """Those of them that are programs which no person has allowed to run on this machine."""
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


def check_playable(spec: AgentSpec, game: str | GameSpec) -> None:
    """Raises BadValue unless the agent's kind plays the game, by name with its default options, and can load the
    payload."""
    kind, board = KINDS.get(spec.kind), new_game(game) if isinstance(game, str) else game_of(game)
    if not kind.plays(board):
        raise BadValue("kind", spec.kind, f"one that plays {board.spec.name}")
    pilot = kind.pilot(board, board.info.seats)
    try:
        pilot.load(spec)
    except Exception as error:  # code of the kind, which may be a plug-in
        reason = str(error) if isinstance(error, RingsideError) else f"{type(error).__name__}: {error}"
        raise BadValue("payload", spec.payload[:80], f"what {spec.kind} can play ({reason})") from None
    finally:
        pilot.close()


def resolve_game(league: League, game: GameSpec | str | None = None) -> GameSpec:
    """A game by name: with the options it was played with last, or else its default options. Without a name, the game
    played last, or the only one that the league has agents for."""
    if isinstance(game, GameSpec):
        return game
    played = [one.settings.game for one in league.tournaments() if game in (None, one.settings.game.name)]
    playable = next((one for one in reversed(played) if is_installed(one)), None)
    if playable is not None or played:
        return playable or played[-1]  # what cannot be played here can still be read
    return new_game(game or resolve_game_name(league)).spec


def resolve_game_name(league: League) -> str:
    """The name of the game played last, or else of the only one that the league has agents for. The game itself may not
    exist with its default options."""
    played = league.tournaments()
    if played:
        return played[-1].settings.game.name
    games = list(dict.fromkeys(agent.game for agent in league.agents()))
    if not games:
        hint = f"`ringside agents add {league.path.name} NAME --game GAME` adds a ready-made agent"
        raise NotNow(f"{league.path.name} has no agents yet: {hint}")
    if len(games) > 1:
        raise BadValue("game", None, f"given (--game): the league has agents for {', '.join(games)}")
    return games[0]
