"""A trace of texts through a model, with cells named by the words of the texts."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import torch
from torch import Tensor

from glassformer.answering.answers import answer
from glassformer.answering.texts import listed
from glassformer.base.errors import ConfigError, DataError
from glassformer.bundled.texts import slides_model
from glassformer.bundled.travelling import travelling
from glassformer.data.batches.corrupt import IGNORED
from glassformer.look.trace.cell import Words, word_at
from glassformer.look.trace.interventions import Intervention
from glassformer.look.trace.origin import Origin
from glassformer.look.trace.run import run_of
from glassformer.look.trace.steps import listed as steps_of
from glassformer.look.trace.trace import Trace
from glassformer.models.inputs import Inputs
from glassformer.models.transformer import Transformer
from glassformer.saved.artefact import Artefact
from glassformer.tasks import predictor_of
from glassformer.tasks.predictor import TaskSection
from glassformer.tasks.rows import Row, collate, make_row
from glassformer.tasks.words.masked_lm.fill import best_words
from glassformer.tasks.writing.writers import opening_of
from glassformer.text.tokenizer import Tokenizer
from glassformer.text.windows import Window, text_rows

# The slides' model, which is bundled.
SLIDES = slides_model()

Texts = str | Sequence[str]
TargetIds = Sequence[int] | Sequence[Sequence[int]]
Rows = list[tuple[Row, list[str]]]
"""Each text as a row, and its tokens as people read them."""
TAG = "tag"
SPAN = ("start", "end")


def trace(
    model: Artefact,
    text: Texts,
    pair: Texts | None = None,
    *,
    scored_at: Tensor | Sequence[int] | None = None,
    labels: Tensor | None = None,
    keep: Iterable[str] | str | None = None,
    dtype: torch.dtype | None = None,
    predicts_in: torch.dtype | None = None,
    interventions: Sequence[Intervention] = (),
    gradients: str | None = None,
    choices: Sequence[str] | None = None,
    target_ids: TargetIds | None = None,
    copy: Transformer | None = None,
) -> Trace:
    """Run a text, a pair, or a source and its target, or several of them as one batch, and trace it; always in float32
    or float64, whatever type the model predicts in. The options are those of `glassformer.trace`.

    `choices` are the candidates of one text: the text with each of them is a row of the batch, and their scores are
    compared as `choose` does, in `choice.probabilities`.

    A masked word can be named by its token, or by the model's best guess for it. The target of an encoder–decoder
    is by default its own translation; `target_ids` are the tokens that its decoder reads, of one text or of each,
    its start token first. `copy` is that of `look.run.run_of`. Raises ConfigError for one that does not translate
    and for candidates of a model that does not choose, DataError for a text of only blanks and for candidates
    beside a second text or several texts.
    """
    model.needs_weights("a trace")
    texts, pairs = listed(text), None if pair is None else listed(pair, "second text")
    if choices is not None:
        texts, pairs = beside_choices(model, texts, pairs, choices)
    first, second = rows_of(model, texts, pairs, target_ids)
    masked = _masked(model, [row for row, _ in first]) if pairs is None else {}
    own = scored_at is None and labels is None and not interventions and _in_one_window(model, first)
    run = run_of(
        model.module,
        inputs_of(model, first),
        None if second is None else inputs_of(model, second, model.tokenizer.target),
        scored_at=scored_at,
        labels=labels,
        words=Words(
            inputs=[tokens for _, tokens in first],
            decoder_inputs=[] if second is None else [tokens for _, tokens in second],
            vocabulary=model.tokenizer.target.shown,
            source_vocabulary=model.tokenizer.shown if len(model.tokenizer.sides) > 1 else (),
            labels=label_names(model),
            answers={} if own or not masked else _guessed(model, texts, masked),
            candidates=choices or (),
            closing=closing_ids(model),
        ),
        keep=keep,
        dtype=dtype,
        predicts_in=predicts_in or (torch.bfloat16 if model.fast else None),
        gradients=gradients,
        candidates=choices is not None,
        guess=(lambda logits: _guessed(model, texts, masked, logits)) if own and masked else None,
        copy=copy,
    )
    found = run.trace(steps_of(interventions))
    lines, where = opened_by(model)
    seconds = None if pairs is None or choices is not None else tuple(pairs)
    origin = Origin(
        loads=lines,
        texts=tuple(texts if choices is None else texts[:1]),
        seconds=seconds,
        choices=None if choices is None else tuple(choices),
        target_ids=None if target_ids is None else tuple(map(tuple, read_target_ids(model, target_ids, len(texts)))),
        command=command_for(model, where, texts if choices is None else texts[:1], seconds, choices),
        by_word=reads_by_word(model),
        mask_id=model.tokenizer.mask_id,
        scored_by_masks=scored_at is None and labels is None,
    )
    return replace(found, origin=origin)


def opened_by(model: Artefact) -> tuple[tuple[str, ...], str | None]:
    """Python that opens the model again, and what the command line calls it, None for the slides' model. Of a folder
    outside of the current one only its name is told.
    """
    source = model.source
    if source is None:
        return ("import glassformer as gf",), "MODEL"
    if source.resolve() == SLIDES:
        lines = ("import glassformer as gf", "from glassformer.bundled.texts import slides_model")
        return (*lines, "model = gf.load(slides_model())"), None
    name = next((name for name, folder in travelling().items() if source == folder), None)
    where = name or (source.name if source.is_absolute() else source.as_posix())
    return ("import glassformer as gf", f"model = gf.load({where!r})"), where


def command_for(
    model: Artefact,
    where: str | None,
    texts: Sequence[str],
    seconds: Sequence[str] | None,
    choices: Sequence[str] | None,
) -> str:
    """The command that opens these texts on a live page."""
    if where is None:
        return "glassformer explore"
    option = "--target" if model.config.encoder is not None and model.config.decoder is not None else "--pair"
    second = [] if seconds is None else [option, seconds[0]]
    each = [part for choice in choices or () for part in ("--choice", choice)]
    return shlex.join(["glassformer", "explore", where, *texts, *second, *each])


MOST_WORDS = 2000
"""In a larger vocabulary it is not looked whether each entry is read as one word."""


def reads_by_word(model: Artefact) -> bool:
    """Whether a text is words of the vocabulary with blanks between, nothing around them, and only guessed words are
    asked for: then whoever has the vocabulary can read any text.
    """
    config, tokenizer = model.config, model.tokenizer
    other = config.decoder is not None or config.sentence_head is not None or config.token_head is not None
    if other or len(tokenizer.sides) > 1 or any(tokenizer.frame_ids) or tokenizer.vocabulary_size > MOST_WORDS:
        return False
    if config.output_stack.embed.segments or tokenizer.settings["model"]["type"] != "WordLevel":
        return False
    entries = tokenizer.vocabulary()
    return all(found.ids == [id_] for id_, found in enumerate(tokenizer.encode_batch(entries, special=False)))


def beside_choices(
    model: Artefact, texts: Sequence[str], pairs: Sequence[str] | None, choices: Sequence[str]
) -> tuple[list[str], list[str]]:
    """A text once for each of its candidates, and the candidates; raises ConfigError and DataError as `choose` does."""
    if len(texts) != 1 or pairs is not None:
        got = "a second text too" if pairs is not None else f"{len(texts)} texts"
        raise DataError("candidates belong to one text, as its second text", got=got)
    predictor = predictor_of("choose").of(model.module, model.tokenizer, replace(model.context({}), length=None))
    given = choices if isinstance(choices, str) else list(choices)  # a text in place of several is refused
    question = predictor.example({"text": texts[0], "choices": given}, "")
    return [question.text] * len(question.choices), list(question.choices)


def label_names(model: Artefact) -> tuple[str, ...]:
    """What the labels of a model's head are called."""
    head = model.config.token_head
    return SPAN if head is not None and head.spans else model.labels


