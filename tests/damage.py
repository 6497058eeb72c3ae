"""Damage as disks do it: one bit of a file is another one."""

import random
from collections.abc import Iterator
from pathlib import Path


def flipped_bits(path: Path, count: int = 200) -> Iterator[int]:
    """Flip one bit of a file at a time, the first and the last byte and `count` others spread over it.

    Gives the byte's place while the file is damaged; afterwards it is as it was.
    """
    whole = path.read_bytes()
    chance = random.Random(len(whole))
    places = [0, 7, 8, len(whole) - 1, *(chance.randrange(len(whole)) for _ in range(count))]
    for place in places:
        bit = 1 << chance.randrange(8)
        path.write_bytes(whole[:place] + bytes([whole[place] ^ bit]) + whole[place + 1 :])
        yield place
    path.write_bytes(whole)
