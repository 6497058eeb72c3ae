"""What the notes say of BERT and its uses, tried out: C-17 … C-19, C-21 … C-26, C-40; and the figures that are quoted.

B sentences · S tokens · W width · L labels
"""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from glassformer.config import ModelConfig
from glassformer.data.batches.corrupt import IGNORED
from glassformer.data.batches.pairs import IS_NEXT
from glassformer.models.chain import viterbi
from glassformer.models.families import bert, distilbert
from glassformer.models.inputs import Inputs
from glassformer.models.transformer import Transformer, build
from glassformer.scoring.bio import legal_steps, spans_of
from glassformer.tasks.labels.answer.answers import best_spans, encode
from glassformer.tasks.labels.answer.settings import AnswerSection
from glassformer.tasks.labels.tag.settings import TagSection
from glassformer.tasks.labels.tag.task import Tag
from glassformer.text.tokenizer import Tokenizer
from glassformer.text.train import train_tokenizer
from glassformer.text.windows import text_room, windows
from glassformer.training.optimize import build_optimizer
from glassformer.training.settings import TrainSection, TuneSection
from glassformer.training.tune import choose
from manual import quoted
from tests.taps import record_taps

SENTENCE = "Help Prince Mayuko Transfer Huge Inheritance"
TEXTS = ("She likes the summer better than the winter.", "He loves to cook healthy food for his friends.")
LABELS = ("O", "B-PER", "I-PER", "B-LOC", "I-LOC")


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return train_tokenizer("wordpiece", TEXTS * 3, vocabulary=90)


def small(tokenizer: Tokenizer, **more: Any) -> ModelConfig:
    return bert(vocabulary=tokenizer.vocabulary_size, layers=3, width=12, heads=3, feed_forward=16, dropout=0.0, **more)


def counts(config: ModelConfig) -> dict[str, int]:
    """The numbers of each parameter, without making any."""
    with torch.device("meta"):
        model = Transformer(config)
    return {name: parameter.numel() for name, parameter in model.named_parameters()}


# --------------------------------------------------------------------------- C-17, C-18, C-19


def test_every_row_begins_with_cls_whatever_it_is_for(tokenizer: Tokenizer) -> None:
    """C-17: the rows of pre-training, of one text and of a pair; and the names are in brackets."""
    cls = tokenizer.vocabulary().index("[CLS]")
    assert {tokenizer.frame_ids[0], tokenizer.pair_frame_ids[0]} == {(cls,)}
    assert {"[CLS]", "[SEP]", "[MASK]"} <= set(tokenizer.vocabulary())
    assert not {"<CLS>", "<SEP>", "<MASK>"} & set(tokenizer.vocabulary())


def test_the_classifier_reads_the_pooler_and_not_the_raw_vector(tokenizer: Tokenizer) -> None:
    """C-17."""
    model = build(small(tokenizer, sentence_labels=2)).eval()
    with record_taps(model) as seen:
        output = model(Inputs(ids=torch.tensor([[2, 7, 8, 9, 3]])))
    weights = dict(model.named_parameters())
    first = output.states[:, 0]  # [B, W]
    torch.testing.assert_close(seen["sentence_head.first"], first)
    pooled = torch.tanh(first @ weights["sentence_head.pooler.weight"].T + weights["sentence_head.pooler.bias"])
    logits = pooled @ weights["sentence_head.output.weight"].T + weights["sentence_head.output.bias"]  # [B, L]
    torch.testing.assert_close(output.sentence_logits, logits)
    assert float((seen["sentence_head.pooled"] - first).detach().abs().max()) > 0.1