def closing_ids(model: Artefact) -> dict[str, int]:
    """The id of the token that closes a text, by side: of a side whose tokenizer has one."""
    sides = {"inputs": model.tokenizer, "decoder_inputs": model.tokenizer.target}
    found = {side: one.end_id if one.separator_id is None else one.separator_id for side, one in sides.items()}
    return {side: id_ for side, id_ in found.items() if id_ is not None}


def rows_of(
    model: Artefact, texts: Sequence[str], pairs: Sequence[str] | None, target_ids: TargetIds | None = None
) -> tuple[Rows, Rows | None]:
    """The rows of the only stack, or of the encoder, and beside them those of the decoder of an encoder–decoder.

    Without targets an encoder–decoder reads its own translations. Raises ConfigError for one that does not translate,
    and for tokens of a target of another model; DataError for a text of only blanks, for no text, for tokens that are
    none, and where there are not as many second texts as first ones.
    """
    two_stacks = model.config.encoder is not None and model.config.decoder is not None
    if not texts:
        raise DataError("at least one text is needed", got="none")
    if pairs is not None and len(pairs) != len(texts):
        wanted = "target for each source" if two_stacks else "second text for each first one"
        raise DataError(f"there must be one {wanted}", got=f"{len(texts)} and {len(pairs)}")
    if target_ids is not None:
        if model.config.decoder is None or pairs is not None:
            got = f"the family {model.config.family}, an encoder" if pairs is None else "a target as text too"
            raise ConfigError("target_ids are what a decoder reads", got=got, do="leave one of them out")
        given = read_target_ids(model, target_ids, len(texts))
        read = [(Row(ids=ids), shown(model.tokenizer.target, ids)) for ids in given]
        return ([row_of(model, one) for one in texts], read) if two_stacks else (read, None)
    if not two_stacks:
        if pairs is None:
            return [row_of(model, one) for one in texts], None
        return [row_of(model, one, two) for one, two in zip(texts, pairs, strict=True)], None
    first = [row_of(model, one) for one in texts]
    if pairs is None:
        from glassformer.look.texts.reply import replies  # it imports the walk-through, which traces do without

        targets = replies(model, [row for row, _ in first], start_id(model))
        return first, [(Row(ids=ids), shown(model.tokenizer.target, ids)) for ids in targets]
    return first, [target_of(model, two) for two in pairs]


