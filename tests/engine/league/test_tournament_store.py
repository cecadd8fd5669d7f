"""Compares the tables of a league with a plain list of results, for any order of arrival."""

from __future__ import annotations

import random
import tempfile
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from engine.errors import BadValue, NotNow, ReadOnly, StorageFailed
from engine.league import played_matches, standings
from engine.league.ratings import UNKNOWN, many_seats
from engine.league.records import RunState, TournamentSettings
from engine.league.schedule import ScheduledMatch
from engine.league.statistics import Z
from engine.league.storage.league import League
from engine.league.storage.match_rows import points
from engine.league.storage.result_columns import PlayedEntry
from engine.league.storage.tournaments import TournamentStore, change_entrants
from engine.league.tournament_runner import clear_quarantine
from engine.play.failures import unplayed_result
from engine.play.match import Ending, EndingKind, MatchResult, run_digest
from engine.registry import new_game
from tests.plugins.pilots import agent

GAMES = {"tictactoe": new_game("tictactoe"), "bids": new_game("bids", seats=3)}
NAMES = tuple("ABCDEFG")
UNPLAYED = (EndingKind.QUARANTINED, EndingKind.VOID, EndingKind.CANCELLED)
BLAMED = (EndingKind.RESIGNED, EndingKind.CRASH, EndingKind.TIMEOUT, EndingKind.QUARANTINED)


def outcome(planned: ScheduledMatch, dice: random.Random) -> PlayedEntry:
    """Any possible result; the same players with the same actions have the same scores."""
    spec, n = planned.spec, len(planned.spec.players)
    kind = dice.choice((*EndingKind, *UNPLAYED * 2, *[EndingKind.FINISHED] * 6))
    seats = tuple(sorted(dice.sample(range(n), dice.choice([1, 1, n])))) if kind in BLAMED else ()
    if kind in UNPLAYED:
        return PlayedEntry(planned.place, spec, unplayed_result(spec, kind, "why", seats))
    actions = bytes([dice.randrange(3)])
    scores = tuple(float((actions[0] + seat * actions[0]) % 3) for seat in range(n))
    marks = [-1.0 if seat in seats else score for seat, score in enumerate(scores)]
    ranks = tuple(1 + sum(other > own for other in marks) for own in marks)
    stats = ((float(actions[0]),) * (n == 3),) * n
    players = tuple(player.id for player in spec.players)
    ending = Ending(kind, seats, "why" if seats else "")
    return PlayedEntry(planned.place, spec, MatchResult(spec.id, players, scores, ranks, 5, ending, stats, actions))


def tallies(kept: Iterable[PlayedEntry], paired: bool) -> dict[tuple[str, str], standings.Tally]:
    found: dict[tuple[str, str], standings.Tally] = defaultdict(standings.Tally)
    rated = {entry.place: entry.result for entry in kept if entry.result.ending.kind.rated}
    for place, result in rated.items():
        seats = range(len(result.players))
        for a, b in ((a, b) for a in seats for b in seats if a != b):
            tally = found[result.players[a], result.players[b]]
            won, lost = result.ranks[a] < result.ranks[b], result.ranks[a] > result.ranks[b]
            tally.add(standings.Tally(won, not won and not lost, lost, result.scores[a], result.scores[b]))
            if paired and place % 2 and place + 1 in rated:
                other = rated[place + 1]
                total = points(result.ranks, a) + points(other.ranks, other.players.index(result.players[a]))
                pairs = tuple(int(step == total * 2) for step in range(5))
                tally.add(standings.Tally(pairs=pairs))
    return dict(found)


def forfeits(kept: Iterable[PlayedEntry]) -> Counter[tuple[str, str]]:
    blamed = ((entry.result, seat) for entry in kept for seat in entry.result.ending.seats)
    return Counter((result.players[seat], result.ending.kind.value) for result, seat in blamed)


def skills(kept: Iterable[PlayedEntry]) -> dict[str, tuple[float, float]]:
    """In schedule order, up to the first missing match."""
    found, place, counted = {entry.place: entry.result for entry in kept}, 1, []
    while place in found:
        if found[place].ending.kind.rated:
            counted.append((found[place].players, found[place].ranks))
        place += 1
    return many_seats(counted)


