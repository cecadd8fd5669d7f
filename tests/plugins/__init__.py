"""Games and agents as a newcomer would write them; they show that the vocabulary holds for more than Pong."""
