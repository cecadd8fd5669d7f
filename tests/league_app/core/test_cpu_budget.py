"""The cores of a machine are divided between jobs."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from league_app.core.cpu_budget import CpuBudget


@given(st.tuples(*[st.integers(1, 64)] * 2), st.lists(st.integers(1, 70) | st.none(), min_size=1, max_size=6))
def test_cores_are_shared_evenly_and_none_is_left_over(cores: tuple[int, int], wishes: list[int | None]) -> None:
    budget, received = CpuBudget(cores[0]), dict[int, int]()
    leases = [budget.lease(most, lambda n, at=at: received.update({at: n})) for at, most in enumerate(wishes)]
    for count in cores:
        budget.cores = count
        shares = [lease.cores for lease in leases]
        assert received == dict(enumerate(shares))
        assert all(1 <= lease.cores <= (lease.most or 64) for lease in leases)
        hungry = [lease.cores for lease in leases if lease.most is None or lease.cores < lease.most]
        assert not hungry or sum(shares) == max(count, len(leases)), "all of them are in use"
        assert not hungry or max(shares) - min(hungry) <= 1, "no lease that could use more has fewer than others"
    for lease in leases[1:]:
        lease.release()
        lease.release()
    assert leases[0].cores == min(cores[1], wishes[0] or 64), "the last one gets all it can use"
