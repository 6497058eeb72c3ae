"""The tasks whose promises every row of tests/contracts/test_tasks.py holds them to, each with a small data set."""

import json
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

SENTENCES = (
    "She likes the summer better than the winter.",
    "He loves to cook healthy food for his friends.",
    "They go hiking quite often in the mountains.",
    "The quick brown fox jumps over the lazy dog.",
    "A model that nobody can read is a model that nobody can trust.",
)


def written(folder: Path, name: str, rows: Iterable[str], between: str = "\n") -> Path:
    """These rows as a file."""
    path = folder / name
    path.write_text(between.join(rows) + "\n", encoding="utf-8")
    return path


def write_prose(folder: Path) -> Path:
    """Documents of several sentences, parted by blank lines."""
    stories = (
        f"Story {number} begins. {SENTENCES[number % 5]} {SENTENCES[(number * 7 + 2) % 5]} It ends on day {number}."
        for number in range(30)
    )
    return written(folder, "prose.txt", stories, "\n\n")


def write_labels(folder: Path) -> Path:
    """Texts of very different lengths with one of three labels, in a table without a header."""
    rows = [
        f"{' '.join([SENTENCES[number % 5]] * (1 + number % 4 * (number % 3)))} {number}\t{'abc'[number % 3]}"
        for number in range(48)
    ]
    return written(folder, "labels.tsv", rows)


def write_label_sets(folder: Path) -> Path:
    """Texts with none, one or several of three labels, in a table without a header."""
    rows = [
        f"{' '.join([SENTENCES[number % 5]] * (1 + number % 4 * (number % 3)))} {number}\t"
        f"{'|'.join('abc'[place] for place in range(3) if number % (place + 2) == 0)}"
        for number in range(48)
    ]
    return written(folder, "sets.tsv", rows)


def write_numbers(folder: Path) -> Path:
    """Texts with a number, in JSON lines."""
    rows = [{"text": f"{SENTENCES[n % 5]} {n}", "label": n % 7 / 2 if n % 3 else str(n % 7)} for n in range(48)]
    return written(folder, "numbers.jsonl", map(json.dumps, rows))


def write_pairs(folder: Path) -> Path:
    """Pairs of texts with a label, in a table with a header."""
    rows = (
        f'"{SENTENCES[n % 5]} {n}","{SENTENCES[(n + n % 2) % 5]}",{"same" if n % 2 == 0 else "other"}'
        for n in range(40)
    )
    return written(folder, "pairs.csv", ["first,second,verdict", *rows])


def write_choices(folder: Path) -> Path:
    """Texts with two to four candidates each, the right one given by its place or by its text."""
    rows = []
    for number in range(40):
        choices = [f"{SENTENCES[(number + place) % 5]} {number}" for place in range(2 + number % 3)]
        right = number % 2
        text = " ".join(SENTENCES[number % 5].split()[: 3 + number % 3])
        rows.append(json.dumps({"text": text, "choices": choices, "label": choices[right] if number % 4 else right}))
    return written(folder, "choices.jsonl", rows)


def write_masks(folder: Path) -> Path:
    """Texts with their masks and answers."""
    rows = []
    for number in range(24):
        words = SENTENCES[number % 5].rstrip(".").split()
        masked_words = sorted({number % len(words), (number * 3 + 1) % len(words)})
        answers = [words[place] for place in masked_words]
        text = " ".join("[MASK]" if place in masked_words else word for place, word in enumerate(words))
        rows.append(json.dumps({"text": text, "answers": answers}))
    return written(folder, "masks.jsonl", rows)


def write_questions(folder: Path) -> Path:
    """Questions about passages of several lengths, some of which have no answer."""
    rows = []
    for number in range(48):
        passage = " ".join([*(SENTENCES[(number + place) % 5] for place in range(1 + number % 4)), f"Day {number}."])
        word = passage.split()[number * 5 % len(passage.split())]
        answers = [] if number % 5 == 2 else [{"text": word, "start": passage.index(word)}]
        rows.append(json.dumps({"question": f"What about {number % 7}?", "context": passage, "answers": answers}))
    return written(folder, "questions.jsonl", rows)


