"""`python -m league_app` is `ringside`. Worker processes import this module anew, so it holds nothing else."""

if __name__ == "__main__":
    from multiprocessing import freeze_support

    freeze_support()

    from league_app.cli import main

    main()