def identical(kept: Iterable[PlayedEntry]) -> int:
    games = Counter((entry.result.players, entry.result.actions) for entry in kept if entry.result.steps)
    return sum(games.values()) - len(games)


def agrees(table: standings.Standings, expected: dict[tuple[str, str], standings.Tally]) -> None:
    said = {(row.agent, other): tally for row in table.rows for other, tally in row.against.items()}
    assert said == expected
    for row in table.rows:
        total = standings.Tally()
        for tally in row.against.values():
            total.add(tally)
        assert row.total == total


class Books(RuleBasedStateMachine):
    """A league in a file and a model of it; every rule changes both."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory(prefix="ringside-stores-")
        self.league = League.new(Path(self.folder.name) / "one.league")
        self.agents: dict[str, list[object]] = {}  # id: game, name, whether it is archived
        self.plans: dict[int, tuple[str, bool, list[ScheduledMatch]]] = {}
        self.kept: dict[int, dict[int, PlayedEntry]] = {}
        self.store: TournamentStore | None = None
        self.fresh, self.lifted = True, set[int]()

    def teardown(self) -> None:
        self.league.close()
        self.folder.cleanup()

    def of(self, game: str) -> list[str]:
        return [id for id, (played, _, archived) in self.agents.items() if played == game and not archived]

    def taken(self, game: object, name: str) -> bool:
        return any((value[0], value[1]) == (game, name) for value in self.agents.values())

    # Agents

    @initialize()
    def begin(self) -> None:
        for game, name in zip([*GAMES] * 4, (*NAMES, "H"), strict=True):
            self.add_agent(game, name, "fast")
        for at, game in enumerate(GAMES):
            self.add_tournament(game, 1, True)
            self.record(at, 7, 2)

    @rule(game=st.sampled_from(list(GAMES)), name=st.sampled_from(NAMES), kind=st.sampled_from(["fast", "slow"]))
    def add_agent(self, game: str, name: str, kind: str) -> None:
        if self.taken(game, name):
            with pytest.raises(BadValue, match="name"):
                self.league.add_agent(name, game, agent(kind))
            return
        try:
            created = self.league.add_agent(name, game, agent(kind))
        except BadValue:
            assert name in self.agents, "only the first name of another agent may be refused"
            return
        assert created.id not in self.agents
        self.agents[created.id] = [game, name, False]
        assert self.league.spec(created.id).kind == kind

    @precondition(lambda self: self.agents)
    @rule(data=st.data(), name=st.sampled_from(NAMES))
    def rename(self, data: st.DataObject, name: str) -> None:
        id = data.draw(st.sampled_from(list(self.agents)))
        if self.taken(self.agents[id][0], name) and self.agents[id][1] != name:
            with pytest.raises(BadValue, match="name"):
                self.league.change_agent(id, name=name)
            return
        if name not in self.agents or name == id:  # the first name of another agent may be refused
            assert self.league.change_agent(id, name=name).id == id
            self.agents[id][1] = name

    @precondition(lambda self: self.agents)
    @rule(data=st.data())
    def archive_or_fetch_back(self, data: st.DataObject) -> None:
        id = data.draw(st.sampled_from(list(self.agents)))
        archived = self.agents[id][2]
        if not archived and any(
            id in tournament.entrants for tournament in self.league.tournaments() if tournament.state.open
        ):
            return
        assert self.league.archive(id, undo=bool(archived)).id == id
        self.agents[id][2] = not archived
        with pytest.raises(NotNow, match="archived"):
            self.league.archive(id, undo=bool(archived))

    # Tournaments

    @precondition(lambda self: len(self.plans) < 4)
    @rule(game=st.sampled_from(list(GAMES)), seed=st.integers(0, 3), swap=st.booleans())
    def add_tournament(self, game: str, seed: int, swap: bool) -> None:
        entrants, board = self.of(game)[:4], GAMES[game]
        if len(entrants) < board.info.seats:
            with pytest.raises(BadValue, match="entrants"):
                self.league.add_tournament("too few", TournamentSettings(board.spec, seed=seed), entrants)
            return
        created = self.league.add_tournament("one", TournamentSettings(board.spec, seed=seed, swap=swap), entrants)
        plan = list(TournamentStore(self.league, created.number).missing())
        assert created.total == len(plan)
        self.plans[created.number] = (game, swap and board.info.seats == 2, plan)
        self.kept[created.number] = {}

    @precondition(lambda self: self.plans)
    @rule(which=st.integers(0, 3), seed=st.integers(0, 10**6), size=st.integers(1, 20))
    def record(self, which: int, seed: int, size: int) -> None:
        """In any order, with duplicates and results recorded before."""
        number = list(self.plans)[which % len(self.plans)]
        if self.store is None or self.store.tournament.number != number:
            self.store = TournamentStore(self.league, number)
        dice, plan, kept = random.Random(seed), self.plans[number][2], self.kept[number]
        batch = [outcome(dice.choice(plan[: dice.choice([3, 99])]), dice) for _ in range(size)]
        added = {}
        for entry in batch:
            if entry.place not in kept and entry.result.ending.kind is not EndingKind.CANCELLED:
                added.setdefault(entry.place, entry)
        assert self.store.record(iter(batch)) == list(added.values())
        kept |= added
        assert [planned.place for planned in self.store.missing()] == [
            planned.place for planned in plan if planned.place not in kept
        ]
        assert self.store.over == (len(kept) == len(plan))
        self.fresh = True

    @precondition(lambda self: any(self.kept.values()))
    @rule(data=st.data(), state=st.sampled_from([RunState.STOPPED, RunState.PAUSED, RunState.FINISHED]))
    def settle(self, data: st.DataObject, state: RunState) -> None:
        number = data.draw(st.sampled_from([number for number, kept in self.kept.items() if kept]))
        TournamentStore(self.league, number).settle(state, "so")
        assert self.league.tournament(number).state is state
        if state is not RunState.PAUSED:
            game = GAMES[self.plans[number][0]].spec
            table = [row for row in standings.standings(self.league, game).rows if row.total.played]
            expected = {(row.agent, row.rating, row.error) for row in table}
            assert not table or {*standings.rating_history(self.league, game)[-1].ratings} == expected

    @precondition(lambda self: self.plans)
    @rule(which=st.integers(0, 3))
    def lift_quarantine(self, which: int) -> None:
        number = list(self.plans)[which % len(self.plans)]
        kept = self.kept[number]
        gone = [place for place, entry in kept.items() if entry.result.ending.kind in UNPLAYED]
        assert clear_quarantine(self.league, number) == len(gone)
        self.kept[number] = {place: entry for place, entry in kept.items() if place not in gone}
        self.store, self.fresh = None, True
        self.lifted |= {number} if gone else set()

    @rule()
    def close_and_open_again(self) -> None:
        path = self.league.path
        self.league.close()
        with League(path, read_only=True) as looking, pytest.raises(ReadOnly):
            looking.add_agent("late", "bids", agent("fast"))
        self.league, self.store, self.fresh = League(path), None, True

    # Invariants

    @invariant()
    def agents_are_as_they_were_told(self) -> None:
        said = {
            agent.id: [agent.game, agent.name, agent.archived is not None]
            for agent in self.league.agents(archived=True)
        }
        assert said == self.agents
        assert [self.league.spec(id).id for id in said] == list(said)

    @invariant()
    def store_agrees(self) -> None:
        if self.fresh:
            self.tables_agree()
            self.history_agrees()
        self.fresh = False

    def tables_agree(self) -> None:
        for game, board in GAMES.items():
            pool: dict[tuple[str, str], standings.Tally] = defaultdict(standings.Tally)
            mine = [number for number, plan in self.plans.items() if plan[0] == game]
            for number in mine:
                kept = self.kept[number].values()
                expected = tallies(kept, self.plans[number][1])
                for pair, tally in expected.items():
                    pool[pair].add(tally)
                table = standings.standings(self.league, board.spec, number)
                agrees(table, expected)
                assert table.matches == len(kept) == self.league.tournament(number).played
                said = {(row.agent, kind): n for row in table.rows for kind, n in row.forfeits.items()}
                assert said == forfeits(kept)
                if game == "bids" and (number not in self.lifted or len(kept) == max(self.kept[number], default=0)):
                    skilled = skills(kept)
                    for row in table.rows:
                        mean, deviation = skilled.get(row.agent, UNKNOWN)
                        assert (row.rating, row.error) == pytest.approx((mean, Z * deviation))
                assert played_matches.digest(self.league, number)[0] == run_digest(entry.result for entry in kept)
                assert played_matches.identical_games(self.league, number) == identical(kept)
            agrees(standings.standings(self.league, board.spec), dict(pool))

    def history_agrees(self) -> None:
        everything = [(number, self.kept[number][at]) for number in self.kept for at in sorted(self.kept[number])][::-1]
        self.pages(lambda entry: bool(entry.result.ending.seats), everything, failed=True)
        for number in self.kept:
            self.pages(lambda entry: True, [entry for entry in everything if entry[0] == number], tournament=number)
        for id, (_, name, _) in list(self.agents.items())[:2]:
            if [value[1] for value in self.agents.values()].count(name) == 1:
                self.pages(lambda entry, id=id: id in entry.result.players, everything, agent=name)

    def pages(
        self, wanted: Callable[[PlayedEntry], bool], among: list[tuple[int, PlayedEntry]], **query: object
    ) -> None:
        found, before = [], None
        while page := played_matches.history(self.league, before=before, limit=3, **query):  # type: ignore[arg-type]
            found += [(match.tournament, match.place, match.spec, match.result) for match in page]
            before = played_matches.number_of(page[-1])
        assert found == [(number, entry.place, entry.spec, entry.result) for number, entry in among if wanted(entry)]


Books.TestCase.settings = settings(max_examples=16, stateful_step_count=25, report_multiple_bugs=False)
test_books_agree_with_a_plain_list_of_results = Books.TestCase


# Single tests


def league_with(folder: Path, count: int = 4, game: str = "bids") -> League:
    league = League.new(folder / f"{game}.league")
    for name in NAMES[:count]:
        league.add_agent(name, game, agent("fast", name))
    return league


@pytest.mark.parametrize("game", GAMES)
def test_the_order_of_arrival_does_not_change_ratings(tmp_path: Path, game: str) -> None:
    """Neither within a tournament nor, for the pool after their end, between two tournaments."""
    said = []
    for order in range(4):
        (tmp_path / str(order)).mkdir()
        with league_with(tmp_path / str(order), game=game) as league:
            entries = []
            for seed in (1, 2):
                tournament = league.add_tournament("t", TournamentSettings(GAMES[game].spec, seed=seed), NAMES[:4])
                dice = random.Random(seed)
                missing = TournamentStore(league, tournament.number).missing()
                entries += [(tournament.number, outcome(planned, dice)) for planned in missing]
            random.Random(order).shuffle(entries)
            entries.sort(key=lambda entry: entry[0], reverse=bool(order % 2))  # one tournament after the other
            for number in dict.fromkeys(number for number, _ in entries):
                mine = [entry for of, entry in entries if of == number]
                for at in range(0, len(mine), 5):
                    TournamentStore(league, number).record(mine[at : at + 5])
                TournamentStore(league, number).settle(RunState.STOPPED)
            pool = [standings.standings(league, GAMES[game].spec, number).rows for number in (0, 1, 2)]
            said.append([{row.agent: (row.rating, row.error) for row in rows} for rows in pool])
    for intervals in said[1:]:
        assert intervals[1:] == said[0][1:], "within a tournament"
        assert intervals[0] == said[0][0], "in the pool"


def test_a_batch_is_written_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with league_with(tmp_path) as league:
        tournament = league.add_tournament("t", TournamentSettings(GAMES["bids"].spec), NAMES[:4])
        store, dice = TournamentStore(league, tournament.number), random.Random(1)
        batch = [planned for planned in (outcome(planned, dice) for planned in store.missing()) if planned.result.steps]
        with monkeypatch.context() as patched, pytest.raises(StorageFailed):  # noqa: PT012
            patched.setattr(store, "_forfeits", lambda *_: (_ for _ in ()).throw(StorageFailed("the disk is full")))
            store.record(batch)
        assert (played_matches.history(league), league.tournament(1).played, store.played) == ([], 0, 0)
        assert store.record(batch) == batch, "it can be recorded again"
        agrees(standings.standings(league, GAMES["bids"].spec, 1), tallies(batch, False))


def test_after_lifting_a_quarantine_ratings_are_as_if_there_had_been_none(tmp_path: Path) -> None:
    with league_with(tmp_path) as league:
        league.add_tournament("t", TournamentSettings(GAMES["bids"].spec), NAMES[:4])
        plan, dice = list(TournamentStore(league, 1).missing()), random.Random(3)
        void = [
            PlayedEntry(planned.place, planned.spec, unplayed_result(planned.spec, EndingKind.VOID, "why"))
            for planned in plan[2:4]
        ]
        rated = [
            next(e for e in iter(lambda planned=planned: outcome(planned, dice), 0) if e.result.steps)
            for planned in plan
        ]
        TournamentStore(league, 1).record([*rated[:2], *void, *rated[4:]])
        assert clear_quarantine(league, 1) == 2
        TournamentStore(league, 1).record(rated[2:4])
        table = standings.standings(league, GAMES["bids"].spec, 1)
        for row in table.rows:
            assert (row.rating, row.error / Z) == pytest.approx(skills(rated)[row.agent])
        agrees(table, tallies(rated, False))


def test_games_with_different_starts_or_scores_are_not_identical(tmp_path: Path) -> None:
    with league_with(tmp_path, 2, "tictactoe") as league:
        chosen = TournamentSettings(GAMES["tictactoe"].spec, games=12, swap=False, starts=("0", "4"))
        tournament = league.add_tournament("t", chosen, "AB")
        store = TournamentStore(league, tournament.number)
        plan = [planned for planned in store.missing() if planned.spec.players[0].id == "A"]
        entries, ending = [], Ending(EndingKind.FINISHED)
        for planned in plan:
            scores, ranks = ((1.0, 0.0), (1, 2)) if planned.place < 7 else ((0.0, 1.0), (2, 1))
            result = MatchResult(planned.spec.id, ("A", "B"), scores, ranks, 3, ending, ((), ()), b"\1\2\3")
            entries.append(PlayedEntry(planned.place, planned.spec, result))
        store.record(entries)
        kinds = {(entry.spec.start, entry.result.scores) for entry in entries}
        assert len(kinds) == 4
        assert played_matches.identical_games(league, 1) == len(entries) - len(kinds)


def test_a_refused_change_of_entrants_changes_nothing(tmp_path: Path) -> None:
    with league_with(tmp_path, 4, "tictactoe") as league:
        spec = GAMES["tictactoe"].spec
        league.add_tournament("test", TournamentSettings(spec, "sequential-test"), "AB")
        league.add_tournament("gauntlet", TournamentSettings(spec, "gauntlet", (("challengers", 2),)), "ABC")
        with pytest.raises(BadValue):
            change_entrants(league, 1, join=["C"], leave=[])
        with pytest.raises(BadValue):
            change_entrants(league, 2, join=[], leave=["C"])
        assert [tournament.entrants for tournament in league.tournaments()] == [("A", "B"), ("A", "B", "C")]
        assert [TournamentStore(league, number).plan.length for number in (1, 2)] == [32, 4]


def test_the_total_is_known_when_an_agent_joins_in_mid_round(tmp_path: Path) -> None:
    with league_with(tmp_path, 5, "tictactoe") as league:
        league.add_tournament("t", TournamentSettings(GAMES["tictactoe"].spec), "ABCD")
        store, dice = TournamentStore(league, 1), random.Random(1)
        store.record([outcome(planned, dice) for planned in list(store.missing())[:1]])
        changed = change_entrants(league, 1, join=["E"], leave=[])
        assert changed.total == 20, "all ten pairs, twice, although the first round is not over yet"
