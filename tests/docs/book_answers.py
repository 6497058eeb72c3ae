"""The answers to the exercises of the book, worked out again from the words of each exercise: without its code.

By chapter and number: numbers that the bold answer must have. Three answers rest on numbers that a model gave; these
are taken from the chapter's printed output, as a reader takes them.
"""

from math import cos, exp, log, sin, sqrt

E = exp(1)


def softmax(*scores: float) -> list[float]:
    total = sum(exp(score) for score in scores)
    return [exp(score) / total for score in scores]


def distance(position: int, width: int) -> float:
    """From position 0: sin and cos of each wave, against 0 and 1."""
    waves = [position / 10000 ** (2 * pair / width) for pair in range(width // 2)]
    return sqrt(sum(sin(wave) ** 2 + (cos(wave) - 1) ** 2 for wave in waves))


def block(width: int, inside: int) -> int:
    attention = 4 * width * width + 4 * width
    return attention + width * inside + inside + inside * width + width + 4 * width


THE, QUICK = (-0.0312, 0.8866), (-0.6970, 0.6740)
ROW = softmax(*(one[0] * QUICK[0] + one[1] * QUICK[1] for one in (THE, QUICK)))
PRECISION, RECALL = 8 / 12, 8 / 10

ANSWERS: dict[tuple[str, int], list[float]] = {
    ("01", 1): [32 * 128 * 768],
    ("01", 2): [round(each, 2) for each in (sin(1), cos(1), sin(1 / 100), cos(1 / 100))],
    ("01", 3): [3],
    ("02", 1): [sum(range(1, 513))],
    ("02", 2): [round(each, 2) for each in ROW],
    ("02", 3): [0],
    ("03", 1): [round(softmax(112, 96)[0], 3)],
    ("03", 2): [round(softmax(98 / 8, 27 / 8, 10 / 8, 12 / 8)[0], 4)],
    ("03", 3): [0.5 * 1 + 0.2 * 2, 0.3 * 1 + 0.2 * 2, 0.5, 0.3 + 0.2],
    ("04", 1): [4 * 512**2],
    ("04", 2): [0, 1],
    ("04", 3): [round(0.57 * 11, 1)],
    ("05", 1): [round((each - 2.5) / sqrt(1.25), 2) for each in (1, 2, 3, 4)],
    ("05", 2): [90 + 4 * 48 + 2 * 72 + 90],
    ("05", 3): [109_482_240 - 12 * (block(768, 3072) - block(768, 768))],
    ("06", 1): [round(log(15), 2)],
    ("06", 2): [round(-log(0.2), 2), 0.7, 0.2 - 1, 0.1],
    ("06", 3): [round(1 / sqrt(512 * 4000), 6), 4 * 4000],
    ("07", 1): [0.15 * 2000, 0.15 * 0.8 * 2000, 0.15 * 0.1 * 2000],
    ("07", 2): [3.0 + 2.4],
    ("07", 3): [2 * 769, round((109_482_240 + 2 * 769) / (2 * 769))],
    ("08", 1): [round(-3.889 / ((5 + 6) / 6) ** 0.6, 3)],
    ("08", 2): [4 * 36, 4 * 25, 4 * 30],
    ("08", 3): [0.6 * 0.4, 0.4 * 0.9],
    ("09", 1): [round(each**2 / (0.25 + 0.09 + 0.04), 2) for each in (0.5, 0.3, 0.2)],
    ("09", 2): [round(0.45 / (0.45 + 0.25 + 0.15), 2)],
    ("09", 3): [2**18, 4**2],
    ("10", 1): [(3 * 4 + 4 * 3) / 25],
    ("10", 2): [4 * 192, 4 * 768, 192, 768],
    ("10", 3): [2 / 5, 4 / 5],
    ("11", 1): [18 / 3, 5],
    ("11", 2): [0.2 * 6, 0.6 * 1],
    ("11", 3): [2 * 0.75 * 0.25],
    ("12", 1): [round(196 * sqrt(0.875 * 0.125 / 872), 1)],
    ("12", 2): [0.94, round(PRECISION, 2), RECALL, round(2 * PRECISION * RECALL / (PRECISION + RECALL), 2), 0.9],
    ("12", 3): [round(E**4.13, 1), round(4.13 / log(2), 2)],
}

assert distance(3, 6) > distance(4, 6), "exercise 1.3"
