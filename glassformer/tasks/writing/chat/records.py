"""Dialogues as rows of a decoder: several parts of dialogues in each row, replies alone as labels.

L lessons · R rows · B rows of a batch · S tokens of a row
"""

import hashlib
import json
import math
from array import array
from collections.abc import Sequence
from functools import cached_property

import numpy as np
import numpy.typing as npt
import torch

from glassformer.data.batches.batch import Flat, Integers, Texts, key_of
from glassformer.data.batches.corrupt import IGNORED
from glassformer.data.batches.pack_pairs import PackedPairs, pack_pairs
from glassformer.models.inputs import Batch
from glassformer.tasks.rows import Shape
from glassformer.tasks.writing.chat.turns import Exchange, Lesson
from glassformer.tasks.writing.next_token_scores import NEXT
from glassformer.tasks.writing.pair_source import side_by_side
from glassformer.text.chat_template import Message


class Exchanges(Sequence[Exchange]):
    """Many replies with the turns before them, in the memory of the letters of each dialogue."""

    def __init__(self) -> None:
        self._dialogues, self._places = Texts(), array("q")

    def add(self, messages: Sequence[Message], learned: Sequence[bool]) -> None:
        replies = [number for number, of in enumerate(learned) if of]
        for number in replies:
            self._places.extend((len(self._dialogues), number))
        self._dialogues.append(json.dumps(messages, ensure_ascii=False))

    def __len__(self) -> int:
        return len(self._places) // 2

    def __getitem__(self, number: int) -> Exchange:  # type: ignore[override]  # no slices: nobody asks for them
        number = range(len(self))[number]
        dialogue, turn = self._places[2 * number : 2 * number + 2]
        messages = [Message(*each) for each in json.loads(self._dialogues[dialogue])]
        return Exchange(tuple(messages[:turn]), messages[turn].content)


class DialogueSource:
    """Lessons packed into rows; tokens attend within their lesson (a document) and learn the next token."""

    rows_of_each = 1
    total_counts = None  # each token of a step weighs the same

    def __init__(
        self, lessons: Sequence[Lesson], exchanges: Exchanges, *, length: int, pad_id: int, left_out: int = 0
    ) -> None:
        self.examples, self.lengths, self.left_out, self._pad_id = exchanges, length, left_out, pad_id
        self._ids = Flat.of(each.ids[:-1] for each in lessons)
        self._labels = Flat.of(
            [
                id_ if of else IGNORED
                for id_, of in zip(each.ids[1:], each.learned[1:], strict=True)
            ]
            for each in lessons
        )  # fmt: skip
        digest = hashlib.sha256(repr([type(self).__name__, length]).encode())
        for part in (self._ids.values, self._ids.offsets, self._labels.values):
            digest.update(part.tobytes())
        self.fingerprint = digest.hexdigest()
        sizes = np.stack([self._ids.lengths] * 2, axis=1)  # [L, 2]: the packing is one of pairs
        self.packed: PackedPairs = pack_pairs(sizes, np.array([[length, length]]), key=key_of(self.fingerprint, 0))

    def __len__(self) -> int:
        return len(self.packed.members)

    @cached_property
    def padding(self) -> float:
        return 1 - len(self._ids.values) / max(1, len(self) * self.lengths)

    @property
    def stream(self) -> Integers:
        ends = self._ids.offsets[1:]
        last = self._labels.values[ends - 1]  # the last token of a lesson is not read
        known = last != IGNORED
        return np.insert(self._ids.values.astype(np.int64), ends[known], last[known])

    def rows_of(self, replies: int | None) -> int | None:
        """The number of rows that hold about this many replies; None for all."""
        if replies is None:
            return None
        return min(len(self), math.ceil(replies * len(self) / len(self.examples)))

    @property
    def target_tokens(self) -> npt.NDArray[np.int32]:
        return self._labels.values[self._labels.values != IGNORED]

    def batch(self, examples: Integers, epochs: Integers, *, shape: Shape) -> Batch:
        rows, length = shape
        filled = np.concatenate([examples, np.repeat(examples[-1:], rows - len(examples))])
        members, row, _ = self.packed.members.joined(filled)
        chosen = members.astype(np.int64)
        # Padding belongs to the first lesson: it has something to look at, and nobody looks back at it.
        read = side_by_side(self._ids, chosen, row, (rows, length), fill=(self._pad_id, 0))
        labels = side_by_side(self._labels, chosen, row, (rows, length), fill=(IGNORED, 0)).ids  # [B, S]
        labels[len(examples) :] = IGNORED
        return Batch(
            inputs=read.inputs(),
            labels={NEXT: torch.from_numpy(labels)},
            counts={NEXT: float((labels != IGNORED).sum())},
            row_ids=torch.arange(rows, dtype=torch.int32),
            weights=torch.from_numpy((np.arange(rows) < len(examples)).astype(np.float32)),
            tokens=int(self._ids.lengths[chosen[row < len(examples)]].sum()),
        )
