"""Changes of agents that a person may want back: putting away, fetching back, undoing the last one."""

from __future__ import annotations

from collections.abc import Sequence

from engine.errors import RingsideError
from league_app.gui.context import Desk


class Put:
    """Agents away, or back; all of them or none. An import is undone like this too: its agents stay in the file."""

    def __init__(self, desk: Desk, agents: Sequence[str], back: bool = False) -> None:
        self._desk, self._agents, self._back = desk, list(agents), back
        self._state = desk.state

    def __call__(self) -> None:
        state = self._state
        if state is None or state is not self._desk.state:
            return  # another league is open by now
        made = []
        try:
            for id in self._agents:
                agent = state.league.by_id(id)
                if (agent.archived is not None) == self._back:
                    made.append(state.archive(agent.name, self._back, agent.game))
        except RingsideError:
            for agent in made:
                state.archive(agent.name, not self._back, agent.game)
            raise


class Offered:
    """The same as an offer in a toast: what is wrong with it is told."""

    def __init__(self, desk: Desk, agents: Sequence[str]) -> None:
        self._desk, self._put = desk, Put(desk, agents)

    def __call__(self) -> None:
        self._desk.attempt(self._put)


class Undo:
    """Takes back the change that was made just before, unless others have come after it."""

    def __init__(self, desk: Desk) -> None:
        self._desk, self._index = desk, desk.undo.index()

    def __call__(self) -> None:
        if self._desk.undo.index() == self._index:
            self._desk.take_back()
        else:
            self._desk.say("Something else was changed since: undo that first", "warn")