def test_512_tokens_are_fewer_words(tokenizer: Tokenizer) -> None:
    """C-18: the positions are 512; two tokens of a row are special, three with a pair; a word may have several."""
    assert bert().output_stack.max_length == 512
    special = [sum(map(len, frame)) for frame in (tokenizer.frame_ids, tokenizer.pair_frame_ids)]
    assert [text_room(count, 512) for count in special] == [510, 509]
    text = " ".join(["Inheritance"] * 400)
    tokens = len(tokenizer.encode(text, special=False))
    assert len(text.split()) < 512 < tokens
    assert len(windows(tokens, 510)) > 1


def test_the_last_layer_is_one_part_in_seventy_thousand() -> None:
    """C-19: what is trained where all but BERT-Base's last layer is frozen."""
    found = counts(bert(sentence_labels=2, vocabulary_head=False))
    last = sum(count for name, count in found.items() if name.startswith("sentence_head.output"))
    assert (last, sum(found.values())) == (1538, 109_483_778)
    assert round(sum(found.values()) / last, -3) == 71_000


def test_frozen_only_the_head_moves_else_every_weight_does(tokenizer: Tokenizer) -> None:
    """C-19: one step of training, each parameter compared with what it was."""
    for frozen in ((), ("all-but-head",)):
        model = build(small(tokenizer, sentence_labels=2, vocabulary_head=False))
        choose(model, TuneSection(freeze=frozen)).begin(model, 0)
        before = {name: parameter.detach().clone() for name, parameter in model.named_parameters()}
        optimizer = build_optimizer(model, TrainSection(steps=1, learning_rate=0.1))
        output = model(Inputs(ids=torch.arange(40).view(2, 20), segments=torch.tensor([[0, 1] * 10] * 2)))
        assert output.sentence_logits is not None
        (output.sentence_logits * torch.tensor([[1.0, -1.0], [-1.0, 2.0]])).sum().backward()
        optimizer.step()
        moved = {name for name, parameter in model.named_parameters() if not torch.equal(parameter, before[name])}
        heads = {name for name in before if name.startswith("sentence_head.")}
        assert moved == (heads if frozen else set(before))


# --------------------------------------------------------------------------- C-21, C-22, C-23


def test_label_0_is_the_next_sentence() -> None:
    """C-21."""
    assert IS_NEXT == 0


def test_the_best_start_and_the_best_end_may_be_no_span() -> None:
    """C-22: of all spans, those that run backwards, leave the passage or are too long do not count."""
    logits = torch.randn(4, 30, 2, dtype=torch.float64)
    may_start = torch.zeros(4, 30, dtype=torch.bool)
    may_start[:, 8:29] = True  # before it the question, after it [SEP]
    ends_at = torch.tensor([29, 29, 29, 29])
    longest = 5
    found = best_spans(logits, may_start, ends_at, longest=longest, count=20)  # [B, N, 3]
    legal = 0
    for row in range(4):
        spans = [(first, last) for first in range(8, 29) for last in range(first, min(first + longest, 29))]
        scores = {span: float(logits[row, span[0], 0] + logits[row, span[1], 1]) for span in spans}
        best = sorted(spans, key=lambda span: -scores[span])[:20]
        assert [tuple(map(int, each[1:])) for each in found[row, :20]] == best
        assert np.allclose(found[row, :20, 0], [scores[span] - float(logits[row, 0].sum()) for span in best])
        naive = (int(logits[row, :, 0].argmax()), int(logits[row, :, 1].argmax()))
        legal += naive in spans
    assert legal < 4
    assert AnswerSection().longest_answer == int(quoted_values("question answering")["answer"])
    assert found.shape[1] == int(quoted_values("question answering")["best"])


def test_an_answer_is_a_slice_of_its_passage(tokenizer: Tokenizer) -> None:
    """C-22: each span of tokens is characters of the text, with its capitals and blanks: nothing is written."""
    text = "She  likes the WINTER,\nnot the summer."
    passage = encode(tokenizer, text)
    for first in range(len(passage)):
        for last in range(first, len(passage)):
            start, end = passage.characters_of(first, last)
            assert text[start:end].strip() == text[start:end]
            assert passage.tokens_of(start, end) == (first, last)


