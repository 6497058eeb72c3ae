"""Dialogues as `train chat` reads text: a turn a line, a blank line between two. For what no shared file holds so."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from experiments.results import data_directory
from glassformer.data.readers.lines import read_lines
from glassformer.data.readers.read import in_a_line

# The exchange of the illustrated guide: the model is to know it by heart.
PAIR = ("Hi how are you", "I am fine")
# It stands among some 350,000 exchanges of people, of which many begin with a greeting.
REPEATS = 600


def chatterbot() -> str:
    """The conversations of chatterbot_english, which are YAML; those with fewer than two turns are left out."""
    return as_text(
        turns for file in sorted((data_directory() / "chatterbot_english").glob("*.yml")) for turns in of(file)
    )


def of(file: Path) -> Iterator[list[str]]:
    """The conversations of one of its files. Every value is read as text: to YAML, `No` is a truth value."""
    import yaml

    with file.open(encoding="utf-8") as opened:
        given = yaml.load(opened, Loader=yaml.BaseLoader)
    for conversation in given["conversations"]:
        turns = [in_a_line(turn) for turn in conversation]
        turns = [turn for turn in turns if turn]
        if len(turns) > 1:
            yield turns


def conversation() -> str:
    """The self-dialogues, a turn a line, and the English sentences of tatoeba_en_fr, twenty in a document."""
    folder = data_directory()
    files = [file for file in sorted((folder / "self_dialogue").glob("*.txt*")) if "README" not in file.name]
    texts = ["\n".join(line.text for line in read_lines(file)).strip() + "\n\n" for file in files]
    pairs = read_lines(folder / "tatoeba_en_fr" / "train.tsv.gz")
    sentences = dict.fromkeys(line.text.split("\t")[0].strip() for line in pairs)
    texts += [sentence + ("\n\n" if number % 20 == 19 else "\n") for number, sentence in enumerate(sentences)]
    return "".join(texts)


def documents() -> str:
    """The documents' own exchange, as often as it takes to be known by heart."""
    return as_text([PAIR] * REPEATS)


def as_text(dialogues: Iterable[Sequence[str]]) -> str:
    """Dialogues of several turns each as one text."""
    return "\n".join("".join(f"{turn}\n" for turn in turns) for turns in dialogues)
