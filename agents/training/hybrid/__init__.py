"""The trainer `hybrid`: evolves architectures of networks, each of which learns by gradient."""
