"""How much a model loses without each of its attention heads, on held-out texts: measured, never read off attention."""

import operator
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from glassformer.answering.answers import listed
from glassformer.base.errors import ConfigError, DataError
from glassformer.config import ModelConfig
from glassformer.data.batches.corrupt import IGNORED
from glassformer.look.texts.ablation import Asked, Ruler, ablate, heads_of_model
from glassformer.look.texts.reader import Given, Reader
from glassformer.models.inputs import Inputs
from glassformer.saved.artefact import Artefact
from glassformer.scoring.score import Measure
from glassformer.tasks.rows import Row
from glassformer.tasks.writing.next_token_scores import NEXT
from glassformer.text.windows import text_rows
from glassformer.training.progress import NoProgress, Progress

ROUNDS = 7  # A text is masked at most so often, another seventh of its words each time: about the share that BERT masks
ENOUGH = 96  # Rows beyond which a text is masked once: fewer texts are masked more often
MOST_TOKENS = 4096  # Tokens that are run together, padding included


@dataclass(frozen=True)
class HeadImportance:
    """What is lost without one head: the measure without it minus the measure with it, and the ends of its 95 %
    interval over the texts (nan for a single text). `attention` is `encoder.blocks.0.self_attention`.
    """

    attention: str
    head: int
    difference: float
    low: float
    high: float


@dataclass(frozen=True)
class Importance:
    """`measure` says what is measured, `unit` in what, `baseline` is its value with all heads. `texts`: how many texts;
    `scored`: how many tokens were predicted, 0 where none were. `heads` in the order of the model.
    """

    measure: str
    unit: str
    baseline: float
    texts: int
    scored: int
    heads: tuple[HeadImportance, ...]

    @property
    def sorted(self) -> tuple[HeadImportance, ...]:
        """The heads, the one without which most is lost first."""
        return tuple(sorted(self.heads, key=lambda head: -head.difference))


