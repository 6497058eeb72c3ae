"""A second statement of the Transformer: what every tensor is computed from, by which rule, over which axis.

Read from the config alone; nothing here knows how `parts/` computes. `verify` compares the two. An operand's axes are
read as explained in `named.py`. Facts of the inputs are called `inputs.ids`, `decoder_inputs.real` …, weights
`parameters.<path>`.
"""

import math
from collections.abc import Collection
from dataclasses import dataclass, fields, replace
from functools import lru_cache

from glassformer.config import (
    AttentionConfig,
    AttentionSublayerConfig,
    BlockConfig,
    EmbedConfig,
    FeedForwardConfig,
    FeedForwardSublayerConfig,
    ModelConfig,
    RotaryConfig,
    StackConfig,
)
from glassformer.look.formulas.named import Operand
from glassformer.look.formulas.rules.activations import Activation, Gate
from glassformer.look.formulas.rules.evaluator import Rule, Statement
from glassformer.look.formulas.rules.masks import FillAdd, FillSet, MayLook, Reach
from glassformer.look.formulas.rules.positions import RelativeBias, Sinusoid
from glassformer.look.formulas.rules.rotations import rotation
from glassformer.look.formulas.rules.softmax_and_norms import Softmax
from glassformer.look.formulas.rules.sums import Add, Concatenate, DotProduct, LookUp, Scale, WeightedSum
from glassformer.look.formulas.writer import STREAM, Writer, weight

SQUARE = "sentence head query key"
MIXED = "sentence head query channel"

Sublayer = AttentionSublayerConfig | FeedForwardSublayerConfig


def state(config: ModelConfig, given: Collection[str] = ("inputs.ids",), *, at_places: bool = False) -> Statement:
    """The formulas of a model, masked by the `given` facts alone; `at_places`: scored at chosen places only."""
    return _state(config, frozenset(given), at_places)


@lru_cache(maxsize=64)
def _state(config: ModelConfig, given: frozenset[str], at_places: bool) -> Statement:
    """The same once: the runs of a page differ in their words, not in their formulas."""
    return _Writer(config, given, at_places).write()


