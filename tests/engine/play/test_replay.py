"""Replays: they show the same match at any step, or are refused with the reason."""

from __future__ import annotations

import dataclasses
import json
import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine import files
from engine.errors import BadReplay, BadValue
from engine.game import AgentKind
from engine.plain import View, plain_kind
from engine.play import replay
from engine.play.executors import SequentialMatchExecutor
from engine.play.lane_kernels import bits_for, unpack
from engine.play.match import Ending, EndingKind, Limits, MatchResult, MatchSpec
from engine.registry import GAMES, KINDS, new_game
from tests.plugins import bids
from tests.plugins.pilots import RowPilot, agent, choose


def played(game_name: str, *players: str, seed: int = 3, **options: object) -> tuple[MatchSpec, MatchResult]:
    game = new_game(game_name, **options)
    known = {agent.id: agent for kind in KINDS.working().values() if kind.plays(game) for agent in kind.samples(game)}
    spec = MatchSpec("m", game.spec, tuple(known[name] for name in players), seed)
    with SequentialMatchExecutor(1) as executor:
        return spec, executor.execute_match(spec)


MATCHES = [
    ("pong", "Tracker", "Predictor"),
    ("pong", "fast", "resigning"),
    ("tictactoe", "Perfect", "Anyhow"),
    ("bids", "Half", "Other", "fast"),
]


@pytest.mark.parametrize("names", MATCHES, ids="-".join)
def test_a_match_played_again_is_the_same(names: tuple[str, ...]) -> None:
    spec, result = played(*names)
    playback = replay.verified(spec, result)
    assert (playback.steps, playback.scores(), playback.stats()) == (result.steps, result.scores, result.stats)


@given(st.lists(st.integers(-5, 5000), min_size=1, max_size=12), st.integers(0, 50))
@settings(max_examples=20)
def test_any_step_is_reached_from_any_other(steps: list[int], seed: int) -> None:
    spec, result = played("pong", "Lazy", "Tracker", seed=seed, points=2)
    playback = replay.verified(spec, result)
    straight = replay.Playback(spec)
    actions = unpack(result.actions, bits_for(3)).tolist()
    for step in steps:
        playback.seek(step)
        assert playback.step == min(max(step, 0), result.steps)
        straight = replay.Playback(spec)
        straight.feed(actions, until=playback.step)
        straight.seek(playback.step)
        assert playback.scene() == straight.scene()


