"""What all trainers share. To add a trainer, write a class as `events.Trainer` describes, in a folder of its own, and
add one line under `ringside.trainers` in `pyproject.toml`."""
