from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from glassformer.base.errors import ConfigError, DataError, UnknownNameError
from glassformer.base.wrapping import in_one_line
from glassformer.cli.look import explain_writing as writing
from glassformer.cli.look.related import IndexFolder, ProbeFile, StartModel, related
from glassformer.cli.terminal import options
from glassformer.cli.terminal.opened import Machine, second_text, split_model
from glassformer.cli.terminal.screen import note, record
from glassformer.cli.terminal.texts import texts_to_explain

if TYPE_CHECKING:
    from glassformer.api.model import Model
    from glassformer.api.trace import Trace
    from glassformer.config import ModelConfig
    from glassformer.look.formulas.explanation import Explanation
    from glassformer.look.summaries.attributions import Attributions
    from glassformer.look.summaries.mix import Look
    from glassformer.look.texts.tree import SearchTree
    from glassformer.look.texts.walkthrough import Note, NotesOf

# The terms of a softmax over a vocabulary are thousands, each with its operands.
_TERMS = 16
_CELL = (
    "Trace one number back to its inputs, such as encoder.embed.sum[token=summer,channel=0]: "
    "the name of a tensor, as in the printed steps, and a cell of it.  [default: none]"
)
_WORD = (
    "Word whose numbers are shown: WORD, WORD@POSITION or POSITION. POSITION is the index of a token, counted from 0; "
    "token 0 may be a special token such as [CLS].  [default: 0]"
)
_SENTENCE = "Number of the text (with --choice: of the candidate) to show, counted from 0. --word applies to it."
# Words that were hidden, each with the ids of its tokens.
Hidden = tuple[tuple[str, tuple[int, ...]], ...]

_TERMS_HELP = (
    "Maximum number of terms of a sum to show. The others are shown as one total, with their number.  [default: "
    f"{_TERMS}; in printed steps, 3 if the vectors are wider than 8]"
)
_GRADIENTS = "With --html: show the gradient of the loss with respect to each word."


def explain(
    text: options.Texts = None,
    model: options.NamedModel = None,
    pair: options.Pair = None,
    target: options.Target = None,
    choice: options.Choices = None,
    expect: options.Expect = None,
    cell: Annotated[str | None, typer.Option("--cell", metavar="NAME[CELL]", help=_CELL)] = None,
    word: Annotated[str | None, typer.Option("--word", metavar="WORD", help=_WORD)] = None,
    sentence: Annotated[int, typer.Option("--sentence", min=0, help=_SENTENCE)] = 0,
    terms: Annotated[int | None, typer.Option("--terms", min=1, help=_TERMS_HELP)] = None,
    notes: options.Notes = False,
    html: Annotated[Path | None, typer.Option("--html", writable=True, help=options.HTML)] = None,
    megabytes: options.Megabytes = None,
    language: options.PageLanguage = "en",
    gradients: Annotated[bool, typer.Option("--gradients", help=_GRADIENTS)] = False,
    held_out: Annotated[list[str] | None, options.held_out_texts("Needs --html.  [default: none]")] = None,
    probe: ProbeFile = None,
    index: IndexFolder = None,
    start: StartModel = None,
    write: writing.Write = None,
    attention: writing.AttentionOf = None,
    beams: writing.Beams = None,
    temperature: writing.Temperature = None,
    top_k: writing.TopK = None,
    top_p: writing.TopP = None,
    seed: writing.Seed = None,
    json: options.Json = False,
    device: options.Device = "auto",
    threads: options.Threads = None,
) -> None:
    """Show every step from words to predictions, with the numbers of one word. --cell traces one number back to its
    inputs. --html writes a page on which every number can be clicked. With --choice, the model reads the text with each
    candidate. With --write, the model generates tokens, and each step is shown.
    """
    options.check_page(megabytes, language, html)
    which, texts = split_model("explain", text, model)
    drawn = {"probe": probe, "index": index, "start": start, "gradients": gradients}
    searched = {"beams": beams, "temperature": temperature, "top_k": top_k, "top_p": top_p, "seed": seed}
    if write is None:
        asked = {"attention": attention, **searched}
        options.refuse_given(asked, "{} is for generated text", got="no --write", do="add --write 20")
    else:
        others: dict[str, object] = {"pair": pair, "target": target, "choice": choice, "expect": expect, "cell": cell}
        others |= {**drawn, "held_out": held_out, "terms": terms, "word": word, "sentence": sentence or None}
        others |= {"notes": notes}
        wanted = "{} is not for generated text"
        options.refuse_given(others, wanted, got="--write too", do="leave one of them out")
    if html is not None:
        printed = {"cell": cell, "terms": terms, "notes": notes, "attention": attention, "json": json}
        options.refuse_given(printed, "{} is for what is printed", got="--html too", do="leave one of them out")
    if write is not None:
        opened = Machine(device, threads).open(which)
        writing.explain_writing(
            opened, list(texts_to_explain(texts)), write, attention, searched, html=html, title=Path(which).name,
            megabytes=megabytes, language=language, json=json,
        )  # fmt: skip
        return
    opened = Machine(device, threads).open(which)
    second = second_text(opened, pair, target)
    texts, hidden = _hidden(opened, texts, expect) if expect else (texts, ())
    if html is not None:
        read, makers = list(texts_to_explain(texts)), related(opened, probe, index, start)
        trace = _with_hidden(opened.trace(read[0] if len(read) == 1 else read, second, choices=choice or None), hidden)
        alone = second is None and not choice and trace.words.decoder_inputs
        sections = {name: make(trace) for name, make in makers.items()}
        if held_out:
            sections["importance"] = _importance(opened, held_out)
        trace.to_html(
            html, title=Path(which).name, megabytes=megabytes, gradients=gradients, training=opened.source,
            searches=[_search(opened, text) for text in read] if alone else (), sections=sections, overwrite=True,
            place="" if word is None else _place(opened, trace, sentence, word), language=language,
        )  # fmt: skip
        note(f"{html}: {html.stat().st_size / 1e6:.1f} MB, opens in any browser")
        tell(str(trace.honesty))
        return
    options.refuse_given(drawn, "{} is drawn on a page", got="no page", do="add --html FILE")
    if held_out:
        raise ConfigError("--held-out is for the page of --html", do="glassformer heads measures heads without a page")
    # Several texts of the command are one batch; those of standard input come one after the other.
    for each in [[*texts_to_explain(texts)]] if len(texts) > 1 else texts_to_explain(texts):
        trace = _with_hidden(opened.trace(each, second, choices=choice or None), hidden)
        if cell is not None:
            _follow(trace, cell, terms, json=json)
        else:
            given = [each] if isinstance(each, str) else each
            _walk(opened, given, second, choice or (), trace, sentence, word or "0", terms, notes=notes, json=json)
        tell(str(trace.honesty))


