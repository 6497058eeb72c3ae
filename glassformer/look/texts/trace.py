"""A trace of texts through a model, with cells named by the words of the texts; and how to ask for it again."""

import shlex
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import torch

from glassformer.answering.answers import listed
from glassformer.base.errors import DataError
from glassformer.base.plain import plain
from glassformer.bundled.travelling import travelling
from glassformer.config import ModelConfig
from glassformer.look.texts.reader import Given, Reader
from glassformer.look.texts.verbs import Verbs
from glassformer.look.trace.cell import Words
from glassformer.look.trace.interventions import Intervention
from glassformer.look.trace.run import Options, run_of
from glassformer.look.trace.steps import listed as steps_of
from glassformer.look.trace.trace import Origin, Trace
from glassformer.saved.artefact import Artefact
from glassformer.text.tokenizer import Tokenizer

Texts = str | Sequence[str]
TargetIds = Sequence[int] | Sequence[Sequence[int]]
USUAL = Options()


def trace(
    model: Artefact,
    text: Texts,
    pair: Texts | None = None,
    *,
    choices: Sequence[str] | None = None,
    target_ids: TargetIds | None = None,
    interventions: Sequence[Intervention] = (),
    options: Options = USUAL,
) -> Trace:
    """Trace texts, pairs, or sources with their targets as one batch, in float32 or float64, whatever type the model
    predicts in.

    `choices` are the candidates of one text: each is a row of the batch, and `choice.probabilities` compares their
    scores as `choose` does. The target of an encoder–decoder is by default its own translation; `target_ids` are the
    tokens that its decoder reads, of one text or of each, the start token first. A masked word can be named by its
    token or by the model's best guess. Raises ConfigError for a model that does not translate or choose, DataError for
    a text of only blanks, and for candidates with a second text or several texts.
    """
    model.needs_weights("a trace")
    reader = Reader.of(model)
    given = given_of(reader.verbs, text, pair, choices, target_ids)
    first, second = reader.lines(given)
    rows = [line.row for line in first]
    inputs, decoder_inputs = reader.inputs(rows, None if second is None else [line.row for line in second])
    masked = {} if given.others is not None else reader.masked(rows)
    at_once = reader.length is None or all(len(row.ids) <= reader.length for row in rows)
    plain = options.scored_at is None and options.labels is None
    by_run = plain and not interventions and at_once  # the run itself scores what `fill` would
    verbs, texts = reader.verbs, given.texts
    options = replace(
        options,
        words=Words(
            inputs=[line.words for line in first],
            decoder_inputs=[line.words for line in second or ()],
            vocabulary=reader.tokenizer.target.shown,
            source_vocabulary=reader.tokenizer.shown if len(reader.tokenizer.sides) > 1 else (),
            labels=reader.labels,
            answers={} if by_run or not masked else verbs.guesses(texts, masked),
            candidates=given.choices or (),
            closing=reader.closing,
            after_scores=model.measured_as.after_scores,
        ),
        predicts_in=options.predicts_in or (torch.bfloat16 if model.fast else None),
        candidates=given.choices is not None,
        guess=(lambda logits: verbs.guesses(texts, masked, logits)) if by_run and masked else None,
    )
    run = run_of(model.module, inputs, decoder_inputs, options)
    found = run.trace(steps_of(interventions))
    lines, where = opened_by(model.source)
    origin = Origin(
        loads=lines,
        texts=given.texts,
        seconds=given.seconds,
        choices=given.choices,
        target_ids=given.target_ids,
        command=command_for(given, where, two_stacks=reader.two_stacks),
        by_word=reads_by_word(reader.config, reader.tokenizer),
        mask_id=reader.tokenizer.mask_id,
        scored_by_masks=plain,
        task=model.task_name or "",
        name="" if model.source is None else Path(where).name,
    )
    return replace(found, origin=origin)


def given_of(
    verbs: Verbs, text: Texts, pair: Texts | None, choices: Sequence[str] | None, target_ids: TargetIds | None
) -> Given:
    """The input in one form, as lists; raises DataError and ConfigError, for candidates as `choose` does."""
    texts, seconds = listed(text), None if pair is None else listed(pair, "second text")
    ids = None if target_ids is None else tuple(map(tuple, rows_of_ids(target_ids)))
    if choices is None:
        return Given(tuple(texts), None if seconds is None else tuple(seconds), target_ids=ids)
    if len(texts) != 1 or seconds is not None:
        got = "a second text too" if seconds is not None else f"{len(texts)} texts"
        raise DataError("candidates belong to one text, as its second text", got=got)
    asked, candidates = verbs.question(texts[0], choices)
    return Given((asked,), choices=candidates, target_ids=ids)


def rows_of_ids(target_ids: TargetIds) -> list[list[int]]:
    """The tokens of each target; those of the only one may be given alone."""
    given = [plain(each) for each in target_ids]
    alone = [isinstance(each, int) for each in given]
    if any(alone) and not all(alone):
        raise DataError("target ids are the tokens of one text, or a list of them for each", got=repr(given)[:60])
    return [given] if any(alone) or not given else [list(map(plain, each)) for each in given]


MOST_WORDS = 2000  # In a larger vocabulary it is not looked whether each entry is read as one word


def opened_by(source: Path | None) -> tuple[tuple[str, ...], str]:
    """Python that opens the model, and its name on the command line; of a folder elsewhere only the name."""
    if source is None:
        return ("import glassformer as gf",), "MODEL"
    name = next((name for name, folder in travelling().items() if source == folder), None)
    where = name or (source.name if source.is_absolute() else source.as_posix())
    return ("import glassformer as gf", f"model = gf.load({where!r})"), where


def command_for(given: Given, where: str, *, two_stacks: bool) -> str:
    second = [] if given.seconds is None else ["--target" if two_stacks else "--pair", given.seconds[0]]
    each = [part for choice in given.choices or () for part in ("--choice", choice)]
    return shlex.join(["glassformer", "explore", where, *given.texts, *second, *each])


def reads_by_word(config: ModelConfig, tokenizer: Tokenizer) -> bool:
    """Whether a text is plain words of the vocabulary, and only guesses are asked for: no tokenizer is needed."""
    other = config.decoder is not None or config.sentence_head is not None or config.token_head is not None
    if other or len(tokenizer.sides) > 1 or any(tokenizer.frame_ids) or tokenizer.vocabulary_size > MOST_WORDS:
        return False
    if config.output_stack.embed.segments or tokenizer.settings["model"]["type"] != "WordLevel":
        return False
    entries = tokenizer.vocabulary()
    return all(found.ids == [id_] for id_, found in enumerate(tokenizer.encode_batch(entries, special=False)))
