"""What a task computes: no scores that nobody asks for, few padding tokens, rows as a stream."""

from collections.abc import Iterator
from typing import Any

import torch

from glassformer.models.transformer import Transformer
from glassformer.tasks.predictor import evaluating, predict


def test_a_head_that_is_not_asked_for_costs_nothing() -> None:
    """On 32 × 64 a sentence task computes no vocabulary score, and in the last block one query, one output and one
    feed-forward network for each row: counted by torch.
    """
    from torch.utils.flop_counter import FlopCounterMode

    from glassformer.models.families import bert
    from glassformer.models.inputs import Inputs
    from glassformer.models.transformer import build

    model = build(bert(size="tiny", vocabulary=30522, sentence_labels=2)).eval()
    inputs = Inputs(ids=torch.randint(0, 30522, (32, 64)))

    def operations(**asked: Any) -> int:
        with FlopCounterMode(display=False) as counted, torch.no_grad():
            model(inputs, **asked)
        return int(counted.get_total_flops())

    everything, sentence, none = operations(), operations(heads=("sentence_head",)), operations(heads=())
    scores = 2 * 32 * 64 * 128 * 30522  # of the vocabulary, at every token
    assert everything - sentence >= scores
    pooler = 2 * 32 * (128 * 128 + 128 * 2)  # and two labels, at one token of each row
    others = 32 * 63 * 2 * 10 * 128 * 128  # query, output, feed-forward network; torch counts no fused attention here
    assert none - sentence == others - pooler


def test_predictions_compute_few_tokens_more_than_there_are() -> None:
    """5,000 texts of usual, log-normal lengths: at most 1.3 tokens computed for each real one."""
    import numpy as np

    from glassformer.models.families import bert
    from glassformer.models.transformer import build
    from glassformer.tasks.labels.classify.settings import ClassifySection
    from glassformer.tasks.labels.classify.task import Classify
    from glassformer.text.train import train_tokenizer

    tokenizer = train_tokenizer("words", ["word"], vocabulary=10)
    model = build(
        bert(size="tiny", layers=1, width=8, heads=1, vocabulary=tokenizer.vocabulary_size, sentence_labels=2)
    ).eval()
    task = Classify(ClassifySection(labels=("a", "b")), tokenizer, length=128, segments=False)
    seen = [0, 0]

    class Advance(Classify):
        def predict(self, model: Transformer, batches: Iterator[Any]) -> Iterator[tuple[int, Any]]:
            for batch in batches:
                seen[0] += batch.inputs.ids.numel()
                seen[1] += batch.tokens
                yield from super().predict(model, iter([batch]))

    counting = Advance(task.section, tokenizer, length=128, segments=False)
    lengths = np.clip(np.random.default_rng(0).lognormal(3.0, 0.8, 5000), 1, 120).astype(int)
    examples = (counting.example({"text": " ".join(["word"] * int(length))}, "") for length in lengths)
    with evaluating(model):
        assert sum(1 for _ in predict(counting, model, examples)) == 5000
    computed, real = seen
    assert real == sum(int(length) + 2 for length in lengths)
    assert computed <= 1.3 * real


def test_any_number_of_records_streams() -> None:
    """No more rows are read ahead than are stated, however many records there are, and answers come on the way."""
    from glassformer.models.families import bert
    from glassformer.models.transformer import build
    from glassformer.tasks.labels.classify.settings import ClassifySection
    from glassformer.tasks.labels.classify.task import Classify
    from glassformer.text.train import train_tokenizer

    tokenizer = train_tokenizer("words", ["word"], vocabulary=10)
    model = build(
        bert(size="tiny", layers=1, width=8, heads=1, vocabulary=tokenizer.vocabulary_size, sentence_labels=2)
    ).eval()
    task = Classify(ClassifySection(labels=("a", "b")), tokenizer, length=16, segments=False)
    read = 0

    def examples() -> Iterator[Any]:
        nonlocal read
        for number in range(3000):
            read += 1
            yield task.example({"text": "word " * (1 + number % 40)}, "")

    ahead, task.read_ahead = 0, 200
    for done, _ in enumerate(predict(task, model, examples()), start=1):
        ahead = max(ahead, read - done)
    assert done == 3000
    assert ahead <= 200
