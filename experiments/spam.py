"""The spam filter of the lecture notes: asked for the sentence of the picture, and for text messages that people sent.

`glassformer train spam` learns the 156 messages of the package. The other arm learns these eight times, with four
fifths of `sms_spam`.

    python -m experiments.spam        # writes docs/results/spam.json
"""

import csv
import tempfile
from pathlib import Path

import glassformer as gf
from experiments import results
from glassformer.saved.recipe import resolve

SENTENCE, PICTURED, SEEDS, STEPS, TIMES = "Help Prince Mayuko Transfer Huge Inheritance", 0.85, 2, 400, 8
MESSAGES = "sms_spam/sms.tsv"
ARMS = ("the package's messages", "these eight times, and sms_spam")


def main() -> None:
    lines = (results.data_directory() / MESSAGES).read_text(encoding="utf-8").splitlines()
    messages = list(dict.fromkeys(tuple(line.split("\t", 1)) for line in lines))
    measured = [each for at, each in enumerate(messages) if at % 5 == 0]
    learned = [(text, label) for at, (label, text) in enumerate(messages) if at % 5]
    own = resolve("spam").data.files[0]
    arms: dict[str, list[dict[str, float]]] = {}
    with tempfile.TemporaryDirectory() as folder:
        both = Path(folder) / "both.csv"
        with both.open("w", encoding="utf-8", newline="") as file, Path(own).open(encoding="utf-8") as written:
            head, *rows = csv.reader(written)
            csv.writer(file).writerows([head, *rows * TIMES, *learned])
        more = {"data.files": [str(both)], "train.epochs": None, "train.steps": STEPS}
        for arm, settings in zip(ARMS, ({}, more), strict=True):
            for seed in range(SEEDS):
                model = gf.train("spam", set={"train.seed": seed, **settings}, out=Path(folder) / f"{arm} {seed}")
                answers = model.classify([text for _, text in measured])
                hits = [(of, answer.label == of) for (of, _), answer in zip(measured, answers, strict=True)]
                found = {f"of {kind}": sum(hit for of, hit in hits if of == kind) / sum(of == kind for of, _ in hits)
                         for kind in ("spam", "ham")}  # fmt: skip
                picture = model.classify(SENTENCE).probabilities["spam"]
                arms.setdefault(arm, []).append({"sentence": picture, **found})
    row = {
        "text": SENTENCE,
        "pictured": PICTURED,
        "messages": len(measured),
        "steps": STEPS,
        "times": TIMES,
        "arms": arms,
    }
    print(results.write("spam", "python -m experiments.spam", row))


if __name__ == "__main__":
    main()
