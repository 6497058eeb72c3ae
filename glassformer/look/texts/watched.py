"""Sentences that are watched while a model trains: what it answers about each, and what its heads do with it.

A sentence is answered by the same predictor that answers it when the model is trained; one row of a table says how
for each verb. The attention is that of the same pass, so that looking costs one pass a sentence (of a translation: one
with the given target, and the search).

A sentence is one line of text. A tab separates it from what the task needs: the translation, the second text of a
pair, the passage of a question, the candidates.
"""

import base64
import math
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import groupby
from typing import Any, NamedTuple

import torch
from torch import Tensor

from glassformer.answering.answers import predictor_for
from glassformer.base.errors import ConfigError, DataError, did_you_mean
from glassformer.look.summaries.head_measures import MEASURES, measure, picture_of
from glassformer.look.texts.reader import Reader, shown
from glassformer.look.trace.watch import watch
from glassformer.models.names import tensor_names
from glassformer.models.transformer import Transformer
from glassformer.saved.artefact import Artefact
from glassformer.tasks import TASKS, verb_of, watch_of
from glassformer.tasks.answered import Answered
from glassformer.tasks.predictor import evaluating, predict
from glassformer.tasks.rows import Row, collate

# Guesses that are kept of each place.
GUESSES = 5
# Dots of all heads of all sentences in one record, as far as pictures of so few dots a side allow.
MOST_DOTS, FEWEST, FINEST = 20_000, 8, 32
# Sentences that can be watched: each costs a pass at each record.
MOST_SENTENCES = 16
TAB = "\t"


class Probe(NamedTuple):
    """A watched sentence: as it was given, what its predictor made of it, and how its row is shown."""

    given: str
    values: Mapping[str, object]
    example: Any
    row: Row


class Found(NamedTuple):
    """An answer, the weights [H, Q, K] by attention, and those between the same texts stacked, with measures."""

    answer: Any
    weights: Mapping[str, Tensor]
    together: list[Tensor]
    measured: list[Tensor]


