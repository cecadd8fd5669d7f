"""The compiled loop of a rollout, generated for a game and the kinds that play it.

It does what the loop in `engine.play.driver` does, logs the actions of all players, and writes the observations and
actions of learning agents into trajectories. Each lane is played until its segment is full or its match ends. An answer
that is not a legal action ends the call.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

from engine.game import BROKEN, BoardRows, GameInfo
from engine.play.driver import Player, compile_source, position_argument, source_parts

SOURCE = """
def rollout({arguments}):
    seats = {seats}
    ends_found = 0
    for turn in range(live.size):
        lane = live[turn]
        record = lanes[lane]
        ply, limit, step, place = record.ply, record.limit, filled[lane], logged[lane]
        own, row, full = answers[lane], rows[lane], False
        for seat in range(seats):
            score = score_row(board, lane, uint32(seat))
            {weigh_start}
            scores[seat] = score
        while step < steps:
            needed = row
            for seat in range(seats):
                {skip_idle}
                needed += learning[lane * uint32(seats) + uint32(seat)] != 0
            full = needed > seen.shape[1]
            if full:
                break
            at = row
            for seat in range(seats):
                {skip_idle}
                slot = lane * uint32(seats) + uint32(seat)
                who = slots[slot].pilot
                agent = slots[slot].agent
                learns = learning[slot] != 0
                obs = seen[lane, at] if learns else spare[seat]
                mask = {mask_source}
                {legal}
                {answers}
                own[seat] = answer
                if not ((answer >= 0) & (answer < {actions}){check_legal}):
                    record.ply = ply
                    logged[lane] = place
                    return ends_found, np.int64(slot)
                if learns:
                    at += 1
                    acted[lane, step, seat] = True
                    actions[lane, step, seat] = answer
                    log_probs[lane, step, seat] = policy_out[0]
                    values[lane, step, seat] = policy_out[1]
            for seat in range(seats):
                {skip_idle}
                log[lane, place] = own[seat]
                place += 1
            row = at
            apply_row(board, lane, own)
            ply += uint32(1)
            for seat in range(seats):
                score = score_row(board, lane, uint32(seat))
                {weigh_step}
                rewards[lane, step, seat] = score - scores[seat]
                scores[seat] = score
            end = np.int64(over_row(board, lane))
            if end == 0 and ply == limit:
                end = 2
            ends[lane, step] = end
            step += 1
            if end == 2 or (end == 0 and step == steps):
                for seat in range(seats):
                    slot = lane * uint32(seats) + uint32(seat)
                    who = slots[slot].pilot
                    agent = slots[slot].agent
                    if learning[slot] != 0:
                        {skip_left}
                        obs = spare[seat]
                        observe_row(board, lane, uint32(seat), obs)
                        {bootstrap}
            if end != 0:
                record.running = 0
                ended[ends_found] = lane
                ends_found += 1
                break
        record.ply = ply
        filled[lane] = step
        logged[lane] = place
        rows[lane] = row
        if full:
            return ends_found, np.int64({full})
    return ends_found, np.int64({done})
"""
DONE, FULL = -1, -2  # returned in place of the slot of an illegal answer; FULL: there is no room for another row
ARGUMENTS = (
    "live", "steps", "filled", "lanes", "slots", "learning", "pilots", "answers", "log", "logged", "spare", "legal",
    "scores", "policy_out", "ended", "seen", "masks", "rows", "actions", "log_probs", "values", "rewards", "acted",
    "ends", "bootstrap", "weights", "stats", "board",
)  # fmt: skip


class PolicyRows(NamedTuple):
    """The parts of a learning pilot that a driver calls."""

    policy_row: Callable[..., Any]
    value_row: Callable[..., Any]


@functools.cache
def driver(info: GameInfo, rows: BoardRows, players: tuple[Player | PolicyRows, ...], weighted: bool = False) -> Any:
    """The driver for this game and these players. If `weighted`, rewards count more than the score
    (`engine.play.rollout_rewards`). It is compiled at its first call and cached on disk."""
    names = {f"{name}{place}": one for place, player in enumerate(players) for name, one in player._asdict().items()}
    source = SOURCE.format(
        arguments=", ".join([*ARGUMENTS, *(f"pilot{place}" for place in range(len(players)))]),
        mask_source="masks[lane, at] if learns else legal[seat]" if rows.legal_row else "legal[seat]",
        answers=_answers(rows, players).replace("\n", "\n" + 16 * " "),
        full=FULL,
        done=DONE,
        weigh_start=_weigh(weighted).replace("\n", "\n" + 12 * " "),
        weigh_step=_weigh(weighted).replace("\n", "\n" + 16 * " "),
        skip_left=_skip_left(info, rows),
        bootstrap=_bootstrap(players).replace("\n", "\n" + 24 * " "),
        **source_parts(info, rows),
    )
    return compile_source("rollout", source, rows, names, nogil=True)  # several threads may each run one


def _answers(rows: BoardRows, players: tuple[Player | PolicyRows, ...]) -> str:
    lines = []
    for place, player in enumerate(players):
        lines.append(f"{'elif' if place else 'if'} who == pilots[{place}]:")
        arguments = f"pilot{place}, slot, agent, ply, obs, mask, {position_argument(rows)}"
        if isinstance(player, PolicyRows) or player.observes:
            lines.append("    observe_row(board, lane, uint32(seat), obs)")
        if isinstance(player, PolicyRows):
            lines.append(f"    answer = np.int64(policy_row{place}({arguments}, policy_out))")
        else:
            lines.append(f"    answer = np.int64(act_row{place}({arguments}))")
    return "\n".join([*lines, "else:", f"    answer = np.int64({BROKEN})"])


def _weigh(weighted: bool) -> str:
    if not weighted:
        return "pass"
    loop = "for k in range(weights.size):\n    score += weights[k] * stats[k]"
    return f"stats_row(board, lane, uint32(seat), stats)\n{loop}"


def _skip_left(info: GameInfo, rows: BoardRows) -> str:
    """A seat that has left has no future. On a lane that the rules have truncated no seat acts any more: there those
    count that acted in the last step."""
    if not info.together or not rows.acting_row:
        return "pass"
    acted = "acted[lane, step - 1, seat] if over_row(board, lane) else acting_row(board, lane, uint32(seat))"
    return f"if not ({acted}): continue"


def _bootstrap(players: tuple[Player | PolicyRows, ...]) -> str:
    lines = ["pass"]
    for place, player in enumerate(players):
        if isinstance(player, PolicyRows):
            lines.append(f"if who == pilots[{place}]:")
            lines.append(f"    bootstrap[lane, step - 1, seat] = value_row{place}(pilot{place}, agent, obs)")
    return "\n".join(lines)
