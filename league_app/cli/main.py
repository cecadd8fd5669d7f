"""The command line: every job without a window. It imports neither Qt nor torch.

Exit status: 0 done; 1 the answer is no (a check fails, a match comes out differently, something is broken); 2 what was
asked for is wrong or cannot be done; 3 not decided or not finished, to be resumed; 130 and 143 stopped by a signal.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from importlib.metadata import version
from typing import NoReturn

from engine.errors import RingsideError
from league_app.cli import leagues
from league_app.cli import matches as playing
from league_app.cli import results
from league_app.cli import diagnostics as tools
from league_app.cli import tournaments
from league_app.cli import training
from league_app.cli import window
from league_app.cli.output import called, say, tell

NEGATIVE, WRONG, OPEN = 1, 2, 3


def main(arguments: Sequence[str] | None = None) -> None:
    """Run one command; what is wrong with it is one sentence on standard error and exit status 2."""
    try:
        options, left = _parser().parse_known_args(arguments)
        if left:  # told by the command itself, whose help is the one that helps
            options.parser.error(f"unrecognized arguments: {' '.join(left)}")
        answer = options.run(options)
        tell(answer, options.json)
        sys.stdout.flush()
        if answer.status:
            sys.exit(answer.status)
    except RingsideError as error:
        _stop(str(error), WRONG)
    except KeyboardInterrupt:
        _stop("stopped", 130)
    except BrokenPipeError:  # the reader, such as `head`, has seen enough
        sys.stderr.close()
        sys.exit(0)
    except OSError as error:  # files are dealt with where they are written: this is standard output
        sys.stdout = None  # or Python would try again at the end, and fail again
        _stop(f"cannot write what there is to say: {error.strerror or error}", 1)


def _stop(sentence: str, status: int) -> None:
    say(sentence)
    sys.exit(status)


class _Parser(argparse.ArgumentParser):
    """What is wrong with a command line is one sentence too, and nothing in it reaches the terminal as it is."""

    def error(self, message: str) -> NoReturn:
        say(f"{message} (`{self.prog} --help` shows how)")
        sys.exit(WRONG)


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog=called(),
        description="A league for game-playing agents. Without a command it opens the window.",
        epilog=(
            "exit status: 0 done, 1 the answer is no, 2 something is wrong with what was asked, 3 not finished or not "
            "decided, 130 stopped by Ctrl-C"
        ),
    )
    parser.add_argument("--version", action="version", version=f"ringside {version('ringside')}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND")
    for module in (window, playing, leagues, tournaments, training, results, tools):
        module.add(commands)
    parser.set_defaults(**{**vars(parser.parse_args(["demo"])), "run": window.start, "parser": parser})
    return parser
