"""The tiny data that the cases read: written by rule, the same bytes on every machine."""

import csv
import gzip
import json
import random
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

SUBJECTS = ("She", "He", "Nobody", "The teacher", "My sister", "Their dog")
LIKES = {"likes": "aime", "avoids": "évite", "remembers": "rappelle", "paints": "peint"}
THINGS = {"summer": "l'été", "winter": "l'hiver", "the garden": "le jardin", "old songs": "les chansons"}
PEOPLE, PLACES = ("Anna", "Peter", "Marie Curie", "Ali"), ("Paris", "New York", "Bonn", "Lima")
ENDS = ("today", "often", "in the morning", "without a word")


def sentence(chance: random.Random) -> str:
    """One of a few hundred sentences; some words go together, so that there is something to learn."""
    place = chance.randrange(4)
    verb = list(LIKES)[place if chance.random() < 0.8 else chance.randrange(4)]
    return f"{chance.choice(SUBJECTS)} {verb} {list(THINGS)[place]} {chance.choice(ENDS)}."


def write_lines(path: Path, rows: Iterable[Any]) -> None:
    """Rows as JSON lines."""
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")


def write_table(path: Path, rows: Sequence[Sequence[object]], delimiter: str = ",") -> None:
    """Rows of a delimited table."""
    with path.open("w", encoding="utf-8", newline="") as handle:
        csv.writer(handle, delimiter=delimiter, lineterminator="\n").writerows(rows)


def write_prose(folder: Path, chance: random.Random) -> None:
    """Documents parted by blank lines: of every task that learns from running text."""
    documents = [" ".join(sentence(chance) for _ in range(chance.randint(4, 9))) for _ in range(60)]
    (folder / "prose.txt").write_text("\n\n".join(documents) + "\n", encoding="utf-8")
    (folder / "lines.txt").write_text("".join(f"{sentence(chance)}\n" for _ in range(12)), encoding="utf-8")
    masked = ("She [MASK] summer today.", "He avoids [MASK] often.", "Nobody [MASK] old [MASK] today.")
    (folder / "masked.txt").write_text("\n".join(masked) + "\n", encoding="utf-8")
    rows = []
    for _ in range(40):
        words = sentence(chance).split()
        place = chance.randrange(1, 3)
        rows.append({"text": " ".join([*words[:place], "[MASK]", *words[place + 1 :]]), "answers": [words[place]]})
    write_lines(folder / "masks.jsonl", rows)


def write_labelled(folder: Path, chance: random.Random) -> None:
    """Texts with a label, with several labels, with a number, with candidates."""
    texts = [(sentence(chance), sentence(chance)) for _ in range(60)]
    warm = [("summer" in one) or ("garden" in one) for one, _ in texts]
    write_table(
        folder / "labels.csv",
        [("text", "label"), *((a, "warm" if w else "cold") for (a, _), w in zip(texts, warm, strict=True))],
    )
    write_table(
        folder / "pairs.tsv", [(a, b, "same" if a.split()[0] == b.split()[0] else "other") for a, b in texts], "\t"
    )
    several = [
        {
            "text": a,
            "label": [name for name, word in (("warm", "summer"), ("green", "garden"), ("art", "paints")) if word in a],
        }
        for a, _ in texts
    ]
    write_lines(folder / "several.jsonl", several)
    write_lines(
        folder / "numbers.jsonl",
        ({"text": a, "pair": b, "label": round(len(a) / 10 - len(b) / 20, 2)} for a, b in texts),
    )
    verbs = list(LIKES)
    rows = [{"text": a, "choices": chance.sample(verbs, 3), "label": chance.randrange(3)} for a, _ in texts]
    write_lines(folder / "choices.jsonl", rows)
    rows = [{"text": a, "label": "warm" if w else "cold"} for (a, _), w in zip(texts[:20], warm, strict=False)]
    packed = gzip.compress("".join(json.dumps(row) + "\n" for row in rows).encode(), mtime=0)
    (folder / "labels.jsonl.gz").write_bytes(packed)
    bad = [
        ("text", "label"),
        *((a, "warm" if w else "cold") for (a, _), w in zip(texts[:30], warm, strict=False)),
        ("", "warm"),
        ("Without a label", ""),
    ]
    write_table(folder / "bad.csv", bad)