def write_conll(folder: Path) -> Path:
    """Sentences of very different lengths with names in them, one word a line."""
    sentences = []
    for number in range(40):
        words = " ".join([SENTENCES[number % 5]] * (1 + number % 4 * (number % 3))).replace(".", " .").split()
        words[number % len(words)] = f"Day{number}"
        tags = ["B-thing" if word == "fox" else "I-thing" if word == "jumps" else "O" for word in words]
        tags[number % len(words)] = "B-day"
        sentences.append("\n".join(f"{word}\t{tag}" for word, tag in zip(words, tags, strict=True)))
    return written(folder, "names.conll", sentences, "\n\n")


def write_spans(folder: Path) -> Path:
    """Texts with spans of characters."""
    rows = []
    for number in range(40):
        text = f"{SENTENCES[number % 5]} On day {number} she met a quick brown fox."
        start, day = text.rindex("quick"), text.index("day ")
        spans = [
            {"start": start, "end": len(text) - 1, "label": "animal"},
            {"start": day, "end": text.index(" she met"), "label": "time"},
        ]
        rows.append(json.dumps({"text": text, "spans": spans[: 1 + number % 2]}))
    return written(folder, "spans.jsonl", rows)


FRENCH = (
    "Elle aime l'été plus que l'hiver.",
    "Il adore cuisiner pour ses amis.",
    "Ils vont souvent à la montagne.",
    "Le renard brun saute par-dessus le chien.",
    "Nul ne croit un modèle que nul ne peut lire.",
)


def write_translations(folder: Path) -> Path:
    """Sentences with their translations, in a table without a header."""
    rows = [
        f"{' '.join(SENTENCES[n % 5].split()[: 2 + n % 5])} {n}\t{' '.join(FRENCH[n % 5].split()[: 2 + n % 4])} {n}"
        for n in range(60)
    ]
    return written(folder, "translations.tsv", rows)


def write_dialogues(folder: Path) -> Path:
    """Dialogues of two to four turns."""
    rows = []
    for number in range(40):
        turns = [
            " ".join(SENTENCES[(number + turn) % 5].split()[: 2 + (number + turn) % 4])
            for turn in range(2 + number % 3)
        ]
        rows.append(json.dumps({"turns": [*turns[:-1], f"{turns[-1]} {number}"]}))
    return written(folder, "dialogues.jsonl", rows)


# Chances are written as float64; their sum is that of a softmax in float32.
ONE = 1e-6


def sums_to_one(record: Mapping[str, object], found: Any) -> None:
    """The probabilities of an answer, by label or in a list, are those of one choice."""
    chances = found["probabilities"]
    assert abs(sum(chances.values() if isinstance(chances, dict) else chances) - 1) < ONE


def each_is_a_chance(record: Mapping[str, object], found: Any) -> None:
    """Each label has a probability of its own."""
    assert all(0 < chance < 1 for chance in found["probabilities"].values())


def is_a_number(record: Mapping[str, object], found: Any) -> None:
    """The answer is a finite number."""
    assert math.isfinite(found["number"])


def spans_are_of_the_text(record: Mapping[str, object], found: Any) -> None:
    """The text of each span stands where the answer says."""
    assert all(found["text"][span["start"] : span["end"]] == span["text"] for span in found["spans"])


def spans_are_of_the_passage(record: Mapping[str, object], found: Any) -> None:
    """So do the likeliest answers in a passage, which with that of no answer are all."""
    assert all(span["text"] == str(record["pair"])[span["start"] : span["end"]] for span in found["best"])
    assert abs(sum(span["probability"] for span in found["best"]) + found["no_answer_probability"] - 1) < ONE


