"""Who plays, and how they learn.

To add a kind of agent, write one file as in `agents/scripted/` and one line under `ringside.agents` in
`pyproject.toml`.
"""