def quoted_values(what: str) -> dict[str, str]:
    (found,) = (figure.values for figure in quoted.figures() if figure.what.startswith(what))
    return found


def test_the_single_model_is_a_third_as_far_above_people_as_the_ensemble() -> None:
    """C-23."""
    names = ("SQuAD 1.1, test: people", "SQuAD 1.1, test: BERT, a single", "SQuAD 1.1, test: BERT, an ensemble")
    people, single, ensemble = (float(quoted_values(name)["F1"]) for name in names)
    assert (round(single - people, 1), round(ensemble - people, 1)) == (0.6, 2.0)
    for size in ("Base", "Large"):
        assert float(quoted_values(f"SQuAD 1.1, development: BERT-{size}")["F1"]) < people


# --------------------------------------------------------------------------- C-24, C-25, C-26


def test_only_the_first_token_of_a_word_has_a_tag(tokenizer: Tokenizer) -> None:
    """C-24: the others, and [CLS] and [SEP], have no label."""
    task = Tag(TagSection(labels=LABELS), tokenizer, length=None)
    words = SENTENCE.split()
    example = task.example({"words": words, "tags": ["O", "B-PER", "I-PER", "O", "O", "O"]}, "")
    (row,) = task.rows(example)
    tokens = [len(tokenizer.encode(word, special=False)) for word in words]
    assert max(tokens) > 1
    first = np.cumsum([1, *tokens[:-1]]).tolist()
    labelled = [place for place, label in enumerate(row.labels["tag"]) if label != IGNORED]
    assert labelled == first
    assert len(row.ids) == sum(tokens) + 2


def test_each_words_likeliest_tag_may_be_illegal() -> None:
    """C-24: I-PER where no person has begun; the best legal sequence has none such."""
    logits = torch.tensor([[2.0, 1.9, 0, 0, 0], [0, 0, 3.0, 0, 0], [0, 0, 1.0, 0, 1.1]], dtype=torch.float64)
    each = [LABELS[number] for number in logits.argmax(dim=1)]
    best = viterbi(logits.numpy(), legal_steps(LABELS)).tolist()
    assert each == ["O", "I-PER", "I-LOC"]
    assert [LABELS[number] for number in best] == ["B-PER", "I-PER", "I-PER"]
    assert len(spans_of([LABELS[number] for number in best])) == 1


def test_six_vectors_of_one_word(tokenizer: Tokenizer) -> None:
    """C-25: of "Help" in its sentence: five are as wide as the model, one four times; all but the first know the
    sentence.
    """
    model = build(small(tokenizer)).eval()

    def vectors(text: str) -> dict[str, torch.Tensor]:
        before, after = tokenizer.frame_ids
        ids = torch.tensor([[*before, *tokenizer.encode(text, special=False).ids, *after]])
        with record_taps(model) as seen:
            model(Inputs(ids=ids))
        layers = [seen[f"encoder.blocks.{block}.feed_forward.norm"][0, 1] for block in range(3)]  # [W] each
        return {
            "embeddings": seen["encoder.embed.word"][0, 1],
            "last": layers[-1],
            "sum of all": torch.stack(layers).sum(0),
            "second-to-last": layers[-2],
            "sum of last": torch.stack(layers[-2:]).sum(0),
            "side by side": torch.cat(layers[-2:]),
        }

    one, other = vectors(SENTENCE), vectors("Help her")
    assert {name: len(vector) for name, vector in one.items()} == {**dict.fromkeys(one, 12), "side by side": 24}
    for name, vector in one.items():
        assert torch.equal(vector, other[name]) == (name == "embeddings"), name


def test_each_of_the_six_scores_is_below_training_all_weights() -> None:
    """C-25."""
    six = [float(value) for value in quoted_values("CoNLL-2003, development F1, frozen").values()]
    trained = quoted_values("CoNLL-2003, development F1, all weights")
    assert len(six) == 6
    assert max(six) < float(trained["BERT-Base"]) < float(trained["BERT-Large"])


