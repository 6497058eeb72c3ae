"""docs/how/formulas.md: the formula of each kind of tensor as the package states it, and where it was published."""

from __future__ import annotations

from collections.abc import Iterator

from experiments.page import table
from glassformer.look.formulas.rules.evaluator import Formula
from glassformer.look.formulas.stacks import state
from glassformer.look.formulas.titles import title_of
from tests.contracts.families import ROWS

PAGE = """# Formulas

Each tensor of a run has a name and a formula. `glassformer explain` prints it with its numbers.
`glassformer verify` recomputes each tensor from its operands and compares. The formulas are a second
statement of the model (`glassformer/look/formulas/`): they read its settings and nothing of the code that computes it.

The table has each formula once, as it occurs in the families of the tests. Sizes that a formula names, such as 0.5, are
those of the small models of the tests. Dots stand for the block: `encoder.blocks.0.self_attention.weights` is one of
the `weights`. Written by `python -m manual tables`.

"""
PAPERS = {
    "LookUp": "Vaswani et al. 2017, §3.4",
    "Sinusoid": "Vaswani et al. 2017, §3.5",
    "DotProduct scores": "Vaswani et al. 2017, eq. 1",
    "Scale": "Vaswani et al. 2017, eq. 1",
    "FillSet": "Vaswani et al. 2017, §3.2.3",
    "FillAdd": "Vaswani et al. 2017, §3.2.3; the number −10000: google-research/bert, `modeling.py`",
    "MayLook": "Vaswani et al. 2017, §3.2.3",
    "Softmax weights": "Vaswani et al. 2017, eq. 1",
    "WeightedSum": "Vaswani et al. 2017, eq. 1",
    "Concatenate": "Vaswani et al. 2017, §3.2.2",
    "Linear query": "Vaswani et al. 2017, §3.2.2",
    "Linear key": "Vaswani et al. 2017, §3.2.2",
    "Linear value": "Vaswani et al. 2017, §3.2.2",
    "Linear output": "Vaswani et al. 2017, §3.2.2 and eq. 2",
    "Linear hidden": "Vaswani et al. 2017, eq. 2",
    "Add residual": "Vaswani et al. 2017, §3.1",
    "Add sum": "Vaswani et al. 2017, §3.5; segments: Devlin et al. 2019, §3",
    "LookUp segment": "Devlin et al. 2019, §3",
    "LookUp position": "Devlin et al. 2019, §3",
    "LayerNorm": "Ba et al. 2016, eq. 3; with gain and bias: eq. 4",
    "RMSNorm": "Zhang & Sennrich 2019, eq. 4",
    "Activation": "Vaswani et al. 2017, eq. 2; gelu: Hendrycks & Gimpel 2016",
    "Gate": "Shazeer 2020",
    "Linear gate": "Shazeer 2020",
    "Rotate": "Su et al. 2021, §3.4.2, eq. 34",
    "RotateLinear": "positions divided by a factor: Chen et al. 2023",
    "RotateYarn": "Peng et al. 2023, §3.2 and §3.4",
    "RelativeBias": "Raffel et al. 2020, §2.1",
    "Add biased": "Raffel et al. 2020, §2.1",
    "ActivatedLinear": "the pooler: Devlin et al. 2019, as in google-research/bert, `modeling.py`",
    "Linear logits": "Vaswani et al. 2017, §3.4",
    "Softmax probabilities": "Vaswani et al. 2017, §3.4",
    "AllWays": "Lafferty et al. 2001",
    "BestPath": "Lafferty et al. 2001; the algorithm: Viterbi 1967",
}
"""Where a rule was published, by its name and, where that depends on the tensor, by the last word of its name too."""


def formulas() -> Iterator[Formula]:
    """The first formula of each rule and last word of a name."""
    seen = set()
    for row in ROWS:
        for name, formula in state(row.config()).formulas.items():
            kind = type(formula.rule).__name__, name.rpartition(".")[2]
            if kind not in seen:
                seen.add(kind)
                yield formula


def paper(formula: Formula) -> str:
    """Where it was published; empty where nothing is cited."""
    rule = type(formula.rule).__name__
    return PAPERS.get(f"{rule} {formula.name.rpartition('.')[2]}") or PAPERS.get(rule, "")


def page() -> str:
    """The page."""
    rows = [
        [f"`{each.in_words()}`".replace("|", "\\|"), title_of(each).text, f"`{each.axes}`", paper(each)]
        for each in formulas()
    ]
    return PAGE + table(["formula", "what it is", "axes", "published"], rows, numbers=False) + "\n"
