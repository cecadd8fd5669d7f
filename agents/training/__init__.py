"""How agents learn. A trainer is one file with a class like those in `events.Trainer`, and one line in
`pyproject.toml` under `ringside.trainers`."""
