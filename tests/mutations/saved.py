"""What is read, converted, exported, searched and handed on."""

from tests.mutations.record import Mutation

MUTATIONS = (
    Mutation(
        "gpt2-key-before-query",
        "glassformer/convert/gpt2.py",
        'and_then=(f"{BLOCK}.self_attention.body.key.*", f"{BLOCK}.self_attention.body.value.*")',
        'and_then=(f"{BLOCK}.self_attention.body.value.*", f"{BLOCK}.self_attention.body.key.*")',
        ("tests/contracts/test_parity.py::test_answers_and_gradients_are_the_references[gpt2]",),
    ),
    Mutation(
        "marian-start-not-scaled",
        "glassformer/convert/marian.py",
        "words[start].to(exact) * _scale(config)",
        "words[start].to(exact)",
        ("tests/convert/test_translators.py::test_transformers_translates_as_we_do[cache-greedy]",),
    ),
    Mutation(
        "yarn-grows-ten-times-as-fast",
        "glassformer/convert/rotary.py",
        "0.1 * by * math.log(factor)",
        "by * math.log(factor)",
        (
            "tests/convert/test_rotary.py::test_a_stretched_model_computes_what_transformers_computes[LlamaForCausalLM-yarn]",
        ),
    ),
    Mutation(
        "onnx-mask-of-ones-alone",
        "glassformer/convert/onnx/network.py",
        "real=attention_mask != 0",
        "real=None",
        ("tests/convert/test_onnx.py::test_weights_above_the_limit_of_a_message_are_next_to_the_graph",),
    ),
    Mutation(
        "search-ranks-the-farthest",
        "glassformer/features/search/nearest.py",
        "np.lexsort((rows, -scores.astype(np.float64)))",
        "np.lexsort((rows, scores.astype(np.float64)))",
        ("tests/features/search/test_search.py::test_the_exact_search_is_what_sorting_all_of_them_gives",),
    ),
    Mutation(
        "search-of-equal-ones-the-last",
        "glassformer/features/search/nearest.py",
        'within = begin + np.argsort(rows[begin:end], kind="stable")',
        'within = begin + np.argsort(-rows[begin:end], kind="stable")',
        ("tests/features/search/test_search.py::test_equal_vectors_come_in_the_order_of_their_rows",),
    ),
    Mutation(
        "search-finds-the-empty",
        "glassformer/features/search/nearest.py",
        "scores[:, self._empty[begin:end] - at] = -np.inf",
        "scores[:, self._empty[begin:end] - at] = -1.0",
        (
            "tests/features/search/test_search.py::test_scores_that_differ_by_rounding_are_equal_and_empty_rows_are_not_found",
        ),
    ),
    Mutation(
        "last-token-of-a-word-one-off",
        "glassformer/features/pooling.py",
        "begins + tokens - 1]",
        "begins + tokens - 2]",
        ("tests/features/test_vectors.py::test_words_of_several_tokens_are_joined_by_the_pooling",),
    ),
    Mutation(
        "mix-without-its-scale",
        "glassformer/features/strategies.py",
        "return total * self.scale",
        "return total",
        ("tests/features/test_vectors.py::test_texts_have_the_vectors_that_numpy_finds_in_transformers",),
    ),
    Mutation(
        "probe-forgets-the-mean",
        "glassformer/features/pipeline.py",
        "bias = bias - weights @ np.asarray",
        "bias = bias + weights @ np.asarray",
        ("tests/features/test_probe.py::test_a_pipeline_is_shown_as_it_answers",),
    ),
)
