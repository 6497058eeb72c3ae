"""The data sets of the encoder's tasks as plain records, in the splits that every row of the tables uses.

classify: text, pair?, label · several: text, labels · regress: text, pair, label (a number)
choose: text, choices, label (the number of the right choice) · tag: words, tags
answer: question, context, answers [{text, answer_start}], none where the passage has no answer
"""

import csv
import gzip
import json
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from experiments import results
from glassformer.data.stores.split import hash_fraction, text_hash

Record = dict[str, Any]

# Dialogues: how many earlier turns are shown, and of how many turns one is the true next.
TURNS_SHOWN, CHOICES = 3, 4
# Articles of squad2_dev_part that are only tested on: the four in which most questions are left.
HELD_OUT_ARTICLES = 4


class Splits(NamedTuple):
    """What is learned from, what is tested on, and what a threshold is chosen on: records with an `id` each."""

    train: list[Record]
    test: list[Record]
    validation: list[Record]


def sst2() -> Splits:
    """Film reviews: whole sentences, tested on the development part. Quote marks are literal."""
    return _splits(*(_two_columns(_at("sst2", f"{part}.tsv"), text=0) for part in ("train", "dev")))


def sms_spam() -> Splits:
    """Messages without repeats; a fifth of them, chosen by a hash of the text, is tested on."""
    rows = {record["text"]: record for record in _two_columns(_at("sms_spam", "sms.tsv"), text=1)}
    records = _numbered(rows.values())
    held_out = [hash_fraction(text_hash(record["text"]), 0) < 0.2 for record in records]
    return Splits(
        [record for record, out in zip(records, held_out, strict=True) if not out],
        [record for record, out in zip(records, held_out, strict=True) if out],
        [],
    )


def mrpc() -> Splits:
    """Pairs of sentences from news: paraphrases (1) or not (0)."""

    def of(part: str) -> Iterator[Record]:
        for line in _lines(_at("mrpc", f"msr_paraphrase_{part}.txt"))[1:]:
            label, _, _, text, pair = line.split("\t")
            yield {"text": text, "pair": pair, "label": label}

    return _splits(of("train"), of("test"))


def sick() -> Splits:
    """Pairs of captions: entailment, neutral, contradiction."""

    def of(part: str) -> Iterator[Record]:
        for line in _lines(_at("sick", f"SICK_{part}.txt"))[1:]:
            _, text, pair, _, label = line.split("\t")
            yield {"text": text, "pair": pair, "label": label.lower()}

    return _splits(of("train"), of("test_annotated"))


def snli() -> Splits:
    """Pairs of captions and statements: learned from the development part, tested on the test part."""

    def of(part: str) -> Iterator[Record]:
        columns = [_lines(_at("snli_dev_test", f"{name}.{part}")) for name in ("s1", "s2", "labels")]
        for text, pair, label in zip(*columns, strict=True):
            yield {"text": text.strip(), "pair": pair.strip(), "label": label}

    return _splits(of("dev"), of("test"))


def sts() -> Splits:
    """Pairs of sentences and how alike they are, from 0 to 5."""

    def of(part: str) -> Iterator[Record]:
        with _at("sts_benchmark", f"stsb-en-{part}.csv").open(encoding="utf-8", newline="") as file:
            for text, pair, label in csv.reader(file):
                yield {"text": text, "pair": pair, "label": float(label)}

    return _splits(of("train"), of("test"))


def next_turn() -> Splits:
    """The true next turn of a dialogue among three from other dialogues of the same part."""

    def of(dialogues: list[tuple[list[str], list[int]]], each: int) -> Iterator[Record]:
        generator = np.random.default_rng(0)
        for number, (turns, _) in enumerate(dialogues):
            for _ in range(each):
                asked = int(generator.integers(1, len(turns)))
                others = generator.choice([n for n in range(len(dialogues)) if n != number], CHOICES - 1, replace=False)
                choices = [turns[asked]] + [str(generator.choice(dialogues[other][0])) for other in others]
                order = generator.permutation(CHOICES)
                yield {
                    "text": " ".join(turns[max(0, asked - TURNS_SHOWN) : asked]),
                    "choices": [choices[place] for place in order],
                    "label": int(np.flatnonzero(order == 0)[0]),
                }

    train, test = _dialogues()
    return _splits(of(train, 1), of(test, 1))


def acts() -> Splits:
    """Which acts occur in a dialogue: several labels for each."""
    names = {1: "inform", 2: "question", 3: "directive", 4: "commissive"}

    def of(dialogues: list[tuple[list[str], list[int]]]) -> Iterator[Record]:
        for turns, found in dialogues:
            yield {"text": " ".join(turns), "labels": sorted({names[act] for act in found})}

    return _splits(*(of(dialogues) for dialogues in _dialogues()))


def pos() -> Splits:
    """Words with their universal parts of speech; multi-word tokens and empty nodes are left out."""
    train, test = (_parts_of_speech(f"en_ewt-ud-{part}") for part in ("train.conllu.gz", "test.conllu"))
    return _splits(train, test)