def test_seeking_never_plays_more_than_the_distance_between_two_key_frames(monkeypatch: pytest.MonkeyPatch) -> None:
    spec, result = played("pong", "Predictor", "Predictor", seed=2)
    playback = replay.verified(spec, result)
    assert result.steps > 2000
    applied = []
    inner = playback.boards.apply
    monkeypatch.setattr(playback.boards, "apply", lambda lanes, actions: (applied.append(1), inner(lanes, actions)))
    for step in (result.steps - 1, 5, result.steps // 2, result.steps // 2 - 1, 0):
        applied.clear()
        playback.seek(step)
        assert len(applied) < 2 * result.steps / (replay.KEY_FRAMES / 2)


def test_a_live_match_grows_action_by_action() -> None:
    spec, result = played("bids", "Half", "Other", "fast")
    actions = unpack(result.actions, bits_for(5)).tolist()
    live = replay.Playback(spec)
    seen = []
    for action in actions[: 3 * result.steps]:
        live.feed([action])
        seen.append(live.steps)
    assert seen == [n // 3 for n in range(1, 3 * result.steps + 1)]
    assert live.over


@pytest.mark.parametrize("actions", [2, 3, 4, 5, 16, 17, 256, 257, 65_536, 65_537])
def test_actions_take_no_more_bits_than_they_need(actions: int) -> None:
    bits = bits_for(actions)
    assert actions <= 2**bits
    assert bits == 1 or actions > 2 ** (bits // 2)
    values = np.array([0, actions - 1, actions // 2, 1] * 20, np.uint64)
    packed = sum(int(value) << (bits * place) for place, value in enumerate(values)).to_bytes(bits * 10, "little")
    assert unpack(packed, bits).tolist() == values.tolist()


def test_a_saved_replay_is_read_back_and_checked(tmp_path: Path) -> None:
    spec, result = played("pong", "Tracker", "Shaky")
    file = tmp_path / "one.replay"
    replay.save(file, spec, result)
    loaded, playback = replay.load(file)
    assert (loaded.match, loaded.result) == (spec, result)
    assert playback.steps == result.steps
    assert [path.name for path in tmp_path.iterdir()] == ["one.replay"], "no temporary file is left"


def test_a_failed_save_leaves_the_old_replay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spec, result = played("pong", "Tracker", "Shaky")
    file = tmp_path / "one.replay"
    replay.save(file, spec, result)
    before = file.read_bytes()

    def full(handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(files.os, "fsync", full)
    with pytest.raises(BadValue, match="No space"):
        replay.save(file, spec, dataclasses.replace(result, steps=1), overwrite=True)
    assert file.read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["one.replay"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"scores": (4.0, 5.0)}, "scores recorded as"),
        ({"steps": 7}, "bytes of actions do not make 7 steps"),
        ({"steps": -1}, "do not make -1 steps"),
        ({"ranks": (1, 1)}, "ranks recorded as"),
        ({"stats": ((0.0,) * 8,) * 2}, "statistics recorded as"),
        ({"actions": b""}, "0 bytes of actions"),
        ({"actions": b"\xff" * 190}, "cannot play 3"),
        ({"actions": b"\x00" * 10_000_000}, "10000000 bytes of actions"),
        ({"ending": Ending(EndingKind.STEP_LIMIT)}, "cannot have ended as step_limit"),
        (
            {"ending": Ending(EndingKind.FINISHED, (0,)), "ranks": (2, 1)},
            "cannot have ended as finished by seats",
        ),
        ({"ending": Ending(EndingKind.RESIGNED, (7,))}, "cannot have ended as resigned"),
        ({"ending": Ending(EndingKind.RESIGNED, (0,)), "ranks": (2, 1)}, "cannot have ended as resigned"),
        ({"ending": Ending(EndingKind.VOID)}, "cannot have ended as void"),
        ({"id": "other"}, "the result belongs to 'other'"),
        ({"players": ("Tracker", "Other")}, "Tracker against Other"),
    ],
)
def test_a_replay_with_a_different_result_is_refused(change: dict[str, object], message: str, tmp_path: Path) -> None:
    spec, result = played("pong", "Tracker", "Shaky", points=1)
    file = tmp_path / "bad.replay"
    replay.save(file, spec, dataclasses.replace(result, **change))
    with pytest.raises(BadReplay, match=message):
        replay.load(file)


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (lambda raw: raw.update(format="zip"), "file.format = 'zip'"),
        (lambda raw: raw.update(version=9, news=1), "file.version = 9"),
        (lambda raw: raw["match"].update(seed=-1), "seed = -1"),
        (lambda raw: raw["match"].update(seed=10**30), "seed = 1000"),
        (lambda raw: raw["match"].update(start="up"), "start = 'up'"),
        (lambda raw: raw["match"].update(limits={"steps": 5, "clock": None}), "cannot have ended"),
        (lambda raw: raw["match"]["game"]["options"].append(["points", 1]), "must list every option once"),
        (lambda raw: raw["match"]["game"]["options"].pop(), "must list every option once"),
        (lambda raw: raw["match"]["game"]["options"][0].__setitem__(1, 10**400), "paddle_height"),
        (lambda raw: raw["match"]["players"][0].update(id="\ud800"), "lone surrogates"),
        (lambda raw: raw["match"]["game"].update(version=7), "recorded with version 7"),
        (lambda raw: raw["match"]["game"].update(name="pnog"), "did you mean 'pong'"),
        (lambda raw: raw["match"].update(seed="x"), "match.seed"),
        (lambda raw: raw["match"]["players"].pop(), "the result belongs to"),
        (lambda raw: raw.pop("result"), "file.result"),
    ],
)
def test_an_invalid_replay_file_is_refused_by_name(edit: object, message: str, tmp_path: Path) -> None:
    spec, result = played("pong", "Tracker", "Shaky", points=1)
    file = tmp_path / "bad.replay"
    replay.save(file, spec, result)
    raw = json.loads(file.read_text())
    del raw["checksum"]
    edit(raw)
    file.write_bytes(replay._with_checksum(json.dumps(raw).encode()))
    with pytest.raises(BadReplay, match=message):
        replay.load(file)


def test_a_missing_or_a_huge_file_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(BadReplay, match="No such file"):
        replay.load(tmp_path / "none.replay")
    huge = tmp_path / "huge.replay"
    with huge.open("wb") as file:
        file.truncate(100_000_000)
    with pytest.raises(BadReplay, match="must be a file of at most"):
        replay.load(huge)
    os.mkfifo(tmp_path / "pipe.replay")  # opening it for reading would wait for a writer
    for path in (tmp_path / "pipe.replay", tmp_path, Path("/dev/zero")):
        with pytest.raises(BadReplay, match="this is a folder, a device or a pipe"):
            replay.load(path)


def test_a_match_with_a_step_limit_is_replayed_to_it() -> None:
    game = new_game("pong")
    spec = MatchSpec("m", game.spec, (agent("fast"), agent("fast")), 1, None, Limits(23))
    with SequentialMatchExecutor(1) as executor:
        result = executor.execute_match(spec)
    assert replay.verified(spec, result).steps == 23
    with pytest.raises(BadReplay, match="cannot have ended as step_limit"):
        replay.verified(dataclasses.replace(spec, limits=Limits()), result)


def test_a_match_whose_player_failed_after_its_end_is_replayed() -> None:
    def fail(*arguments: object) -> None:
        raise ValueError("cannot stop")

    game = new_game("pong", points=1)
    spec = MatchSpec("m", game.spec, (agent("fast"), agent("sore-loser")), 1)

    def make(game: object, slots: int) -> RowPilot:
        pilot = RowPilot(choose)
        pilot.end = fail  # type: ignore[method-assign]
        return pilot

    KINDS.add("sore-loser", AgentKind("sore-loser", 1, make, lambda game: True, lambda game: []))
    try:
        with SequentialMatchExecutor(1) as executor:
            result = executor.execute_match(spec)
    finally:
        KINDS.remove("sore-loser")
    assert (result.ending.kind, result.ending.seats) == (EndingKind.EXCEPTION, (1,))
    assert replay.verified(spec, result).steps == result.steps


@pytest.mark.parametrize("actions", [2, 3, 16, 256, 257, 70_000])
@pytest.mark.parametrize("seats", [1, 3, 10])
def test_long_matches_of_any_width_are_logged_and_replayed(actions: int, seats: int) -> None:
    class Wide(bids.Bids):
        """Many more bids than prizes are worth, and many rounds."""

        name = "wide"

        def __init__(self, options: bids.BidsOptions) -> None:
            super().__init__(options)
            self.info = dataclasses.replace(self.info, actions=actions, title="Wide")

    class WideBot:
        def act(self, view: View) -> int:
            return view.pick(actions)

    kind = plain_kind("wide-bot", 1, lambda payload: WideBot(), ["wide"], {"Wide": b""})
    GAMES.add("wide", Wide)
    KINDS.add("wide-bot", kind)
    try:
        game = new_game("wide", seats=seats, rounds=400)
        spec = MatchSpec("m", game.spec, tuple(kind.samples(game)) * seats, 1)
        with SequentialMatchExecutor(2) as executor:
            result = executor.execute_match(spec)
        assert len(result.actions) == (400 * seats * bits_for(actions) + 7) // 8
        assert len(set(unpack(result.actions, bits_for(actions)).tolist())) > min(actions, 300) // 2
        replay.verified(spec, result)
    finally:
        GAMES.remove("wide")
        KINDS.remove("wide-bot")
