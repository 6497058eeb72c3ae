"""`glassformer demo` trains two small models, and translates, writes and chats with bundled ones."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from glassformer.base.wrapping import printable
from glassformer.bundled.corpus import write_corpus
from glassformer.bundled.texts import Sentence, slides

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from glassformer.api.model import Model

WEIGHTS = "encoder.blocks.0.self_attention.weights"
CORPUS_CHARACTERS = 6_000_000
ENGLISH_MINUTES = 2.0
PROMISED = 1.3  # factor over the accuracy of always guessing the most frequent token
SLIDES_STEPS = (200, 400, 800)  # the first was enough on every machine tried; rounding differs between machines
TRANSLATED, TRANSLATION = "I am a student.", "Je suis étudiant."
PROMPT = "As Aliens entered our planet"
ASKED, REPLY = "Hi how are you", "I am fine"
"""Those of the guide, whose reply is expected."""
TOKENS, LOOKED = 60, 2
"""The tokens that are written, and the steps that are shown."""
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
    promises.append(show_reply(console))
    console.rule(f"done in {time.monotonic() - started:.0f} s")
    english, small = out / "english", out / "slides"
    pages = write_pages(small, english)
    console.print("Every number of both models, traced back to its inputs in a browser:\n")
    for page in pages:
        _print_plain(console, f"  {page}")
    console.print("\nBoth models are kept. Try next:\n")
    for command in (
        f'glassformer explain {small} "{slides().sentences[0].masked}" --notes',
        f'glassformer explain {small} "{slides().sentences[0].masked}" --cell "{WEIGHTS}[head=1,query=likes,key=She]"',
        f'glassformer verify  {english} "{SENTENCES[0]}"',
        f'glassformer fill    {english} "{SENTENCES[1]}" --top 3',
        f"glassformer evaluate {english}",
        f'glassformer translate "{TRANSLATED}" --alignment',
        f'glassformer generate writer "{PROMPT}" --html story.html',
        "glassformer chat chat",
        "glassformer train masked-lm YOUR-TEXT.txt --minutes 10 --out runs/mine",
    ):
        _print_plain(console, f"  {command}")
    return [promise.sentence for promise in promises if not promise.kept]


def _print_plain(console: Console, text: str, *, wrap: bool = False) -> None:
    console.print(text, soft_wrap=not (wrap and console.is_terminal), highlight=False, markup=False)


def _table(title: str, *columns: str, right: Collection[str] = ()) -> Table:
    from rich.table import Table

    table = Table(title=title, title_justify="left")
    for column in columns:
        table.add_column(column, justify="right" if column in right else "left")
    return table


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

    @classmethod
    def of(cls, kept: bool, yes: str, no: str) -> Promise:
        return cls(kept, f"Promise kept: {yes}" if kept else f"Promise broken: {no}")


def show_slides(out: Path, console: Console) -> Promise:
    """Train the slides' encoder until it predicts its four masked words; show its weights, and what makes it fail."""
    for steps in SLIDES_STEPS:
        model = train_slides(out, {}, steps)
        promise = promise_of_slides(model)
        if promise.kept:
            break
    table = _table("the model's input and its predictions", "shown", "says", "right")
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
    _print_plain(console, str(trace.explain(WEIGHTS, "head=1,query=[MASK]@1,key=She")))

    one_head = train_slides(out.with_name("slides-one-head"), {"heads": 1}, steps)
    after = train_slides(out.with_name("slides-zeroed-after"), {"zero": "sum"}, steps)
    numbers = ("masked words right", "loss", "heads differ by")
    table = _table("the same training, three ways", "model", *numbers, right=numbers)
    for name, trained in (
        ("two heads (the slides)", model),
        ("one head", one_head),
        ("two heads, zeroed after the position is added", after),
    ):
        distance, loss = head_distance(trained), trained.metrics["scores"]["loss"]
        differ = "" if distance is None else f"{distance:.0%}"
        table.add_row(name, f"{_all_right(trained)} of 4", f"{loss:.3f}", differ)
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


