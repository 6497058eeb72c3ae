"""The true next turn of a dialogue among four: records for `glassformer train choose` from the DailyDialog data.

    python -m experiments.next_turn runs/next-turn      # writes train.jsonl and test.jsonl there
    glassformer train choose runs/next-turn/train.jsonl --start english --minutes 10 --out runs/next-turn/model
    glassformer evaluate runs/next-turn/model runs/next-turn/test.jsonl

Its training part could not be obtained: the validation part is learned from, and the test part measured, without the
dialogues that are in both.
"""

import json
import random
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from experiments import results

# The turns before the one that is asked for, and the candidates: the chance of a blind guess is 0.25.
BEFORE, CANDIDATES = 3, 4

Dialogue = tuple[str, ...]


def dialogues(path: Path) -> list[Dialogue]:
    """The turns of each dialogue of a file, without repeated dialogues, in order."""
    lines = path.read_text(encoding="utf-8").splitlines()
    turns = (tuple(turn.strip() for turn in line.split("__eou__") if turn.strip()) for line in lines)
    return list(dict.fromkeys(each for each in turns if each))


def questions(found: Sequence[Dialogue], *, seed: int = 0) -> Iterator[dict[str, object]]:
    """For each turn but the first: the turns before it, and the turn itself among turns of other dialogues, all
    different, in an order drawn from the seed.
    """
    rng = random.Random(seed)
    for number, dialogue in enumerate(found):
        for place in range(1, len(dialogue)):
            choices = [dialogue[place]]
            while len(choices) < CANDIDATES:
                other = int(rng.random() * (len(found) - 1))
                turns = found[other + (other >= number)]
                turn = turns[int(rng.random() * len(turns))]
                if turn not in choices:
                    choices.append(turn)
            right = int(rng.random() * CANDIDATES)
            choices[0], choices[right] = choices[right], choices[0]
            yield {
                "id": f"{number}-{place}",
                "text": "\n".join(dialogue[max(0, place - BEFORE) : place]),
                "choices": choices,
                "label": right,
            }


def write(folder: Path, data: Path) -> None:
    """Write both files."""
    learned = dialogues(data / "validation" / "dialogues.txt")
    known = set(learned)
    measured = [each for each in dialogues(data / "test" / "dialogues.txt") if each not in known]
    folder.mkdir(parents=True, exist_ok=True)
    for name, found in (("train", learned), ("test", measured)):
        lines = [json.dumps(question, ensure_ascii=False) for question in questions(found)]
        (folder / f"{name}.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
        print(f"{name}.jsonl: {len(lines):,} questions of {len(found):,} dialogues")


if __name__ == "__main__":
    write(Path(sys.argv[1]), results.data_directory() / "dailydialog_dev_test")
