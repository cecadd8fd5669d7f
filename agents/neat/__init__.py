"""Players that evolved: genomes, the networks they describe, and the pilot that plays them all in one call."""