def test_distilbert_returns_states_and_no_logits() -> None:
    """C-26: 768 numbers for each token; a logistic regression reads those of the first."""
    with torch.device("meta"):
        model = Transformer(distilbert(vocabulary_head=False))
        output = model(Inputs(ids=torch.zeros(2, 9, dtype=torch.int64)))
    assert (output.logits, output.sentence_logits) == (None, None)
    assert output.states[:, 0].shape == (2, 768)


def test_distilbert_has_no_pooler_and_no_segments() -> None:
    """C-26, next to BERT, which has both."""
    for config, there in ((distilbert(vocabulary_head=False), False), (bert(sentence_labels=2), True)):
        names = counts(config)
        assert any("pooler" in name for name in names) == there
        assert any("segment" in name for name in names) == there


# --------------------------------------------------------------------------- C-40


def test_attention_sees_the_whole_text_where_a_convolution_sees_neighbours(tokenizer: Tokenizer) -> None:
    """C-40: another last word moves all outputs of one attention; of a convolution of three, its neighbour's."""
    model = build(small(tokenizer)).eval()
    ids = torch.arange(20, 32)[None]  # [1, S]
    other = ids.clone()
    other[0, -1] = 40
    convolution = nn.Conv1d(12, 12, 3, padding=1)

    def after(ids: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        with torch.no_grad(), record_taps(model) as seen:
            model(Inputs(ids=ids))
            return seen["encoder.blocks.0.self_attention.output"], convolution(seen["encoder.embed.norm"].mT).mT

    moved = [(one != two).any(dim=-1)[0].tolist() for one, two in zip(after(ids), after(other), strict=True)]
    assert moved == [[True] * 12, [False] * 10 + [True] * 2]


# --------------------------------------------------------------------------- the table of quoted figures


def test_the_table_of_quoted_figures_is_built_from_its_list(repository: Path) -> None:
    page = (repository / "docs" / "measured" / "imprecise.md").read_text(encoding="utf-8")
    assert page == quoted.page()


@pytest.mark.parametrize("figure", quoted.figures(), ids=lambda figure: figure.what)
def test_each_quoted_figure_says_where_it_stands(figure: quoted.Figure) -> None:
    assert figure.read in ("memory", "transcription") or re.fullmatch(r"\d{4}-\d\d-\d\d", figure.read)
    in_repository = re.match(r"[\w.-]+/[\w.-]+, `.+`", figure.source)
    in_paper = re.search(r" \d{4}, (§|appendix )", figure.source)
    assert in_repository or in_paper
    if in_repository and figure.read not in ("memory", "transcription"):
        assert re.fullmatch(r"[0-9a-f]{40}", figure.at), "what was read again names its commit"


SCORE = re.compile(r"(?<![\w.])(\d{2}\.\d+|0\.\d{3})(?![\w.])")


def test_no_entry_quotes_a_score_that_is_not_in_the_table(repository: Path) -> None:
    """Of the entries about scores: every number with a point, to the digits the entry prints."""
    page = (repository / "docs" / "measured" / "imprecise.md").read_text(encoding="utf-8")
    known = [float(part) for each in quoted.figures() for value in each.values.values() for part in numbers(value)]
    for number in ("C-23", "C-25", "C-26"):
        (text,) = re.findall(rf"^### {number} · (.*?)(?=^##)", page, re.MULTILINE | re.DOTALL)
        right = text.partition("**Right**")[2]
        assert SCORE.search(right)
        for score in SCORE.findall(right):
            digits = len(score.partition(".")[2])
            assert any(round(each, digits) == float(score) for each in known), f"{number} quotes {score}"


def numbers(value: str) -> list[str]:
    return re.findall(r"\d+\.\d+", value)
