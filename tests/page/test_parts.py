"""What an exported page has of the script: the parts that its run can show, and none of the others."""

from __future__ import annotations

import pytest

from glassformer.api.trace import Trace, trace
from glassformer.page.matrix_page import NOT_SHOWN
from glassformer.page.page import chunks_of, not_shown, page, script_of_page
from tests.look.rows import row_named, slides_trace
from tests.page.test_page import blocks

SOME = frozenset(
    (
        "live",
        "asked",
        "served",
        "masked",
        "chains",
        "texts_view",
        "padding",
        "tree",
        "writing",
        "decoder",
        "translation",
        "bert",
        "learning",
        "encodings",
        "turned",
        "trained",
        "sections",
    )
)
"""The parts that some pages lack."""
LARGEST = 600_000
"""Bytes of script and style, with what makes parts of them."""


def run_of(name: str) -> Trace:
    """A run of a small model of this family."""
    if name == "slides":
        return slides_trace()
    row = row_named(name)
    inputs, decoder_inputs = row.batch()
    return trace(row.model(), inputs, decoder_inputs, keep=())


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("slides", {"learning", "bert", "encodings", "masked"}),
        ("bert", {"bert", "encodings", "masked", "padding"}),
        ("modernbert", {"bert", "turned", "masked", "padding"}),
        ("gpt2", {"tree", "writing", "decoder", "encodings", "padding"}),
        ("llama", {"tree", "writing", "decoder", "turned", "padding"}),
        ("vaswani2017", {"tree", "writing", "decoder", "translation", "encodings", "padding"}),
        ("t5", {"tree", "writing", "decoder", "translation", "turned", "padding"}),
    ],
)
def test_a_page_has_the_parts_that_its_run_can_show(name: str, shown: set[str]) -> None:
    without = not_shown(run_of(name))
    assert SOME - without == shown
    own = script_of_page(without)
    chunks = {block.removeprefix("part-").partition("-")[0] for block in own}
    assert chunks.isdisjoint(without)
    assert shown <= chunks
    assert sum(len(text.encode()) for text in own.values()) <= LARGEST


def test_the_page_of_a_matrix_lacks_every_part_that_only_runs_have() -> None:
    assert SOME == NOT_SHOWN == set(chunks_of(run_of("slides"), ()))


@pytest.mark.parametrize(
    ("section", "part"),
    [("training", "trained"), ("probe", "sections"), ("neighbours", "sections"), ("moved", "sections")],
)
def test_a_section_brings_the_part_that_draws_it(section: str, part: str) -> None:
    found = run_of("bert")
    assert not_shown(found) - not_shown(found, (section,)) == {part}
    here = blocks(page(found, sections={section: {}}))
    assert any(name.startswith(f"part-{part}-") for name in here)
