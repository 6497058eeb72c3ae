"""transformers' side: its model classes and its Trainer, padding to the longest of each batch.

The Trainer's own defaults (AdamW, linear decay, no warm-up, no weight decay, clipping at 1) with the plan's epochs,
batch and learning rate.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import torch
import transformers
from torch import Tensor

from experiments.encoder.measures import word_f1
from experiments.encoder.peer_answer import Reader, answer_features
from experiments.encoder.plan import Plan, encoder_folder
from experiments.encoder.sets import Record
from glassformer.runtime.device import has_fast_bfloat16

Feature = dict[str, Any]
# Tokens of a forward pass, padding included, when it predicts.
BATCH_TOKENS = 8192


def labels_of(plan: Plan, train: Sequence[Record]) -> list[str]:
    """The labels or tags of the training records, sorted; none where a number or a place is learned."""
    if plan.kind == "classify":
        return sorted({record["label"] for record in train})
    name = {"several": "labels", "tag": "tags"}.get(plan.kind)
    return sorted({label for record in train for label in record[name]}) if name else []


class Peer:
    """A model of transformers for one plan, with what makes its features and reads its scores."""

    def __init__(self, plan: Plan, train: Sequence[Record], *, seed: int, start: Path | None = None) -> None:
        transformers.set_seed(seed)  # the fresh layers are drawn when the model is loaded
        self.seed, self.plan, self.labels = seed, plan, labels_of(plan, train)
        folder = start or encoder_folder()
        self.tokenizer = transformers.AutoTokenizer.from_pretrained(encoder_folder())
        self.numbers = {label: number for number, label in enumerate(self.labels)}
        kinds: dict[str, tuple[Any, dict[str, Any]]] = {
            "classify": (transformers.AutoModelForSequenceClassification, {"num_labels": len(self.labels)}),
            "several": (
                transformers.AutoModelForSequenceClassification,
                {"num_labels": len(self.labels), "problem_type": "multi_label_classification"},
            ),
            "regress": (
                transformers.AutoModelForSequenceClassification,
                {"num_labels": 1, "problem_type": "regression"},
            ),
            "choose": (transformers.AutoModelForMultipleChoice, {}),
            "tag": (transformers.AutoModelForTokenClassification, {"num_labels": len(self.labels)}),
            "answer": (transformers.AutoModelForQuestionAnswering, {}),
        }
        kind, settings = kinds[plan.kind]
        self.model = kind.from_pretrained(folder, **settings)
        self.threshold = float("inf")  # of no answer, where a question may have none: `choose_threshold`

    def features(self, records: Sequence[Record]) -> list[Feature]:
        """What the Trainer learns from."""
        if self.plan.kind == "answer":
            return answer_features(self.tokenizer, records, length=self.plan.length)
        return [self._feature(record) for record in records]

    def _feature(self, record: Record) -> Feature:
        length = {"truncation": True, "max_length": self.plan.length}
        if self.plan.kind == "tag":
            found = self.tokenizer(record["words"], is_split_into_words=True, **length)
            words, last, labels = found.word_ids(), None, []
            for word in words:  # on the first token of a word
                labels.append(self.numbers[record["tags"][word]] if word is not None and word != last else -100)
                last = word
            return {**found, "labels": labels}
        if self.plan.kind == "choose":
            choices = record["choices"]
            found = self.tokenizer([record["text"]] * len(choices), choices, **length)
            return {**found, "labels": record["label"]}
        found = self.tokenizer(record["text"], record.get("pair"), **length)
        if self.plan.kind == "several":
            return {**found, "labels": [float(label in record["labels"]) for label in self.labels]}
        return {**found, "labels": self.numbers[record["label"]] if self.labels else record["label"]}

    @property
    def collator(self) -> Any:
        """Pads to the longest of each batch."""
        kinds: dict[str, Any] = {
            "choose": transformers.DataCollatorForMultipleChoice,
            "tag": transformers.DataCollatorForTokenClassification,
        }
        return kinds.get(self.plan.kind, transformers.DataCollatorWithPadding)(self.tokenizer)

    def trainer(
        self,
        records: Sequence[Record],
        out: Path,
        *,
        callbacks: Sequence[Any] = (),
        wrap: Callable[[Any], Any] = lambda collator: collator,
        **settings: Any,
    ) -> Any:
        """A Trainer of the plan; `settings` are its own arguments, `wrap` sees each batch."""
        arguments = transformers.TrainingArguments(
            output_dir=str(out),
            **{
                "num_train_epochs": self.plan.epochs,
                "per_device_train_batch_size": self.plan.batch,
                "learning_rate": self.plan.learning_rate,
                "seed": self.seed,
                "use_cpu": True,
                "report_to": "none",
                "disable_tqdm": True,
                "logging_strategy": "no",
                **settings,
            },
        )
        return transformers.Trainer(
            model=self.model,
            args=arguments,
            train_dataset=self.features(records),
            data_collator=wrap(self.collator),
            processing_class=self.tokenizer,
            callbacks=list(callbacks),
        )

    def train(self, records: Sequence[Record], out: Path) -> float | None:
        """Train, or go on from the newest checkpoint of a run that was stopped; returns seconds, None when it was."""
        trainer = self.trainer(
            records,
            out,
            bf16=has_fast_bfloat16(torch.device("cpu")),
            save_strategy="steps",
            save_steps=200,
            save_total_limit=1,
            train_sampling_strategy="group_by_length" if self.plan.grouped else "random",
        )
        stopped = any(out.glob("checkpoint-*"))
        started = time.monotonic()
        trainer.train(resume_from_checkpoint=True if stopped else None)
        return None if stopped else time.monotonic() - started

    def choose_threshold(self, validation: Sequence[Record]) -> None:
        """The margin from which on there is no answer, with the highest F1 on these questions."""
        found = self.answers(validation)
        f1 = [
            max(word_f1(gold["text"], each["text"]) for gold in record["answers"] or [{"text": ""}])
            for record, each in zip(validation, found, strict=True)
        ]
        order = sorted(range(len(found)), key=lambda number: found[number]["margin"])
        total = best = float(sum(not record["answers"] for record in validation))  # nothing is answered
        self.threshold = -float("inf")
        for place, number in enumerate(order):
            total += f1[number] - (not validation[number]["answers"])
            if total > best:
                after = found[order[place + 1]]["margin"] if place + 1 < len(order) else found[number]["margin"] + 1
                best, self.threshold = total, (found[number]["margin"] + after) / 2

    def predict(self, records: Sequence[Record]) -> list[Any]:
        """A label, labels, number, choice, tags or answer for each record, in float32 as ours."""
        if self.plan.kind == "answer":
            return [each["text"] if each["margin"] < self.threshold else "" for each in self.answers(records)]
        features = [self._feature(record) for record in records]
        return [
            self._read(record, feature, output)
            for record, feature, output in zip(records, features, self._outputs(features, self.collator), strict=True)
        ]

    def answers(self, records: Sequence[Record]) -> list[dict[str, Any]]:
        """The best text for each question, and by how much no answer is better than it."""
        reader = Reader(self.tokenizer, records, length=self.plan.length)
        return reader.answers(list(self._outputs(reader.features, reader.collator)))

    def _read(self, record: Record, feature: Feature, output: tuple[Tensor, ...]) -> Any:
        scores = output[0]
        if self.plan.kind == "several":
            return [label for label, score in zip(self.labels, scores.tolist(), strict=True) if score > 0]
        if self.plan.kind == "regress":
            return float(scores[0])
        if self.plan.kind == "choose":
            return int(scores.argmax())
        if self.plan.kind == "tag":
            words = self.tokenizer(
                record["words"], is_split_into_words=True, truncation=True, max_length=self.plan.length
            ).word_ids()
            found = ["O" if "O" in self.numbers else self.labels[0]] * len(record["words"])
            for place in range(len(words) - 1, -1, -1):  # backwards: the first token of a word is written last
                if words[place] is not None:
                    found[words[place]] = self.labels[int(scores[place].argmax())]
            return found
        return self.labels[int(scores.argmax())]

    def _outputs(self, features: Sequence[Feature], collator: Any) -> Iterator[tuple[Tensor, ...]]:
        """The scores of each feature, in order; those of similar length go through the model together."""
        self.model.eval()

        def length(index: int) -> int:
            ids = features[index]["input_ids"]
            return max(map(len, ids)) * len(ids) if isinstance(ids[0], list) else len(ids)

        order = sorted(range(len(features)), key=lambda index: -length(index))
        found: dict[int, tuple[Tensor, ...]] = {}
        while order:
            count = max(1, BATCH_TOKENS // length(order[0]))
            chosen, order = order[:count], order[count:]
            batch = collator([features[index] for index in chosen])
            batch = {name: value for name, value in batch.items() if name not in _LABELS}
            with torch.inference_mode():
                output = self.model(**batch)
            every = (output.start_logits, output.end_logits) if "start_logits" in output else (output.logits,)
            for place, index in enumerate(chosen):
                found[index] = tuple(each[place] for each in every)
        for index in range(len(features)):
            yield found[index]


_LABELS = ("labels", "start_positions", "end_positions")
