"""The command line. A new command is described in the `add` function of its topic's module, listed in `main`."""
