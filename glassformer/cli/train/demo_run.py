"""`glassformer demo` trains two small models, the one that the slides draw and one on English text, and translates,
writes and chats with bundled models.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from glassformer.base.wrapping import printable
from glassformer.bundled.corpus import write_corpus
from glassformer.bundled.texts import Sentence, slides
from glassformer.cli.train.demo_writing import ASKED, REPLY, commands, show_reply, show_story

if TYPE_CHECKING:
    from rich.console import Console

    from glassformer.api.model import Model

WEIGHTS = "encoder.blocks.0.self_attention.weights"
CORPUS_CHARACTERS = 6_000_000
ENGLISH_MINUTES = 2.0
PROMISED = 1.3  # factor over the accuracy of always guessing the most frequent token
SLIDES_STEPS = (200, 400, 800)  # the first was enough on every machine tried; rounding differs between machines
TRANSLATED, TRANSLATION = "I am a student.", "Je suis étudiant."
SENTENCES = (
    "The function returns a [MASK] of strings .",
    "If the file does not [MASK] , an error is raised .",
    "This class is used to [MASK] the [MASK] of the object .",
    "The default [MASK] is None .",
)


def run(out: Path) -> list[str]:
    """Train both models into `out`, show what they learned, and print what to try next; returns the broken promises."""
    from rich.console import Console

    console = Console(width=max(80, min(120, Console().width)))
    started = time.monotonic()
    console.print(f"This takes about four minutes on two cores. The models are kept in {out}.", markup=False)
    console.rule("1  The three sentences of the slides")
    promises = [show_slides(out / "slides", console)]
    console.rule("2  English text: Python's own documentation")
    promises.append(show_english(out / "english", console))
    console.rule("3  English to French: the bundled model en-fr")
    promises.append(show_translation(console))
    console.rule("4  A story is continued: the bundled model writer")
    show_story(console)
    console.rule("5  One reply: the bundled model chat")
    reply = show_reply(console)
    if reply is not None:
        promises.append(promise_of_reply(reply))
        console.print(promises[-1].sentence, soft_wrap=not console.is_terminal)
    console.rule(f"done in {time.monotonic() - started:.0f} s")
    english, small = out / "english", out / "slides"
    pages = write_pages(small, english)
    console.print("Every number of both models, traced back to its inputs in a browser:\n")
    for page in pages:
        console.print(f"  {page}", soft_wrap=True, highlight=False, markup=False)
    console.print("\nBoth models are kept. Try next:\n")
    for command in (
        f'glassformer explain {small} "{slides().sentences[0].masked}" --notes',
        f'glassformer explain {small} "{slides().sentences[0].masked}" --cell "{WEIGHTS}[head=1,query=likes,key=She]"',
        f'glassformer verify  {english} "{SENTENCES[0]}"',
        f'glassformer fill    {english} "{SENTENCES[1]}" --top 3',
        f"glassformer evaluate {english}",
        f'glassformer translate "{TRANSLATED}" --alignment',
        *commands(),
        "glassformer train masked-lm YOUR-TEXT.txt --minutes 10 --out runs/mine",
    ):
        console.print(f"  {command}", soft_wrap=True, highlight=False, markup=False)
    return [promise.sentence for promise in promises if not promise.kept]


def write_pages(small: Path, english: Path) -> list[Path]:
    from glassformer.api.load import load

    texts: dict[Path, list[str]] = {small: [each.masked for each in slides().sentences], english: [SENTENCES[0]]}
    pages = []
    for folder, given in texts.items():
        page = folder.with_suffix(".html")
        title = "the slides’ model" if folder == small else "English text"
        load(folder).trace(given).to_html(page, title=title, training=folder)
        pages.append(page)
    return pages


class Promise(NamedTuple):
    """Whether a model has reached what the demo promises, with one line that says so."""

    kept: bool
    sentence: str


def show_slides(out: Path, console: Console) -> Promise:
    """Train the slides' encoder until it predicts its four masked words; show its weights, and what makes it fail."""
    from rich.table import Table

    for steps in SLIDES_STEPS:
        model = train_slides(out, {}, steps)
        promise = promise_of_slides(model)
        if promise.kept:
            break
    table = Table(title="the model's input and its predictions", title_justify="left")
    table.add_column("shown")
    table.add_column("says")
    table.add_column("right")
    for sentence in slides().sentences:
        filled = model.fill(sentence.masked, top=1)
        guesses = [masked_words.guesses[0] for masked_words in filled.masks]
        table.add_row(
            sentence.masked,
            ", ".join(f"{guess.word} {guess.probability:.0%}" for guess in guesses),
            f"{_right(model, sentence)} of {len(sentence.masked_words)}",
        )
    console.print(table)
    console.print(promise.sentence, soft_wrap=not console.is_terminal)
    sentence = slides().sentences[0]
    trace = model.trace(sentence.masked)
    weights = trace[WEIGHTS][0]
    for head, rows in enumerate(weights.tolist()):
        console.print(weight_table(sentence, rows, f"attention weights, head {head}: each row looks at the columns"))
    console.print("\none of these numbers, traced back to its inputs:")
    console.print(
        str(trace.explain(WEIGHTS, "head=1,query=[MASK]@1,key=She")), soft_wrap=True, highlight=False, markup=False
    )

    one_head = train_slides(out.with_name("slides-one-head"), {"heads": 1}, steps)
    after = train_slides(out.with_name("slides-zeroed-after"), {"zero": "sum"}, steps)
    table = Table(title="the same training, three ways", title_justify="left")
    for column in ("model", "masked words right", "loss", "heads differ by"):
        table.add_column(column, justify="left" if column == "model" else "right")
    for name, trained in (
        ("two heads (the slides)", model),
        ("one head", one_head),
        ("two heads, zeroed after the position is added", after),
    ):
        distance = head_distance(trained)
        table.add_row(
            name,
            f"{_all_right(trained)} of 4",
            f"{trained.metrics['scores']['loss']:.3f}",
            "" if distance is None else f"{distance:.0%}",
        )
    console.print(table)
    console.print(
        "Heads differ by: the share of its attention that one head would have to move to look like the other, on "
        'average. Zeroed after the position, "likes" and "the" enter as the same vector and get the same answer '
        "(docs/measured/imprecise.md, C-2)."
    )
    return promise


