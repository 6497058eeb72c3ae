"""Question answering with transformers as its own example does it: windows of a passage, the best legal span of all.

S tokens of a window
"""

from collections.abc import Sequence
from typing import Any

import transformers
from torch import Tensor

from experiments.encoder.sets import Record

STRIDE, BEST, LONGEST = 128, 20, 30


def windows(tokenizer: Any, record: Record, length: int) -> Any:
    """The windows of a question and its passage, with the place of each token in the passage."""
    return tokenizer(
        record["question"].lstrip(),
        record["context"],
        truncation="only_second",
        max_length=length,
        stride=STRIDE,
        return_overflowing_tokens=True,
        return_offsets_mapping=True,
    )


def answer_features(tokenizer: Any, records: Sequence[Record], *, length: int) -> list[dict[str, Any]]:
    """A feature for each window: where the first answer begins and ends, or [CLS] where it is not in the window."""
    found = []
    for record in records:
        cut = windows(tokenizer, record, length)
        for number, offsets in enumerate(cut["offset_mapping"]):
            sequence = cut.sequence_ids(number)
            first, last = sequence.index(1), len(sequence) - 1 - sequence[::-1].index(1)
            start = end = 0
            if record["answers"]:
                begin = record["answers"][0]["answer_start"]
                stop = begin + len(record["answers"][0]["text"])
                if offsets[first][0] <= begin and offsets[last][1] >= stop:
                    start = max(place for place in range(first, last + 1) if offsets[place][0] <= begin)
                    end = min(place for place in range(first, last + 1) if offsets[place][1] >= stop)
            names = ("input_ids", "token_type_ids", "attention_mask")
            found.append({**{n: cut[n][number] for n in names}, "start_positions": start, "end_positions": end})
    return found


class Reader:
    """The windows of questions that are asked, and their answers from the scores of the windows."""

    def __init__(self, tokenizer: Any, records: Sequence[Record], *, length: int) -> None:
        self.records, self.collator = records, transformers.DataCollatorWithPadding(tokenizer)
        self.features: list[dict[str, Any]] = []
        self._places: list[tuple[int, list[tuple[int, int] | None]]] = []
        for number, record in enumerate(records):
            cut = windows(tokenizer, record, length)
            for window, offsets in enumerate(cut["offset_mapping"]):
                sequence = cut.sequence_ids(window)
                self._places.append(
                    (number, [place if of == 1 else None for place, of in zip(offsets, sequence, strict=True)])
                )
                self.features.append(
                    {name: cut[name][window] for name in ("input_ids", "token_type_ids", "attention_mask")}
                )

    def answers(self, scores: Sequence[tuple[Tensor, ...]]) -> list[dict[str, Any]]:
        """For each question its best text, and by how much [CLS] is better than it, from starts [S] and ends [S]."""
        best: list[tuple[float, str]] = [(float("-inf"), "")] * len(self.records)
        none = [float("inf")] * len(self.records)
        for (number, places), (starts, ends) in zip(self._places, scores, strict=True):
            none[number] = min(none[number], float(starts[0] + ends[0]))
            context = self.records[number]["context"]
            real = len(places)
            begins = starts[:real].argsort(descending=True)[:BEST].tolist()
            stops = ends[:real].argsort(descending=True)[:BEST].tolist()
            for begin in begins:
                for stop in stops:
                    one, two = places[begin], places[stop]
                    if one is None or two is None or stop < begin or stop - begin + 1 > LONGEST:
                        continue
                    score = float(starts[begin] + ends[stop])
                    if score > best[number][0]:
                        best[number] = (score, context[one[0] : two[1]])
        return [
            {"text": text, "margin": none - score if text else float("inf")}
            for (score, text), none in zip(best, none, strict=True)
        ]