def _hidden(opened: Model, texts: Sequence[str], expect: Sequence[str]) -> tuple[list[str], Hidden]:
    """The text with a [MASK] for each token of the words that were hidden, and these tokens."""
    from glassformer.tasks.words.guesses import check_guesses, expected_tokens

    check_guesses(opened.module, opened.tokenizer)
    if len(texts) != 1 or texts[0] == "-":
        raise ConfigError("--expect needs one text", got=f"{len(texts)} texts", do="write it in the command")
    text, ids = expected_tokens(opened.tokenizer, texts[0], expect)
    return [text], tuple((word, tuple(its)) for word, its in zip(expect, ids, strict=True))


def _with_hidden(trace: Trace, hidden: Hidden) -> Trace:
    return replace(trace, origin=replace(trace.origin, expected=hidden)) if trace.origin is not None else trace


def _place(opened: Model, trace: Trace, sentence: int, word: str) -> str:
    """The number at which the page opens: the weight of the clearest look from this word; "" without any."""
    found = looks_of(opened, trace, sentence, place_of(trace, sentence, word))
    if not found:
        return ""
    cell = ",".join(map(str, found[0].cell))
    return f"#level=number&tensor={found[0].attention}.weights&cell={cell}&sentence={sentence}"


def _search(opened: Model, text: str) -> SearchTree | None:
    """The search for the translation that the page shows; none where a text is translated in several parts."""
    try:
        return opened.search_tree(text)
    except DataError as error:
        note(str(error))
        return None


def _importance(opened: Model, files: Sequence[str]) -> Any:
    from glassformer.cli.look.heads import MOST_TEXTS, of_files
    from glassformer.look.texts.importance import head_importance
    from glassformer.page.sections.summed import importance_section
    from glassformer.training.progress import ConsoleProgress

    held = of_files(opened, files, MOST_TEXTS)
    found = head_importance(opened, held.texts, held.seconds, progress=ConsoleProgress())
    return importance_section(found, held.title)


def _walk(
    opened: Model,
    given: Sequence[str],
    pair: str | None,
    choices: Sequence[str],
    trace: Trace,
    sentence: int,
    word: str,
    terms: int | None,
    *,
    notes: bool,
    json: bool,
) -> None:
    from glassformer.base.lines import screen_width
    from glassformer.cli.look.render import attribution_lines, look_lines, write
    from glassformer.look.formulas.explanation import Limits
    from glassformer.look.texts.head_answer import head_answer
    from glassformer.look.texts.walkthrough import no_notes, walkthrough

    limits = Limits.fitting(trace.config)
    limits = limits if terms is None else replace(limits, terms=terms)
    place = place_of(trace, sentence, word)
    notes_of = notes_for(trace.config) if notes else no_notes
    walk = walkthrough(trace, sentence=sentence, word=place, notes=notes_of, limits=limits)
    last = head_answer(opened, given[0 if choices else sentence], pair, limits, choices)
    steps = walk if last is None else chain(walk, [last])
    owed = _attributed(opened, trace, sentence) if "sentence_head.logits" in trace else None
    if json:
        written: dict[str, object] = {"tokens": _tokens(opened, trace, sentence)}
        if owed is not None:
            found, label = owed
            products = found.of[0].product[sentence].tolist()
            written["attributions"] = {"label": label, "score": found.value, "input_times_gradient": products}
        for step in steps:
            cells = {"cells": [_record(cell, terms) for cell in step.cells]}
            record(vars(step) | cells | written, sys.stdout)
            written = {}
    else:
        if owed is not None:
            words = trace.words.sentence("inputs", sentence)
            _print(attribution_lines(owed[0], sentence, words, owed[1], screen_width()))
        if looks := looks_of(opened, trace, sentence, place):
            _print(look_lines(looks, screen_width()))
        _print(write(steps, limits, screen_width()))