class Sentences:
    """The watched sentences of one training: see `training/record.py`. Raises ConfigError for a task whose sentences
    cannot be watched, DataError for a sentence that this model cannot answer; both before anything is trained.
    """

    def __init__(self, model: Artefact, given: Sequence[str]) -> None:
        task = model.task_name or ""
        verb = verb_of(task) if task else ""
        kind = watch_of(verb)
        if kind is None:
            others = [name for name in TASKS if watch_of(verb_of(name)) is not None]
            raise ConfigError(f"sentences cannot be watched while {task!r} is trained", do=did_you_mean(task, others))
        if len(given) > MOST_SENTENCES:
            raise ConfigError(f"at most {MOST_SENTENCES} sentences are watched", got=str(len(given)))
        self.kind, self.tokenizer, self.model, self.reader = kind, model.tokenizer, model, Reader.of(model)
        self.predictor = predictor_for(model, kind.by or verb, kind.options)
        self.words = predictor_for(model, verb, kind.says) if kind.by else None
        known = tensor_names(model.module)
        self.attentions = [name.removesuffix(".weights") for name in known if name.endswith("_attention.weights")]
        self.names = [f"{each}.{word}" for each in self.attentions for word in ("weights", "may_look")]
        self.probes = [self._probe(text) for text in given]

    def _probe(self, given: str) -> Probe:
        text, *others = given.split(TAB)
        kind, role, where = self.kind, self.kind.after_tab, f"the watched sentence {short(given)!r}"
        if not text.strip():
            raise DataError("a watched sentence has words", got=repr(given))
        if len(others) < kind.needs or (len(others) > 1 and not kind.several) or (others and not role):
            wanted = f"{kind.needs or 'at most 1'} after the tab: {role}" if role else "one text, no tab"
            do = f"write {kind.example}" if kind.example else ""
            raise DataError(f"{where} needs {wanted}", got=str(len(others)), do=do)
        values: dict[str, object] = {"text": text}
        if others:
            values[role] = others if kind.several else others[0]
        example = self.predictor.example(values, where)
        rows = list(self.predictor.rows(example))
        most, longest = self.model.row_tokens, max(rows, key=lambda row: len(row.ids))
        tokens = max(len(longest.ids), len(self.tokenizer.encode(text, special=False)))
        if len(rows) != (len(others) if kind.several else 1) or (most is not None and tokens > most):
            got = f"{tokens:,}" if most is not None and tokens > most else f"one that is cut into {len(rows)}"
            raise DataError(f"{where} must be short enough to be read at once: {most} tokens", got=got)
        return Probe(given, values, example, longest)

    @cached_property
    def header(self) -> Mapping[str, Any]:
        """Texts, tokens, places, and the sizes of the pictures of each attention."""
        return {
            "task": self.model.task_name,
            "statistics": list(MEASURES),
            "sentences": [
                {
                    "text": probe.given,
                    "words": self._shown(probe),
                    "hidden": [place for place, masked in enumerate(probe.row.masked_words or ()) if masked],
                    "places": found.answer.place_names,
                    "attentions": [
                        {"name": name, "heads": len(weights), "shape": list(weights.shape[1:])}
                        | {"picture": [min(size, self._dots) for size in weights.shape[1:]]}
                        for name, weights in found.weights.items()
                    ],
                }
                for probe, found in zip(self.probes, self._first, strict=True)
            ],
        }

    def _shown(self, probe: Probe) -> dict[str, list[str]]:
        words = {"inputs": shown(self.tokenizer, probe.row.ids)}
        if "target" in probe.values:
            words["decoder_inputs"] = self.reader.target(str(probe.values["target"])).words
        return words

    @cached_property
    def _first(self) -> list[Found]:
        """What is answered before anything else: what does not change, such as the number of heads."""
        with evaluating(self.model.module):
            return list(self._answered(self.model.module))

    @cached_property
    def _dots(self) -> int:
        """Dots a side of the picture of a head: so many that a record stays small."""
        heads = sum(len(weights) for found in self._first for weights in found.weights.values())
        return min(FINEST, max(FEWEST, math.isqrt(MOST_DOTS // max(1, heads))))

    def look(self, model: Transformer) -> list[dict[str, Any]]:
        """What the model answers about each sentence, and its heads: see `header` for their names and sizes. `dots` are
        the heads' pictures one after the other, a byte a dot: 255 times the square root of the largest share that it
        stands for. `measured` are their statistics as little-endian float32. Raises NotFiniteError.
        """
        records = []
        with evaluating(model):
            said: list[Any] = [None] * len(self.probes)
            if self.words is not None:
                texts = [self.words.example({"text": probe.values["text"]}, "") for probe in self.probes]
                said = list(predict(self.words, model, texts))
            for found, words in zip(self._answered(model), said, strict=True):
                answer: Answered = found.answer
                records.append(
                    {
                        "says": (answer if words is None else words).says,
                        "places": answer.places,
                        "dots": _packed([picture_of(weights, self._dots) for weights in found.together]),
                        "measured": _packed(found.measured),
                    }
                )
        return records

    def _answered(self, model: Transformer) -> Iterator[Found]:
        with watch(model, self.names) as seen:
            for probe in self.probes:
                (answer,) = predict(self.predictor, model, [probe.example])
                if model.sentence_head is not None:  # it reads one token: the last block has computed no others
                    batch = collate([probe.row], pad_id=self.tokenizer.pad_id or 0).to(next(model.parameters()).device)
                    with torch.no_grad():
                        model(batch.inputs, heads=())
                weights = {name: seen[f"{name}.weights"][0].float().cpu() for name in self.attentions}
                together, measured = [], []
                # Attentions between the same tokens are measured at once: one by one it would take as long as the pass.
                for crossing, names in groupby(self.attentions, key=_texts):
                    of = list(names)
                    heads = torch.cat([weights[name] for name in of])  # [H of all, Q, K]
                    looks = torch.cat([(seen[f"{name}.may_look"][0].cpu() > 0).expand_as(weights[name]) for name in of])
                    separators = self._separators(probe, heads.shape[2]) if crossing == "encoder" else None
                    together.append(heads)
                    measured.append(measure(heads, looks, None, separators, crossing=crossing == "cross").float())
                yield Found(answer, weights, together, measured)

    def _separators(self, probe: Probe, keys: int) -> Tensor | None:
        """Which tokens of the encoder close a text, where that is known. [K]"""
        id_ = self.reader.closing.get("inputs")
        return None if id_ is None or len(probe.row.ids) != keys else torch.tensor(list(probe.row.ids)) == id_


def _texts(attention: str) -> str:
    return "cross" if "cross_attention" in attention else attention.partition(".")[0]


def _packed(tensors: Sequence[Tensor]) -> str:
    """The numbers one after the other, little-endian, as base64."""
    whole = torch.cat([tensor.flatten() for tensor in tensors]) if tensors else torch.zeros(0)
    numbers = whole.numpy()
    return base64.b64encode(numbers.astype(numbers.dtype.newbyteorder("<")).tobytes()).decode()


def short(text: str, most: int = 40) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"
