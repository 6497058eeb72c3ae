"""Answering without a network: the words that stand among most words of the question.

After the sliding-window baseline of Richardson et al. (2013, algorithm 1), which the SQuAD paper uses with candidates
from a parser (Rajpurkar et al. 2016 §5.1). Here the candidates are runs of words that are not in the question.

N words of a passage
"""

from __future__ import annotations

import math
import re
from collections import Counter

import numpy as np

# Words on either side of a candidate whose overlap with the question counts, near ones several times, and the most
# words of a candidate.
_AROUND, _LONGEST = (3, 6, 12), 4
_WORD = re.compile(r"\w+")
# Words that are everywhere: neither an answer nor a reason for one.
_EVERYWHERE = """
    a an the of in on at to for from by with and or but as is are was were be been has have had do does did it its he
    she his her they their them this that these those which who whom what when where why how not also than then
"""
_FUNCTION_WORDS = frozenset(_EVERYWHERE.split())


def answer_by_overlap(question: str, context: str) -> tuple[int, int]:
    """The characters [start, end) of the candidate in whose neighbourhood the words of the question weigh most.

    A word of the question weighs log(1 + 1 / its count in the passage) where it occurs. The first is taken among
    equals; (0, 0) where there is no candidate.
    """
    words = [(found.group().lower(), found.start(), found.end()) for found in _WORD.finditer(context)]
    counts = Counter(word for word, _, _ in words)
    asked = {word for word in map(str.lower, _WORD.findall(question)) if word not in _FUNCTION_WORDS}
    weights = [math.log1p(1 / counts[word]) if word in asked else 0.0 for word, _, _ in words]
    sums = np.concatenate([[0.0], np.cumsum(weights)])  # [N + 1]
    best, chosen, begin = -1.0, (0, 0), 0
    for place in range(len(words) + 1):
        other = place < len(words) and words[place][0] not in asked and words[place][0] not in _FUNCTION_WORDS
        if other and place - begin < _LONGEST:
            continue
        if place > begin:
            near = sum(sums[min(len(words), place + more)] - sums[max(0, begin - more)] for more in _AROUND)
            if near > best:
                best, chosen = float(near), (words[begin][1], words[place - 1][2])
        begin = place if other else place + 1
    return chosen
