"""Which answers of a model leave in an ONNX graph, and under which names: those of transformers and optimum.

B sentences · S tokens · W width · V vocabulary · L labels
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from glassformer.base.errors import ConfigError
from glassformer.config import ModelConfig
from glassformer.models.heads import VECTORS
from glassformer.models.inputs import Inputs, Output

FEATURES = "features"
POOLINGS = ("mean", "first", "max")


@dataclass(frozen=True)
class Answer:
    """One output of the graph: its name there, its axes, and where it stands in the model's `Output`; of an answer with
    two scores for each token, in which `column`. `made` computes it where it stands nowhere.
    """

    name: str
    axes: tuple[str, ...]
    field: str = ""
    column: int | None = None
    made: Callable[[Output, Inputs], Tensor] | None = None

    def of(self, output: Output, inputs: Inputs) -> Tensor:
        if self.made is not None:
            return self.made(output, inputs)
        found: Tensor = getattr(output, self.field)
        return found if self.column is None else found[..., self.column]


@dataclass(frozen=True)
class ExportedHead:
    """What a graph answers: the heads of the model that are computed (None: all), and the outputs."""

    name: str
    heads: tuple[str, ...] | None
    answers: tuple[Answer, ...]

    def output(self, arrays: Mapping[str, Tensor]) -> Output:
        """A graph's answers as the model itself gives them; the first one as `states` where it has none."""
        fields: dict[str, Tensor] = {}
        for answer in self.answers:
            if answer.field and answer.column is None:
                fields[answer.field] = arrays[answer.name]
        columns = [answer for answer in self.answers if answer.column is not None]
        if columns:
            fields[columns[0].field] = torch.stack([arrays[answer.name] for answer in columns], dim=-1)  # [B, S, 2]
        return Output(
            states=fields.get("states", next(iter(arrays.values()))),
            logits=fields.get("logits"),
            sentence_logits=fields.get("sentence_logits"),
            token_logits=fields.get("token_logits"),
        )


_ROW, _TOKENS = ("batch", "labels"), ("batch", "sequence", "labels")
_VOCABULARY = ("batch", "sequence", "vocabulary")

HEADS: dict[str, ExportedHead] = {
    head.name: head
    for head in (
        ExportedHead("masked words", ("head",), (Answer("logits", _VOCABULARY, "logits"),)),
        ExportedHead(
            "masked words and sentence",
            ("head", "sentence_head"),
            (
                Answer("prediction_logits", _VOCABULARY, "logits"),
                Answer("seq_relationship_logits", _ROW, "sentence_logits"),
            ),
        ),
        ExportedHead("sentence", ("sentence_head",), (Answer("logits", _ROW, "sentence_logits"),)),
        ExportedHead("token", ("token_head",), (Answer("logits", _TOKENS, "token_logits"),)),
        ExportedHead(
            "span",
            ("token_head",),
            (
                Answer("start_logits", ("batch", "sequence"), "token_logits", 0),
                Answer("end_logits", ("batch", "sequence"), "token_logits", 1),
            ),
        ),
    )
}


def features(config: ModelConfig, pooling: str) -> ExportedHead:
    """The states of the last layer, and one vector of them for each text; BERT's pooled vector where there is one."""
    if pooling not in POOLINGS:
        one_of = ", ".join(POOLINGS)
        raise ConfigError(f"a text's vector is one of {one_of}", got=repr(pooling), do="choose it with --pooling")
    answers = [
        Answer("last_hidden_state", ("batch", "sequence", "width"), "states"),
        Answer(
            "sentence_embedding",
            ("batch", "width"),
            made=lambda output, inputs: VECTORS[pooling](output.states, inputs.real),
        ),
    ]
    pooler = config.sentence_head is not None and not config.sentence_head.labels
    if pooler:
        answers.append(Answer("pooler_output", ("batch", "width"), "sentence_logits"))
    return ExportedHead(FEATURES, None if pooler else (), tuple(answers))


def head_of(config: ModelConfig, *, only_features: bool, pooling: str = "mean") -> ExportedHead:
    """The head to export, or the states where there is none; ConfigError for a model with a decoder."""
    if config.decoder is not None:
        kind = "a decoder" if config.encoder is None else "an encoder–decoder"
        raise ConfigError(
            "only an encoder can be exported to ONNX",
            got=f"{config.family}, {kind}",
            do="export it with --to huggingface",
        )
    sentence = config.sentence_head is not None and bool(config.sentence_head.labels)
    if only_features:
        return features(config, pooling)
    if config.token_head is not None:
        return HEADS["span" if config.token_head.spans else "token"]
    if config.head is not None:
        return HEADS["masked words and sentence" if sentence else "masked words"]
    return HEADS["sentence"] if sentence else features(config, pooling)
