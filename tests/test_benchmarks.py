"""The benchmarks run; the results are in the guide (figures.md)."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.benchmarks.__main__ import TOPICS


@pytest.mark.slow
@pytest.mark.parametrize("topic", TOPICS)
def test_every_topic_gives_figures(topic: str) -> None:
    command = [sys.executable, "-m", "tests.benchmarks", topic, "--quick", "--json"]
    env = {**os.environ, "QT_QPA_PLATFORM": "offscreen"}
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, cwd=Path(__file__).parents[1], env=env)
    assert done.returncode == 0, done.stderr
    figures = json.loads(done.stdout)
    assert len(figures) >= 6
    assert {figure["topic"] for figure in figures} == {topic}
    assert not [figure for figure in figures if figure["value"] <= 0 and figure["unit"] != "queries"]
