"""A trainer and an executor of an installed distribution are found by name; no program imports them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.guide import ROOT

pytestmark = pytest.mark.slow
PLUGINS = ROOT / "tests" / "plugins"
POINTS = """\
[ringside.agents]
pair-net = pair_of_nets:KIND

[ringside.trainers]
pair = pair_of_nets:Pair

[ringside.executors]
two-nodes = nodes_of_two:TwoNodes
"""


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """A folder of installed packages: the plug-ins of the tests in modules of their own, which register nothing."""
    info = tmp_path / "site" / "pairs-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: pairs\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(POINTS)
    trainer = (PLUGINS / "pair.py").read_text("utf-8")
    trainer, registered, _ = trainer.partition("\n\nKINDS.add(")
    assert registered, "its last lines register it"
    (info.parent / "pair_of_nets.py").write_text(trainer.replace("tests.plugins.pair:", "pair_of_nets:"), "utf-8")
    (info.parent / "nodes_of_two.py").write_text((PLUGINS / "two_nodes.py").read_text("utf-8"), "utf-8")
    return info.parent


def ringside(site: Path, *arguments: str) -> Any:
    """What a command prints as JSON, in a process that has only PYTHONPATH in common with this one."""
    paths = os.pathsep.join((str(site), str(ROOT)))
    command = [sys.executable, "-P", "-m", "league_app", *arguments, "--json"]
    environment = {**os.environ, "PYTHONPATH": paths}
    done = subprocess.run(command, capture_output=True, text=True, cwd=site.parent, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_an_installed_executor_plays_the_same_matches(site: Path) -> None:
    listed = ringside(site, "list")
    assert "pair" in {trainer["name"] for trainer in listed["trainers"]}
    assert "two-nodes" in {executor["name"] for executor in listed["executors"]}
    match = ("match", "pong", "Tracker", "Lazy", "--pairs", "2", "--on")
    here, there = (ringside(site, *match, on)["standings"]["rows"] for on in ("sequential", "two-nodes:2"))
    assert here == there


def test_an_installed_trainer_trains_and_its_champions_play(site: Path) -> None:
    trained = ringside(site, "train", "pair", "--updates", "2", "--steps", "8", "-o", "points=1")
    assert (trained["session"]["trainer"], trained["session"]["state"]) == ("pair", "finished")
    agents = ringside(site, "agents", "list", "training.league")
    champions = [agent["name"] for agent in agents if agent["kind"] == "pair-net"]
    assert len(champions) == 2, "one of each role"
    match = ("match", "training.league", *champions, "--steps", "50", "--on")
    here, there = (ringside(site, *match, on)["result"] for on in ("sequential", "two-nodes"))
    assert here["scores"] == there["scores"]