@dataclass
class _Writer(Writer):
    """Walks the config in the order of the model and writes one formula a tensor."""

    def write(self) -> Statement:
        config, last = self.config, ""
        if config.encoder is not None:
            last = self.stack("encoder", config.encoder)
        if config.decoder is not None:
            if config.encoder is not None:
                self.memory, self.side = last, "decoder_inputs"
            last = self.stack("decoder", config.decoder)
        self.entering["states"] = last
        if config.head is not None:
            self.entering["head"] = last
            self.vocabulary_head(config.head, last)
        if config.sentence_head is not None:
            self.entering["sentence_head"] = last
            self.sentence_head(config.sentence_head, last)
        if config.token_head is not None:
            self.entering["token_head"] = last
            self.token_head(config.token_head, last)
        return Statement(self.formulas, self.entering, self.memory)

    def stack(self, path: str, config: StackConfig) -> str:
        x = self.embed(f"{path}.embed", config.embed, config.width)
        if (bias := config.relative_bias) is not None:
            table = weight(f"{path}.relative_bias.weight", "bucket head")
            rule = RelativeBias(table, bias.buckets, bias.max_distance, both_directions=not config.causal)
            self.add(f"{path}.relative_bias", SQUARE, rule)
        for index, block in enumerate(config.blocks):
            self.entering[f"{path}.blocks.{index}"] = x
            x = self.block(path, f"{path}.blocks.{index}", block, config, x)
        if config.norm is not None:
            self.entering[f"{path}.norm"] = x
            x = self.norm(f"{path}.norm", config.norm, x, STREAM)
        return x

    def embed(self, path: str, config: EmbedConfig, width: int) -> str:
        scale = math.sqrt(width) if config.scaled else 1.0
        masked_words = self.fact("masked_words", "sentence token")
        word_mask = masked_words if config.masked_words == "zero_word" else None
        vectors = self.fact("vectors", STREAM)
        rules: dict[str, Rule] = {}
        if vectors is not None:
            rules["word"] = Scale(vectors, scale, word_mask)
        else:
            owner = "encoder.embed" if self.config.share_embeddings else path
            rules["word"] = self.look_up("ids", f"{owner}.word", masked_words=word_mask, scale=scale)
        if config.position.kind == "learned":
            rules["position"] = self.look_up("positions", f"{path}.position", offset=config.position.offset)
        elif config.position.kind == "sinusoidal":
            positions = Operand(f"{self.side}.positions", "sentence token")
            rules["position"] = Sinusoid(positions, config.position.layout, width)
        if config.segments:
            rules["segment"] = self.look_up("segments", f"{path}.segment")
        terms = {word: Operand(self.add(f"{path}.{word}", STREAM, rule), STREAM) for word, rule in rules.items()}
        total = self.add(f"{path}.sum", STREAM, Add(terms, masked_words if config.masked_words == "zero_sum" else None))
        return total if config.norm is None else self.norm(f"{path}.norm", config.norm, total, STREAM)

    def look_up(
        self, fact: str, table: str, *, masked_words: Operand | None = None, scale: float = 1.0, offset: int = 0
    ) -> LookUp:
        index = Operand(f"{self.side}.{fact}", "sentence token")
        return LookUp(index, weight(f"{table}.weight", "row channel"), masked_words, scale, offset)

    def block(self, stack: str, path: str, config: BlockConfig, whole: StackConfig, x: str) -> str:
        for part in ("self_attention", "cross_attention", "feed_forward"):
            if (sublayer := getattr(config, part)) is not None:
                x = self.sublayer(stack, f"{path}.{part}", sublayer, whole, x)
        return x

    def sublayer(self, stack: str, path: str, config: Sublayer, whole: StackConfig, x: str) -> str:
        """Where the norm is applied: to the input (before), to the body's output (branch), to the sum (after)."""

        def norm_at(place: str, name: str) -> str:
            if config.norm is None or config.norm_at != place:
                return name
            return self.norm(f"{path}.norm", config.norm, name, STREAM)

        entering = norm_at("before", x)
        if isinstance(config, AttentionSublayerConfig):
            update = self.attention(stack, path, config.body, whole, entering)
        else:
            update = self.feed_forward(path, config.body, entering)
        update = norm_at("branch", update)
        if config.residual:
            terms = {"stream": Operand(x, STREAM), "update": Operand(update, STREAM)}
            update = self.add(f"{path}.residual", STREAM, Add(terms))
        return norm_at("after", update)

    def attention(self, stack: str, path: str, config: AttentionConfig, whole: StackConfig, x: str) -> str:
        crossing = path.endswith("cross_attention")
        keys = "inputs" if crossing else self.side
        source = self.memory if crossing else x
        assert source is not None
        heads, groups = config.heads, config.key_value_heads
        group = "head" if groups == heads else "key_value_head"
        grouped = f"sentence {group} key channel"
        self.project(path, "query", x, MIXED, heads, config.bias)
        self.project(path, "key", source, grouped, groups, config.bias, keys=keys)
        self.project(path, "value", source, grouped, groups, config.bias, keys=keys)
        query, key = f"{path}.query", f"{path}.key"
        if config.rotary is not None:
            query = self.rotated(query, MIXED, "query", config.rotary)
            key = self.rotated(key, grouped, "key", config.rotary)
        served = f"sentence {'head' if groups == heads else f'head/{heads // groups}'} key channel"
        rule: Rule = DotProduct(Operand(query, MIXED), Operand(key, served))
        last = self.add(f"{path}.scores", SQUARE, rule, keys=keys)
        if config.scaled or config.divided_by != 1:
            rule = Scale(Operand(last, SQUARE), config.query_size ** (-0.5 * config.scaled) / config.divided_by)
            last = self.add(f"{path}.scaled", SQUARE, rule, keys=keys)
        if config.relative_bias:
            rule = Add({"score": Operand(last, SQUARE), "bias": Operand(f"{stack}.relative_bias", SQUARE)})
            last = self.add(f"{path}.biased", SQUARE, rule, keys=keys)
        self.add(f"{path}.may_look", SQUARE, self.may_look(config, whole, crossing, keys), keys=keys)
        filled = self.filled(config, whole, crossing, Operand(last, SQUARE), Operand(f"{path}.may_look", SQUARE))
        last = self.add(f"{path}.masked", SQUARE, filled, keys=keys)
        weights = self.add(f"{path}.weights", SQUARE, Softmax(Operand(last, SQUARE), over="key"), keys=keys)
        rule = WeightedSum(Operand(weights, SQUARE), Operand(f"{path}.value", served), over="key")
        mixed = self.add(f"{path}.mixed", MIXED, rule, keys=keys)
        merged = self.add(f"{path}.merged", STREAM, Concatenate(Operand(mixed, "sentence head token channel")))
        return self.linear(f"{path}.output", merged, config.output_bias)

    def may_look(self, config: AttentionConfig, whole: StackConfig, crossing: bool, keys: str) -> MayLook:
        """Which query may look at which key: in cross-attention the memory's padding forbids, and another document."""
        real = self.fact("real", "sentence key", side=keys)
        if crossing:
            own, other = self.fact("documents", "sentence query"), self.fact("documents", "sentence key", side=keys)
            if own is None or other is None:
                return MayLook(real=real)
            return MayLook(real=real, query_documents=own, key_documents=other)
        return MayLook(
            real=real,
            query_documents=self.fact("documents", "sentence query"),
            key_documents=self.fact("documents", "sentence key"),
            causal=whole.causal,
            window=config.window,
            masked_words=self.fact("masked_words", "sentence key") if whole.hide_masked else None,
            custom=self.fact("may_look", "sentence query key"),
        )

    def filled(
        self, config: AttentionConfig, whole: StackConfig, crossing: bool, x: Operand, may_look: Operand
    ) -> FillSet:
        """The fill where one may not look. A finite one is for what is masked by choice; out of reach it is −∞."""
        fill = config.fill.value
        endless = fill in ("-inf", -math.inf)
        kind = FillAdd if config.fill.rule == "add" and not endless else FillSet
        rule = kind(x=x, may_look=may_look, fill=fill)
        full = replace(self.may_look(config, whole, crossing, self.side), masked_words=None, custom=None)
        limited = full.causal or full.window is not None or any(full.operands)
        chooses = whole.hide_masked or f"{self.side}.may_look" in self.given
        if endless or crossing or not limited or not chooses:
            return rule
        reach = {each.name: getattr(full, each.name) for each in fields(Reach)}
        return replace(rule, **reach, out_of_reach="-inf")

    def project(
        self, path: str, word: str, x: str, axes: str, heads: int, bias: bool, *, keys: str | None = None
    ) -> None:
        """One projection for all heads, whose rows are then divided among them."""
        _, head, tokens, _ = axes.split()
        x_of = Operand(x, f"sentence {tokens} input")
        rule = self.weighted(x_of, f"{path}.{word}", f"({head}:{heads} channel)", bias)
        self.add(f"{path}.{word}", axes, rule, keys=keys)

    def rotated(self, name: str, axes: str, tokens: str, config: RotaryConfig) -> str:
        rule = rotation(config, Operand(name, axes), Operand(f"{self.side}.positions", f"sentence {tokens}"))
        return self.add(f"{name}_rotated", axes, rule)

    def feed_forward(self, path: str, config: FeedForwardConfig, x: str) -> str:
        gate = self.linear(f"{path}.gate", x, config.bias) if config.gated else None
        hidden = Operand(self.linear(f"{path}.hidden", x, config.bias), STREAM)
        kind = config.activation
        rule = Activation(hidden, kind) if gate is None else Gate(Operand(gate, STREAM), hidden, kind)
        activated = self.add(f"{path}.activated", STREAM, rule)
        return self.linear(f"{path}.output", activated, config.bias)
