"""glassformer shuffle: a text and its words in another order, in the terminal."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import glassformer as gf
from glassformer.bundled.texts import slides_model
from glassformer.look.summaries.shuffled import shuffled

Run = Callable[..., Any]
SLIDES = str(slides_model())


def test_the_sentence_of_the_notes_is_the_default(run: Run) -> None:
    (record,) = run("shuffle", "--json").records
    assert [word.lower() for word in record["words"]] == ["this", "course", "is", "the", "best"]
    assert sorted(record["order"]) == list(range(5))
    apart = {(way["positions"], way["causal"]): max(way["apart"]) for way in record["ways"]}
    assert apart.pop((False, False)) < 1e-4
    assert len(apart) == 3
    assert min(apart.values()) > 0.5


def test_what_is_printed_is_what_is_computed(run: Run) -> None:
    done = run("shuffle", SLIDES, "She likes [MASK] summer better", "--seed", "2", "--notes")
    assert done.code == 0
    assert max(map(len, done.out.splitlines())) <= 80
    found = shuffled(gf.load(SLIDES).trace("She likes [MASK] summer better"), seed=2)
    lines = done.out.splitlines()
    assert lines[1].split()[1:] == [found.words[place] for place in found.order]
    (row,) = (line.split() for line in lines if line.split()[:1] == ["summer"])
    assert [float(number.replace("−", "-")) for number in row[2:]] == pytest.approx(
        [way.apart[3] for way in found.ways[1:]], abs=6e-5
    )
    assert "C-1" in done.out


def test_unknown_words_are_named_wherever_they_are(run: Run) -> None:
    words = ("shuffle", "english", "龘 the cat sat 龖")
    (record,) = run(*words, "--json").records
    assert record["words"] == ["[UNK]", "the", "cat", "sat", "[UNK]"]
    assert record["unknown_words"] == ["龘", "龖"]
    assert "龘 龖" in run(*words).out


def test_a_model_without_positions_has_no_columns_of_them(run: Run, tmp_path: Path) -> None:
    folder = tmp_path / "orderless"
    assert run("train", "slides", "--steps", "1", "--set", "model.settings.positions=none", "--out", folder).code == 0
    (record,) = run("shuffle", folder, "She likes summer", "--json").records
    assert [way["positions"] for way in record["ways"]] == [False, False]
    shown = run("shuffle", folder, "She likes summer").out
    assert "no positions" in shown
    assert "With positions" not in shown


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((SLIDES, "She"), "words: 1"),
        ((SLIDES, "She runs"), "'runs'"),
        (("english", "a a a a"), "words: 1"),
        (("nowhere", "She likes"), "nowhere"),
        ((SLIDES, "She likes", "--seed", "-1"), "--seed"),
    ],
    ids=str,
)
def test_what_cannot_be_shuffled_is_refused_in_a_sentence(
    run: Run, tmp_path: Path, words: tuple[str, ...], message: str
) -> None:
    file = tmp_path / "page.html"
    done = run("shuffle", *words, "--html", file)
    assert (done.code, done.out) == (2, "")
    assert message in done.err
    assert not file.exists()
