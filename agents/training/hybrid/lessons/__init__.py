"""Lessons: examples from matches of a league, and from matches that agents play for it.

- `settings.py` has the settings that say whose answers are learned; `lessons.py` chooses the examples.
- `answers.py` finds the actions to learn in matches: those that were played, or what a teacher answers.
- `replay.py` plays recorded matches again, `practice.py` new ones; `players.py` asks agents in their positions.
- `sampling.py` draws positions and the matches for selection, `examples.py` makes arrays, `format.py` writes files.
"""