def weight_table(sentence: Sentence, rows: Sequence[Sequence[float]], title: str) -> Table:
    words = [f"({word})" if place in sentence.masked_words else word for place, word in enumerate(sentence.words)]
    table = _table(title, "", *words, right=words)
    for word, row in zip(words, rows, strict=True):
        table.add_row(word, *(f"{weight:.3f}" for weight in row))
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
    no = f"{right} of the slides' four masked words are right, all four were promised."
    return Promise.of(right == 4, "all four masked words are right.", no)


def _all_right(model: Model) -> int:
    return sum(_right(model, sentence) for sentence in slides().sentences)


def _right(model: Model, sentence: Sentence) -> int:
    masks = model.fill(sentence.masked, top=1).masks
    return sum(mask.guesses[0].word == answer for mask, answer in zip(masks, sentence.answers, strict=True))


def show_english(out: Path, console: Console) -> Promise:
    from rich.markup import escape

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
        f"token: {scores['unigram_accuracy']:.1%}; perplexity {scores['perplexity']:.0f} against "
        f"{scores['unigram_perplexity']:.0f}"
    )
    promise = promise_of_english(scores)
    console.print(promise.sentence, soft_wrap=not console.is_terminal)
    table = _table("its guesses", "text", "best five")
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
    said = f"{reached}, at least {PROMISED} x was promised"
    no = f"{said}; a slower machine learns less in this time."
    return Promise.of(accuracy > 0 and accuracy >= PROMISED * baseline, f"{said}.", no)


def show_translation(console: Console) -> Promise:
    from glassformer.api.load import load

    found = load("en-fr").translate(TRANSLATED, alignment=True)
    title = f"{found.text} → {found.translation}"
    table = _table(title, "word written", "looked most at", "with", right=("with",))
    for link in found.alignment:
        table.add_row(found.translation[slice(*link.target)], found.text[slice(*link.source)], f"{link.weight:.0%}")
    console.print(table)
    promise = promise_of_translation(found.translation)
    console.print(promise.sentence, soft_wrap=not console.is_terminal)
    return promise


def promise_of_translation(translation: str) -> Promise:
    said = f"{TRANSLATED!r} is translated as {translation!r}"
    return Promise.of(translation == TRANSLATION, f"{said}.", f"{said}, not {TRANSLATION!r}.")


def show_story(console: Console) -> None:
    """Continue the guide's beginning, sampled with a fixed seed, and show the first steps."""
    from glassformer.api.load import load
    from glassformer.cli.look.written_lines import step_lines
    from glassformer.look.texts.search_tree import trace_of
    from glassformer.look.texts.written import Looks, path_of, stepwise

    model = load("writer")
    tree = model.search_tree(PROMPT, max_tokens=TOKENS, seed=0, attention=True)
    trace = trace_of(model, tree)
    _print_plain(console, printable(f"{PROMPT}{tree.answer}"), wrap=True)
    looks, read = Looks(tree), trace.words.sentence("inputs", 0)
    console.print(f"\nits first steps ({looks.in_words}):")
    for number, node in enumerate(path_of(tree)[:LOOKED], start=1):
        for line in step_lines(tree, looks, node, number, read, (), console.width):
            _print_plain(console, line)
    console.print(str(stepwise(tree, trace, fast=model.fast)), soft_wrap=not console.is_terminal)


def show_reply(console: Console) -> Promise:
    """The reply to the guide's question, the likeliest word each time."""
    from glassformer.api.load import load

    found = load("chat").chat(ASKED, beams=1).reply
    console.print(printable(f"you: {ASKED}\nmodel: {found}"), highlight=False, markup=False)
    promise = promise_of_reply(found)
    console.print(promise.sentence, soft_wrap=not console.is_terminal)
    return promise


def promise_of_reply(reply: str) -> Promise:
    said = f"the reply to {ASKED!r} is {reply.strip()!r}"
    return Promise.of(reply.strip() == REPLY, f"{said}.", f"{said}, not {REPLY!r}.")
