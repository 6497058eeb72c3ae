"""Problems of parallel data are found where they were put, and hardly anywhere else."""

import gzip
import random
from pathlib import Path

import numpy as np
import pytest

from glassformer.data.readers.pair_checks import (
    PROBLEMS,
    PairReport,
    Problem,
    check_pairs,
    in_other_writing,
    like_the_other_side,
)

ENGLISH = "the man woman child dog is are was sleeping walking through with that which street house window".split()  # noqa: SIM905
FRENCH = "le une homme femme enfant chien est sont dort marche dans avec que rue maison fenêtre près".split()  # noqa: SIM905


def sentences(words: list[str], count: int, seed: int) -> list[str]:
    rng = random.Random(seed)
    return [f"{' '.join(rng.choices(words, k=rng.randint(6, 12))).capitalize()}." for _ in range(count)]


def checked(*changes: tuple[int, str, str], count: int = 300) -> PairReport:
    ours, theirs = sentences(ENGLISH, count, 1), sentences(FRENCH, count, 2)
    for row, one, other in changes:
        ours[row], theirs[row] = one, other
    return check_pairs(ours, theirs, [f"pairs.tsv, line {number}" for number in range(1, count + 1)])


def rows(report: PairReport) -> dict[str, list[int]]:
    return {problem: np.flatnonzero(flags).tolist() for problem, flags in report.flags.items() if flags.any()}


LONG = "Le chien dort dans la rue avec une femme. " * 9


@pytest.mark.parametrize(
    ("pair", "found"),
    [
        (("", "Le chien."), ["empty"]),
        (("The dog.", " \t\u00a0"), ["empty"]),
        (("", ""), ["empty"]),
        (("The dog is sleeping.", LONG), ["length"]),
        (("The dog is sleeping through that house. " * 9, "Le chien dort."), ["length"]),
        (("Hi.", "Le chien dort."), []),  # 10 characters are granted
        (("Kathmandu, Nepal", "kathmandu,  NEPAL"), ["copy"]),
        (("The man is walking through that street.", "The man is walking through that street."), ["copy"]),
        (("2014 – 15:30", "2014 – 15:30"), []),  # numbers are the same in all languages
        (("The man is walking.", "The woman was walking through that house."), ["language"]),
        (("L'homme marche dans la maison.", "Une femme marche près que."), ["language"]),
        (("The man is walking.", "Мужчина гуляет с собакой."), ["language"]),
        (("人在走路的時候看見了狗。", "L'homme marche dans la rue."), ["language"]),
        (("The man is walking.", "2014"), []),
    ],
)
def test_each_problem_is_found(pair: tuple[str, str], found: list[str]) -> None:
    assert rows(checked((7, *pair))) == {problem: [7] for problem in found}


def test_clean_pairs_have_no_problem() -> None:
    assert rows(checked()) == {}
    assert rows(check_pairs([], [], [])) == {}
    assert rows(check_pairs(["a b"], ["c d"], ["x, line 1"])) == {}


def test_the_second_of_two_equal_pairs_is_the_duplicate() -> None:
    one = ("The dog is sleeping.", "Le chien dort.")
    changes = [(3, *one), (5, *one), (7, "The  dog is\tsleeping.", one[1]), (9, one[0], "Le chien marche.")]
    assert rows(checked(*changes)) == {"duplicate": [5, 7]}


def test_the_ratio_of_lengths_is_that_of_the_data() -> None:
    """Chinese takes a third of the characters of English."""
    ours = sentences(ENGLISH, 100, 1)
    theirs = ["漢" * (len(text) // 4) for text in ours]
    report = check_pairs([*ours, ours[0] * 6], [*theirs, theirs[0]], ["x"] * 101)
    assert report.ratio == pytest.approx(0.25, abs=0.02)
    assert rows(report)["length"] == [100]


def test_two_writings_of_one_side_are_its_own() -> None:
    """Japanese is written in kana and Han; a side in which a third of the letters are Cyrillic is of two writings."""
    mixed = ["これは犬です", "犬が走る", "Собака спит", "a dog", "a cat sat on the mat"]
    assert in_other_writing(mixed).tolist() == [False] * 5
    assert in_other_writing([*["a dog is here"] * 20, "犬が走る", "犬", "犬 a dog"]).tolist() == [False] * 20 + [
        True,
        False,
        False,
    ]


def test_a_rare_run_says_nothing() -> None:
    """With each text alone on its side, no run of three letters was seen but in the text itself."""
    ours, theirs = like_the_other_side(["quartz"], ["jumbo"])
    assert (abs(ours) < 1).all()
    assert (abs(theirs) < 1).all()


def test_nothing_is_removed_unasked() -> None:
    report = checked((1, "", "x"), (2, "", "y"), (3, "Paris Texas", "Paris Texas"), (4, "The dog.", LONG))
    assert report.kept(()).all()
    assert np.flatnonzero(~report.kept(("empty", "length"))).tolist() == [1, 2, 4]
    assert [report.count(problem) for problem in PROBLEMS] == [2, 1, 1, 0, 0]
    assert '"empty", "length", "copy"' in report.table()
    empty: tuple[Problem, ...] = ("empty",)
    removed = report.table(empty)
    assert "2 removed, 298 kept" in removed
    for table in (report.table(), removed):
        assert max(map(len, table.split("\n"))) <= 80
        assert "first: pairs.tsv, line 2, line 3" in table
    long = PairReport(report.flags, 1.0, ["a/very/long/folder" * 9 + f", line {row}" for row in range(300)])
    assert max(map(len, long.table().split("\n"))) <= 80


def test_real_pairs_are_hardly_ever_taken_for_wrong(data_directory: Path) -> None:
    """5,000 captions, of which every fiftieth French one is replaced by its English one, or by that of another."""
    texts = [
        gzip.decompress((data_directory / "multi30k_en_fr" / f"train.{side}.gz").read_bytes())
        .decode()
        .split("\n")[:5000]
        for side in ("en", "fr")
    ]
    english, french = texts
    clean = check_pairs(english, french, ["x"] * 5000)
    assert clean.count("language") + clean.count("copy") + clean.count("length") <= 2
    french[::50] = english[::50]
    french[25::50] = english[24::50]
    found = rows(check_pairs(english, french, ["x"] * 5000))
    assert found["copy"] == list(range(0, 5000, 50))
    assert set(found["language"]) >= set(range(25, 5000, 50))
    assert len(found["language"]) <= 102
