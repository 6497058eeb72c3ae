"""One word, one meaning on the command line: docs/reference/options.md is what the verbs have."""

from collections import defaultdict
from typing import Any

import pytest

from glassformer.cli.__main__ import _RENAMED, main
from tests.docs.options import PAGE, options, table


def test_the_page_is_what_the_verbs_have() -> None:
    assert PAGE.read_text(encoding="utf-8") == table()


def test_each_option_has_one_name_one_type_and_one_meaning() -> None:
    named: dict[str, set[Any]] = defaultdict(set)
    for each in options():
        for name in each.names:
            named[name].add((each.names, str(each.kind), each.help))
        assert all(len(name) == 2 or "/" in name for name in each.names[1:]), each
        assert each.help.endswith("."), each
    assert {name: found for name, found in named.items() if len(found) > 1} == {}


def test_each_meaning_has_one_name() -> None:
    meant: dict[str, set[str]] = defaultdict(set)
    for each in options():
        meant[each.help].add(each.names[0])
    assert {help_: names for help_, names in meant.items() if len(names) > 1} == {}


@pytest.mark.parametrize(
    ("words", "new"),
    [
        (("train", "classify", "x.csv", "--label", "0"), "--label-column"),
        (("evaluate", "english", "--text", "0"), "--text-column"),
        (("classify", "--column", "0", "a text"), "--text-column"),
        (("train", "regress", "x.csv", "--pair", "1"), "--pair-column"),
        (("answer", "a question", "--context", "a passage"), "--pair"),
        (("train", "translate", "a", "--target", "b"), "--target-file"),
        (("matrix", "a", "--features", "random"), "--word-vectors"),
        (("distil", "english", "--temperature", "2"), "--teacher-temperature"),
        (("generate", "--beam", "2"), "--beams"),
        (("matrix", "a b", "--hide", "0"), "--mask-fraction"),
        (("embed", "a b", "--words"), "--per-word"),
        (("embed", "a b", "--word", "a"), "--compare-word"),
        (("verify", "a b", "--dtype", "float64"), "--precision"),
        (("explain", "a b", "--looks", "1"), "--attention"),
        (("claims", "--runs", "folder"), "--runs-folder"),
    ],
)
def test_an_old_name_is_refused_with_the_new_one(
    capsys: pytest.CaptureFixture[str], words: tuple[str, ...], new: str
) -> None:
    assert main(words) == 2
    assert f"write {new}\n" in capsys.readouterr().err
    assert any(new in known for known in _RENAMED.values())
