"""What writes one formula after the other: the parts that a stack and a head have in common."""

from dataclasses import dataclass, field

from glassformer.config import ModelConfig, NormConfig
from glassformer.look.formulas.named import Operand
from glassformer.look.formulas.rules.evaluator import Formula, Rule
from glassformer.look.formulas.rules.softmax_and_norms import LayerNorm, RMSNorm
from glassformer.look.formulas.rules.sums import Linear

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
        kind = LayerNorm if config.kind == "layer" else RMSNorm
        rule = kind(Operand(x, axes), weight(f"{name}.weight", "channel"), bias, epsilon=config.epsilon)
        return self.add(name, axes, rule)
