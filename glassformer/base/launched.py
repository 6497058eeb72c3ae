"""Whether torchrun, or another launcher, has begun this process as one of several: read from the environment."""

import os

# What a launcher tells each process.
_VARIABLES = ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")


def is_one_of_several() -> bool:
    """Whether there are other processes of the same training."""
    return os.environ.get("WORLD_SIZE", "1") != "1" and all(name in os.environ for name in _VARIABLES)


def is_first() -> bool:
    """Whether this process is the only one, or the one that writes and prints."""
    return not is_one_of_several() or os.environ["RANK"] == "0"
