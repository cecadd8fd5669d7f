"""Bots that follow fixed rules. To add one, write a file like `pong` and add a line under `ringside.agents` in
`pyproject.toml`."""
