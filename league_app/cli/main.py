"""The entry point of the command line, which does everything without a window. It imports neither Qt nor torch.

Exit status: 0 done; 1 negative result (a check fails, an agent fails in `match`, a match comes out differently,
something is broken); 2 invalid request; 3 undecided or unfinished, can be resumed; 130 and 143 stopped by a signal.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from importlib.metadata import version
from typing import Any, NoReturn

from engine.errors import RingsideError, UnknownName
from league_app.cli import diagnostics, leagues, matches, results, tournaments, training, window
from league_app.cli.output import CommandResult, print_error, print_result, program_name
from league_app.cli.start_up import configure_output
from league_app.cli.suggestions import suggest_option

NEGATIVE, WRONG, OPEN = 1, 2, 3


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs one command; an error is one sentence on standard error and exit status 2."""
    configure_output()
    arguments = sys.argv[1:] if arguments is None else arguments
    if arguments[:1] == ["help"]:
        arguments = [*arguments[1:], "--help"]
    status = 0
    try:
        try:
            options = _parse(arguments)
        except SystemExit:  # argparse has printed the help
            sys.stdout.flush()
            raise
        status = OPEN
        answer: CommandResult = options.run(options)
        status = answer.status
        print_result(answer, options.json)
        sys.stdout.flush()
        if status:
            sys.exit(status)
    except RingsideError as error:
        _stop(str(error), WRONG)
    except KeyboardInterrupt:
        _stop("stopped", 130)
    except BrokenPipeError:  # the reader, such as `head`, has closed the pipe: unfinished, unless only text is lost
        sys.stdout = None  # or Python would flush it again at exit, fail again, and change the status
        sys.stderr.close()
        sys.exit(status)
    except OSError as error:
        if error.filename is not None:
            _stop(f"{os.fsdecode(error.filename)}: {error.strerror}", WRONG)
        sys.stdout = None
        _stop(f"cannot write to standard output: {error.strerror or error}", 1)


def _parse(arguments: Sequence[str]) -> argparse.Namespace:
    options, left = _parser().parse_known_args(arguments)
    if left:  # reported by the command's own parser, which refers to its help
        hint = suggest_option(left, arguments, options)
        options.parser.error(f"unrecognized arguments: {' '.join(left)}{f': {hint}' if hint else ''}")
    return options


def _stop(sentence: str, status: int) -> None:
    print_error(sentence)
    sys.exit(status)


class _Parser(argparse.ArgumentParser):
    """Reports errors in one sentence, without control characters."""

    def error(self, message: str) -> NoReturn:
        print_error(f"{message} (see `{self.prog} --help`)")
        sys.exit(WRONG)

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        """Suggests the nearest command; the list of all of them is in the help."""
        if isinstance(action, argparse._SubParsersAction) and value not in action.choices:
            raise argparse.ArgumentError(None, str(UnknownName("command", value, action.choices)))
        super()._check_value(action, value)


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog=program_name(),
        description="A league for game-playing agents. Without a command it opens the window.",
        epilog=("exit status: 0 done, 1 negative result, 2 invalid request, 3 unfinished or undecided, 130 Ctrl-C"),
    )
    parser.add_argument("--version", action="version", version=f"ringside {version('ringside')}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND")
    for module in (window, matches, leagues, tournaments, training, results, diagnostics):
        module.add(commands)
    parser.set_defaults(**{**vars(parser.parse_args(["demo"])), "run": window.start, "parser": parser})
    return parser
