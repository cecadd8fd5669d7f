"""Runs `ringside` as `python -m league_app`. Worker processes may import this module, so it holds nothing else."""

import gc
import sys


def main() -> None:
    """Runs the command line; handles Ctrl-C during the imports too."""
    try:
        from multiprocessing import freeze_support

        freeze_support()
        from league_app.cli import start_up

        start_up.open_closed_streams()
        start_up.accept_interrupts()
        start_up.ignore_empty_terminal()
        from league_app.cli.main import main as run

        gc.freeze()  # imports stay: collecting them too takes 34 ms, in which results wait
        run()
    except KeyboardInterrupt:
        sys.stderr.write("ringside: stopped\n")
        raise SystemExit(130) from None


if __name__ == "__main__":
    main()
