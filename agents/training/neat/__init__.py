"""The trainer `neat`: neuroevolution of augmenting topologies. To add a way to evaluate genomes, see `modes`."""
