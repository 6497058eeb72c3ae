"""Tasks and their scores: labels, spans, thresholds, intervals, verdicts."""

from __future__ import annotations

from tests.mutations.record import Mutation

MUTATIONS = (
    Mutation(
        "threshold-lower-among-equals",
        "glassformer/scoring/exact_match.py",
        "total > best",
        "total >= best",
        ("tests/tasks/test_exact_match.py::test_of_equally_good_thresholds_the_highest",),
    ),
    Mutation(
        "calibration-errors-cancel",
        "glassformer/scoring/calibration.py",
        "np.abs(self.right - self.confidence).sum()",
        "np.abs((self.right - self.confidence).sum())",
        ("tests/tasks/test_calibration.py::test_errors_of_calibration_do_not_cancel",),
    ),
    Mutation(
        "temperature-multiplied",
        "glassformer/tasks/labels/classify/labelling.py",
        "log_mean(log_softmax(logits / temperature))",
        "log_mean(log_softmax(logits * temperature))",
        ("tests/tasks/test_labels_and_numbers.py::test_a_temperature_is_fitted_saved_and_used",),
    ),
    Mutation(
        "answer-at-the-end-of-a-window",
        "glassformer/tasks/labels/answer/task.py",
        "span[1] >= window.end",
        "span[1] >= window.end - 1",
        ("tests/tasks/test_answer.py::test_an_answer_at_either_edge_of_a_window_is_learned_there",),
    ),
    Mutation(
        "span-into-the-closing-token",
        "glassformer/tasks/labels/answer/answers.py",
        ">= ends_at[:, None]",
        "> ends_at[:, None]",
        ("tests/tasks/test_answer.py::test_the_best_spans_are_those_of_trying_all",),
    ),
    Mutation(
        "spans-of-two-types-joined",
        "glassformer/scoring/bio.py",
        "prefix in _OPENS or label != inside",
        "prefix in _OPENS or not inside",
        ("tests/tasks/test_bio.py::test_spans_are_those_of_seqeval_also_where_tags_are_illegal",),
    ),
    Mutation(
        "inside-may-be-first",
        "glassformer/scoring/bio.py",
        "            first[after] = illegal\n",
        "            first[after] = 0.0\n",
        ("tests/tasks/test_bio.py::test_a_legal_sequence_is_one_that_its_own_spans_give",),
    ),
    Mutation(
        "recall-is-precision",
        "glassformer/tasks/labels/tag/answers.py",
        "_share(hits, hits + missed), _share(2",
        "_share(hits, hits + extra), _share(2",
        ("tests/tasks/test_bio.py::test_scores_are_those_of_seqeval",),
    ),
    Mutation(
        "interval-of-90-percent",
        "glassformer/scoring/score.py",
        "(0.025, 0.975)",
        "(0.05, 0.95)",
        ("tests/tasks/test_agreement.py::test_intervals_are_those_of_the_scores_of_resampled_examples",),
    ),
    Mutation(
        "bootstrap-not-paired",
        "glassformer/scoring/score.py",
        "resampled(other.statistics, samples, seed)",
        "resampled(other.statistics, samples, seed + 1)",
        ("tests/tasks/test_verdict.py::test_the_best_baseline_is_the_one_to_beat",),
    ),
    Mutation(
        "lower-loss-is-worse",
        "glassformer/scoring/verdict.py",
        "(self.difference > 0) != lower_is_better",
        "(self.difference > 0) == lower_is_better",
        ("tests/tasks/test_verdict.py::test_the_best_baseline_is_the_one_to_beat",),
    ),
    Mutation(
        "against-the-worst-baseline",
        "glassformer/scoring/verdict.py",
        "sign * others[system]",
        "-sign * others[system]",
        ("tests/tasks/test_verdict.py::test_the_best_baseline_is_the_one_to_beat",),
    ),
    Mutation(
        "matthews-without-the-margins",
        "glassformer/scoring/agreement.py",
        "right * count - (ours * theirs).sum(axis=-1)",
        "right * count - (ours * ours).sum(axis=-1)",
        ("tests/tasks/test_agreement.py::test_one_label_is_scored_as_scikit_learn_does",),
    ),
    Mutation(
        "next-token-one-off",
        "glassformer/tasks/writing/likelihood.py",
        "first = window.start if before else window.start + 1",
        "first = window.start",
        ("tests/tasks/test_language_model.py::test_a_text_is_scored_as_the_logits_say",),
    ),
    Mutation(
        "trigram-of-the-other-order",
        "glassformer/scoring/trigram.py",
        "before * self._base + last, tokens, lower",
        "last * self._base + before, tokens, lower",
        ("tests/tasks/test_language_model.py::test_the_trigrams_probabilities_add_up_to_one_and_follow_its_formula",),
    ),
    Mutation(
        "learns-the-others-turns",
        "glassformer/tasks/writing/chat/turns.py",
        "of and number % 2 == first % 2",
        "of and number % 2 != first % 2",
        ("tests/tasks/test_chat_alone.py::test_each_reply_is_learned_once_and_nothing_else",),
    ),
    Mutation(
        "learns-behind-the-end-of-a-turn",
        "glassformer/tasks/writing/chat/turns.py",
        "if ids[place - 1] in self.ends:",
        "if not self.ends:",
        ("tests/tasks/test_chat_alone.py::test_nothing_is_learned_behind_the_end_of_a_reply",),
    ),
)
