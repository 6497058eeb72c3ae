"""The arithmetic of the page."""

from tests.mutations.record import Mutation

MUTATIONS = (
    Mutation(
        "page-erfc-of-negative-numbers",
        "web/src/numbers/arithmetic.ts",
        "return 2 - erfc(-x)",
        "return 1 - erfc(-x)",
        ("web/test/run/arithmetic.test.ts",),
    ),
    Mutation(
        "page-sum-loses-what-is-small",
        "web/src/numbers/arithmetic.ts",
        "if (lost !== 0) partials[kept++] = lost;",
        "if (lost > 1) partials[kept++] = lost;",
        ("web/test/run/arithmetic.test.ts",),
    ),
    Mutation(
        "page-of-equal-terms-the-last",
        "web/src/numbers/arithmetic.ts",
        "if (size > smallest || equal-- > 0)",
        "if (size > smallest || equal-- > 1)",
        ("web/test/run/arithmetic.test.ts",),
    ),
    Mutation(
        "page-rollout-adds-the-heads",
        "web/src/run/rollout.ts",
        "(found[head * mean.length + place] ?? 0) / heads",
        "(found[head * mean.length + place] ?? 0) / (heads + 1)",
        ("web/test/levels/summed.test.ts",),
    ),
    Mutation(
        "page-rollout-takes-the-future",
        "web/src/run/rollout.ts",
        "const held = block === 0 ? Number(by === key) : (blocks[block - 1]",
        "const held = block === 0 ? Number(by === key) : (blocks[block]",
        ("web/test/levels/summed.test.ts",),
    ),
    Mutation(
        "page-previous-is-next",
        "web/src/measures/heads.ts",
        "if (at === own - 1) previous",
        "if (at === own + 1) previous",
        ("web/test/levels/levels.test.ts",),
    ),
    Mutation(
        "page-mask-looks-ahead",
        "web/src/formulas/rules/masks.ts",
        "ahead() <= 0",
        "ahead() < 0",
        ("web/test/run/rules.test.ts",),
    ),
    Mutation(
        "page-rotation-backwards",
        "web/src/formulas/rules/positions.ts",
        "(channel < half ? -1 : 1)",
        "(channel < half ? 1 : -1)",
        ("web/test/run/rules.test.ts",),
    ),
    Mutation(
        "page-norm-without-its-mean",
        "web/src/formulas/rules/across.ts",
        "centred ? exactSum(values) / values.length : 0",
        "centred ? exactSum(values) / (values.length - 1) : 0",
        ("web/test/run/rules.test.ts",),
    ),
    Mutation(
        "page-gelu-of-another-cube",
        "web/src/formulas/rules/activations.ts",
        "0.044715 * x * x * x",
        "0.044715 * x * x",
        ("web/test/run/rules.test.ts",),
    ),
    Mutation(
        "page-gate-not-multiplied",
        "web/src/formulas/rules/activations.ts",
        "const value = activated * x.value;",
        "const value = activated + x.value;",
        ("web/test/run/rules.test.ts",),
    ),
    Mutation(
        "page-chain-without-its-logit",
        "web/src/formulas/rules/chains.ts",
        "result: ways + own.value",
        "result: ways",
        ("web/test/run/rules.test.ts",),
    ),
)
