"""Games, agents and trainers of the tests, written as plug-ins. `everyone` registers the games and agents."""