def train_slides(out: Path, settings: Mapping[str, Any], steps: int) -> Model:
    from glassformer.api.train import train

    changes: dict[str, object] = {"model.settings": dict(settings), "train.steps": steps}
    if not settings:
        changes["watch.sentences"] = [sentence.masked for sentence in slides().sentences]
    # A demo that was stopped resumes, and one that has finished shows its models again.
    return train("slides", out=out, set=changes, resume=True)


def weight_table(sentence: Sentence, rows: Sequence[Sequence[float]], title: str) -> Any:
    from rich.table import Table

    table = Table(title=title, title_justify="left")
    table.add_column("")
    for place, word in enumerate(sentence.words):
        table.add_column(f"({word})" if place in sentence.masked_words else word, justify="right")
    for place, (word, row) in enumerate(zip(sentence.words, rows, strict=True)):
        table.add_row(f"({word})" if place in sentence.masked_words else word, *(f"{weight:.3f}" for weight in row))
    return table


def head_distance(model: Model) -> float | None:
    """Mean total variation between the heads' weights over all words of the three sentences; None for one head."""
    distances = []
    for sentence in slides().sentences:
        weights = model.trace(sentence.masked)[WEIGHTS][0]  # [H, Q, K]
        for one, two in combinations(weights, 2):
            distances.append(float((one - two).abs().sum(-1).mean()) / 2)
    return sum(distances) / len(distances) if distances else None


def promise_of_slides(model: Model) -> Promise:
    right = _all_right(model)
    if right == 4:
        return Promise(True, "Promise kept: all four masked words are right.")
    return Promise(
        False, f"Promise broken: {right} of the slides' four masked words are right, all four were promised."
    )


def _all_right(model: Model) -> int:
    return sum(_right(model, sentence) for sentence in slides().sentences)


