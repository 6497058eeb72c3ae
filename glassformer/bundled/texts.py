"""The small texts of the source documents, with the numbers printed in them. They are files of the package."""

import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Note:
    """One correction: its number, a title, the documents it corrects (`slides`, `notes`, `post`, `guide`), one
    sentence, its places (endings of the names of tensors, kinds of models), and whether it is about hidden words.
    """

    number: str
    title: str
    said_by: tuple[str, ...]
    sentence: str
    about: tuple[str, ...]
    hidden_words: bool = False

    def places_in(self, *names: str) -> list[str]:
        """Those of its places that are ends of one of these names, or a whole name."""
        return [place for place in self.about if any(f".{name}".endswith(f".{place}") for name in names)]

    def __str__(self) -> str:
        return f"{self.number} {self.title}: {self.sentence}"

    def said_elsewhere(self, document: str) -> str:
        """The documents it corrects, in words; empty where the given document is one of them."""
        return "" if document in self.said_by else " and ".join(f"the {name}" for name in self.said_by)


@cache
def notes() -> tuple[Note, ...]:
    return tuple(Note(number, sentence=entry.pop("note"), **entry) for number, entry in read_table("notes").items())


def notes_about(tensor: str, follows: str = "slides", *, hidden_words: bool = True) -> tuple[Note, ...]:
    """The corrections that belong to a tensor, by its public name: `encoder.blocks.0.self_attention.masked`, or to a
    kind of model: `task.answer`. Those of the document that the model follows come first; those about hidden words are
    left out where no word is hidden.
    """
    found = (note for note in notes() if note.places_in(tensor) and (hidden_words or not note.hidden_words))
    return tuple(sorted(found, key=lambda note: follows not in note.said_by))


Row = tuple[float, ...]
Matrix = tuple[Row, ...]


@dataclass(frozen=True)
class Sentence:
    """Words, and the positions of those that are masked, counted from 0."""

    words: tuple[str, ...]
    masked_words: tuple[int, ...]

    @property
    def text(self) -> str:
        return " ".join(self.words)

    @property
    def masked(self) -> str:
        return " ".join("[MASK]" if place in self.masked_words else word for place, word in enumerate(self.words))

    @property
    def answers(self) -> tuple[str, ...]:
        return tuple(self.words[place] for place in self.masked_words)


@dataclass(frozen=True)
class Slides:
    """The three sentences of the masked-word slides with their four fixed masks."""

    sentences: tuple[Sentence, ...]

    @property
    def vocabulary(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(word for sentence in self.sentences for word in sentence.words))


@dataclass(frozen=True)
class QuickBrownFox:
    """The sentence of the mask-matrix post and every number it prints. `features` is its 9×2 matrix, `matrix` its
    printed result. `survivors` are (column, number) of the printed rows in which one cell is left.
    """

    sentence: Sentence
    features: Matrix
    first_token_vector: Row
    first_pair_vectors: Row
    second_pair_vectors: Row
    survivors: tuple[tuple[int, float], ...]
    matrix: Matrix


@dataclass(frozen=True)
class ScoreTable:
    """The illustrated guide's scores for four words and the table it calls their softmax."""

    words: tuple[str, ...]
    scores: Matrix
    weights: Matrix


@dataclass(frozen=True)
class ThinkingMachines:
    """The first word's scores against two keys, scaled, and as weights rounded to two places."""

    words: tuple[str, ...]
    query_size: int
    scores: Row
    scaled: Row
    weights: Row


def slides() -> Slides:
    return Slides(tuple(Sentence(**each) for each in read_table("slides")["sentences"]))


def slides_model() -> Path:
    return Path(__file__).resolve().parent / "models" / "slides"


def quick_brown_fox() -> QuickBrownFox:
    table = read_table("quick_brown_fox")
    return QuickBrownFox(Sentence(table.pop("words"), table.pop("masked_words")), **table)


def score_table() -> ScoreTable:
    return ScoreTable(**read_table("score_table"))


def thinking_machines() -> ThinkingMachines:
    return ThinkingMachines(**read_table("thinking_machines"))


def read_table(name: str) -> dict[str, Any]:
    """The TOML file of that name next to this module, with tuples for its lists."""
    text = Path(__file__).with_name(f"{name}.toml").read_text(encoding="utf-8")
    return {key: _frozen(value) for key, value in tomllib.loads(text).items()}


def _frozen(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _frozen(its) for key, its in value.items()}
    return tuple(map(_frozen, value)) if isinstance(value, list) else value
