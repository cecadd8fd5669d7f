"""Conformance checks for games, agent kinds and executors, for Ringside itself and for authors of plug-ins.

    from engine.checks import check_executor, check_game, check_kind
    check_game(new_game("nim"))

Each raises an AssertionError that says what is wrong, and returns None if everything is right.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import cast

import numpy as np

from engine import codec
from engine.errors import BadValue, DriverRefused
from engine.executor_checks import check_executor
from engine.game import (
    AgentKind,
    Boards,
    Bools,
    CompiledBoards,
    Game,
    Indices,
    Ints,
    MeasuredBoards,
    Observations,
    Position,
    StyledBoards,
)
from engine.play.arena import Arena
from engine.play.executors import SequentialMatchExecutor
from engine.play.lane_group import Tick
from engine.play.lane_kernels import bits_for
from engine.play.march import Marching
from engine.play.match import AgentSpec, GameSpec, Limits, MatchResult, MatchSpec, run_digest
from engine.play.probe_agent import probe_agent
from engine.play.replay import verified
from engine.play.rollout_rewards import reward_names
from engine.policy_checks import check_policy
from engine.registry import game_of
from engine.scene import Scene
from engine.seeding import pick, purpose

__all__ = ["check_executor", "check_game", "check_kind"]

PLAY = purpose("checks.play")
ROW_CHECK_STEPS = 2_000  # step limit of matches that compare row functions with batch kernels
MAX_STEPS = 100_000  # random matches that are longer are taken to be endless


def check_game(game: Game, *, lanes: int = 3, matches: int = 6) -> None:
    """Play random matches in several arrangements of lanes, and check that they are the same in each."""
    _check_info(game)
    whole = [_play_random(game, [seed])[0] for seed in range(matches)]
    for seed, (rows, _) in enumerate(whole):
        assert rows, f"the match of seed {seed} is over at its start"
    for first in range(0, matches, lanes):
        seeds = list(range(first, min(first + lanes, matches)))
        for seed, (rows, last) in zip(seeds, _play_random(game, seeds), strict=True):
            assert rows == whole[seed][0], f"seed {seed} plays differently when other lanes are played beside it"
            assert last == whole[seed][1], f"seed {seed} ends differently when other lanes are played beside it"
    _check_copy(game)
    _check_start(game)
    _check_styles(game)
    if hasattr(game.boards(1), "rows"):
        _check_rows(game, matches)


def check_kind(kind: AgentKind, game: Game, *, matches: int = 6, agents: Sequence[AgentSpec] = ()) -> None:
    """Check a kind: its ready-made agents, or `agents`, play each other and themselves, in lanes and alone. For a live
    kind, simulated persons play at every seat."""
    assert kind.plays(game), f"{kind.name} does not play {game.spec.name}"
    if kind.live:
        _check_live(kind, game)
        return
    agents = list(agents or kind.samples(game))
    assert agents, f"{kind.name} has no sample for {game.spec.name}: there is nothing to check"
    assert len({agent.id for agent in agents}) == len(agents), f"{kind.name}: two samples have the same id"
    for agent in agents:
        assert agent.kind == kind.name, f"sample {agent.id!r} has the kind {agent.kind!r}, not {kind.name!r}"
        assert agent.version == kind.version, f"sample {agent.id!r} has version {agent.version}, not {kind.version}"
    seats = game.info.seats
    specs = [
        MatchSpec(
            f"m{n}", game.spec, tuple(agents[(n + n // len(agents) * seat) % len(agents)] for seat in range(seats)), n
        )
        for n in range(max(matches, 2 * len(agents)))
    ]
    together = _run_matches(specs, lanes=len(specs))
    if hasattr(kind.pilot(game, 1), "act_row") and hasattr(game.boards(1), "rows"):
        marched = _run_marched(specs, lanes=len(specs))
        for result, other in zip(together, marched, strict=True):
            assert result.digest() == other.digest(), (
                f"{result.players}: act_row and act answer differently (match {result.id})"
            )
    for result in together:
        assert not result.ending.kind.failure, f"{result.players} failed: {result.ending.reason}"
        assert not result.ending.seats, f"{result.players} forfeited: {result.ending.kind.value}"
    if all(kind.repeats(agent) for agent in agents):
        alone = _run_matches(specs, lanes=1)
        for spec, result, other in zip(specs, together, alone, strict=True):
            assert result.digest() == other.digest(), (
                f"{result.players} play differently in other lanes (match {spec.id})"
            )
        shuffled = random.Random(1).sample(specs, len(specs))
        assert run_digest(_run_matches(shuffled, lanes=2)) == run_digest(together), (
            f"{kind.name}: results depend on the order of matches"
        )
        for spec, result in zip(specs, together, strict=True):
            verified(spec, result)
        if hasattr(kind.pilot(game, 1), "decide"):
            check_policy(game, specs, together)


def _check_live(kind: AgentKind, game: Game) -> None:
    """Simulate a person at every seat: the pilot must not block, must play legal actions and ignore illegal ones."""
    players = (AgentSpec("person", kind.name, b"", kind.version),) * game.info.seats
    assert not kind.repeats(players[0]), f"{kind.name} is live, so it must not be repeatable"
    with Arena(1, alone=True) as arena:
        arena.add(MatchSpec("live", game.spec, players, 1))
        [tick] = arena.tick()
        waits = game.info.idle is None
        for ply in range(MAX_STEPS):
            if waits:
                assert not tick.moved.size, f"{kind.name} acts before the human player does (ply {ply})"
                tick = _send_actions(arena, tick.group.boards, game, ply, illegal=True)[0]
                assert not tick.moved.size, f"{kind.name} acts after an illegal input (ply {ply})"
            tick, sent = _send_actions(arena, tick.group.boards, game, ply, illegal=False)
            done = {seat: int(tick.actions[0, seat]) for seat in sent}
            assert tick.moved.size, f"{kind.name} received {sent} and does not act (ply {ply})"
            assert done == sent, f"{kind.name} received {sent} and plays {done} (ply {ply})"
            if tick.ended.size:
                break
            if waits:
                [tick] = arena.tick()
        [result] = arena.take_results()
    assert not result.ending.seats, f"{kind.name} forfeited: {result.ending.kind.value} {result.ending.reason}"


def _send_actions(arena: Arena, boards: Boards, game: Game, ply: int, illegal: bool) -> tuple[Tick, dict[int, int]]:
    """Send a legal or an illegal action for each acting seat; returns the tick that follows and the actions by seat."""
    sent = {}
    for seat in np.flatnonzero(boards.acting()[0]).tolist():
        mask = _legal_mask(boards, game, 0, seat)
        choices = np.flatnonzero(~mask if illegal else mask).tolist() or [game.info.actions]
        sent[seat] = choices[pick(len(choices), 1, PLAY, seat, ply)]
        arena.act(seat, sent[seat])
    [tick] = arena.tick()
    return tick, sent


def _run_matches(specs: Sequence[MatchSpec], lanes: int, marching: Marching = Marching.NEVER) -> list[MatchResult]:
    with SequentialMatchExecutor(lanes, marching=marching) as executor:
        return executor.execute_matches(specs)


def _run_marched(specs: Sequence[MatchSpec], lanes: int) -> list[MatchResult]:
    try:
        return _run_matches(specs, lanes, Marching.AT_ONCE)
    except DriverRefused as error:
        raise AssertionError(str(error)) from error


def _check_rows(game: Game, matches: int) -> None:
    """Row functions and batch kernels must give the same matches. The probe agent's actions depend on every bit of its
    observations, and on the legal actions. `position_row`, which has no counterpart among the batch kernels, is not
    compared here: `check_kind` does it with a kind that searches, whose `act` and `act_row` must answer alike."""
    with probe_agent() as player:
        specs = [
            MatchSpec(f"m{n}", game.spec, (player,) * game.info.seats, n, None, Limits(ROW_CHECK_STEPS))
            for n in range(matches)
        ]
        ticked, marched = _run_matches(specs, lanes=3), _run_marched(specs, lanes=3)
    for spec, result, other in zip(specs, ticked, marched, strict=True):
        assert result.digest() == other.digest(), f"seed {spec.seed}: row functions and batch kernels play differently"
    boards = cast(CompiledBoards, game.boards(1))
    score_row, lane = boards.rows.score_row, np.array([0], np.uint32)
    if score_row is not None:
        boards.deal(lane, np.array([5], np.uint64), [None])
        for _ in range(MAX_STEPS):
            found = [float(score_row(boards.arrays, lane[0], np.uint32(seat))) for seat in range(game.info.seats)]
            assert found == boards.scores()[0].tolist(), f"score_row returns {found}, scores() {boards.scores()[0]}"
            if boards.rows.stats_row is not None:
                _check_stats_row(boards, game)
            if boards.over()[0]:
                break
            _play_first_legal(boards, game, lane, 1)


def _check_stats_row(boards: CompiledBoards, game: Game) -> None:
    lane, names = np.array([0], np.uint32), reward_names(game.info)
    parts = [boards.stats(lane), *([cast(MeasuredBoards, boards).measures(lane)] if game.info.measures else [])]
    expected, found = np.concatenate(parts, axis=2)[0], np.zeros((game.info.seats, len(names)))
    for seat in range(game.info.seats):
        boards.rows.stats_row(boards.arrays, lane[0], np.uint32(seat), found[seat])  # type: ignore[misc]
    text = f"stats_row writes {found.tolist()}, but stats() and measures() return {expected.tolist()}"
    assert np.array_equal(found, expected), text


def _check_info(game: Game) -> None:
    info = game.info
    assert 1 <= info.seats <= 10, f"info.seats = {info.seats}: must be from 1 to 10"
    assert info.actions >= 1, f"info.actions = {info.actions}: must be at least 1"
    bits_for(info.actions)
    names = reward_names(info)
    assert len(set(names)) == len(names), "two statistics or measures have the same name"
    assert not info.action_names or len(info.action_names) == info.actions, "info.action_names: one per action, or none"
    assert not info.seat_names or len(info.seat_names) == info.seats, "info.seat_names: one per seat, or none"
    assert info.idle is None or 0 <= info.idle < info.actions, f"info.idle = {info.idle}: must be an action, or None"
    assert codec.load(GameSpec, codec.dump(game.spec)) == game.spec, "the spec changes when it is written and read"
    rebuilt = game_of(game.spec)
    assert rebuilt.spec == game.spec, f"a game built from this spec has a different spec: {rebuilt.spec}"
    assert rebuilt.info == info, "a game built from this spec has a different info"


def _check_start(game: Game) -> None:
    game.check_start(None)
    try:
        game.check_start("no such start \x00")
    except BadValue:
        return
    raise AssertionError("check_start accepts any text: it must raise BadValue for an invalid start")


def _check_styles(game: Game) -> None:
    boards = game.boards(1)
    boards.deal(np.array([0], np.uint32), np.array([5], np.uint64), [None])
    default = boards.scene(0)
    for place, style in enumerate(game.info.styles):
        scene = cast(StyledBoards, boards).scene(0, style)
        assert (scene == default) == (place == 0), f"style {style!r}: only the first style may equal the default scene"
        assert scene.caption == default.caption, f"style {style!r} changes the caption, which must stay the same"


def _play_random(game: Game, seeds: Sequence[int]) -> list[tuple[list[object], object]]:
    """Play random matches side by side; returns a snapshot of every step, and the final state, of each."""
    boards, info = game.boards(len(seeds) + 1), game.info  # one more lane, which must not change
    lanes = np.arange(len(seeds), dtype=np.uint32)
    idle = np.array([len(seeds)], np.uint32)
    boards.deal(idle, np.array([99], np.uint64), [None])
    for others in (777, 0):  # dealt twice: no state of an earlier match may remain
        boards.deal(lanes, np.array(seeds, np.uint64) + np.uint64(others), [None] * len(seeds))
        if others:
            _play_first_legal(boards, game, lanes, len(seeds) + 1)
    untouched = _snapshot(boards, game, int(idle[0]))
    rows: list[list[object]] = [[] for _ in seeds]
    for ply in range(MAX_STEPS):
        over = boards.over()[: len(seeds)]
        running = lanes[over == 0]
        if not running.size:
            break
        actions: Ints = np.full((len(seeds) + 1, info.seats), -1, np.int64)
        for lane in running.tolist():
            state = _snapshot(boards, game, lane)
            assert state == _snapshot(boards, game, lane), f"reading a board changes it (seed {seeds[lane]}, ply {ply})"
            acting = np.flatnonzero(boards.acting()[lane]).tolist()
            assert acting, f"no seat acts, but the match is not over (seed {seeds[lane]}, ply {ply})"
            assert not info.simultaneous or len(acting) == info.seats, "info.simultaneous, but not every seat acts"
            for seat in acting:
                choices = np.flatnonzero(_legal_mask(boards, game, lane, seat)).tolist()
                assert choices, f"seat {seat} has no legal action (seed {seeds[lane]}, ply {ply})"
                actions[lane, seat] = choices[pick(len(choices), seeds[lane], PLAY, seat, ply)]
            rows[lane].append((state, actions[lane].tolist()))
        boards.apply(running, actions)
        scores = boards.scores()
        assert scores.shape == (len(seeds) + 1, info.seats), f"scores() has the shape {scores.shape}"
        assert np.all(np.isfinite(scores)), f"a score is not a finite number (ply {ply})"
    else:
        raise AssertionError(f"a random match is not over after {MAX_STEPS} steps: the game needs a step limit")
    assert _snapshot(boards, game, int(idle[0])) == untouched, "a lane changed although no action was applied to it"
    assert not boards.acting()[lanes].any(), "a seat acts on a lane that is over"
    return [(rows[lane], _final_state(boards, game, lane)) for lane in lanes.tolist()]


def _play_first_legal(boards: Boards, game: Game, lanes: Indices, rows: int) -> None:
    actions: Ints = np.zeros((rows, game.info.seats), np.int64)
    for lane in lanes.tolist():
        for seat in np.flatnonzero(boards.acting()[lane]).tolist():
            actions[lane, seat] = np.flatnonzero(_legal_mask(boards, game, lane, seat))[0]
    boards.apply(lanes, actions)


def _final_state(boards: Boards, game: Game, lane: int) -> object:
    stats = boards.stats(np.array([lane], np.uint32))
    shape = (1, game.info.seats, len(game.info.stats))
    assert stats.shape == shape, f"stats() has the shape {stats.shape}, not {shape}"
    assert np.all(np.isfinite(stats)), "a statistic is not a finite number"
    if game.info.measures:
        measures = cast(MeasuredBoards, boards).measures(np.array([lane], np.uint32))
        shape = (1, game.info.seats, len(game.info.measures))
        assert measures.shape == shape, f"measures() has the shape {measures.shape}, not {shape}"
        assert np.all(np.isfinite(measures)), "a measure is not a finite number"
    return boards.over()[lane].item(), boards.scores()[lane].tolist(), stats.tolist(), _snapshot(boards, game, lane)


def _snapshot(boards: Boards, game: Game, lane: int) -> object:
    """Everything readable of a lane, in a form that can be compared."""
    seats = np.arange(game.info.seats, dtype=np.uint32)
    out: Observations = np.full((game.info.seats, *game.info.observation), np.nan, np.float32)
    boards.observe(np.full(game.info.seats, lane, np.uint32), seats, out)
    assert np.all(np.isfinite(out)), "observe() wrote a value that is not finite, or did not write all values"
    if game.info.bounds is not None:
        low, high = game.info.bounds
        assert np.all((out >= low) & (out <= high)), f"an observation is outside info.bounds ({low:g} to {high:g})"
    scene = boards.scene(lane)
    assert isinstance(scene, Scene), "scene() must return a Scene"
    assert scene.caption, "the scene has no caption"
    assert boards.over()[lane] or not scene.ending, "the scene has an ending, but the match is not over"
    positions = []
    for seat in range(game.info.seats):
        position = boards.position(lane, seat)
        if position is not None:
            positions.append(_check_position(position, boards, game, lane, seat))
    return out.tobytes(), scene, positions, boards.scores()[lane].tolist()


def _check_position(position: Position, boards: Boards, game: Game, lane: int, seat: int) -> object:
    legal = position.legal().tolist()
    if boards.acting()[lane, seat]:
        assert legal == np.flatnonzero(_legal_mask(boards, game, lane, seat)).tolist(), "position and mask differ"
        moves = position.moves
        after = position.play(legal[0])
        assert position.moves == moves, "position.play() changed the position itself"
        assert position.legal().tolist() == legal, "position.play() changed the position itself"
        assert after.moves == (*moves, legal[0]), "the new position does not end with the move played"
    return position.start, position.moves


def _legal_mask(boards: Boards, game: Game, lane: int, seat: int) -> Bools:
    out: Bools = np.ones((1, game.info.actions), np.bool_)
    if game.info.masked:
        boards.legal(np.array([lane], np.uint32), np.array([seat], np.uint32), out)
    mask: Bools = out[0]
    return mask


def _check_copy(game: Game) -> None:
    """A copied lane must continue like its source, and must not share state with it."""
    boards = game.boards(2)
    first = np.array([0], np.uint32)
    boards.deal(first, np.array([5], np.uint64), [None])
    actions: Ints = np.zeros((2, game.info.seats), np.int64)
    for ply in range(3):
        boards.copy(0, 1)
        assert _snapshot(boards, game, 0) == _snapshot(boards, game, 1), f"a copied lane differs (ply {ply})"
        before = _snapshot(boards, game, 1)
        for seat in np.flatnonzero(boards.acting()[0]).tolist():
            actions[:, seat] = np.flatnonzero(_legal_mask(boards, game, 0, seat))[-1]
        boards.apply(first, actions)
        assert _snapshot(boards, game, 1) == before, f"a copied lane changes with its source (ply {ply})"
        boards.apply(np.array([1], np.uint32), actions)
        assert _snapshot(boards, game, 0) == _snapshot(boards, game, 1), (
            f"a copied lane continues differently (ply {ply})"
        )
        if boards.over()[0]:
            break
