"""Texts on their way into a batch: masked words, packing, splits, windows, offsets."""

from __future__ import annotations

from tests.mutations.record import Mutation

MUTATIONS = (
    Mutation(
        "random-token-may-be-special",
        "glassformer/data/batches/corrupt.py",
        "drawn + (drawn >= id_)",
        "drawn + (drawn > id_)",
        ("tests/data/test_corrupt.py::test_labels_stand_at_the_chosen_places_only",),
    ),
    Mutation(
        "too-few-masks-random",
        "glassformer/data/batches/corrupt.py",
        "how < settings.mask + settings.random",
        "how < settings.random",
        ("tests/data/test_corrupt.py::test_the_shares_hold_over_100_000_tokens",),
    ),
    Mutation(
        "one-mask-too-many",
        "glassformer/data/batches/corrupt.py",
        "wanted & (before + size <= most)",
        "wanted & (before + size <= most + 1)",
        ("tests/data/test_corrupt.py::test_at_least_one_and_at_most_so_many",),
    ),
    Mutation(
        "packed-positions-run-on",
        "glassformer/data/batches/pack.py",
        "positions - np.maximum.accumulate(np.where(document_begins, positions, 0), axis=1)",
        "positions",
        ("tests/data/test_pack.py::test_document_mask_part_the_documents",),
    ),
    Mutation(
        "packed-closing-of-the-next-document",
        "glassformer/data/batches/pack.py",
        "document_begins[rows, len(opening) + count] |= ended",
        "document_begins[rows, len(opening) + count] |= ~ended",
        ("tests/data/test_pack.py::test_document_mask_part_the_documents",),
    ),
    Mutation(
        "packed-pair-too-long",
        "glassformer/data/batches/pack_pairs.py",
        "np.all(lengths[:, None] <= rooms[None], axis=2)",
        "np.any(lengths[:, None] <= rooms[None], axis=2)",
        ("tests/data/test_pack_pairs.py::test_each_pair_stands_in_one_row_that_holds_it",),
    ),
    Mutation(
        "test-split-in-the-training",
        "glassformer/data/stores/split.py",
        '"test" if place < validation + test',
        '"test" if place < test',
        ("tests/data/test_split.py::test_sides_never_change",),
    ),
    Mutation(
        "split-by-spelling",
        "glassformer/data/stores/split.py",
        ".casefold()",
        "",
        ("tests/data/test_split.py::test_sides_never_change",),
    ),
    Mutation(
        "order-of-every-epoch-alike",
        "glassformer/data/batches/order.py",
        "random_bits(key, epochs[..., None], np.arange(_ROUNDS))",
        "random_bits(key, 0 * epochs[..., None], np.arange(_ROUNDS))",
        ("tests/data/test_order.py::test_it_is_shuffled_well",),
    ),
    Mutation(
        "bucket-part-one-token-short",
        "glassformer/data/batches/buckets.py",
        "sizes[document] * (part + 1) // parts[document]",
        "sizes[document] * (part + 1) // parts[document] - (part > 0)",
        ("tests/data/test_buckets.py::test_each_document_is_a_row_or_equal_parts",),
    ),
    Mutation(
        "held-out-end-is-the-beginning",
        "glassformer/data/stores/split.py",
        "round(total * (1 - end))",
        "round(total * end)",
        ("tests/data/test_end.py::test_of_few_paragraphs_a_tenth_is_held_out_and_it_is_said",),
    ),
    Mutation(
        "nearest-answer-is-the-farthest",
        "glassformer/data/readers/squad.py",
        "return min(beside, key=lambda place: abs(place - start))",
        "return max(beside, key=lambda place: abs(place - start))",
        ("tests/data/test_squad.py::test_where_an_answer_stands",),
    ),
    Mutation(
        "window-edge-at-its-beginning",
        "glassformer/text/windows.py",
        "(later + earlier + room) // 2 for",
        "later for",
        ("tests/text/test_windows.py::test_each_token_is_answered_once_and_where_it_sees_most",),
    ),
    Mutation(
        "offsets-without-the-part",
        "glassformer/tasks/labels/answer/passage.py",
        "np.array(raw.offsets, np.int32).reshape(-1, 2) + np.int32(begin)",
        "np.array(raw.offsets, np.int32).reshape(-1, 2)",
        ("tests/tasks/test_answer.py::test_in_parts_a_passage_has_the_tokens_and_characters_of_the_whole",),
    ),
    Mutation(
        "mask-takes-the-space-before-it",
        "glassformer/text/tokenizer.py",
        "max(start, end - len(written)), end",
        "start, end",
        ("tests/text/test_tokenizer.py::test_mask_in_a_text_is_one_token",),
    ),
)