def _right(model: Model, sentence: Sentence) -> int:
    masks = model.fill(sentence.masked, top=1).masks
    return sum(mask.guesses[0].word == answer for mask, answer in zip(masks, sentence.answers, strict=True))


def show_english(out: Path, console: Console) -> Promise:
    from rich.markup import escape
    from rich.table import Table

    from glassformer.api.train import train

    corpus = out.with_name("english.txt")
    count = write_corpus(corpus, CORPUS_CHARACTERS)
    console.print(f"{count:,} documentation texts, {corpus.stat().st_size / 1e6:.1f} MB, in {corpus}")
    model = train(
        {
            "task": {"name": "masked-lm", "training_rate": 0.3},
            "data": {"files": [str(corpus)], "validation": 0.05, "length": 64},
            "tokenizer": {"kind": "wordpiece", "vocabulary": 4000},
            "model": {"family": "modernbert", "size": "tiny"},
            "watch": {"sentences": list(SENTENCES[:2])},
            "train": {
                "minutes": ENGLISH_MINUTES,
                "batch": 64,
                "optimizer": "muon",
                "learning_rate": 3e-3,
                "matrix_learning_rate": 0.02,
                "newton_schulz_steps": 3,
                "warmup": 0.05,
                "schedule": "warmup-stable-decay",
                "cooldown": 0.3,
                "compile": "off",
            },
        },
        out=out,
        resume=True,
    )
    scores = model.metrics["scores"]
    console.print(
        f"held-out texts: {scores['accuracy']:.1%} of the masked tokens right; always predicting the most frequent "
        f"token: "
        f"{scores['unigram_accuracy']:.1%}; perplexity {scores['perplexity']:.0f} against "
        f"{scores['unigram_perplexity']:.0f}"
    )
    promise = promise_of_english(scores)
    console.print(promise.sentence, soft_wrap=not console.is_terminal)
    table = Table(title="its guesses", title_justify="left")
    table.add_column("text")
    table.add_column("best five")
    for text in SENTENCES:
        for mask in model.fill(text, top=5).masks:
            guesses = ", ".join(f"{guess.word} {guess.probability:.0%}" for guess in mask.guesses)
            table.add_row(text, escape(printable(guesses)))
    console.print(table)
    return promise


def promise_of_english(scores: Mapping[str, float]) -> Promise:
    accuracy, baseline = scores["accuracy"], scores["unigram_accuracy"]
    reached = (
        f"{accuracy / baseline:.2f} x the baseline's accuracy"
        if baseline
        else f"{accuracy:.1%} against a baseline of 0"
    )
    if accuracy > 0 and accuracy >= PROMISED * baseline:
        return Promise(True, f"Promise kept: {reached}, at least {PROMISED} x was promised.")
    reason = f"{reached}, at least {PROMISED} x was promised; a slower machine learns less in this time."
    return Promise(False, f"Promise broken: {reason}")


def show_translation(console: Console) -> Promise:
    from rich.table import Table

    from glassformer.api.load import load

    found = load("en-fr").translate(TRANSLATED, alignment=True)
    table = Table(title=f"{found.text} → {found.translation}", title_justify="left")
    for column in ("word written", "looked most at", "with"):
        table.add_column(column, justify="right" if column == "with" else "left")
    for link in found.alignment:
        table.add_row(found.translation[slice(*link.target)], found.text[slice(*link.source)], f"{link.weight:.0%}")
    console.print(table)
    promise = promise_of_translation(found.translation)
    console.print(promise.sentence, soft_wrap=not console.is_terminal)
    return promise


def promise_of_translation(translation: str) -> Promise:
    if translation == TRANSLATION:
        return Promise(True, f"Promise kept: {TRANSLATED!r} is translated as {TRANSLATION!r}.")
    return Promise(False, f"Promise broken: {TRANSLATED!r} is translated as {translation!r}, not {TRANSLATION!r}.")


def promise_of_reply(reply: str) -> Promise:
    if reply.strip() == REPLY:
        return Promise(True, f"Promise kept: the reply to {ASKED!r} is {REPLY!r}.")
    return Promise(False, f"Promise broken: the reply to {ASKED!r} is {reply.strip()!r}, not {REPLY!r}.")
