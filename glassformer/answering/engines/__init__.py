"""Libraries that answer in the place of our own stack: converted once, compared with it, and only then used."""
