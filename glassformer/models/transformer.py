"""The three arrangements of a stack: encoder, decoder, encoder–decoder.

B sentences · S tokens · K memory tokens · A asked tokens · W width · V vocabulary · L labels
N scored tokens
"""

import hashlib
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn

from glassformer.base.errors import ConfigError, ShapeError, UnknownNameError
from glassformer.config import InitialConfig, ModelConfig
from glassformer.models.heads import SentenceHead, TokenHead, VocabularyHead, first_real_index
from glassformer.models.inputs import Inputs, Output
from glassformer.models.stack import Stack
from glassformer.parts.cache import Cache, KeyValueCache
from glassformer.parts.dropout import Dropout

HEADS = ("head", "sentence_head", "token_head")
Answered = Callable[[Iterable[Any]], Iterator[Any]]
"""Requests to the steps that answer them, as the decoding loop has them."""


def _ours(requests: Iterable[Any], wanted: object, own: Answered) -> Iterator[Any]:
    """The usual `loop` of a model: that of this package."""
    return own(requests)


class Transformer(nn.Module):
    """An encoder, a decoder, or an encoder whose memory a decoder looks at; then the heads."""

    loop: Callable[[Iterable[Any], Any, Answered], Iterator[Any]]
    """What `decode` runs: it is given the requests, what is wanted, and our own loop."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.config, self.loop = config, _ours
        self.encoder = None if config.encoder is None else Stack(config.encoder)
        self.decoder = None if config.decoder is None else Stack(config.decoder)
        if config.share_embeddings:
            assert self.encoder is not None
            assert self.decoder is not None
            self.decoder.embed.word = self.encoder.embed.word
        stack = config.output_stack
        self.head = None if config.head is None else VocabularyHead(config.head, stack.width, stack.embed.vocabulary)
        head = config.sentence_head
        self.sentence_head = None if head is None else SentenceHead(head, stack.width, stack.embed.vocabulary)
        self.token_head = None if config.token_head is None else TokenHead(config.token_head, stack.width)
        for site, module in enumerate(module for module in self.modules() if isinstance(module, Dropout)):
            module.site = site

    def forward(
        self,
        inputs: Inputs,
        decoder_inputs: Inputs | None = None,
        *,
        memory: Tensor | None = None,
        scored_at: Tensor | None = None,
        cache: KeyValueCache | None = None,
        heads: Collection[str] | None = None,
        cross_scores: bool = False,
    ) -> Output:
        """States, and the answers of the heads that are asked for.

        `inputs` feeds the only stack, or the encoder when there are two; `decoder_inputs` then feeds the decoder.
        `memory` [B, K, W] replaces the encoder's run when it is already known. `scored_at` [N] are flat
        indices into B·S where vocabulary scores are wanted; None = everywhere. `heads` names those to compute, of
        `head`, `sentence_head` and `token_head`; None = all that the model has. One that is not asked for costs
        nothing.

        Where heads are named and `scored_at` is [B, A], as many tokens in each row, the states are [B, A, W], those
        that the heads read: the last block computes no others. A sentence head reads the first token, [B, 1, W].

        With `cross_scores` the output has the scaled scores of the decoder's last cross-attention before the mask;
        raises ShapeError for a model whose last block has none.
        """
        kept: list[Tensor] | None = [] if cross_scores else None  # filled by the last block's cross-attention
        if self.encoder is None or self.decoder is None:
            stack = self.decoder if self.encoder is None else self.encoder
            assert stack is not None
            answering, dropout_key = inputs, stack.dropout_key(inputs)
            asked = self._asked(inputs, scored_at, heads)
            states = stack(replace(inputs, dropout_key=dropout_key), cache=cache, asked=asked)  # [B, S or A, W]
        else:
            if decoder_inputs is None:
                raise ShapeError("an encoder-decoder needs decoder_inputs in addition to its inputs", got="no target")
            dropout_key = self.encoder.dropout_key(inputs)
            inputs = replace(inputs, dropout_key=dropout_key)
            memory = self.encoder(inputs) if memory is None else memory  # [B, K, W]
            answering = decoder_inputs = replace(decoder_inputs, dropout_key=decoder_inputs.dropout_key or dropout_key)
            asked = self._asked(answering, scored_at, heads)
            states = self.decoder(
                decoder_inputs,
                cache=cache,
                memory=memory,
                memory_real=inputs.real,
                memory_documents=inputs.documents,
                asked=asked,
                cross_scores=kept,
            )  # [B, S or A, W]
        logits = None
        if self.head is not None and (heads is None or "head" in heads):
            if scored_at is None:
                chosen = states  # [B, S, W]
            elif asked is None:
                chosen = states.flatten(0, 1).index_select(0, scored_at.flatten())  # [N, W]
            else:
                chosen = states[:, asked.shape[1] - scored_at.shape[1] :].flatten(0, 1)  # [N, W]
            logits = self.head(chosen, self.word_table)
        answer = None
        if self.sentence_head is not None and (heads is None or "sentence_head" in heads):
            given = replace(answering, dropout_key=dropout_key)
            answer = self.sentence_head(states, given, first_alone=asked is not None)  # [B, L]
        tags = None
        if self.token_head is not None and (heads is None or "token_head" in heads):
            labelled = answering.real if answering.labelled is None else answering.labelled
            tags = self.token_head(states, dropout_key, labelled)  # [B, S, L]
        if kept is not None and not kept:
            raise ShapeError(
                "cross_scores are of a decoder whose last block looks at an encoder",
                got=f"the family {self.config.family}",
            )
        return Output(
            states=states,
            logits=logits,
            sentence_logits=answer,
            token_logits=tags,
            memory=memory,
            cache=cache,
            cross_scores=None if kept is None else kept[0],
        )

    def _asked(self, inputs: Inputs, scored_at: Tensor | None, heads: Collection[str] | None) -> Tensor | None:
        """The tokens that the named heads read, [B, A] in each row, the sentence head's first; None = all."""
        if heads is None:
            return None
        if unknown := [head for head in heads if head not in HEADS]:
            raise UnknownNameError(f"a head is one of {', '.join(HEADS)}", got=repr(unknown[0]))
        if self.token_head is not None and "token_head" in heads:
            return None
        sentence, tokens = self.sentence_head if "sentence_head" in heads else None, "head" in heads
        if tokens and (scored_at is None or scored_at.dim() == 1):
            return None
        if sentence is not None and not sentence.reads_first_alone:
            return None
        batch, length = inputs.shape
        read = [] if sentence is None else [first_real_index(inputs.real, batch, inputs.device)[:, None]]  # [B, 1]
        if tokens:
            assert scored_at is not None
            rows = torch.arange(batch, device=inputs.device)[:, None] * length  # [B, 1]
            # Only on the CPU: the answer of an accelerator would be waited for at each step, and it refuses by itself.
            checked = scored_at.is_cpu and not torch.compiler.is_compiling()
            if checked and not _in_their_rows(scored_at, rows, length):
                raise ShapeError(
                    f"scored_at [B, A] must be tokens of its own row: from 0 to {length - 1} in the first, each row "
                    f"{length} more",
                    got=str(scored_at.tolist())[:80],
                )
            read.append(scored_at - rows)  # [B, A]
        return torch.cat(read, dim=1) if read else None  # [B, A]

    @property
    def writes_itself(self) -> bool:
        """Whether its `loop` is that of this package."""
        return self.loop is _ours

    @property
    def output_stack(self) -> Stack:
        """The stack whose states the heads read."""
        stack = self.decoder if self.decoder is not None else self.encoder
        assert stack is not None
        return stack

    @property
    def dtype(self) -> torch.dtype:
        return self.word_table.dtype

    @property
    def word_table(self) -> Tensor:
        """The word vectors [V, W] of the stack that answers; a tied head scores against them."""
        return self.output_stack.embed.word.weight

    def new_cache(self) -> Cache:
        """An empty cache for the decoder's blocks (or the only stack's). Raises ConfigError where tokens look ahead:
        each new one would change the states of those in the cache.
        """
        if not self.config.output_stack.causal:
            raise ConfigError(
                "a cache needs a causal stack",
                got=f"{self.config.family}, whose tokens also see later ones",
                do="run it on the whole text at once",
            )
        return Cache(len(self.output_stack.blocks))