def _attributed(opened: Model, trace: Trace, sentence: int) -> tuple[Attributions, str | None]:
    """The attributions of the largest score of a sentence, and the label that it is of; what a head looks at explains
    no score.
    """
    from glassformer.look.summaries.attributions import attribute

    label = int(trace["sentence_head.logits"][sentence].argmax())
    found = attribute(trace, [("sentence_head.logits", {"sentence": sentence, "label": label})])[0]
    return found, opened.labels[label] if len(opened.labels) > 1 else None


def _tokens(opened: Model, trace: Trace, sentence: int) -> dict[str, list[str]]:
    """The tokens of a sentence as the vocabulary writes them, where steps have their texts."""
    from glassformer.look.trace.cell import word_at

    known = opened.tokenizer.vocabulary()
    ids = {side: trace.facts.get(f"{side}.ids") for side in ("inputs", "decoder_inputs")}
    return {
        side: [word_at(known, id_) for id_ in rows[sentence].tolist()] for side, rows in ids.items() if rows is not None
    }


def _record(explanation: Explanation, terms: int | None) -> dict[str, Any]:
    """A number as JSON, with its largest terms; where others are left out, their number and sum."""
    kept, left, rest = explanation.largest(terms or _TERMS)
    return vars(replace(explanation, terms=kept)) | ({"terms_left_out": left, "sum_left_out": rest} if left else {})


def _follow(trace: Trace, cell: str, terms: int | None, *, json: bool) -> None:
    from glassformer.base.lines import indented, screen_width
    from glassformer.cli.look.render import share_lines
    from glassformer.look.formulas.explanation import Limits, explained_lines
    from glassformer.look.summaries.follow import follow
    from glassformer.look.summaries.mix import shares

    width = screen_width()
    for explanation in follow(trace, cell):
        if json:
            record(_record(explanation, terms), sys.stdout)
            continue
        _print(explained_lines(explanation, Limits(terms=terms or _TERMS), width))
        if explanation.name.endswith(".mixed"):
            attention = explanation.name.rpartition(".")[0]
            found = shares(trace, attention, query=explanation.cell["query"], sentence=explanation.cell["sentence"])
            _print(["  each word's share:", *indented(share_lines(found, width - 4), 4)])


def notes_for(config: ModelConfig) -> NotesOf:
    """The corrections to the source documents that belong to a tensor, first those of the document that is followed."""
    from glassformer.bundled.texts import notes_about
    from glassformer.look.texts.walkthrough import followed

    document = followed(config)

    def notes(name: str) -> tuple[Note, ...]:
        found = notes_about(name, document, hidden_words=config.decoder is None)
        return tuple((note.number, note.sentence, note.said_elsewhere(document)) for note in found)

    return notes


def _print(lines: Iterable[str]) -> None:
    for line in lines:
        print(in_one_line(line))


def place_of(trace: Trace, sentence: int, word: str) -> int:
    """The place of the word; raises UnknownNameError for a word or a sentence that is not there."""
    from glassformer.look.trace.cell import find_word

    texts = len(trace.words.inputs)
    if sentence >= texts:
        do = f"there {'is one text' if texts == 1 else f'are {texts} texts'}"
        raise UnknownNameError(f"--sentence counts from 0 to {texts - 1}", got=str(sentence), do=do)
    target = trace.words.sentence("decoder_inputs", sentence)
    if not target:
        return find_word(trace.words, word, option="--word", sentence=sentence)
    try:
        place = find_word(trace.words, word, option="--word", sentence=sentence)
    except UnknownNameError:
        place = find_word(trace.words, word, option="--word", side="decoder_inputs", sentence=sentence)
    source = trace.words.sentence("inputs", sentence)
    shown = (words[min(place, len(words) - 1)] for words in (source, target))
    tell("showing the rows of {} in the source and of {} in the target; --word selects others".format(*shown))
    return place


def looks_of(opened: Model, trace: Trace, sentence: int, place: int) -> list[Look]:
    """What each head looks at from a position, the clearest first."""
    from glassformer.look.summaries.mix import looks

    tokenizer = opened.tokenizer
    return looks(trace, word=place, sentence=sentence, special=set(tokenizer.special_ids) - {tokenizer.mask_id})


def tell(text: str) -> None:
    """A note, in lines that fit the screen."""
    from glassformer.base.lines import screen_width, wrapped

    for line in wrapped(text, screen_width()):
        note(line)
