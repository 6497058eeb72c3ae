"""What taggers gain from the case of words where the tokenizer drops capital letters: python -m experiments.case.

`train tag` with its defaults, three seeds with the case and three without. What was stopped goes on.
"""

from pathlib import Path
from statistics import mean

import glassformer as gf
from experiments import results
from experiments.encoder.plan import encoder_folder
from experiments.page import NOT_YET, made_by, table

# The folder of the data, and its files to learn from, to choose the best step, and to measure.
DATA = {
    "parts of speech, EWT": ("ud_english_ewt", "en_ewt-ud-{}", ("train.conllu.gz", "dev.conllu", "test.conllu")),
    "parts of speech, GUM": ("ud_english_gum", "en_gum-ud-{}.conllu.gz", ("train", "dev", "test")),
    "rare entities, wnut17": ("wnut17", "{}", ("wnut17train.conll", "emerging.dev.conll", "emerging.test.annotated")),
}
STARTS = {"sentences": tuple(DATA), "six layers": ("rare entities, wnut17",)}
WAYS, SEEDS, WORK = {"without": False, "with": True}, (1, 2, 3), Path("runs/case")


def score(start: str, data: str, case: bool, seed: int) -> float:
    """F1 in percent; of parts of speech it is the accuracy."""
    folder, pattern, names = DATA[data]
    files = [results.data_directory() / folder / pattern.format(name) for name in names]
    out = WORK / f"{start}-{folder}-{case}-{seed}".replace(" ", "-")
    if not (out / "model.safetensors").exists():
        changes = {"data.files": [str(files[0])], "data.validation_files": [str(files[1])], "train.seed": seed}
        place = str(encoder_folder()) if start == "six layers" else start
        changes |= {"model.start": place, "task.case": case, "train.threads": 1}
        begun = (out / "recipe.toml").exists()
        gf.train(None if begun else "tag", set=None if begun else changes, out=out, resume=begun)
    return 100 * gf.load(out).evaluate(files[2])["f1"]


def section() -> list[str]:
    """Lines of docs/measured/results.md."""
    lines, row = ["## The case of words", ""], results.read("case")
    if row is None:
        return [*lines, NOT_YET, ""]
    shown = [
        [of["start"], of["data"], *(f"{mean(of[way]):.1f} ({min(of[way]):.1f} … {max(of[way]):.1f})" for way in WAYS)]
        for of in row["rows"]
    ]
    text = "`train tag` with its defaults, F1 in percent on the test part: the mean of three seeds, lowest and highest."
    return [*lines, text, "", table(["start", "", "without the case", "with it"], shown), "", made_by(row), ""]


def main() -> None:
    """Measure all rows."""
    rows = []
    for start, names in STARTS.items():
        for data in names:
            found = {way: [score(start, data, case, seed) for seed in SEEDS] for way, case in WAYS.items()}
            print(start, data, found, flush=True)
            rows.append({"start": start, "data": data, **found})
    print(results.write("case", "python -m experiments.case", {"rows": rows}))


if __name__ == "__main__":
    main()
