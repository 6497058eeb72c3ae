"""A second statement of the Transformer: what every tensor is made of, by which rule, over which axis.

Read from the config alone; nothing here knows how `parts/` computes. `verify` holds the two against each other.
An operand's axes are read as told in `named.py`. Facts of the inputs are called `inputs.ids`, `target.real` …,
weights `parameters.<path>`.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from glassformer.config import (
    AttentionConfig,
    AttentionSublayerConfig,
    BlockConfig,
    EmbedConfig,
    FeedForwardConfig,
    ModelConfig,
    NormConfig,
    SentenceHeadConfig,
    StackConfig,
    SublayerConfig,
    VocabularyHeadConfig,
)
from glassformer.look.named import Formula, Operand, Setting

STREAM = "sentence piece channel"


@dataclass(frozen=True)
class Statement:
    """All formulas of a model by name, and which tensor enters each unit (embedding, block, norm, head)."""

    formulas: Mapping[str, Formula]
    entering: Mapping[str, str]
    memory: str | None = None

    def unit(self, name: str) -> str:
        """The part of the model that computes a tensor: `encoder.blocks.3`, `head`, `loss` …"""
        steps = name.split(".")
        if steps[0] in ("encoder", "decoder"):
            return ".".join(steps[:3] if steps[1] == "blocks" else steps[:2])
        return steps[0]


def state(config: ModelConfig, given: Collection[str] = ("inputs.ids",), *, at_places: bool = False) -> Statement:
    """The formulas of a model.

    `given` names the facts that came with the inputs (`inputs.hidden`, `target.real` …): only what was given
    can forbid or hide. `at_places` says that the vocabulary was scored at chosen places only.
    """
    return _Writer(config, frozenset(given), at_places).write()


@dataclass
class _Writer:
    """Walks the config in the order of the model and writes one formula a tensor."""

    config: ModelConfig
    given: frozenset[str]
    at_places: bool
    formulas: dict[str, Formula] = field(default_factory=dict)
    entering: dict[str, str] = field(default_factory=dict)
    side: str = "inputs"
    memory: str | None = None

    def write(self) -> Statement:
        config = self.config
        last = ""
        if config.encoder is not None:
            last = self.stack("encoder", config.encoder)
        if config.decoder is not None:
            if config.encoder is not None:
                self.memory, self.side = last, "target"
            last = self.stack("decoder", config.decoder)
        self.entering["states"] = last
        if config.head is not None:
            self.entering["head"] = last
            self.vocabulary_head(config.head, last)
        if config.sentence_head is not None:
            self.entering["sentence_head"] = last
            self.sentence_head(config.sentence_head, last)
        return Statement(self.formulas, self.entering, self.memory)

    def add(
        self,
        name: str,
        axes: str,
        rule: str,
        of: Mapping[str, Operand | None],
        *,
        over: str | None = None,
        keys: str | None = None,
        **settings: Setting,
    ) -> str:
        present = {role: operand for role, operand in of.items() if operand is not None}
        self.formulas[name] = Formula(name, axes, rule, present, over, settings, self.side, keys or self.side)
        return name

    def fact(self, name: str, axes: str, *, side: str | None = None) -> Operand | None:
        """A fact of the inputs, if it was given."""
        full = f"{side or self.side}.{name}"
        return Operand(full, axes) if full in self.given else None

    # ----------------------------------------------------------------- stacks

    def stack(self, path: str, config: StackConfig) -> str:
        x = self.embed(f"{path}.embed", config.embed, config.width)
        if config.relative_bias is not None:
            self.add(
                f"{path}.relative_bias",
                "sentence head query key",
                "relative_bias",
                {"table": Operand(f"parameters.{path}.relative_bias.weight", "bucket head")},
                buckets=config.relative_bias.buckets,
                max_distance=config.relative_bias.max_distance,
                both_directions=not config.causal,
            )
        for index, block in enumerate(config.blocks):
            self.entering[f"{path}.blocks.{index}"] = x
            x = self.block(path, f"{path}.blocks.{index}", block, config, x)
        if config.norm is not None:
            self.entering[f"{path}.norm"] = x
            x = self.norm(f"{path}.norm", config.norm, x, STREAM)
        return x

    def embed(self, path: str, config: EmbedConfig, width: int) -> str:
        scale = math.sqrt(width) if config.scaled else 1.0
        hidden = self.fact("hidden", "sentence piece")
        word_hidden = hidden if config.hidden_words == "zero_word" else None
        side = self.side
        if f"{side}.vectors" in self.given:
            given = {"x": Operand(f"{side}.vectors", STREAM), "hidden": word_hidden}
            terms = [self.add(f"{path}.word", STREAM, "scale", given, by=scale)]
        else:
            owner = "encoder.embed" if self.config.share_embeddings else path
            table = Operand(f"parameters.{owner}.word.weight", "row channel")
            ids = Operand(f"{side}.ids", "sentence piece")
            looked_up: dict[str, Operand | None] = {"index": ids, "table": table, "hidden": word_hidden}
            terms = [self.add(f"{path}.word", STREAM, "look_up", looked_up, scale=scale, offset=0)]
        positions = Operand(f"{side}.positions", "sentence piece")
        if config.position.kind == "learned":
            table = Operand(f"parameters.{path}.position.weight", "row channel")
            looked_up = {"index": positions, "table": table}
            offset = config.position.offset
            terms.append(self.add(f"{path}.position", STREAM, "look_up", looked_up, scale=1.0, offset=offset))
        elif config.position.kind == "sinusoidal":
            layout = config.position.layout
            terms.append(
                self.add(f"{path}.position", STREAM, "sinusoid", {"position": positions}, layout=layout, width=width)
            )
        if config.segments:
            table = Operand(f"parameters.{path}.segment.weight", "row channel")
            looked_up = {"index": Operand(f"{side}.segments", "sentence piece"), "table": table}
            terms.append(self.add(f"{path}.segment", STREAM, "look_up", looked_up, scale=1.0, offset=0))
        summed: dict[str, Operand | None] = {name.rsplit(".", 1)[1]: Operand(name, STREAM) for name in terms}
        summed["hidden"] = hidden if config.hidden_words == "zero_sum" else None
        total = self.add(f"{path}.sum", STREAM, "add", summed)
        return total if config.norm is None else self.norm(f"{path}.norm", config.norm, total, STREAM)

    def block(self, stack: str, path: str, config: BlockConfig, whole: StackConfig, x: str) -> str:
        x = self.sublayer(stack, f"{path}.self_attention", config.self_attention, whole, x)
        if config.cross_attention is not None:
            x = self.sublayer(stack, f"{path}.cross_attention", config.cross_attention, whole, x)
        if config.feed_forward is not None:
            x = self.sublayer(stack, f"{path}.feed_forward", config.feed_forward, whole, x)
        return x

    def sublayer(self, stack: str, path: str, config: SublayerConfig, whole: StackConfig, x: str) -> str:
        """Where the norm sits: on what enters (before), on what the body gives (branch), on the sum (after)."""

        def norm_at(place: str, name: str) -> str:
            if config.norm is None or config.norm_at != place:
                return name
            return self.norm(f"{path}.norm", config.norm, name, STREAM)

        entering = norm_at("before", x)
        if isinstance(config, AttentionSublayerConfig):
            update = self.attention(stack, path, config.body, whole, entering)
        else:
            body = getattr(config, "body", None)
            assert isinstance(body, FeedForwardConfig)
            update = self.feed_forward(path, body, entering)
        update = norm_at("branch", update)
        if config.residual:
            of = {"stream": Operand(x, STREAM), "update": Operand(update, STREAM)}
            update = self.add(f"{path}.residual", STREAM, "add", of)
        return norm_at("after", update)

    # ----------------------------------------------------------------- attention

    def attention(self, stack: str, path: str, config: AttentionConfig, whole: StackConfig, x: str) -> str:
        crossing = path.endswith("cross_attention")
        keys = "inputs" if crossing else self.side
        source = self.memory if crossing else x
        assert source is not None
        heads, groups = config.heads, config.key_value_heads
        group = "head" if groups == heads else "key_value_head"
        self.project(path, "query", x, "sentence head query channel", "query", heads, config.bias)
        self.project(path, "key", source, f"sentence {group} key channel", "key", groups, config.bias, keys=keys)
        self.project(path, "value", source, f"sentence {group} key channel", "key", groups, config.bias, keys=keys)
        query, key = f"{path}.query", f"{path}.key"
        if config.rotary is not None:
            query = self.rotated(query, "sentence head query channel", "query", config.rotary.base)
            key = self.rotated(key, f"sentence {group} key channel", "key", config.rotary.base)
        served = "head" if groups == heads else f"head/{heads // groups}"
        square = "sentence head query key"
        last = self.add(
            f"{path}.scores",
            square,
            "dot_product",
            {
                "left": Operand(query, "sentence head query channel"),
                "right": Operand(key, f"sentence {served} key channel"),
            },
            over="channel",
            keys=keys,
            scale=1.0,
        )
        if config.scaled:
            of: dict[str, Operand | None] = {"x": Operand(last, square)}
            last = self.add(f"{path}.scaled", square, "scale", of, keys=keys, by=1 / math.sqrt(config.query_size))
        if config.relative_bias:
            of = {"score": Operand(last, square), "bias": Operand(f"{stack}.relative_bias", square)}
            last = self.add(f"{path}.biased", square, "add", of, keys=keys)
        self.may_look(path, config, whole, crossing, keys)
        masked = self.masked(path, config, whole, crossing, keys, last)
        of = {"x": Operand(masked, square)}
        weights = self.add(f"{path}.weights", square, "softmax", of, over="key", keys=keys)
        mixed = self.add(
            f"{path}.mixed",
            "sentence head query channel",
            "weighted_sum",
            {"left": Operand(weights, square), "right": Operand(f"{path}.value", f"sentence {served} key channel")},
            over="key",
            keys=keys,
            scale=1.0,
        )
        of = {"x": Operand(mixed, "sentence head piece channel")}
        merged = self.add(f"{path}.merged", STREAM, "concatenate", of, over="head")
        return self.linear(f"{path}.output", merged, config.output_bias)

    def may_look(self, path: str, config: AttentionConfig, whole: StackConfig, crossing: bool, keys: str) -> None:
        """Who may look at whom: the memory's padding alone in cross-attention, else all that the stack asks."""
        of: dict[str, Operand | None] = {"real": self.fact("real", "sentence key", side=keys)}
        causal, reach = False, None
        if not crossing:
            causal, reach = whole.causal, config.window
            of |= self.walls()
            of["hidden"] = self.fact("hidden", "sentence key") if whole.hide_masked else None
            of["custom"] = self.fact("may_look", "sentence query key")
        self.add(f"{path}.may_look", "sentence head query key", "may_look", of, keys=keys, causal=causal, window=reach)

    def walls(self) -> dict[str, Operand | None]:
        """The documents of both sides."""
        return {f"{axis}_wall": self.fact("documents", f"sentence {axis}") for axis in ("query", "key")}

    def masked(
        self, path: str, config: AttentionConfig, whole: StackConfig, crossing: bool, keys: str, scores: str
    ) -> str:
        """The fill where one may not look. A finite one is for what is hidden by choice; out of reach stands −∞."""
        name, square, value = f"{path}.masked", "sentence head query key", config.fill.value
        of: dict[str, Operand | None] = {"x": Operand(scores, square), "may_look": Operand(f"{path}.may_look", square)}
        if value in ("-inf", -math.inf):
            return self.add(name, square, "fill_set", of, keys=keys, value=value)
        rule = f"fill_{config.fill.rule}"
        beyond = {"real": self.fact("real", "sentence key"), **self.walls()}
        limited = whole.causal or config.window is not None or any(beyond.values())
        chooses = whole.hide_masked or f"{self.side}.may_look" in self.given
        if crossing or not limited or not chooses:
            return self.add(name, square, rule, of, keys=keys, value=value)
        causal, reach = whole.causal, config.window
        return self.add(
            name, square, rule, of | beyond, keys=keys, value=value, causal=causal, window=reach, out_of_reach="-inf"
        )

    def project(
        self, path: str, word: str, x: str, axes: str, pieces: str, heads: int, bias: bool, *, keys: str | None = None
    ) -> None:
        """One projection for all heads, whose rows are then parted among them."""
        head = axes.split()[1]
        weight = f"parameters.{path}.{word}"
        self.add(
            f"{path}.{word}",
            axes,
            "linear",
            {
                "left": Operand(x, f"sentence {pieces} input"),
                "right": Operand(f"{weight}.weight", f"({head}:{heads} channel) input"),
                "bias": Operand(f"{weight}.bias", f"({head}:{heads} channel)") if bias else None,
            },
            over="input",
            keys=keys,
            scale=1.0,
        )

    def rotated(self, name: str, axes: str, pieces: str, base: float) -> str:
        of: dict[str, Operand | None] = {
            "x": Operand(name, axes),
            "position": Operand(f"{self.side}.positions", f"sentence {pieces}"),
        }
        return self.add(f"{name}_rotated", axes, "rotate", of, over="channel", base=base)

    # ----------------------------------------------------------------- the rest

    def feed_forward(self, path: str, config: FeedForwardConfig, x: str) -> str:
        gate = self.linear(f"{path}.gate", x, config.bias) if config.gated else None
        hidden = self.linear(f"{path}.hidden", x, config.bias)
        if gate is not None:
            of: dict[str, Operand | None] = {"gate": Operand(gate, STREAM), "x": Operand(hidden, STREAM)}
            activated = self.add(f"{path}.activated", STREAM, "gate", of, kind=config.activation)
        else:
            of = {"x": Operand(hidden, STREAM)}
            activated = self.add(f"{path}.activated", STREAM, "activation", of, kind=config.activation)
        return self.linear(f"{path}.output", activated, config.bias)

    def linear(self, name: str, x: str, bias: bool) -> str:
        of = {
            "left": Operand(x, "sentence piece input"),
            "right": Operand(f"parameters.{name}.weight", "channel input"),
            "bias": Operand(f"parameters.{name}.bias", "channel") if bias else None,
        }
        return self.add(name, STREAM, "linear", of, over="input", scale=1.0)

    def norm(self, name: str, config: NormConfig, x: str, axes: str) -> str:
        of = {
            "x": Operand(x, axes),
            "weight": Operand(f"parameters.{name}.weight", "channel"),
            "bias": Operand(f"parameters.{name}.bias", "channel") if config.kind == "layer" and config.bias else None,
        }
        return self.add(name, axes, f"{config.kind}_norm", of, over="channel", epsilon=config.epsilon)

    def vocabulary_head(self, config: VocabularyHeadConfig, states: str) -> None:
        stack = self.config.output_stack
        rows = "place" if self.at_places else "sentence piece"
        x = Operand(states, "<place> input" if self.at_places else "sentence piece input")
        if config.transform:
            of = {
                "left": x,
                "right": Operand("parameters.head.dense.weight", "channel input"),
                "bias": Operand("parameters.head.dense.bias", "channel") if config.transform_bias else None,
            }
            name = self.add("head.hidden", f"{rows} channel", "linear", of, over="input", scale=1.0)
            of = {"x": Operand(name, f"{rows} channel")}
            name = self.add("head.activated", f"{rows} channel", "activation", of, kind=config.activation)
            if config.norm is not None:
                name = self.norm("head.norm", config.norm, name, f"{rows} channel")
            x = Operand(name, f"{rows} input")
        side = "decoder" if self.config.decoder is not None and not self.config.share_embeddings else "encoder"
        table = f"parameters.{side}.embed.word.weight" if config.tied else "parameters.head.weight"
        of = {
            "left": x,
            "right": Operand(table, "vocabulary input"),
            "bias": Operand("parameters.head.bias", "vocabulary") if config.bias else None,
        }
        scale = 1 / math.sqrt(stack.width) if config.scaled else 1.0
        self.add("head.logits", f"{rows} vocabulary", "linear", of, over="input", scale=scale)
        self.probabilities("head", f"{rows} vocabulary", "vocabulary")

    def sentence_head(self, config: SentenceHeadConfig, states: str) -> None:
        of: dict[str, Operand | None] = {
            "left": Operand(f"{self.side}.first", "sentence piece"),
            "right": Operand(states, "sentence piece channel"),
        }
        name = self.add("sentence_head.first", "sentence channel", "dot_product", of, over="piece", scale=1.0)
        x = Operand(name, "sentence input")
        if config.pooling == "pooler":
            of = {
                "left": x,
                "right": Operand("parameters.sentence_head.pooler.weight", "channel input"),
                "bias": Operand("parameters.sentence_head.pooler.bias", "channel"),
            }
            name = self.add("sentence_head.pooled", "sentence channel", "tanh_linear", of, over="input", scale=1.0)
            x = Operand(name, "sentence input")
        if config.labels:
            of = {
                "left": x,
                "right": Operand("parameters.sentence_head.output.weight", "label input"),
                "bias": Operand("parameters.sentence_head.output.bias", "label"),
            }
            self.add("sentence_head.logits", "sentence label", "linear", of, over="input", scale=1.0)
            self.probabilities("sentence_head", "sentence label", "label")

    def probabilities(self, path: str, axes: str, over: str) -> None:
        of = {"x": Operand(f"{path}.logits", axes)}
        self.add(f"{path}.log_probabilities", axes, "log_softmax", of, over=over)
        self.add(f"{path}.probabilities", axes, "softmax", of, over=over)
        if path == "head" and self.at_places and "labels" in self.given:
            of = {"x": Operand("head.log_probabilities", axes), "labels": Operand("labels", "place")}
            self.add("loss", "", "cross_entropy", of, over="place")
