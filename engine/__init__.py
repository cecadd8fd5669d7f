"""Rules, matches, tournaments and ratings: everything that works without a GUI, graphics or neural networks.

`engine.game` defines the vocabulary. `engine.games` says how to add a game.
"""
