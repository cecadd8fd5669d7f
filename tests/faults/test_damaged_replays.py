"""Replays with flipped bytes, and forged ones with values that Ringside never writes."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from engine import codec
from engine.errors import BadReplay
from engine.play import replay
from engine.play.executors import SequentialMatchExecutor
from engine.play.match import Limits, MatchResult, MatchSpec
from engine.registry import agents_for, new_game

FLIPS = 600
EVIL: tuple[object, ...] = (
    *(None, True, -1, 0, 2**63, 2**64, -(2**63) - 1, 10**400, 0.5, -0.0, 1e308, 5e-324),
    *("", "x", "=1+1", "\x00", "\u202e", "x" * 100_000, "2026-01-01", "null"),
    *([], [[]], {}, {"x": 1}, [0] * 1000, [None]),
)


@pytest.fixture(scope="module")
def played() -> tuple[MatchSpec, MatchResult]:
    """With a network, whose payload nothing but a checksum can verify."""
    game = new_game("pong", points=1)
    players = agents_for(game)["neat"][0], agents_for(game)["pong-bot"][0]
    spec = MatchSpec("m", game.spec, players, 7, None, Limits(300))
    with SequentialMatchExecutor(1) as executor:
        return spec, executor.execute_match(spec)


@pytest.fixture
def saved(played: tuple[MatchSpec, MatchResult], tmp_path: Path) -> Path:
    replay.save(tmp_path / "x.replay", *played)
    return tmp_path / "x.replay"


def test_no_flipped_byte_is_accepted(saved: Path) -> None:
    data, chance = saved.read_bytes(), random.Random(1)
    places = [*range(60), *range(len(data) - 10, len(data)), *(chance.randrange(len(data)) for _ in range(FLIPS))]
    for place in places:
        changed = bytearray(data)
        changed[place] ^= chance.choice([1, 2, 4, 8, 16, 32, 64, 128, 255])
        saved.write_bytes(changed)
        with pytest.raises(BadReplay, match=r"x\.replay"):
            replay.load(saved)


def test_no_truncated_or_longer_file_is_accepted(saved: Path) -> None:
    data = saved.read_bytes()
    for changed in (data[:-1], data[: len(data) // 2], data[:40], b"", data + b" ", data + data, b" " + data):
        saved.write_bytes(changed)
        with pytest.raises(BadReplay):
            replay.load(saved)


def test_a_missing_checksum_is_named(saved: Path) -> None:
    content = json.loads(saved.read_bytes())
    del content["checksum"]
    saved.write_text(json.dumps(content))
    with pytest.raises(BadReplay, match="its checksum is missing"):
        replay.load(saved)


def test_a_replay_of_version_1_is_still_read(played: tuple[MatchSpec, MatchResult], saved: Path) -> None:
    saved.write_text(codec.dump(replay.Replay(replay.FORMAT, 1, *played)))
    loaded, _ = replay.load(saved)
    assert (loaded.match, loaded.result) == played


def leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The places of all values, also those of lists and objects; of a list, the first two."""
    yield path
    children = value.items() if isinstance(value, dict) else enumerate(value[:2]) if isinstance(value, list) else ()
    for key, child in children:
        yield from leaves(child, (*path, key))


def forged(content: Any, path: tuple[Any, ...], value: object) -> Any:
    if not path:
        return value
    changed = copy.deepcopy(content)
    inner = changed
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    return changed


SEALS = [
    pytest.param(bytes, marks=pytest.mark.slow, id="version 1"),
    pytest.param(replay._with_checksum, id="version 2"),
]


@pytest.mark.parametrize("seal", SEALS)
def test_forged_values_are_refused_or_harmless(saved: Path, seal: Callable[[bytes], bytes]) -> None:
    """With a right checksum, or of a version that has none."""
    content = json.loads(saved.read_bytes())
    del content["checksum"]
    content["version"] = 1 if seal is bytes else replay.VERSION
    wrong = []
    for path in leaves(content):
        for value in EVIL:
            saved.write_bytes(seal(json.dumps(forged(content, path, value)).encode()))
            try:
                replay.load(saved)
            except BadReplay:
                continue
            except Exception as error:
                wrong.append(f"{'.'.join(map(str, path))} = {str(value)[:40]!r}: {error!r:.200}")
    assert not wrong, "\n".join(wrong)
