"""Neural networks as players. A small network is evaluated in compiled code (`mlp`), without torch."""
