"""Lessons: what is learned from matches, how they are divided, and how they are saved."""

from __future__ import annotations

import dataclasses
import random
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from agents.training.hybrid.data import Examples
from agents.training.hybrid.lessons import examples as lesson_examples
from agents.training.hybrid.lessons import format as lesson_format
from agents.training.hybrid.lessons import lessons as lessons_module
from agents.training.hybrid.lessons import players as lesson_players
from agents.training.hybrid.lessons.answers import weights_of
from agents.training.hybrid.lessons.lessons import Lessons, lessons_from
from agents.training.hybrid.lessons.replay import Moves, Replay
from agents.training.hybrid.lessons.sampling import Start, quotas, selecting, spread
from agents.training.hybrid.lessons.settings import LessonSettings
from agents.training.records import MatchRecord
from engine.errors import BadValue
from engine.game import Game
from engine.play.lane_kernels import bits_for, unpack
from engine.play.match import AgentSpec, MatchSpec
from engine.play.replay import VIEW, Playback
from engine.registry import game_of, new_game
from tests.agents.training.hybrid.lesson_leagues import (
    BROKEN_AT,
    bots,
    memory_bot,
    play_tournament,
    records_of,
    registered_kinds,
)

PONG = new_game("pong", points=1, step_limit=400)
HUNT = new_game("treasure-hunt", turns=40)
SHOGI = new_game("shogi", move_limit=30)
PLAYERS = {
    "pong": ("Still", "Random", "Lazy", "Predictor"),
    "treasure-hunt": ("Dice", "Badger", "Magpie", "Squirrel"),
    "shogi": ("Pebble", "Magpie", "Merchant"),
}
GAMES = (PONG, HUNT, SHOGI)
EVERY = {"from_league": "all", "examples": 300, "practice": 0.0, "spacing": 1, "bots": "Dice"}


@pytest.fixture(scope="module", autouse=True)
def kinds() -> Iterator[None]:
    with registered_kinds("pong", "shogi"):
        yield


