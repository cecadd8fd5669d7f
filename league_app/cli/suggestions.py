"""What an unknown option of a command may have meant."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import fields
from typing import Any

from engine.errors import RingsideError, nearest
from engine.registry import GAMES


def suggest_option(left: Sequence[str], arguments: Sequence[str], options: argparse.Namespace) -> str:
    """The option that was probably meant by the first unknown one in `left`; empty if none is near."""
    unknown = next((text for text in left if text.startswith("--") and text != "--"), None)
    if unknown is None:
        return ""
    known = [text for text in options.parser._option_string_actions if text.startswith("--")]
    name, _, value = unknown[2:].partition("=")
    near = nearest(name, [text[2:] for text in known])
    if near is not None and near != name:
        return f"did you mean --{near}?"
    return _game_option(name, value or _value_after(unknown, arguments), options) if "--option" in known else ""


def _value_after(unknown: str, arguments: Sequence[str]) -> str:
    following = [*arguments[arguments.index(unknown) + 1 :], "-"][0] if unknown in arguments else "-"
    return "VALUE" if following.startswith("-") else following


def _game_option(name: str, value: str, options: argparse.Namespace) -> str:
    """How to set an option of the game that is named, or of any installed game if none is."""
    name = name.replace("-", "_")
    named = {getattr(options, place, None) for place in ("game", "where")}
    games: dict[str, Any] = GAMES.working()
    games = {game: kind for game, kind in games.items() if game in named} or games
    found = [game for game, kind in games.items() if name in _option_names(kind)]
    which = found[0] if len(found) == 1 else "the game"
    return f"{name} is an option of {which}: use --option {name}={value}" if found else ""


def _option_names(kind: Any) -> list[str]:
    try:
        return [field.name for field in fields(kind.Options)]
    except (RingsideError, TypeError, AttributeError):  # a plug-in with faults: `ringside check` reports them
        return []
