"""Turns what a person asks for into something playable, or raises an error that says why it cannot be played."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, replace

from engine.errors import BadValue, NotConfirmed, NotNow, RingsideError, UnknownName
from engine.game import Game, GameInfo
from engine.league.records import Agent, Tournament, TournamentSettings
from engine.league.schedule import fingerprint
from engine.league.storage.league import League
from engine.options import build, items, parse
from engine.play.match import AgentSpec, GameSpec, Limits
from engine.registry import FORMATS, GAMES, KINDS, agents_for, game_of, kind_of, new_game, usual_game
from league_app.core.formatting import error_text


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


def check_not_played(settings: TournamentSettings, entrants: Sequence[str], before: Sequence[Tournament]) -> None:
    """Raises BadValue if an earlier tournament has the same matches, which would be no new evidence."""
    same = fingerprint(settings, entrants)
    for earlier in before:
        if fingerprint(earlier.settings, earlier.lineups[0].entrants) == same:
            needed = f"a different one: tournament {earlier.number} ({earlier.name}) already has these matches"
            raise BadValue("seed", settings.seed, needed)


def check_admitted(league: League, players: Iterable[AgentSpec]) -> None:
    """Raises NotConfirmed if one of them is a program that no person has allowed to run on this machine."""
    names = league.names()
    for player in players:
        try:
            kind = kind_of(player)
        except RingsideError:  # reported when it is to play
            continue
        try:
            if kind.admit is not None:
                kind.admit(replace(player, id=names.get(player.id, player.id)))  # the message names it
        except NotConfirmed as error:
            raise NotConfirmed(player.id, str(error)) from None


def unconfirmed(league: League, agents: Iterable[Agent]) -> list[Agent]:
    """Those of them that are programs which no person has allowed to run on this machine."""
    return [agent for agent in agents if _is_program(agent.kind) and not _admitted(league, agent)]


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


def ready_made(board: Game, names: Iterable[str] | None = None) -> list[AgentSpec]:
    """The ready-made agents of a game, or those with these names; raises BadValue for an unknown name."""
    offered = {agent.id: agent for agents in agents_for(board).values() for agent in agents}
    chosen = list(offered) if names is None else list(names)
    for name in chosen:
        if name not in offered:
            raise BadValue("agent", name, f"one of {', '.join(offered)}")
    return [offered[name] for name in chosen]


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
        reason = error_text(error)
        raise BadValue("payload", _payload_text(spec.payload), f"what {spec.kind} can play ({reason})") from None
    finally:
        pilot.close()


def _payload_text(payload: bytes) -> object:
    """A payload as an error message shows it: its beginning if it is text, else its size."""
    return payload[:80] if payload[:80].isascii() and b"\0" not in payload[:80] else f"{len(payload):,} bytes"


def configured(kind: str, payload: bytes, chosen: Mapping[str, object]) -> bytes:
    """The payload with these settings; text is parsed as the type of the setting."""
    if not chosen:
        return payload
    offer = KINDS.get(kind)
    if offer.settings is None:
        raise UnknownName(f"setting of {kind}", next(iter(chosen)), (), otherwise=f"{kind} has none beside its payload")
    current = offer.settings(payload)
    texts = {name: value for name, value in chosen.items() if isinstance(value, str)}
    parsed = {
        name: getattr(parse(type(current), {name: text}, f"setting of {kind}"), name) for name, text in texts.items()
    }
    return offer.configure(payload, build(type(current), {**asdict(current), **chosen, **parsed}, f"setting of {kind}"))


def resolve_game(league: League, game: GameSpec | str | None = None) -> GameSpec:
    """A game by name: with the options it was played with last, or else its default options. Without a name, the game
    played last, or the only one that the league has agents for."""
    if isinstance(game, GameSpec):
        return game
    played = [
        tournament.settings.game for tournament in league.tournaments() if game in (None, tournament.settings.game.name)
    ]
    playable = next((settings for settings in reversed(played) if is_installed(settings)), None)
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


def rename_ancestor(error: BadValue, control: str, agent: str | None) -> BadValue:
    """The error of a trainer that refuses the agent to start from, in the words of the user interface: with the name of
    the option or field that chose the agent, and the agent's name. Any other error is returned as it is."""
    first, _, part = error.field.partition(".")
    if first != "ancestor":  # the argument of `Trainer.check`
        return error
    return BadValue(f"{part} of {control}" if part else control, error.value if part else agent, error.needed)
