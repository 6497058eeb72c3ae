"""The two sentences that the source documents' pictures show with a probability, answered by our models.

    python -m experiments.encoder sms_spam ours      # trains the spam filter
    python -m experiments.source_sentences           # writes docs/results/source-sentences.json

The pictures' models are not at hand: ours are others, trained on other text, and answer as they answer.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import glassformer as gf
from experiments import results
from glassformer.base.errors import ConfigError

SPAM, MASKED, WORD = (
    "Help Prince Mayuko Transfer Huge Inheritance",
    "Let's stick to [MASK] in this skit",
    "improvisation",
)
PICTURED = {SPAM: 0.85, MASKED: 0.10}
SPAM_MODEL = Path("runs/encoder/sms_spam/ours-0")
_SHOWN = 5


def answered(spam_model: Path) -> dict[str, Any]:
    """What both models answer; the word's probability is None where the model has no token for it."""
    labels = gf.load(spam_model).classify(SPAM).probabilities
    english = gf.load("english")
    guesses = english.fill(MASKED, top=english.tokenizer.vocabulary_size).masks[0].guesses
    rank = next((number for number, guess in enumerate(guesses, start=1) if guess.word == WORD), None)
    return {
        "spam": {"text": SPAM, "probabilities": labels, "pictured": PICTURED[SPAM]},
        "masked": {
            "text": MASKED,
            "guesses": [[guess.word, guess.probability] for guess in guesses[:_SHOWN]],
            "word": WORD,
            "rank": rank,
            "probability": None if rank is None else guesses[rank - 1].probability,
            "pictured": PICTURED[MASKED],
        },
    }


if __name__ == "__main__":
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else SPAM_MODEL
    try:
        found = answered(folder)
    except ConfigError as error:
        sys.exit(f"{error}; train it first: python -m experiments.encoder sms_spam ours")
    print(results.write("source-sentences", "python -m experiments.source_sentences", found))
