"""Writing: the choice of tokens, beams, penalties."""

from tests.mutations.record import Mutation

MUTATIONS = (
    Mutation(
        "top-p-one-token-more",
        "glassformer/decode/choose.py",
        "before >= top_p",
        "before > top_p",
        ("tests/decode/test_choose.py::test_equally_likely_tokens_are_kept_until_their_sum_reaches_top_p",),
    ),
    Mutation(
        "equal-numbers-in-any-order",
        "glassformer/decode/choose.py",
        "(equal | ((numbers >= last).sum(dim=1) > count))",
        "(equal & ((numbers >= last).sum(dim=1) > count))",
        ("tests/decode/test_choose.py::test_the_best_candidates_are_those_of_a_stable_sort_of_all",),
    ),
    Mutation(
        "impossible-token-is-drawn",
        "glassformer/decode/choose.py",
        "right=True)",
        "right=False)",
        ("tests/decode/test_choose.py::test_tokens_are_drawn_by_their_probability",),
    ),
    Mutation(
        "length-penalty-from-one",
        "glassformer/decode/beam_search.py",
        "((5 + tokens) / 6)",
        "((5 + tokens) / 5)",
        ("tests/decode/test_beams.py::test_beams_are_those_of_a_plain_search[length]",),
    ),
    Mutation(
        "bound-of-the-shortest-answer",
        "glassformer/decode/beam_search.py",
        ".maximum(final_score(score, most.maximum(tokens + 1), settings))",
        "",
        ("tests/decode/test_exhaustive.py::test_a_large_limit_costs_nothing_where_answers_are_likely_to_be_short",),
    ),
    Mutation(
        "coverage-above-one-rewarded",
        "glassformer/decode/beam_search.py",
        "coverage.clamp(max=1.0).log()",
        "coverage.log()",
        ("tests/decode/test_beams.py::test_beams_are_those_of_a_plain_search[coverage]",),
    ),
    Mutation(
        "of-equal-answers-the-last",
        "glassformer/decode/hypotheses.py",
        "self.answers[place - 1].score < answer.score",
        "self.answers[place - 1].score <= answer.score",
        ("tests/decode/test_beams.py::test_of_answers_with_equal_scores_the_first_found_comes_first",),
    ),
    Mutation(
        "repetition-of-unlikely-tokens-rewarded",
        "glassformer/decode/control.py",
        "torch.where(found > 0, found / penalty, found * penalty)",
        "found / penalty",
        ("tests/decode/test_control.py::test_rules_hold_for_each_hypothesis",),
    ),
    Mutation(
        "end-one-token-late",
        "glassformer/decode/control.py",
        "begun < settings.min_tokens",
        "begun <= settings.min_tokens",
        ("tests/decode/test_control.py::test_rules_hold_for_each_hypothesis",),
    ),
    Mutation(
        "newest-words-may-repeat",
        "glassformer/decode/control.py",
        "+ size <= hypotheses.length[:, None]",
        "+ size < hypotheses.length[:, None]",
        ("tests/decode/test_control.py::test_rules_hold_for_each_hypothesis",),
    ),
    Mutation(
        "one-answer-beyond-the-beams",
        "glassformer/decode/beam_search.py",
        "complete & (rank < self.of_group)",
        "complete & (rank <= self.of_group)",
        ("tests/decode/test_beams.py::test_beams_are_those_of_a_plain_search[coverage]",),
    ),
    Mutation(
        "gives-up-on-equal-bounds",
        "glassformer/decode/beam_search.py",
        "hopeless & (best <= worst)",
        "hopeless & (best >= worst)",
        ("tests/decode/test_transformers.py::test_the_tokens_of_transformers[MarianMTModel-beam]",),
    ),
)
