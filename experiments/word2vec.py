"""Word vectors of the books, as word2vec learns them, in its text format: python -m experiments.word2vec FILE.

Skip-gram with negative sampling (Mikolov et al. 2013): a word and one of its neighbours have a large product, a word
and one drawn at random a small one; all pairs of a step share what is drawn. For claim X-20.

P pairs · N negatives · W width
"""

import re
import sys
import time
from collections import Counter
from pathlib import Path

import numpy as np
import torch
from torch.nn.functional import logsigmoid

from experiments import results

WORDS, WIDTH, WINDOW, BATCH, PASSES, RATE, SEED = 8_000, 128, 5, 4096, 6, 5e-3, 0
# Negatives of a step, and how many of them a pair counts.
NEGATIVES, COUNTED = 128, 5
# A word of this share of the text is read in most of its places; more frequent ones in fewer (ibid., 2.3).
OFTEN = 1e-4
_WORD = re.compile(r"[a-z]+|[0-9]+|[^\sa-z0-9]")


def read() -> tuple[list[str], np.ndarray, np.ndarray]:
    """The words of the vocabulary, how often each is in the books, and the books as their numbers."""
    texts = sorted((results.data_directory() / "text_books").glob("*.txt"))
    found = [word for path in texts for word in _WORD.findall(path.read_text(encoding="utf-8").lower())]
    most = Counter(found).most_common(WORDS)
    number = {word: place for place, (word, _) in enumerate(most)}
    ids = np.array([number[word] for word in found if word in number], np.int64)
    return [word for word, _ in most], np.array([count for _, count in most], np.float64), ids


def train(counts: np.ndarray, ids: np.ndarray, generator: np.random.Generator) -> torch.Tensor:
    """The vectors of words after PASSES over the text, with one neighbour of each word in each; [V, W]."""
    torch.manual_seed(SEED)
    share = counts / counts.sum()
    ids = ids[generator.random(len(ids)) < np.sqrt(OFTEN / share)[ids]]
    negatives = share**0.75 / (share**0.75).sum()
    words = torch.nn.Parameter((torch.rand(len(counts), WIDTH) - 0.5) / WIDTH)  # [V, W]
    others = torch.nn.Parameter(torch.zeros(len(counts), WIDTH))  # [V, W]
    optimizer = torch.optim.Adam([words, others], lr=RATE)
    places = np.concatenate([generator.permutation(len(ids)) for _ in range(PASSES)])
    steps = range(0, len(places), BATCH)
    for number, start in enumerate(steps):
        centre = places[start : start + BATCH]
        distance = generator.integers(1, WINDOW + 1, len(centre)) * generator.choice((-1, 1), len(centre))
        near = torch.from_numpy(ids[np.clip(centre + distance, 0, len(ids) - 1)])  # [P]
        far = torch.from_numpy(generator.choice(len(counts), NEGATIVES, p=negatives))  # [N]
        mine = words[torch.from_numpy(ids[centre])]  # [P, W]
        right = (mine * others[near]).sum(1)  # [P]
        wrong = mine @ others[far].T  # [P, N]
        loss = -(logsigmoid(right) + COUNTED * logsigmoid(-wrong).mean(1)).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if number % 200 == 0:
            print(f"{number} of {len(steps)}: {loss.item():.3f}", file=sys.stderr)
    return words.detach()


def main() -> None:
    """Read, train, write."""
    started = time.monotonic()
    words, counts, ids = read()
    generator = np.random.default_rng(SEED)
    vectors = train(counts, ids, generator)
    with Path(sys.argv[1]).open("w", encoding="utf-8") as file:
        file.write(f"{len(words)} {WIDTH}\n")
        for word, vector in zip(words, vectors.tolist(), strict=True):
            file.write(f"{word} {' '.join(f'{each:.4f}' for each in vector)}\n")
    for word in ("good", "sea", "king"):
        likeness = torch.nn.functional.cosine_similarity(vectors, vectors[words.index(word)][None])
        print(word, [words[place] for place in likeness.topk(6).indices[1:]], file=sys.stderr)
    print(f"{sys.argv[1]}: {time.monotonic() - started:.0f} s")


if __name__ == "__main__":
    main()