def head_importance(
    model: Artefact,
    texts: str | Sequence[str],
    pairs: str | Sequence[str] | None = None,
    *,
    hidden: Sequence[Sequence[int]] | None = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> Importance:
    """Switch off one attention head after the other (Michel et al. 2019, §3.2, *Are Sixteen Heads Really Better than
    One?*) and measure on texts that the model has not learned from what is lost.

    A model of masked words is measured by the loss of words that are masked for it (a seventh of each text at a time,
    chosen by `seed`, or the tokens `hidden`, counted from 0 in each text), a decoder by that of the next tokens, an
    encoder-decoder by that of its targets' tokens (`pairs`; without them of its own translations); all in nats. A model
    that predicts no words and classifies texts is measured by how far the probabilities of its labels move, calibrated
    as in its answers (Kullback-Leibler divergence, nats; of several labels the sum of those of each); any other by how
    far the mean of a text's states turns (1 − cosine). A head that is off gives 0, as with `gf.zero_head`; all others
    stay.

    A difference above 0 means that the model is worse without the head on these texts. Heads can stand in for each
    other: what is lost without two of them is not the sum. Raises DataError for no text and for one of only blanks,
    ConfigError for `hidden` that are not different tokens of each text, or of a model that predicts no masked words.
    """
    if not isinstance(seed, int) or seed < 0:
        raise ConfigError("a seed must be a whole number, 0 or more", got=repr(seed)[:60])
    if not isinstance(model, Artefact):
        raise ConfigError("a model with its tokenizer is needed", got=repr(model)[:60], do="gf.load(MODEL) reads one")
    given = listed(texts)
    seconds = None if pairs is None else listed(pairs, "second text")
    module = model.module
    two_stacks = module.encoder is not None and module.decoder is not None
    reader, asked_texts = Reader.of(model), Given(tuple(given), None if seconds is None else tuple(seconds))
    predicted = module.head is not None
    if hidden is not None and (not predicted or module.decoder is not None):
        raise ConfigError("tokens are hidden from a model of masked words", got=reader.config.family, do="leave it out")
    hides = seed if hidden is None else _hides(reader, asked_texts, hidden)
    batches = list(rows_in_batches(reader, asked_texts, hides) if predicted else plain_batches(reader, asked_texts))
    heads = heads_of_model(module)
    if not heads:
        raise ConfigError("importance is that of attention heads", got="a model without any")
    progress = NoProgress() if progress is None else progress
    count = max((int(number) for _, owners in batches for number in owners), default=0) + 1
    sums, counts = np.zeros((count, 1 + len(heads))), np.zeros(count)
    temperature = 1.0 if model.task is None else model.task.head_outputs.temperature
    title = f"switching off {len(heads)} heads, one after the other, on {count} {'text' if count == 1 else 'texts'}"
    with progress.reading(title, len(heads) * len(batches)) as advance:
        for asked, owners in batches:
            found, own = ablate(module, replace(asked, temperature=temperature), advance)
            np.add.at(sums, owners, found.numpy())
            np.add.at(counts, owners, own.numpy())
    if not counts.sum():
        raise DataError("a text with a word that can be predicted is needed", got=f"{len(given)} texts without one")
    predicts = batches[0][0].labels is not None
    answers = Ruler(module, batches[0][0]).answers
    own_words = seconds is None and two_stacks
    return Importance(
        measure=named(reader.config, predicts=predicts, answers=answers, own=own_words),
        unit="nats" if predicts or answers else "1 − cosine",
        baseline=float(sums[:, 0].sum() / counts.sum()),
        texts=count,
        scored=int(counts.sum()) if predicts else 0,
        heads=tuple(
            HeadImportance(*head, *difference)
            for head, difference in zip(heads, differences(sums, counts), strict=True)
        ),
    )


def _hides(reader: Reader, given: Given, hidden: Sequence[Sequence[int]]) -> Sequence[Sequence[int]]:
    """The tokens to mask of each text; raises ConfigError unless they are different tokens of it."""
    rows, _, owners, _ = windows_of(reader, given)
    if len(rows) != len(given.texts) or owners != list(range(len(rows))):
        raise ConfigError("tokens are hidden in texts that the model reads at once", got="a longer text")
    try:
        found = [[operator.index(token) for token in its] for its in hidden]
    except TypeError:
        found = []
    lengths = [len(row.ids) for row in rows]
    fits = len(found) == len(rows) and all(
        len(set(its)) == len(its) and all(0 <= token < length for token in its)
        for its, length in zip(found, lengths, strict=False)
    )
    if not fits:
        wanted = f"hidden is a list of different tokens of each of {len(rows)} texts, which have {lengths[:5]} tokens"
        raise ConfigError(wanted, got=repr(hidden)[:60])
    return found


def named(config: ModelConfig, *, predicts: bool, answers: bool, own: bool) -> str:
    if not predicts:
        return "change of the labels' probabilities" if answers else "turn of the text's vector"
    if config.decoder is None:
        return "loss of masked words"
    if config.encoder is None:
        return "loss of next tokens"
    return "loss of the tokens of its own translations" if own else "loss of the targets' tokens"


def differences(sums: np.ndarray, counts: np.ndarray) -> list[tuple[float, float, float]]:
    """For each head the mean difference and its interval, from the sums of each text [E, 1 + heads] and counts [E]."""
    lost = np.concatenate([sums[:, 1:] - sums[:, :1], counts[:, None]], axis=1)  # [E, heads + 1]
    lost = lost[counts > 0]  # what is drawn for an interval must have something measured
    measure = Measure(
        lost, lambda drawn: {str(head): drawn[..., head] / drawn[..., -1] for head in range(len(lost[0]) - 1)}
    )
    if len(lost) == 1:
        return [(value, float("nan"), float("nan")) for value in measure.values().values()]
    return [tuple(interval) for interval in measure.intervals().values()]  # type: ignore[misc]  # value, low, high


Hides = int | Sequence[Sequence[int]]  # The seed that chooses words to mask, or the tokens to mask of each text
Batch = tuple[Asked, list[int]]  # What is run together, and for each row the number of the text that it counts for


class Windows(NamedTuple):
    """The `rows` of texts, those of their `targets` if any, and the number of the text that each row is of. `answered`:
    the places of a row that it answers for, as windows of a long text overlap; None for all.
    """

    rows: list[Row]
    targets: list[Row] | None
    owners: list[int]
    answered: list[list[int]] | None = None


def plain_batches(reader: Reader, given: Given) -> Iterator[Batch]:
    """The texts as they are, where nothing is predicted."""
    first, second, owners, _ = windows_of(reader, given)
    for members in in_batches(first, second):
        other = None if second is None else [second[member] for member in members]
        asked = Asked(*reader.inputs([first[member] for member in members], other))
        yield asked, [owners[member] for member in members]


def rows_in_batches(reader: Reader, given: Given, hides: Hides) -> Iterator[Batch]:
    """The texts with what is to be predicted: masked words, next tokens, or the tokens of targets."""
    first, second, owners, answered = windows_of(reader, given)
    if second is not None or reader.config.encoder is None:
        predicted = first if second is None else second
        end = None if second is None else reader.tokenizer.target.end_id
        for members in in_batches(first, second):
            rows = [predicted[member] for member in members]
            if second is None:
                inputs, other = reader.inputs([replace(row, labels={}) for row in rows], None)
            else:
                inputs, other = reader.inputs([first[member] for member in members], rows)
            at, labels = next_tokens(rows, other or inputs, end)
            yield Asked(inputs, other, at, labels), [owners[member] for member in members]
        return
    rounds = max(1, min(ROUNDS, ENOUGH // max(len(first), 1))) if isinstance(hides, int) else 1
    for copies in in_batches([row for row in first for _ in range(rounds)], None):
        members, turns = [copy // rounds for copy in copies], [copy % rounds for copy in copies]
        rows = [first[member] for member in members]
        places = None if answered is None else [answered[member] for member in members]
        masked = masked_in(reader, rows, members, turns, hides, places)
        if masked is not None:
            yield masked, [owners[member] for member in members]


def windows_of(reader: Reader, given: Given) -> Windows:
    """A row for each text, or for each window of one that is longer than the model reads at once."""
    first, second = reader.lines(given)
    length = reader.length
    if reader.two_stacks or length is None or all(len(row.ids) <= length for row, _ in first):
        targets = None if second is None else [row for row, _ in second]
        return Windows([row for row, _ in first], targets, list(range(len(first))))
    if reader.verbs.tags or reader.config.encoder is None:
        of_text = reader.verbs.scored if reader.config.encoder is None else partial(reader.verbs.tagged, whole=False)
        read = [(number, row) for number, text in enumerate(given.texts) for row in of_text(text)]
        return Windows([row for _, row in read], None, [number for number, _ in read])
    numbered = reader.config.output_stack.embed.segments > 1 and given.seconds is not None
    rows, owners, answered = list[Row](), list[int](), list[list[int]]()
    for number, text in enumerate(given.texts):
        cut = text_rows(reader.tokenizer, text, given.seconds[number] if given.seconds else None, length=length)
        rows += [Row(ids=list(ids), segments=list(belongs) if numbered else None) for ids, belongs in cut]
        owners += [number] * len(cut)
        answered += [cut.answered(place) for place in range(len(cut))]
    return Windows(rows, None, owners, answered)


def in_batches(first: Sequence[Row], second: Sequence[Row] | None) -> Iterator[list[int]]:
    """Which rows are run together: those of like length, as many as have room."""
    lengths = [max(len(row.ids), 0 if second is None else len(second[place].ids)) for place, row in enumerate(first)]
    batch: list[int] = []
    for member in sorted(range(len(first)), key=lambda place: (lengths[place], place)):
        if batch and (len(batch) + 1) * lengths[member] > MOST_TOKENS:
            yield batch
            batch = []
        batch.append(member)
    if batch:
        yield batch


def next_tokens(rows: Sequence[Row], inputs: Inputs, end: int | None) -> tuple[Tensor, Tensor]:
    """For each token the one after it, and after the last the `end` of a target, or what the row's labels say: flat
    indices and ids, [N] each.
    """
    tokens = inputs.shape[1]
    following = [row.labels.get(NEXT, [*row.ids[1:], *([] if end is None else [end])]) for row in rows]
    asked = [
        (place * tokens + token, id_)
        for place, ids in enumerate(following)
        for token, id_ in enumerate(ids)
        if id_ != IGNORED
    ]
    at, labels = [place for place, _ in asked], [id_ for _, id_ in asked]
    found = torch.tensor([at, labels], device=inputs.device, dtype=torch.int64)  # [2, N]
    return found[0], found[1]


def masked_in(
    reader: Reader,
    rows: Sequence[Row],
    numbers: Sequence[int],
    turns: Sequence[int],
    hides: Hides,
    answered: Sequence[Sequence[int]] | None = None,
) -> Asked | None:
    """The rows with a seventh of their words masked, others each turn, of the places that each answers for; None
    without a word to mask.
    """
    (inputs, _), special = reader.inputs(rows, None), reader.tokenizer.special_ids
    tokens = inputs.shape[1]
    at: list[int] = []
    for place, (row, number, turn) in enumerate(zip(rows, numbers, turns, strict=True)):
        if not isinstance(hides, int):
            at += [place * tokens + token for token in hides[number]]
            continue
        hidden = row.masked_words or [False] * len(row.ids)
        among = range(len(row.ids)) if answered is None else answered[place]
        could = [token for token in among if row.ids[token] not in special and not hidden[token]]
        order = np.random.default_rng([hides, number]).permutation(len(could))
        share = max(1, -(-len(could) // ROUNDS))
        at += sorted(place * tokens + could[index] for index in order[turn * share : (turn + 1) * share])
    if not at:
        return None
    assert inputs.ids is not None
    places = torch.tensor(at, device=inputs.device)
    labels = inputs.ids.flatten()[places]
    embed = reader.config.output_stack.embed
    if embed.masked_words == "token":
        mask_id = reader.tokenizer.mask_id
        if mask_id is None:
            raise ConfigError("masked words need a mask token", got="a tokenizer without one")
        ids = inputs.ids.flatten().index_fill(0, places, mask_id).view_as(inputs.ids)
        return Asked(replace(inputs, ids=ids), None, places, labels)
    before = torch.zeros_like(inputs.ids, dtype=torch.bool) if inputs.masked_words is None else inputs.masked_words
    masked = before.flatten().index_fill(0, places, value=True).view_as(before)
    return Asked(replace(inputs, masked_words=masked), None, places, labels)
