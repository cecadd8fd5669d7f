"""Kinds of agents, and trainers (`agents.training`).

To add a kind of agent, write one file as in `agents/scripted/` and one line under `ringside.agents` in
`pyproject.toml`.
"""
