"""Plays matches: what a match is (`match`), many at once on one core (`arena`), executors (`executors`, `concurrent`),
replays (`replay`) and trajectories for training (`rollout`)."""
