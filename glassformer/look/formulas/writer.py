"""What writes one formula after the other, and the formulas of the heads: from states to scores."""

import math
from dataclasses import dataclass, field, replace

from glassformer.config import (
    TEXTS,
    ModelConfig,
    NormConfig,
    SentenceHeadConfig,
    TokenHeadConfig,
    TransformConfig,
    VocabularyHeadConfig,
)
from glassformer.look.formulas.named import Operand
from glassformer.look.formulas.rules import softmax_and_norms as rules
from glassformer.look.formulas.rules.activations import Activation, Compared
from glassformer.look.formulas.rules.chains import BestPath, ChainBest, ChainBestEnd, ChainEnd, ChainSum, Difference
from glassformer.look.formulas.rules.evaluator import Formula, Rule
from glassformer.look.formulas.rules.masks import FillSet
from glassformer.look.formulas.rules.sums import ActivatedLinear, Add, DotProduct, Linear, LookUp

STREAM = "sentence token channel"


def weight(path: str, axes: str) -> Operand:
    return Operand(f"parameters.{path}", axes)


@dataclass
class Writer:
    """Formulas by name, in the order in which they are written."""

    config: ModelConfig
    given: frozenset[str]
    at_places: bool
    formulas: dict[str, Formula] = field(default_factory=dict)
    entering: dict[str, str] = field(default_factory=dict)
    side: str = "inputs"
    memory: str | None = None

    def add(self, name: str, axes: str, rule: Rule, *, keys: str | None = None) -> str:
        self.formulas[name] = Formula(name, axes, rule, self.side, keys or self.side)
        return name

    def fact(self, name: str, axes: str, *, side: str | None = None) -> Operand | None:
        """A fact of the inputs, if it was given."""
        full = f"{side or self.side}.{name}"
        return Operand(full, axes) if full in self.given else None

    def linear(self, name: str, x: str, bias: bool) -> str:
        return self.add(name, STREAM, self.weighted(Operand(x, "sentence token input"), name, "channel", bias))

    def weighted(self, x: Operand, path: str, rows: str, bias: bool) -> Linear:
        """x times the weight at a path, plus its bias; `rows` are the axes of the weight's rows."""
        added = weight(f"{path}.bias", rows) if bias else None
        return Linear(x, weight(f"{path}.weight", f"{rows} input"), added, over="input")

    def norm(self, name: str, config: NormConfig, x: str, axes: str) -> str:
        bias = weight(f"{name}.bias", "channel") if config.kind == "layer" and config.bias else None
        kind = rules.LayerNorm if config.kind == "layer" else rules.RMSNorm
        rule = kind(Operand(x, axes), weight(f"{name}.weight", "channel"), bias, epsilon=config.epsilon)
        return self.add(name, axes, rule)

    def vocabulary_head(self, config: VocabularyHeadConfig, states: str) -> None:
        rows = "place" if self.at_places else "sentence token"
        x = Operand(states, "<place> input" if self.at_places else "sentence token input")
        if config.transform:
            x = self.transform("head", x, config, rows)
        side = "decoder" if self.config.decoder is not None and not self.config.share_embeddings else "encoder"
        rule = self.weighted(x, "head", "vocabulary", config.bias)
        if config.tied:
            rule = replace(rule, right=weight(f"{side}.embed.word.weight", "vocabulary input"))
        scale = 1 / math.sqrt(self.config.output_stack.width) if config.scaled else 1.0
        self.add("head.logits", f"{rows} vocabulary", replace(rule, scale=scale))
        self.probabilities("head", f"{rows} vocabulary", "vocabulary")

    def sentence_head(self, config: SentenceHeadConfig, states: str) -> None:
        x = Operand(self.vector(config, Operand(states, STREAM)), "sentence input")
        if config.has_pooler:
            layer = self.weighted(x, "sentence_head.pooler", "channel", config.pooler_bias)
            pooled = ActivatedLinear(layer.left, layer.right, layer.bias, over="input", kind=config.activation)
            name = self.add("sentence_head.pooled", axes := "sentence channel", pooled)
            name = name if config.norm is None else self.norm("sentence_head.norm", config.norm, name, axes)
            x = Operand(name, "sentence input")
        if config.labels:
            rule = self.weighted(x, "sentence_head.output", "label", bias=True)
            self.add("sentence_head.encoded" if config.words else "sentence_head.logits", "sentence label", rule)
        if config.words:
            self.words("sentence_head.words")
        if config.probabilities == "softmax":
            self.probabilities("sentence_head", "sentence label", "label")
        elif config.probabilities == "sigmoid":
            logits = Operand("sentence_head.logits", "sentence label")
            self.add("sentence_head.log_probabilities", "sentence label", Activation(logits, "log_sigmoid"))
            self.add("sentence_head.probabilities", "sentence label", Activation(logits, "sigmoid"))

        if "candidates" in self.given:
            self.choice(Operand("sentence_head.logits", "candidate label"))

    def words(self, path: str) -> None:
        """What tokens and pairs of neighbours add to the scores by themselves."""
        axes = "sentence token label"
        for name, fact in (("token", "ids"), ("neighbours", "neighbours")):
            index = Operand(f"{self.side}.{fact}", "sentence token")
            self.add(f"{path}.{name}", axes, LookUp(index, weight(f"{path}.{name}.weight", "row label")))
        both = {name: Operand(f"{path}.{name}", axes) for name in ("token", "neighbours")}
        added = Operand(self.add(f"{path}.both", axes, Add(both)), axes)
        share = Operand(f"{self.side}.share", "sentence token")
        words = self.add(f"{path}.added", "sentence label", DotProduct(share, added, over="token"))
        terms = {"encoded": "sentence_head.encoded", "words": words}
        operands = {role: Operand(name, "sentence label") for role, name in terms.items()}
        self.add("sentence_head.logits", "sentence label", Add(operands | {"bias": weight(f"{path}.bias", "label")}))

    def choice(self, scores: Operand) -> None:
        """Each sentence is a text with one of its candidates: their scores as probabilities that sum to 1."""
        axes = "candidate label"
        self.add("choice.log_probabilities", axes, rules.LogSoftmax(scores, "candidate"))
        self.add("choice.probabilities", axes, rules.Softmax(scores, "candidate"))

    def vector(self, config: SentenceHeadConfig, states: Operand) -> str:
        rule: Rule
        if config.vector == "pair":
            for text in TEXTS:
                rule = DotProduct(Operand(f"{self.side}.{text}", "sentence token"), states, over="token")
                self.add(f"sentence_head.{text}", "sentence channel", rule)
            first, second = (Operand(f"sentence_head.{text}", "sentence channel") for text in TEXTS)
            return self.add("sentence_head.pair", "sentence channel", Compared(first, second))
        if config.vector == "max":
            rule = rules.Largest(states, over="token", real=self.fact("real", "sentence token"))
            return self.add("sentence_head.max", "sentence channel", rule)
        rule = DotProduct(Operand(f"{self.side}.{config.vector}", "sentence token"), states, over="token")
        return self.add(f"sentence_head.{config.vector}", "sentence channel", rule)

    def transform(self, path: str, x: Operand, config: TransformConfig, rows: str) -> Operand:
        layer = self.weighted(x, f"{path}.dense", "channel", config.transform_bias)
        name = self.add(f"{path}.hidden", axes := f"{rows} channel", layer)
        name = self.add(f"{path}.activated", axes, Activation(Operand(name, axes), config.activation))
        name = name if config.norm is None else self.norm(f"{path}.norm", config.norm, name, axes)
        return Operand(name, f"{rows} input")

    def token_head(self, config: TokenHeadConfig, states: str) -> None:
        x = Operand(states, "sentence token input")
        if config.transform:
            x = self.transform("token_head", x, config, "sentence token")
        self.add("token_head.logits", "sentence token label", self.weighted(x, "token_head.output", "label", bias=True))
        if config.spans:
            logits, real = Operand("token_head.logits", "sentence token label"), f"{self.side}.labelled"
            rule = FillSet(x=logits, may_look=Operand(real, "sentence token"), fill="-inf")
            self.add("token_head.masked", "sentence token label", rule)
        last, over = ("masked", "token") if config.spans else ("logits", "label")
        self.probabilities("token_head", "sentence token label", over, last)
        if config.crf:
            self.crf("token_head.crf", Operand("token_head.logits", "sentence token label"))

    def crf(self, path: str, logits: Operand) -> None:
        """The forward algorithm's table and its sum, Viterbi's table, its best sequence and how likely that is."""
        axes = "sentence token label"
        labelled = Operand(f"{self.side}.labelled", "sentence token")
        first, last = weight(f"{path}.first", "label"), weight(f"{path}.last", "label")
        steps = weight(f"{path}.steps", "before label")
        for table, way, end, sum_ in (
            ("totals", ChainSum, ChainEnd, "log_total"),
            ("best", ChainBest, ChainBestEnd, "best_score"),
        ):
            before = Operand(f"{path}.{table}", "sentence token before")
            self.add(f"{path}.{table}", axes, way(logits, before, steps, first, labelled))
            self.add(f"{path}.{sum_}", "sentence", end(Operand(f"{path}.{table}", axes), last, labelled))
        after, steps = Operand(f"{path}.path", "sentence token after"), weight(f"{path}.steps", "label after")
        self.add(f"{path}.path", axes, BestPath(Operand(f"{path}.best", axes), after, steps, last, labelled))
        score, total = (Operand(f"{path}.{name}", "sentence") for name in ("best_score", "log_total"))
        self.add(f"{path}.log_probability", "sentence", Difference(score, total))

    def probabilities(self, path: str, axes: str, over: str, last: str = "logits") -> None:
        logits = Operand(f"{path}.{last}", axes)
        self.add(f"{path}.log_probabilities", axes, rules.LogSoftmax(logits, over))
        self.add(f"{path}.probabilities", axes, rules.Softmax(logits, over))
        if path == "head" and self.at_places and "labels" in self.given:
            self.add(
                "loss", "", rules.CrossEntropy(Operand("head.log_probabilities", axes), Operand("labels", "place"))
            )
