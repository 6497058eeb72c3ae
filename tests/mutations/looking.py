"""Looking: formulas, honesty, lens, rollout, heads, ablation."""

from __future__ import annotations

from tests.mutations.record import Mutation

MUTATIONS = (
    Mutation(
        "honest-beyond-the-limit",
        "glassformer/look/trace/honesty.py",
        "self.watched <= self.limit",
        "self.watched >= 0",
        ("tests/look/test_honesty.py::test_an_output_that_is_changed_after_it_was_shown_is_noticed",),
    ),
    Mutation(
        "honest-about-the-smallest",
        "glassformer/look/trace/honesty.py",
        "worst = max(differences, key",
        "worst = min(differences, key",
        ("tests/look/test_honesty.py::test_an_output_that_is_changed_after_it_was_shown_is_noticed",),
    ),
    Mutation(
        "lens-without-the-last-norm",
        "glassformer/look/summaries/lens.py",
        "if norm in trace.statement.entering:",
        "if norm not in trace.statement.entering:",
        ("tests/look/test_summing.py::test_the_lens_is_norm_and_head_on_every_state[gpt2]",),
    ),
    Mutation(
        "lens-ranks-itself-too",
        "glassformer/look/summaries/lens.py",
        "(each > one[:, None]).sum(-1)",
        "(each >= one[:, None]).sum(-1)",
        ("tests/look/test_summing.py::test_the_lens_is_norm_and_head_on_every_state",),
    ),
    Mutation(
        "rollout-in-the-other-order",
        "glassformer/look/summaries/rollout.py",
        "else mixing @ own",
        "else own @ mixing",
        ("tests/look/test_summing.py::test_rollout_is_what_numpy_multiplies",),
    ),
    Mutation(
        "rollout-without-the-residual",
        "glassformer/look/summaries/rollout.py",
        "    if residual:\n",
        "    if not residual:\n",
        ("tests/look/test_summing.py::test_rollout_is_what_numpy_multiplies",),
    ),
    Mutation(
        "lead-over-the-weakest",
        "glassformer/look/summaries/ties.py",
        "self.one - max(self.others)",
        "self.one - min(self.others)",
        ("tests/look/test_summing.py::test_ties_sum_over_the_tokens_of_a_word",),
    ),
    Mutation(
        "previous-is-next",
        "glassformer/look/summaries/head_measures.py",
        '"previous": share(-1)',
        '"previous": share(1)',
        ("tests/look/test_heads.py::test_heads_are_measured_over_every_token_of_all_texts",),
    ),
    Mutation(
        "gradient-without-its-sign",
        "glassformer/look/summaries/attributions.py",
        "(slope * vectors).sum(-1)",
        "(slope * vectors).abs().sum(-1)",
        ("tests/look/test_summing.py::test_gradients_are_the_slopes_of_small_steps",),
    ),
    Mutation(
        "mask-formula-looks-ahead",
        "glassformer/look/formulas/rules/masks.py",
        'reasons["not ahead"] = ahead <= 0',
        'reasons["not ahead"] = ahead <= 1',
        ("tests/look/test_formulas.py::test_every_tensor_agrees_with_its_formula",),
    ),
    Mutation(
        "rotation-formula-backwards",
        "glassformer/look/formulas/rules/rotations.py",
        "first * cosine - second * sine, second",
        "first * cosine + second * sine, second",
        ("tests/look/test_formulas.py::test_every_tensor_agrees_with_its_formula",),
    ),
    Mutation(
        "chain-formula-of-the-first",
        "glassformer/look/formulas/rules/chains.py",
        "begun = (here.cumsum(dim=1) - here.long()) > 0",
        "begun = here.cumsum(dim=1) > 0",
        ("tests/look/test_crf.py::test_the_forward_sum_and_the_best_path_are_those_of_all_sequences",),
    ),
    Mutation(
        "mean-over-padding-by-hand",
        "glassformer/look/trace/interventions.py",
        "part.flatten(0, 1) if facts.real is None",
        "part.flatten(0, 1) if True",
        ("tests/look/test_interventions.py::test_a_mean_leaves_padding_out",),
    ),
    Mutation(
        "padding-in-the-turn-of-a-text",
        "glassformer/look/texts/ablation.py",
        "torch.ones(states.shape[:2]) if real is None else real.cpu().float()",
        "torch.ones(states.shape[:2])",
        ("tests/run/test_importance.py::test_a_text_is_measured_by_the_mean_of_its_own_states",),
    ),
    Mutation(
        "importance-of-the-wrong-sign",
        "glassformer/look/texts/importance.py",
        "sums[:, 1:] - sums[:, :1]",
        "sums[:, :1] - sums[:, 1:]",
        ("tests/run/test_importance.py::test_intervals_are_over_texts",),
    ),
)