@dataclass(frozen=True)
class Row:
    """A task with its data, its settings, a verb that its models answer with records to ask, and a damaged record.

    `bad` is appended to the data and must be named with its line; None where running text has no bad rows. `whole` is
    what must hold of a record and its answer as JSON, also where a long text has several windows. `untrained` are
    settings with which a model without training answers the verb, for the tests of `serve`: what its records would
    decide; None where a bundled model or another row answers it.
    """

    name: str
    task: str
    write: Callable[[Path], Path]
    losses: tuple[str, ...]
    verb: str
    records: tuple[Mapping[str, object], ...]
    data: Mapping[str, Any]
    family: str = "bert"
    bad: str | None = None
    head: str = "head"
    section: Mapping[str, Any] = field(default_factory=dict)
    label: object = "a"
    whole: Callable[[Mapping[str, object], Any], None] = sums_to_one
    untrained: Mapping[str, Any] | None = None
    lengths: tuple[int, ...] = (24,)
    tokenizer: Mapping[str, Any] = field(default_factory=lambda: {"kind": "wordpiece", "vocabulary": 160})

    def recipe(self, folder: Path) -> dict[str, Any]:
        """A recipe for a tiny model, with every setting that decides the bits written out."""
        settings = {"layers": 2, "width": 16, "heads": 2, "feed_forward": 32, "dropout": 0.1, "max_length": 32}
        return {
            "task": {"name": self.task, **self.section},
            "data": {"files": [str(self.write(folder))], "validation": 0.2, "length": 24, **self.data},
            "tokenizer": dict(self.tokenizer),
            "model": {"family": self.family, "size": "tiny", "settings": settings},
            "train": {
                "steps": 6,
                "batch": 8,
                "learning_rate": 0.005,
                "precision": "float32",
                "compile": "off",
                "device": "cpu",
                "threads": 1,
                "checkpoint_every": 2,
                "keep": 9,
                "evaluate_every": 3,
            },
        }


def questions() -> tuple[Mapping[str, object], ...]:
    """Texts to choose for, short and long, with two to five candidates."""
    return tuple({**each, "choices": list(SENTENCES[: 2 + n % 4])} for n, each in enumerate(texts(mask=False)))


def texts(*, mask: bool) -> tuple[Mapping[str, object], ...]:
    """Texts to ask about, short and long, the longest in several windows."""
    found = [SENTENCES[number % 5] if number % 4 else " ".join(SENTENCES) for number in range(12)]
    return tuple({"text": text.replace(" the ", " [MASK] ", 1) if mask else text} for text in found if "the" in text)