def wnut17() -> Splits:
    """Posts with rare entities."""
    return _splits(_posts("wnut17train.conll"), _posts("emerging.test.annotated"))


def squad() -> Splits:
    """Questions on Wikipedia (squadshifts, new_wiki) to learn from; tested on those of XQuAD's English passages."""
    train = list(_questions(_json(_at("squadshifts", "new_wiki_v1.0.json.gz"))["data"]))
    return Splits(train, list(_questions(_json(_at("xquad", "xquad.en.json"))["data"])), [])


def squad2() -> Splits:
    """Twelve articles with unanswerable questions, without XQuAD's passages; the other four are tested on. A tenth of
    the passages of the twelve is what the threshold is chosen on.
    """
    articles = _json(_at("squad2_dev_part", "dev-v2.0.json.gz"))["data"]
    foreign = {record["context"] for record in squad().test}
    kept = [[record for record in _questions([article]) if record["context"] not in foreign] for article in articles]
    order = sorted(range(len(kept)), key=lambda number: -len(kept[number]))
    # Neither the largest nor the smallest: every fourth of the sixteen by size.
    out = set(order[1::4][:HELD_OUT_ARTICLES])
    learned = [record for number, records in enumerate(kept) if number not in out for record in records]
    aside = {text for text in {record["context"] for record in learned} if hash_fraction(text_hash(text), 0) < 0.1}
    return Splits(
        [record for record in learned if record["context"] not in aside],
        [record for number, records in enumerate(kept) if number in out for record in records],
        [record for record in learned if record["context"] in aside],
    )


SETS: dict[str, Callable[[], Splits]] = {
    "sst2": sst2,
    "sms_spam": sms_spam,
    "mrpc": mrpc,
    "sick": sick,
    "snli": snli,
    "sts": sts,
    "next_turn": next_turn,
    "acts": acts,
    "pos": pos,
    "wnut17": wnut17,
    "squad": squad,
    "squad2": squad2,
}


def _at(folder: str, name: str) -> Path:
    return results.data_directory() / folder / name


def _lines(path: Path) -> list[str]:
    """The lines of a text file, also of one that is compressed; only line ends end a line."""
    data = path.read_bytes()
    text = (gzip.decompress(data) if path.suffix == ".gz" else data).decode("utf-8-sig")
    return text.replace("\r\n", "\n").removesuffix("\n").split("\n")


def _json(path: Path) -> Any:
    return json.loads("\n".join(_lines(path)))


def _two_columns(path: Path, *, text: int) -> Iterator[Record]:
    for line in _lines(path):
        columns = line.split("\t")
        yield {"text": columns[text], "label": columns[1 - text]}


def _splits(train: Iterable[Record], test: Iterable[Record]) -> Splits:
    return Splits(_numbered(train), _numbered(test), [])


def _numbered(records: Iterable[Record]) -> list[Record]:
    return [{"id": str(number), **record} for number, record in enumerate(records)]


def _parts_of_speech(name: str) -> Iterator[Record]:
    for block in "\n".join(_lines(_at("ud_english_ewt", name))).split("\n\n"):
        rows = [line.split("\t") for line in block.splitlines() if line and not line.startswith("#")]
        rows = [row for row in rows if row[0].isdigit()]
        if rows:
            yield {"words": [row[1] for row in rows], "tags": [row[3] for row in rows]}


def _posts(name: str) -> Iterator[Record]:
    for block in "\n".join(line.rstrip() for line in _lines(_at("wnut17", name))).split("\n\n"):
        rows = [line.split("\t") for line in block.splitlines() if "\t" in line]
        if rows:
            yield {"words": [row[0] for row in rows], "tags": [row[1] for row in rows]}


def _dialogues() -> tuple[list[tuple[list[str], list[int]]], list[tuple[list[str], list[int]]]]:
    """Turns and acts of the dialogues that are learned from and tested on, each dialogue once in all."""
    seen: set[str] = set()
    parts = []
    for part in ("test", "validation"):  # a dialogue of both is only tested on
        folder = results.data_directory() / "dailydialog_dev_test" / part
        dialogues = []
        for line, found in zip(_lines(folder / "dialogues.txt"), _lines(folder / "dialogues_act.txt"), strict=True):
            turns = [turn.strip() for turn in line.split("__eou__") if turn.strip()]
            if line not in seen and len(turns) > 1:
                seen.add(line)
                dialogues.append((turns, [int(act) for act in found.split()]))
        parts.append(dialogues)
    return parts[1], parts[0]


def _questions(articles: Iterable[Any]) -> Iterator[Record]:
    for article in articles:
        for paragraph in article["paragraphs"]:
            for asked in paragraph["qas"]:
                yield {
                    "id": asked["id"],
                    "question": asked["question"],
                    "context": paragraph["context"],
                    "answers": asked["answers"],
                }
