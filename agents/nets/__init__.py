"""Neural networks as players: `architecture` describes them, `network` reads and writes them as files.

Small networks are played by compiled code (`mlp`), without torch; others by torch (`modules`).
"""
