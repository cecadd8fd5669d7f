"""`python -m league_app` is `ringside`. Worker processes may import this module anew, so it holds nothing else."""

import sys


def main() -> None:
    """The command line; its modules take a moment to load, in which somebody may press Ctrl-C."""
    try:
        from league_app.cli.main import main as run
    except KeyboardInterrupt:
        sys.stderr.write("ringside: stopped\n")
        raise SystemExit(130) from None
    run()


if __name__ == "__main__":
    from multiprocessing import freeze_support

    freeze_support()
    main()
