"""NEAT agents: genomes, their networks, the pilot that plays them, and evolution by neat-python. `agents.training.neat`
trains them."""