def read_target_ids(model: Artefact, target_ids: TargetIds, count: int) -> list[list[int]]:
    """The tokens that the decoder reads for each text; raises DataError for what is none."""
    several = [list(each) for each in target_ids if not isinstance(each, int)]
    rows = several or [[each for each in target_ids if isinstance(each, int)]]
    vocabulary, limit = model.config.output_stack.embed.vocabulary, model.module.output_stack.max_length
    if len(rows) != count:
        raise DataError("there must be target tokens for each text", got=f"{len(rows)} for {count} texts")
    for row in rows:
        strange = next((each for each in row if not 0 <= each < vocabulary), None)
        if strange is not None or not row:
            got = "none" if strange is None else str(strange)
            raise DataError(f"target tokens are numbers from 0 to {vocabulary - 1}, at least one", got=got)
        if limit is not None and len(row) > limit:
            raise DataError(f"a target has at most {limit} tokens", got=str(len(row)))
    return rows


def row_of(model: Artefact, text: str, pair: str | None = None) -> tuple[Row, list[str]]:
    """A whole text or pair as one row, and its tokens as people read them; raises DataError for blanks."""
    tokenizer = model.tokenizer
    encoding = tokenizer.encode(text, special=False)
    if not len(encoding):
        raise DataError("a text with at least one word is needed", got=repr(text))
    if pair is None and isinstance(model.task, TaskSection) and model.task.name == TAG:  # word by word, as it is read
        predictor = predictor_of(TAG).of(model.module, tokenizer, replace(model.context({}), length=None))
        (row,) = predictor.rows(predictor.example({"text": text}, ""))
        return row, shown(tokenizer, row.ids)
    if pair is not None:
        ((ids, segments),) = text_rows(tokenizer, text, pair, length=None)
        stack = model.config.output_stack
        row = Row(ids=ids, segments=segments if stack.embed.segments > 1 else None)
        return row, shown(tokenizer, ids)
    before, after = tokenizer.frame_ids
    row = make_row(encoding, Window(0, len(encoding), 0, len(encoding)), tokenizer)
    if opening := opening_before(model, len(row.ids)):
        masked = None if row.masked_words is None else [*[False] * len(opening), *row.masked_words]
        before, row = opening, replace(row, ids=[*opening, *row.ids], masked_words=masked)
    words = [
        token if masked else word
        for token, word, masked in zip(
            encoding.tokens, shown(tokenizer, encoding.ids), encoding.masked_words, strict=True
        )
    ]
    return row, [*shown(tokenizer, before), *words, *shown(tokenizer, after)]