def write_tagged(folder: Path, chance: random.Random) -> None:
    """Sentences with names of people and places: CoNLL lines, and JSON lines with parts of speech."""
    blocks, rows = [], []
    for _ in range(60):
        person, place = chance.choice(PEOPLE).split(), chance.choice(PLACES).split()
        words = [*person, chance.choice(list(LIKES)), *place, chance.choice(("today", "often")), "."]
        tags = [f"{'B' if n == 0 else 'I'}-PER" for n in range(len(person))]
        tags += ["O", *(f"{'B' if n == 0 else 'I'}-LOC" for n in range(len(place))), "O", "O"]
        blocks.append("".join(f"{word} {tag}\n" for word, tag in zip(words, tags, strict=True)))
        kinds = {"O": "X", "R": "PROPN", "C": "PROPN"}
        rows.append(
            {
                "words": words,
                "tags": ["PUNCT" if word == "." else kinds[tag[-1]] for word, tag in zip(words, tags, strict=True)],
            }
        )
    (folder / "names.conll").write_text("\n".join(blocks), encoding="utf-8")
    write_lines(folder / "kinds.jsonl", rows)


def write_questions(folder: Path, chance: random.Random) -> None:
    """SQuAD's form, every third question without an answer."""
    paragraphs: list[dict[str, Any]] = []
    for number in range(30):
        person, thing = chance.choice(PEOPLE), chance.choice(list(THINGS))
        context = f"{sentence(chance)} {person} likes {thing} and lives in {chance.choice(PLACES)}. {sentence(chance)}"
        asked: list[dict[str, Any]] = [
            {
                "id": f"a{number}",
                "question": f"Who likes {thing}?",
                "answers": [{"text": person, "answer_start": context.index(person)}],
            }
        ]
        if number % 3 == 0:
            asked.append({"id": f"b{number}", "question": "Who sings?", "answers": [], "is_impossible": True})
        paragraphs.append({"context": context, "qas": asked})
    squad = {"version": "v2.0", "data": [{"title": "people", "paragraphs": paragraphs}]}
    (folder / "questions.json").write_text(json.dumps(squad), encoding="utf-8")


def write_pairs(folder: Path, chance: random.Random) -> None:
    """Translations as two files of lines and as one table; dialogues as JSON lines and as text."""
    pairs = []
    for _ in range(90):
        (verb, its_verb), (thing, its_thing) = chance.choice([*LIKES.items()]), chance.choice([*THINGS.items()])
        who, its_who = chance.choice((("She", "Elle"), ("He", "Il"), ("Nobody", "Personne")))
        pairs.append((f"{who} {verb} {thing}.", f"{its_who} {its_verb} {its_thing}."))
    (folder / "source.en").write_text("".join(f"{a}\n" for a, _ in pairs), encoding="utf-8")
    (folder / "target.fr").write_text("".join(f"{b}\n" for _, b in pairs), encoding="utf-8")
    write_table(folder / "translations.tsv", [("source", "target"), *pairs[:20]], "\t")
    write_table(folder / "held.tsv", [("text", "target"), *pairs[:20]], "\t")
    talks = []
    for _ in range(60):
        thing = chance.choice(list(THINGS))
        talks.append(
            [f"Do you like {thing}?", f"I like {thing} {chance.choice(ENDS)}.", "Why?", f"It is {chance.choice(ENDS)}."]
        )
    write_lines(folder / "talks.jsonl", ({"turns": talk} for talk in talks))
    (folder / "talks.txt").write_text(
        "\n".join("".join(f"{turn}\n" for turn in talk) for talk in talks[:20]), encoding="utf-8"
    )


def write_data(folder: Path) -> None:
    """All files; each kind has a generator of its own, so that a new kind changes none of the others."""
    folder.mkdir(parents=True, exist_ok=True)
    for number, write in enumerate((write_prose, write_labelled, write_tagged, write_questions, write_pairs)):
        write(folder, random.Random(number))