def _in_their_rows(scored_at: Tensor, rows: Tensor, length: int) -> bool:
    """Whether flat indices [B, A] are those of tokens in the rows that begin at `rows` [B, 1]."""
    return len(scored_at) == len(rows) and bool(((scored_at >= rows) & (scored_at < rows + length)).all())


def build(config: ModelConfig, *, seed: int = 0) -> Transformer:
    """A model with fresh weights, the same for the same seed and the same version of torch. Raises ConfigError for
    anything but a config.
    """
    if not isinstance(config, ModelConfig):
        raise ConfigError("a ModelConfig is needed", got=repr(config)[:60], do="gf.family_config makes one by name")
    model = Transformer(config)
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if parameter.dim() > 1:
                _draw(parameter, config.initial, generator)
            elif name.endswith("bias"):
                parameter.zero_()
    return model


def _draw(parameter: Tensor, initial: InitialConfig, generator: torch.Generator) -> None:
    if initial.kind == "truncated_normal":
        limit = 2 * initial.deviation
        nn.init.trunc_normal_(parameter, 0.0, initial.deviation, -limit, limit, generator=generator)
    elif initial.kind == "normal":
        nn.init.normal_(parameter, 0.0, initial.deviation, generator=generator)
    else:
        nn.init.xavier_uniform_(parameter, generator=generator)


def fingerprint(model: Transformer) -> str:
    """A digest of the config and of every weight: two models with the same one compute the same."""
    digest = hashlib.sha256(model.config.model_dump_json().encode())
    for name, weight in sorted(model.state_dict().items()):
        digest.update(f"{name}{weight.dtype}{list(weight.shape)}".encode())
        digest.update(weight.detach().cpu().contiguous().flatten().view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()
