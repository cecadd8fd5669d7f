"""`python3 launch.py bench [topic] [--json] [--quick]`: speeds, compared side by side in one run."""

from __future__ import annotations

import argparse
import gc
import json
import platform
import sys
from importlib import import_module

from rich.console import Console
from rich.table import Table

TOPICS = ("engine", "executor", "league", "neat", "nets", "ppo", "independent", "hybrid", "gui")
PARTS = ("hunt", "shogi", "plain", "rollout")  # parts of the topic engine that can be run alone


def main() -> None:
    parser = argparse.ArgumentParser(prog="launch.py bench", description=__doc__)
    parser.add_argument("topics", nargs="*", help=f"{', '.join(TOPICS)} (all); {', '.join(PARTS)}: parts of engine")
    parser.add_argument("--json", action="store_true", help="as data")
    parser.add_argument("--quick", action="store_true", help="a few seconds, to see that it works; not to be quoted")
    options = parser.parse_args()
    for topic in options.topics:
        if topic not in (*TOPICS, *PARTS):
            parser.error(f"unknown topic {topic!r}: known are {', '.join((*TOPICS, *PARTS))}")
    rows = []
    topics = {topic: import_module(f"tests.benchmarks.{topic}") for topic in options.topics or TOPICS}
    gc.collect()
    gc.freeze()  # as the program does: else a collection of all imports falls into some rounds and not into others
    for topic, module in topics.items():
        rows += [(topic, figure) for figure in module.figures(options.quick)]
    if options.json:
        print(json.dumps([{"topic": topic, **figure.as_dict()} for topic, figure in rows], indent=1))
        return
    table = Table(box=None, pad_edge=False, header_style="dim")
    for heading, side in (("", "left"), ("", "right"), ("", "left"), ("ratio", "right"), ("to", "left"), ("", "left")):
        table.add_column(heading, justify=side)
    for _, figure in rows:
        shown = (f"{figure.ratio:.2f}", figure.to) if figure.ratio is not None else ("", "")
        table.add_row(figure.what, f"{figure.value:,.2f}", figure.unit, *shown, figure.note)
    console = Console(highlight=False, width=None if Console().is_terminal else 120)
    console.print(f"{platform.machine()}, {platform.system()}, Python {platform.python_version()}; medians, in turns")
    console.print(table)


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(130)
