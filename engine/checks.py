"""Does a game, or a kind of agent, keep its promises? For our own and for plug-in authors alike.

    from engine.checks import check_game, check_kind
    check_game(new_game("nim"))

Each raises an AssertionError with a sentence, and returns nothing when all is well.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import cast

import numpy as np

from engine import codec
from engine.errors import BadValue, DriverRefused
from engine.game import (AgentKind, Boards, Bools, CompiledBoards, Game, Indices, Ints, Observations, Position, StyledBoards)
from engine.play.arena import Arena
from engine.play.executors import SequentialMatchExecutor
from engine.play.lane_kernels import bits_for
from engine.play.march import Marching
from engine.play.match import AgentSpec, GameSpec, Limits, MatchResult, MatchSpec, run_digest
from engine.play.replay import verified
from engine.play.tick import Tick
from engine.play.witness import witness
from engine.registry import game_of
from engine.scene import Scene
from engine.seeding import pick, purpose

PLAY = purpose("checks.play")
ROWS = 2_000  # steps of a match in which row functions are compared with batch kernels
STEPS = 100_000  # a match of random players that is not over by then never ends


def check_game(game: Game, *, lanes: int = 3, matches: int = 6) -> None:
    """Play random matches in several arrangements and look whether the boards tell the same story."""
    _check_info(game)
    whole = [_play(game, [seed])[0] for seed in range(matches)]
    for seed, (rows, _) in enumerate(whole):
        assert rows, f"the match of seed {seed} is over before it began"
    for first in range(0, matches, lanes):
        seeds = list(range(first, min(first + lanes, matches)))
        for seed, (rows, last) in zip(seeds, _play(game, seeds), strict=True):
            assert rows == whole[seed][0], f"seed {seed} plays differently when other lanes are in play"
            assert last == whole[seed][1], f"seed {seed} ends differently when other lanes are in play"
    _check_copy(game)
    _check_start(game)
    _check_styles(game)
    if hasattr(game.boards(1), "rows"):
        _check_rows(game, matches)


def check_kind(kind: AgentKind, game: Game, *, matches: int = 6, agents: Sequence[AgentSpec] = ()) -> None:
    """Have the ready-made agents of a kind, or these, play each other and themselves, in lanes and alone; of one that
    people play, somebody at every seat."""
    assert kind.plays(game), f"{kind.name} does not play {game.spec.name}"
    if kind.live:
        _check_live(kind, game)
        return
    agents = list(agents or kind.samples(game))
    assert agents, f"{kind.name} has no sample for {game.spec.name}: nothing can be checked"
    assert len({agent.id for agent in agents}) == len(agents), f"{kind.name}: two samples have one id"
    for agent in agents:
        assert agent.kind == kind.name, f"sample {agent.id!r} says it is of kind {agent.kind!r}"
        assert agent.version == kind.version, f"sample {agent.id!r} is of version {agent.version}, not {kind.version}"
    seats = game.info.seats
    specs = [
        MatchSpec(
            f"m{n}", game.spec, tuple(agents[(n + n // len(agents) * seat) % len(agents)] for seat in range(seats)), n
        )
        for n in range(max(matches, 2 * len(agents)))
    ]
    together = _results(specs, lanes=len(specs))
    if hasattr(kind.pilot(game, 1), "act_row") and hasattr(game.boards(1), "rows"):
        marched = _marched(specs, lanes=len(specs))
        for one, other in zip(together, marched, strict=True):
            assert one.digest() == other.digest(), f"{one.players}: act_row and act answer differently (match {one.id})"
    for result in together:
        assert not result.ending.kind.failure, f"{result.players} failed: {result.ending.reason}"
        assert not result.ending.seats, f"{result.players} forfeited: {result.ending.kind.value}"
    if all(kind.repeats(agent) for agent in agents):
        alone = _results(specs, lanes=1)
        for spec, one, other in zip(specs, together, alone, strict=True):
            assert one.digest() == other.digest(), f"{one.players} play differently in company (match {spec.id})"
        shuffled = random.Random(1).sample(specs, len(specs))
        assert run_digest(_results(shuffled, lanes=2)) == run_digest(together), f"{kind.name} depends on the order"
        for spec, one in zip(specs, together, strict=True):
            verified(spec, one)


def _check_live(kind: AgentKind, game: Game) -> None:
    """A person at every seat: the pilot must not wait for them, must do as it is told, and must forgive a slip."""
    players = (AgentSpec("person", kind.name, b"", kind.version),) * game.info.seats
    assert not kind.repeats(players[0]), f"{kind.name} is live: nobody plays the same way twice: it is not repeatable"
    with Arena(1, alone=True) as arena:
        arena.add(MatchSpec("live", game.spec, players, 1))
        [tick] = arena.tick()
        waits = game.info.idle is None
        for ply in range(STEPS):
            if waits:
                assert not tick.moved.size, f"{kind.name} acts before its person does (ply {ply})"
                tick = _tell_people(arena, tick.group.boards, game, ply, slip=True)[0]
                assert not tick.moved.size, f"{kind.name} does what is not legal, or anything at all (ply {ply})"
            tick, told = _tell_people(arena, tick.group.boards, game, ply, slip=False)
            done = {seat: int(tick.actions[0, seat]) for seat in told}
            assert tick.moved.size, f"{kind.name} was told {told} and does nothing (ply {ply})"
            assert done == told, f"{kind.name} was told {told} and does {done} (ply {ply})"
            if tick.ended.size:
                break
            if waits:
                [tick] = arena.tick()
        [result] = arena.take_results()
    assert not result.ending.seats, f"{kind.name} forfeited: {result.ending.kind.value} {result.ending.reason}"


def _tell_people(arena: Arena, boards: Boards, game: Game, ply: int, slip: bool) -> tuple[Tick, dict[int, int]]:
    """Have all who act now do something that is legal, or that is not; what came of it, and what they did."""
    told = {}
    for seat in np.flatnonzero(boards.acting()[0]).tolist():
        mask = _mask(boards, game, 0, seat)
        choices = np.flatnonzero(~mask if slip else mask).tolist() or [game.info.actions]
        told[seat] = choices[pick(len(choices), 1, PLAY, seat, ply)]
        arena.hear(seat, told[seat])
    [tick] = arena.tick()
    return tick, told


def _results(specs: Sequence[MatchSpec], lanes: int, marching: Marching = Marching.NEVER) -> list[MatchResult]:
    with SequentialMatchExecutor(lanes, marching=marching) as executor:
        return executor.execute_matches(specs)


def _marched(specs: Sequence[MatchSpec], lanes: int) -> list[MatchResult]:
    try:
        return _results(specs, lanes, Marching.AT_ONCE)
    except DriverRefused as error:
        raise AssertionError(str(error)) from error


def _check_rows(game: Game, matches: int) -> None:
    """Matches of players who go by all that they see must be the same by row functions and by batch kernels."""
    with witness() as player:
        specs = [
            MatchSpec(f"m{n}", game.spec, (player,) * game.info.seats, n, None, Limits(ROWS)) for n in range(matches)
        ]
        ticked, marched = _results(specs, lanes=3), _marched(specs, lanes=3)
    for spec, one, other in zip(specs, ticked, marched, strict=True):
        assert one.digest() == other.digest(), f"seed {spec.seed}: row functions and batch kernels play differently"
    boards = cast(CompiledBoards, game.boards(1))
    score_row, lane = boards.rows.score_row, np.array([0], np.uint32)
    if score_row is not None:
        boards.deal(lane, np.array([5], np.uint64), [None])
        for _ in range(STEPS):
            found = [float(score_row(boards.arrays, lane[0], np.uint32(seat))) for seat in range(game.info.seats)]
            assert found == boards.scores()[0].tolist(), f"score_row gives {found}, scores() {boards.scores()[0]}"
            if boards.over()[0]:
                break
            _step(boards, game, lane, 1)


def _check_info(game: Game) -> None:
    info = game.info
    assert 1 <= info.seats <= 10, f"{info.seats} seats: from 1 to 10"
    assert info.actions >= 1, f"{info.actions} actions: at least 1"
    bits_for(info.actions)
    assert len(set(info.stats)) == len(info.stats), "two statistics have one name"
    assert not info.action_names or len(info.action_names) == info.actions, "as many names as actions, or none"
    assert not info.seat_names or len(info.seat_names) == info.seats, "as many names as seats, or none"
    assert info.idle is None or 0 <= info.idle < info.actions, f"idle = {info.idle}: must be an action, or None"
    assert codec.load(GameSpec, codec.dump(game.spec)) == game.spec, "the spec does not survive being written and read"
    again = game_of(game.spec)
    assert again.spec == game.spec, f"made again from its spec, the game has another: {again.spec}"
    assert again.info == info, "made again from its spec, the game has another info"


def _check_start(game: Game) -> None:
    game.check_start(None)
    try:
        game.check_start("no such start \x00")
    except BadValue:
        return
    raise AssertionError("check_start takes any text: a misspelt start would go unnoticed")


def _check_styles(game: Game) -> None:
    boards = game.boards(1)
    boards.deal(np.array([0], np.uint32), np.array([5], np.uint64), [None])
    usual = boards.scene(0)
    for place, style in enumerate(game.info.styles):
        scene = cast(StyledBoards, boards).scene(0, style)
        assert (scene == usual) == (place == 0), f"style {style!r} must differ from the usual one, which comes first"
        assert scene.caption == usual.caption, f"style {style!r} has a caption of its own: that is for those who listen"


def _play(game: Game, seeds: Sequence[int]) -> list[tuple[list[object], object]]:
    """Random matches side by side: for each what was seen at every step, and how it ended."""
    boards, info = game.boards(len(seeds) + 1), game.info  # one lane more: it must stay as it is
    lanes = np.arange(len(seeds), dtype=np.uint32)
    idle = np.array([len(seeds)], np.uint32)
    boards.deal(idle, np.array([99], np.uint64), [None])
    for others in (777, 0):  # dealt twice: nothing of an earlier match may be left
        boards.deal(lanes, np.array(seeds, np.uint64) + np.uint64(others), [None] * len(seeds))
        if others:
            _step(boards, game, lanes, len(seeds) + 1)
    untouched = _look(boards, game, int(idle[0]))
    rows: list[list[object]] = [[] for _ in seeds]
    for ply in range(STEPS):
        over = boards.over()[: len(seeds)]
        running = lanes[over == 0]
        if not running.size:
            break
        actions: Ints = np.full((len(seeds) + 1, info.seats), -1, np.int64)
        for lane in running.tolist():
            seen = _look(boards, game, lane)
            assert seen == _look(boards, game, lane), f"looking at a board changes it (seed {seeds[lane]}, ply {ply})"
            acting = np.flatnonzero(boards.acting()[lane]).tolist()
            assert acting, f"nobody acts and the match is not over (seed {seeds[lane]}, ply {ply})"
            assert not info.simultaneous or len(acting) == info.seats, "simultaneous, but not every seat acts"
            for seat in acting:
                choices = np.flatnonzero(_mask(boards, game, lane, seat)).tolist()
                assert choices, f"seat {seat} has no legal action (seed {seeds[lane]}, ply {ply})"
                actions[lane, seat] = choices[pick(len(choices), seeds[lane], PLAY, seat, ply)]
            rows[lane].append((seen, actions[lane].tolist()))
        boards.apply(running, actions)
        scores = boards.scores()
        assert scores.shape == (len(seeds) + 1, info.seats), f"scores() has the shape {scores.shape}"
        assert np.all(np.isfinite(scores)), f"a score is not a finite number (ply {ply})"
    else:
        raise AssertionError(f"after {STEPS} steps of random play the match is still not over: it needs a limit")
    assert _look(boards, game, int(idle[0])) == untouched, "a lane changed that was never moved"
    assert not boards.acting()[lanes].any(), "somebody acts on a board that is over"
    return [(rows[lane], _end(boards, game, lane)) for lane in lanes.tolist()]


def _step(boards: Boards, game: Game, lanes: Indices, rows: int) -> None:
    actions: Ints = np.zeros((rows, game.info.seats), np.int64)
    for lane in lanes.tolist():
        for seat in np.flatnonzero(boards.acting()[lane]).tolist():
            actions[lane, seat] = np.flatnonzero(_mask(boards, game, lane, seat))[0]
    boards.apply(lanes, actions)


def _end(boards: Boards, game: Game, lane: int) -> object:
    stats = boards.stats(np.array([lane], np.uint32))
    shape = (1, game.info.seats, len(game.info.stats))
    assert stats.shape == shape, f"stats() has the shape {stats.shape}, not {shape}"
    assert np.all(np.isfinite(stats)), "a statistic is not a finite number"
    return boards.over()[lane].item(), boards.scores()[lane].tolist(), stats.tolist(), _look(boards, game, lane)


def _look(boards: Boards, game: Game, lane: int) -> object:
    """All that can be seen of a lane, in a form that can be compared."""
    seats = np.arange(game.info.seats, dtype=np.uint32)
    out: Observations = np.full((game.info.seats, *game.info.observation), np.nan, np.float32)
    boards.observe(np.full(game.info.seats, lane, np.uint32), seats, out)
    assert np.all(np.isfinite(out)), "an observation is not a finite number, or was not written"
    if game.info.bounds is not None:
        low, high = game.info.bounds
        assert np.all((out >= low) & (out <= high)), f"an observation is not from {low:g} to {high:g}, as `bounds` says"
    scene = boards.scene(lane)
    assert isinstance(scene, Scene), "scene() must return a Scene"
    assert scene.caption, "a scene needs a caption"
    assert boards.over()[lane] or not scene.ending, "a scene tells how it ended, and it has not"
    positions = []
    for seat in range(game.info.seats):
        position = boards.position(lane, seat)
        if position is not None:
            positions.append(_check_position(position, boards, game, lane, seat))
    return out.tobytes(), scene, positions, boards.scores()[lane].tolist()


def _check_position(position: Position, boards: Boards, game: Game, lane: int, seat: int) -> object:
    legal = position.legal().tolist()
    if boards.acting()[lane, seat]:
        assert legal == np.flatnonzero(_mask(boards, game, lane, seat)).tolist(), "position and mask disagree"
        moves = position.moves
        after = position.play(legal[0])
        assert position.moves == moves, "playing on a position changed it"
        assert position.legal().tolist() == legal, "playing on a position changed it"
        assert after.moves == (*moves, legal[0]), "the new position does not hold the move"
    return position.start, position.moves


def _mask(boards: Boards, game: Game, lane: int, seat: int) -> Bools:
    out: Bools = np.ones((1, game.info.actions), np.bool_)
    if game.info.masked:
        boards.legal(np.array([lane], np.uint32), np.array([seat], np.uint32), out)
    mask: Bools = out[0]
    return mask


def _check_copy(game: Game) -> None:
    """A copied lane must go on like its source, and they must not share anything."""
    boards = game.boards(2)
    first = np.array([0], np.uint32)
    boards.deal(first, np.array([5], np.uint64), [None])
    actions: Ints = np.zeros((2, game.info.seats), np.int64)
    for ply in range(3):
        boards.copy(0, 1)
        assert _look(boards, game, 0) == _look(boards, game, 1), f"a copied lane looks different (ply {ply})"
        kept = _look(boards, game, 1)
        for seat in np.flatnonzero(boards.acting()[0]).tolist():
            actions[:, seat] = np.flatnonzero(_mask(boards, game, 0, seat))[-1]
        boards.apply(first, actions)
        assert _look(boards, game, 1) == kept, f"a copied lane moves with its source (ply {ply})"
        boards.apply(np.array([1], np.uint32), actions)
        assert _look(boards, game, 0) == _look(boards, game, 1), f"a copied lane goes on differently (ply {ply})"
        if boards.over()[0]:
            break