@pytest.fixture(scope="module", name="league")
def league_of_all_games(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("lessons") / "games.league"
    for game in GAMES:
        play_tournament(path, game, bots(game, *PLAYERS[game.spec.name]), rounds=3)
    return path


@pytest.fixture(params=GAMES, ids=lambda game: game.spec.name, name="game")
def each_game(request: pytest.FixtureRequest) -> Game:
    found: Game = request.param
    return found


def made(
    records: Sequence[MatchRecord], game: Game, agents: Sequence[AgentSpec] = (), seed: int = 1, **settings: Any
) -> Lessons:
    found = lessons_from(records, agents, game, LessonSettings(**{**EVERY, **settings}), seed=seed)
    assert found is not None
    return found


def same(first: Examples, other: Examples) -> bool:
    pairs = [(getattr(first, name), getattr(other, name)) for name in ("inputs", "targets", "weights", "legal")]
    return all(a is b is None or (a.dtype == b.dtype and a.tobytes() == b.tobytes()) for a, b in pairs)


# What is learned


def test_examples_are_positions_of_the_matches_and_the_actions_that_were_played(league: Path, game: Game) -> None:
    records = {record.name: record for record in records_of(league, game)}
    lessons = made(tuple(records.values()), game)
    train = lessons.task(game).train
    row = 0
    for match in lessons.matches:
        if match.selects:
            continue
        record = records[match.name]
        nobody = (AgentSpec("", ""),) * game.info.seats
        playback = Playback(MatchSpec(match.name, game.spec, nobody, match.seed, match.start))
        log = unpack(record.actions, bits_for(game.info.actions)).tolist()
        playback.feed(log, until=record.steps)
        for place in match.places.tolist():
            ply, seat = divmod(place, game.info.seats) if game.info.simultaneous else (place, -1)
            playback.seek(ply)
            seat = seat if seat >= 0 else int(np.flatnonzero(playback.boards.acting()[VIEW])[0])
            expected = np.zeros((1, *game.info.observation), np.float32)
            playback.boards.observe(np.array([VIEW], np.uint32), np.array([seat], np.uint32), expected)
            assert train.inputs[row].tobytes() == expected[0].tobytes()
            assert train.targets[row] == log[place]
            assert train.weights[row] == np.float32(weights_of(record, 2.0)[seat])
            row += 1
    assert row == len(train)
    assert (train.legal is None) == (not game.info.masked)


def test_only_the_turns_of_the_chosen_agents_are_learned(league: Path) -> None:
    lessons = made(records_of(league, PONG, "Still"), PONG, examples=2000)
    train = lessons.task(PONG).train
    assert set(train.targets.tolist()) == {0}, "it never moves, its opponents do"


def test_a_winner_counts_more_than_a_loser_by_its_rank() -> None:
    record = MatchRecord("1.1", ("A", "B", "C", "D"), (0, 1, 2, 3), 1, None, 5, (1, 2, 2, 4), (), b"")
    assert weights_of(record, 4.0) == (4.0, 2.5, 2.5, 1.0)
    assert weights_of(record, 1.0) == (1.0,) * 4


def test_a_seat_that_failed_teaches_nothing(league: Path) -> None:
    records = records_of(league, PONG, "Still")
    failed = [dataclasses.replace(record, failed=record.chosen) for record in records[1:]]
    others = records_of(league, PONG, "Lazy")
    names = {match.name for match in made([*failed, *others], PONG, examples=2000).matches}
    assert names == {record.name for record in others}
    with pytest.raises(BadValue, match=r"matches = 1: must be at least two with different seeds"):
        made([records[0], *failed], PONG)


def test_examples_are_spread_evenly_over_matches_and_turns(league: Path) -> None:
    records = records_of(league, HUNT)
    lessons = made(records, HUNT, examples=len(records) * 20)
    assert {len(match.places) for match in lessons.matches} == {20}
    gaps = np.concatenate([np.diff(np.unique(match.places // HUNT.info.seats)) for match in lessons.matches])
    assert gaps.max() <= 2 * HUNT.info.seats * 40 / 20, "none of the equal parts of a match is left out"
    sparse = made(records, HUNT, examples=100_000, spacing=8)
    assert {len(match.places) for match in sparse.matches} == {HUNT.info.seats * 40 // 8}


def test_short_matches_leave_their_share_to_others() -> None:
    assert quotas([3, 100, 100], 103) == [3, 50, 50]
    assert quotas([3, 5], 100) == [3, 5]
    assert spread(10, 10, 1, "m").tolist() == list(range(10))
    assert len(set(spread(1000, 300, 1, "m").tolist())) == 300


# Selection


def test_no_match_is_on_both_sides_and_swapped_matches_are_on_the_same(league: Path, game: Game) -> None:
    lessons = made(records_of(league, game), game)
    sides: dict[Start, set[bool]] = {}
    for match in lessons.matches:
        sides.setdefault(Start(match.seed, match.start), set()).add(match.selects)
    assert all(len(side) == 1 for side in sides.values())
    assert max(sum(other.seed == match.seed for other in lessons.matches) for match in lessons.matches) > 1
    names = [match.name for match in lessons.matches]
    assert len(names) == len(set(names))
    kept = sum(match.selects for match in lessons.matches)
    assert 0.1 <= kept / len(names) <= 0.4
    task = lessons.task(game)
    assert len(task.train) + len(task.select) == len(lessons)


def test_the_side_of_a_match_follows_from_its_start_alone() -> None:
    starts = [Start(seed // 2, None) for seed in range(40)]
    sides = selecting(starts, 0.25, 1)
    assert sum(sides) == 10
    shuffled = random.Random(1).sample(range(40), 40)
    again = selecting([starts[at] for at in shuffled], 0.25, 1)
    assert [sides[at] for at in shuffled] == again
    assert selecting(starts, 0.25, 2) != sides
    assert sum(selecting(starts[:4], 0.01, 1)) == 2, "at least one encounter"
    assert 0 < sum(selecting(starts[:4], 0.5, 1)) < 4


# A teacher


def test_a_teacher_says_the_action_for_each_position(league: Path) -> None:
    [still] = bots(PONG, "Still")
    lessons = made(records_of(league, PONG), PONG, [still], teacher="Still")
    assert set(lessons.task(PONG).train.targets.tolist()) == {0}
    assert {weight for match in lessons.matches for weight in match.weights} == {1.0}, "of winners and losers"


@pytest.mark.parametrize("game", [PONG, SHOGI], ids=["pong", "shogi"])
def test_a_teacher_with_a_memory_sees_every_turn_of_a_seat(league: Path, game: Game) -> None:
    first = PLAYERS[game.spec.name][0]
    lessons = made(records_of(league, game, first), game, [memory_bot()], teacher="Memory", examples=100_000)
    task = lessons.task(game)
    sides = {False: iter(range(len(task.train))), True: iter(range(len(task.select)))}
    for match in lessons.matches:
        for turn, label in enumerate(match.labels.tolist()):
            examples = task.select if match.selects else task.train
            row = next(sides[match.selects])
            legal = [0, 1, 2] if examples.legal is None else np.flatnonzero(examples.legal[row]).tolist()
            assert label == legal[turn % len(legal)], "all its turns are examples, and it counts them"


def test_a_teacher_that_resigns_gives_no_example_there(league: Path) -> None:
    records = records_of(league, PONG, "Still")
    lessons = made(records, PONG, [memory_bot("resigns")], teacher="Memory")
    assert {len(match.places) for match in lessons.matches} == {BROKEN_AT - 1}


def test_a_teacher_may_think_and_play_few_seats_at_once(league: Path) -> None:
    teacher = AgentSpec("Thinker", "thinking-bot")
    train = made(records_of(league, PONG), PONG, [teacher], teacher="Thinker", practice=0.5).task(PONG).train
    assert set(train.targets.tolist()) == {0, 1}, "its seat"


def test_a_teacher_that_fails_is_named_with_the_reason(league: Path) -> None:
    records = records_of(league, PONG, "Still")
    with pytest.raises(BadValue, match=r"teacher = 'Memory': must be an agent .*ValueError: it fails on purpose"):
        made(records, PONG, [memory_bot("fails")], teacher="Memory")
    with pytest.raises(BadValue, match=r"teacher = 'Memory': .* memory-bot is not"):
        made(records_of(league, HUNT), HUNT, [memory_bot()], teacher="Memory")
    with pytest.raises(BadValue, match=r"bots = 'Faulty': must be an agent .*it fails on purpose"):
        made((), PONG, bots(PONG, "Lazy"), teacher="Lazy", bots="Faulty")
    with pytest.raises(BadValue, match=r"teacher = 'Tracker': .* it cannot be loaded"):
        made(records, PONG, [AgentSpec("Tracker", "pong-bot", b'{"style": "genius"}')], teacher="Tracker")


# Practice


def test_without_records_the_teacher_plays_and_is_disturbed() -> None:
    [tracker] = bots(PONG, "Tracker")
    agents, settings = [tracker], {"teacher": "Tracker", "examples": 3000, "noise": 0.4}
    lessons = made((), PONG, agents, **settings)
    labels = np.concatenate([match.labels for match in lessons.matches])
    actions = np.concatenate([match.actions[match.places] for match in lessons.matches])
    differ = float((labels != actions).mean())
    assert 0.4 * 2 / 3 - 0.1 < differ < 0.4 * 2 / 3 + 0.1, "one of three random actions is its own"
    assert made((), PONG, agents, **settings).save() == lessons.save()
    assert made((), PONG, agents, seed=2, **settings).save() != lessons.save()
    calm = made((), PONG, agents, **{**settings, "noise": 0.0})
    for match in calm.matches:
        assert (match.labels == match.actions[match.places]).all()


def test_agents_of_the_league_practise_for_a_share_of_the_examples(league: Path) -> None:
    [lazy] = bots(PONG, "Lazy")
    lessons = made(records_of(league, PONG, "Lazy"), PONG, [lazy], from_league="Lazy", practice=0.5, examples=600)
    recorded = [match for match in lessons.matches if "practice" not in match.name]
    practice = [match for match in lessons.matches if "practice" in match.name]
    assert sum(len(match.places) for match in recorded) == 300
    assert sum(len(match.places) for match in practice) == 300
    assert {weight for match in practice for weight in match.weights} == {2.0}, "as a winner's actions"
    few = records_of(league, PONG, "Lazy")[:4]
    filled = made(few, PONG, [lazy], from_league="Lazy", practice=0.1, examples=4000)
    assert len(filled) == 4000, "practice replaces records that are missing"


def test_legal_actions_of_a_masked_game_are_learned_in_practice() -> None:
    [merchant] = bots(SHOGI, "Merchant")
    task = made((), SHOGI, [merchant], teacher="Merchant", examples=200, noise=0.3).task(SHOGI)
    legal = task.train.legal
    assert legal is not None
    assert legal[np.arange(len(legal)), task.train.targets].all()
    assert legal.sum(axis=1).max() < SHOGI.info.actions


def test_a_person_of_the_league_is_not_asked_to_practise(league: Path) -> None:
    notes: list[tuple[str, bool]] = []
    found = lessons_from(
        records_of(league, PONG, "Lazy"),
        [AgentSpec("Anna", "human")],
        PONG,
        LessonSettings(**{**EVERY, "practice": 0.5}),
        seed=1,
        note=lambda text, warning: notes.append((text, warning)),
    )
    assert found is not None
    assert notes[0] == (
        "Anna plays no practice matches, because a person plays it: only its records are learned",
        True,
    )
    assert not notes[1][1]
    with pytest.raises(BadValue, match="not a person"):
        made((), PONG, [AgentSpec("Anna", "human")], teacher="Anna")


# Running


def test_a_stop_ends_it_without_lessons(league: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lesson_players, "CALL", 0.0)
    asked: list[int] = []

    def stop() -> bool:
        asked.append(1)
        return len(asked) > 5

    for records, agents in (
        (records_of(league, PONG), []),
        (records_of(league, PONG), bots(PONG, "Lazy")),
        ((), bots(PONG, "Lazy")),
    ):
        asked.clear()
        settings = LessonSettings(**{**EVERY, "teacher": "Lazy" if agents else ""})
        assert lessons_from(records, agents, PONG, settings, seed=1, stop=stop) is None
        assert len(asked) == 6


def test_progress_reaches_the_number_of_examples(league: Path) -> None:
    seen: list[tuple[int, int]] = []
    found = lessons_from(
        records_of(league, PONG),
        bots(PONG, "Lazy"),
        PONG,
        LessonSettings(**{**EVERY, "teacher": "Lazy", "practice": 0.5, "examples": 1000}),
        seed=1,
        progress=lambda done, total: seen.append((done, total)),
    )
    assert found is not None
    assert seen == sorted(seen)
    assert seen[-1] == (len(found), len(found))
    assert len(seen) > 2


def test_examples_that_do_not_fit_into_memory_are_left_out(league: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lesson_examples, "MOST_BYTES", 4 * 8 * 250)
    notes: list[tuple[str, bool]] = []
    found = lessons_from(
        records_of(league, PONG),
        (),
        PONG,
        LessonSettings(**EVERY),
        seed=1,
        note=lambda text, warning: notes.append((text, warning)),
    )
    assert found is not None
    assert len(found) <= 250
    assert notes[0] == ("250 examples instead of 300: more would not fit into memory", True)
    monkeypatch.setattr(lessons_module, "MOST_TURNS", 3000)
    found = lessons_from(
        records_of(league, PONG),
        (),
        PONG,
        LessonSettings(**EVERY),
        seed=1,
        note=lambda text, warning: notes.append((text, warning)),
    )
    assert found is not None
    used = f"{len(found.matches)} of {len(records_of(league, PONG))} recorded matches are used"
    assert notes[3] == (f"{used}: more would not fit into memory", True)
    monkeypatch.setattr(lesson_examples, "MOST_BYTES", 4 * 8 * 50)
    with pytest.raises(BadValue, match="at most 50 of this game"):
        found.task(PONG)


def test_turns_do_not_depend_on_the_number_of_lanes(league: Path, game: Game) -> None:
    moves = [
        Moves(
            record.name,
            record.seed,
            record.start,
            unpack(record.actions, bits_for(game.info.actions)).astype(np.uint16),
            record.steps,
        )
        for record in records_of(league, game)[:9]
    ]

    def turns(lanes: int) -> list[tuple[int, ...]]:
        found = []
        for some in Replay(game, moves, lanes).turns():
            columns = (some.matches, some.places, some.seats, some.plies, some.actions)
            found += list(zip(*[column.tolist() for column in columns], strict=True))
        return sorted(found)

    assert turns(1) == turns(4) == turns(128)


def test_nothing_to_learn_from_is_an_error() -> None:
    with pytest.raises(BadValue, match="recorded matches, or name a teacher"):
        made((), PONG)
    with pytest.raises(BadValue, match="or name a teacher"):
        LessonSettings().check_lessons(PONG)
    with pytest.raises(BadValue, match="the name of one agent"):
        LessonSettings(teacher="Lazy,Tracker")


# Files


def test_saved_lessons_give_the_same_examples_to_the_bit(league: Path, game: Game) -> None:
    lessons = made(records_of(league, game), game, bots(game, "Dice"), practice=0.5)
    data = lessons.save()
    loaded = Lessons.load(data)
    assert loaded.save() == data
    assert len(loaded) == len(lessons)
    first, other = lessons.task(game), loaded.task(game)
    assert same(first.train, other.train)
    assert same(first.select, other.select)
    assert len(data) < sum(len(part) for part in (first.train.inputs.tobytes(), first.select.inputs.tobytes()))


def test_lessons_of_another_game_are_refused(league: Path) -> None:
    lessons = made(records_of(league, PONG), PONG)
    for other in (HUNT, new_game("pong", points=2)):
        with pytest.raises(BadValue, match="the game of the session"):
            lessons.task(other)


def test_damaged_bytes_are_refused(league: Path) -> None:
    data = made(records_of(league, SHOGI), SHOGI, examples=100).save()
    raw = bytearray(zlib.decompress(data))
    dice = random.Random(7)
    variants = [b"", b"x", data[:-3], data + b"x", zlib.compress(b"")]
    for _ in range(150):
        changed = bytearray(raw)
        for _ in range(dice.choice([1, 1, 8])):
            changed[dice.randrange(len(changed))] = dice.randrange(256)
        variants.append(zlib.compress(bytes(changed[: dice.choice([len(changed), dice.randrange(len(changed))])])))
    refused = 0
    for variant in variants:
        try:
            Lessons.load(variant).task(SHOGI)
        except BadValue:
            refused += 1
    assert refused > len(variants) // 2, "a changed seed or weight may be valid"


def test_a_small_file_cannot_take_much_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lesson_format, "LARGEST", 1 << 20)
    with pytest.raises(BadValue, match="1,048,576 bytes"):
        Lessons.load(zlib.compress(bytes(64 << 20)))


def test_records_that_cannot_have_happened_are_refused(league: Path) -> None:
    first, *rest = records_of(league, SHOGI)
    for changed, why in (
        ({"actions": b"\xff" * len(first.actions)}, "must be legal actions"),
        ({"actions": first.actions[:-2]}, "must be actions of"),
        ({"actions": first.actions * 9}, "must be actions of"),
        ({"ranks": (1, 2, 3)}, "must be actions of"),
        ({"steps": first.steps + 1, "actions": first.actions + b"\0\0"}, "must be"),
    ):
        with pytest.raises(BadValue, match=f"match {first.name} .*{why}"):
            made([dataclasses.replace(first, **changed), *rest], SHOGI)  # type: ignore[arg-type]


# Other games


def test_a_game_of_pettingzoo_can_be_learned(tmp_path: Path) -> None:
    pytest.importorskip("pettingzoo")
    game = new_game("pettingzoo:tictactoe_v3")
    path = tmp_path / "zoo.league"
    dice = [AgentSpec(name, "dice") for name in ("A", "B", "C")]
    play_tournament(path, game, dice, rounds=2)
    lessons = made(records_of(path, game), game, examples=100)
    task = Lessons.load(lessons.save()).task(game_of(game.spec))
    assert task.outputs == game.info.actions
    assert len(task.train) + len(task.select) == len(lessons)