TASKS: tuple[Row, ...] = (
    Row("masked-lm", "masked-lm", write_prose, ("masked_words",), "fill", texts(mask=True), {}),
    Row("bert", "bert", write_prose, ("masked_words", "next_sentence"), "fill", texts(mask=True), {}),
    Row(
        "annotated-masks",
        "annotated-masks",
        write_masks,
        ("masked_words",),
        "fill",
        texts(mask=True),
        {},
        bad='{"text": "no mask at all", "answers": ["one"]}',
    ),
    Row(
        "classify",
        "classify",
        write_labels,
        ("label",),
        "classify",
        texts(mask=False),
        {"text": "0", "label": "1"},
        bad="only one cell",
        head="sentence_head",
        untrained={"labels": ("a", "b", "c")},
    ),
    Row(
        "classify pairs",
        "classify",
        write_pairs,
        ("label",),
        "classify",
        tuple({**each, "pair": SENTENCES[0]} for each in texts(mask=False)),
        {"text": "first", "pair": "second", "label": "verdict"},
        bad=",the first text is empty,same",
        head="sentence_head",
        label="same",
    ),
    Row(
        "classify several",
        "classify",
        write_label_sets,
        ("label",),
        "classify",
        texts(mask=False),
        {"text": "0", "label": "1", "separator": "|"},
        bad="only one cell",
        head="sentence_head",
        section={"several": True, "class_weights": "balanced", "pooling": "mean"},
        label="c|a",
        whole=each_is_a_chance,
    ),
    Row(
        "regress",
        "regress",
        write_numbers,
        ("number",),
        "classify",
        texts(mask=False),
        {},
        bad='{"text": "a number that is none", "label": "high"}',
        head="sentence_head",
        label=2.5,
        whole=is_a_number,
    ),
    Row(
        "choose",
        "choose",
        write_choices,
        ("choice",),
        "choose",
        questions(),
        {},
        bad='{"text": "one candidate", "choices": ["alone"], "label": 0}',
        head="sentence_head",
        untrained={},
    ),
    Row(
        "sentence order",
        "sentence-order",
        write_prose,
        ("sentence_order",),
        "classify",
        tuple({**each, "pair": SENTENCES[0]} for each in texts(mask=False)),
        {},
        label="IsNext",
        head="sentence_head",
    ),
    Row(
        "answer",
        "answer",
        write_questions,
        ("start", "end"),
        "answer",
        tuple({"text": "What does she like?", "pair": each["text"]} for each in texts(mask=False)),
        {},
        bad='{"question": "Who?", "context": "She likes it.", "answers": [{"text": "He", "start": 0}]}',
        head="token_head",
        whole=spans_are_of_the_passage,
        untrained={},
    ),
    Row(
        "tag",
        "tag",
        write_conll,
        ("tag",),
        "tag",
        texts(mask=False),
        {},
        bad="only-one-cell",
        head="token_head",
        whole=spans_are_of_the_text,
        untrained={"labels": ("O", "B-LOC", "I-LOC", "B-PER")},
    ),
    Row(
        "tag crf",
        "tag",
        write_spans,
        ("tag",),
        "tag",
        texts(mask=False),
        {},
        bad='{"text": "some text", "spans": [{"start": 5, "end": 7, "label": "time"}]}',
        head="token_head",
        section={"crf": True, "word_dropout": 0.3},
        whole=spans_are_of_the_text,
    ),
    Row(
        "language-model",
        "language-model",
        write_prose,
        ("next_tokens",),
        "score",
        texts(mask=False),
        {},
        family="gpt2",
        tokenizer={"kind": "bpe", "vocabulary": 320, "lowercase": False},
    ),
    Row(
        "language-model of documents that do not see each other",
        "language-model",
        write_prose,
        ("next_tokens",),
        "score",
        texts(mask=False),
        {"document_mask": True},
        family="gpt2",
        tokenizer={"kind": "bpe", "vocabulary": 320, "lowercase": False},
    ),
    Row(
        "chat",
        "chat",
        write_dialogues,
        ("target",),
        "chat",
        texts(mask=False),
        {},
        family="marian",
        bad='{"turns": ["only one"]}',
        lengths=(24, 24),
        tokenizer={"kind": "bpe", "vocabulary": 320, "lowercase": False},
    ),
    Row(
        "chat by a decoder alone",
        "chat",
        write_dialogues,
        ("next_tokens",),
        "chat",
        texts(mask=False),
        {},
        family="gpt2",
        bad='{"turns": ["only one"]}',
        tokenizer={"kind": "bpe", "vocabulary": 320, "lowercase": False},
    ),
    Row(
        "translate",
        "translate",
        write_translations,
        ("target",),
        "translate",
        tuple({**each, "pair": FRENCH[n % 5]} for n, each in enumerate(texts(mask=False))),
        {},
        family="marian",
        bad="only one cell",
        lengths=(24, 24),
        tokenizer={"kind": "bpe", "vocabulary": 320, "lowercase": False},
    ),
)
TASKS += (
    replace(
        TASKS[-1],
        name="translate with two vocabularies and an alignment head",
        losses=("target", "alignment"),
        section={"alignment": 0.05},
        tokenizer={**TASKS[-1].tokenizer, "shared": False},
    ),
)