def opening_before(model: Artefact, count: int) -> tuple[int, ...]:
    """What stands before a row of so many tokens beside the tokens that the tokenizer puts there: for a model that has
    learned texts one after another, the token between them. So a trace shows the run by which `generate` and `score`
    answer. Nothing where the model reads no more tokens, as there.
    """
    if model.tokenizer.frame_ids[0]:
        return ()
    opening, limit = opening_of(model.tokenizer, model.context({})), model.module.output_stack.max_length
    return opening if limit is None or len(opening) + count <= limit else ()


def shown(tokenizer: Tokenizer, ids: Iterable[int]) -> list[str]:
    """Tokens as people read them; a row of the table that is no token, by its number."""
    return [word_at(tokenizer.shown, id_) for id_ in ids]


def target_of(model: Artefact, text: str) -> tuple[Row, list[str]]:
    """What the decoder reads while it predicts this target: the start token, then all tokens but the last.

    Each place predicts the token after it, the last one the end of the target. A target without words is the start
    token alone. Raises ConfigError for a model whose start token is not known.
    """
    tokenizer = model.tokenizer.target
    before, after = tokenizer.frame_ids
    whole = [*before, *tokenizer.encode(text, special=False).ids, *after]
    ids = [start_id(model), *(whole[:-1] if after else whole)]
    return Row(ids=ids), shown(tokenizer, ids)


def start_id(model: Artefact) -> int:
    """The token that a decoder starts with; raises ConfigError where neither model nor tokenizer names one."""
    tokenizer = model.tokenizer.target
    for found in (model.token_settings.get("decoder_start_token_id"), tokenizer.begin_id, tokenizer.pad_id):
        if isinstance(found, int) and 0 <= found < model.config.output_stack.embed.vocabulary:
            return found
    raise ConfigError(
        "a target begins with the decoder's start token",
        got="a model whose settings and tokenizer name none",
        do="use glassformer.trace(model.module, Inputs(ids=source), Inputs(ids=target))",
    )


def inputs_of(model: Artefact, rows: Rows, tokenizer: Tokenizer | None = None) -> Inputs:
    """The rows as one batch on the model's device; `tokenizer` is that of the decoder's rows."""
    inputs = collate([row for row, _ in rows], pad_id=(tokenizer or model.tokenizer).pad_id or 0).inputs
    if all(TAG in row.labels for row, _ in rows):  # the first token of each word
        asked = torch.zeros(inputs.shape, dtype=torch.bool)
        for number, (row, _) in enumerate(rows):
            asked[number, : len(row.ids)] = torch.tensor(row.labels[TAG]) != IGNORED
        inputs = replace(inputs, labelled=asked)
    return inputs.to(model.device)


def _masked(model: Artefact, rows: Sequence[Row]) -> dict[int, list[int]]:
    """The masked positions of each sentence that has any, of a model that guesses masked words."""
    if model.config.encoder is None or model.config.decoder is not None or model.config.head is None:
        return {}
    found = {
        sentence: [place for place, hides in enumerate(row.masked_words) if hides]
        for sentence, row in enumerate(rows)
        if row.masked_words is not None
    }
    return {sentence: places for sentence, places in found.items() if places}


def _in_one_window(model: Artefact, rows: Rows) -> bool:
    """Whether `fill` would read each of these texts whole, as a trace does."""
    length = model.context({}).length
    return length is None or all(len(row.ids) <= length for row, _ in rows)


def _guessed(
    model: Artefact, texts: Sequence[str], masked: Mapping[int, Sequence[int]], logits: Tensor | None = None
) -> dict[tuple[int, int], str]:
    """The model's best guesses at the masked positions: by the scores [N, V] of the traced run at all of them, where it
    has them, else by a run of `fill`.
    """
    at = [(sentence, place) for sentence, places in masked.items() for place in places]
    if logits is not None and len(logits) == len(at) and not bool(logits.isnan().any()):
        return dict(zip(at, best_words(model.tokenizer, logits), strict=True))
    filled = answer(model, "fill", [({"text": texts[sentence]}, "") for sentence in masked], {"top": 1})
    return {
        (sentence, place): mask.guesses[0].word
        for (sentence, places), found in zip(masked.items(), filled, strict=True)
        for place, mask in zip(places, found.masks, strict=True)
    }
