"""Words in columns: CoNLL with tabs or blanks, CoNLL-U with its multi-word tokens, empty nodes and spaces."""

import gzip
from pathlib import Path
from typing import Any

import pytest

from glassformer.base.errors import DataError, MissingColumnError
from glassformer.data.readers.conll import conll_columns, conll_rows
from glassformer.data.readers.lines import Skipped
from glassformer.data.readers.rows import read_table
from glassformer.data.readers.table_format import find_format
from glassformer.tasks.labels.tag.records import tagged_format

UNIVERSAL = """\
# sent_id = 1
# text = I don't reallyknow du (sic).
1\tI\tI\tPRON\tPRP\t_\t4\tnsubj\t_\t_
2-3\tdon't\t_\t_\t_\t_\t_\t_\t_\t_
2\tdo\tdo\tAUX\tVBP\t_\t4\taux\t_\t_
3\tn't\tnot\tPART\tRB\t_\t4\tadvmod\t_\t_
4\treally\treally\tADV\tRB\t_\t4\tadvmod\t_\tSpaceAfter=No
5\tknow\tknow\tVERB\tVB\t_\t0\troot\t_\tCase=Yes|SpaceAfter=Yes
5.1\tknown\tknow\tVERB\tVBN\t_\t_\t_\t4:conj\tCopyOf=4
6-7\tdu\t_\t_\t_\t_\t_\t_\t_\t_
6\tde\tde\tADP\tIN\t_\t7\tcase\t_\t_
7\tle\tle\tDET\tDT\t_\t4\tdet\t_\t_
8\t(\t(\tPUNCT\t-LRB-\t_\t9\tpunct\t_\tSpaceAfter=No
9\tsic\tsic\tADV\tRB\t_\t4\tadvmod\t_\tSpaceAfter=No
10\t)\t)\tPUNCT\t-RRB-\t_\t9\tpunct\t_\t_

# sent_id = 2
1\tYes\tyes\tINTJ\tUH\t_\t0\troot\t_\t_
"""


def write(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
    return path


@pytest.mark.parametrize("name", ["a.conllu", "a.conllu.gz", "a.txt", "a.annotated"])
def test_universal_dependencies_are_read_by_content(name: str, tmp_path: Path) -> None:
    path = write(tmp_path, name, UNIVERSAL)
    one, two = conll_rows(path, ["XPOS", "2"])
    assert one.values["text"] == "I don't reallyknow de le (sic)"
    assert one.values["words"] == ["I", "do", "n't", "really", "know", "de", "le", "(", "sic", ")"]
    assert one.values["tags"] == ["PRON", "AUX", "PART", "ADV", "VERB", "ADP", "DET", "PUNCT", "ADV", "PUNCT"]
    values: dict[str, Any] = dict(one.values)
    assert values["XPOS"][-1] == "-RRB-"
    assert values["2"][2] == "not"
    assert [values["text"][start:end] for start, end in values["offsets"]] == values["words"]
    assert (two.values["text"], two.where) == ("Yes", f"{path}, line {UNIVERSAL.count(chr(10))}")
    assert str(tagged_format(path)) == "CoNLL-U, 10 columns"


def test_columns_have_the_names_that_a_file_gives_them(tmp_path: Path) -> None:
    path = write(tmp_path, "a.conllu", "# global.columns = ID FORM UPOS MY:NER\n1\tEU\tPROPN\tB-ORG\n2\t.\tPUNCT\tO\n")
    assert conll_columns(path) == ("ID", "FORM", "UPOS", "MY:NER")
    (row,) = conll_rows(path, tags="MY:NER")
    assert (row.values["words"], row.values["tags"]) == (["EU", "."], ["B-ORG", "O"])
    with pytest.raises(MissingColumnError) as raised:
        list(conll_rows(path, ["XPOS"]))
    assert "MY:NER" in raised.value.got


@pytest.mark.parametrize(
    "text",
    [
        "EU\tNNP\tB-ORG\n#1\tCD\tO\n\t\t\n\n\nBonn\tNNP\tB-LOC\n",
        "EU NNP B-ORG\n#1  CD O\r\n  \nBonn NNP B-LOC",
        "-DOCSTART- -X- O\n\nEU NNP B-ORG\n#1 CD O\n\nBonn NNP B-LOC\n\n",
        "# id 42 domain=train\nEU _ B-ORG\n#1 _ O\n\n# id 43 domain=train\nBonn _ B-LOC\n",
    ],
)
def test_tabs_blanks_documents_and_comments(text: str, tmp_path: Path) -> None:
    one, two = conll_rows(write(tmp_path, "a.conll", text))
    assert (one.values["words"], one.values["tags"]) == (["EU", "#1"], ["B-ORG", "O"])
    assert (two.values["text"], two.values["tags"]) == ("Bonn", ["B-LOC"])


def test_a_first_word_may_begin_with_a_hash(tmp_path: Path) -> None:
    path = write(tmp_path, "a.conll", "#Paris B-LOC\nis O\n\n#Rome B-LOC\n")
    assert [row.values["words"] for row in conll_rows(path)] == [["#Paris", "is"], ["#Rome"]]
    for comment in ("# a comment", "#newdoc id = n01", "#"):
        (row,) = conll_rows(write(tmp_path, "a.conll", f"{comment}\nis O\n"))
        assert row.values["words"] == ["is"]


def test_columns_by_number(tmp_path: Path) -> None:
    path = write(tmp_path, "a.conll", "1\tEU\tNNP\tB-ORG\n\n1\tBonn\tNNP\tB-LOC\n")
    one, _ = conll_rows(path, words="1", tags="2")
    assert (one.values["words"], one.values["tags"]) == (["EU"], ["NNP"])
    with pytest.raises(MissingColumnError) as raised:
        list(conll_rows(path, tags="4"))
    assert f"{path}, line 1" in raised.value.wanted


def test_the_first_word_says_how_many_columns_there_are(tmp_path: Path) -> None:
    (row,) = conll_rows(write(tmp_path, "a.conll", "-DOCSTART-\n\nHerr\tB-PER\nMay\tI-PER\t\n"))
    assert row.values["tags"] == ["B-PER", "I-PER"]


@pytest.mark.parametrize("line", ["Bonn", " \tO", "Bonn\tNN\tO"])
def test_a_line_without_a_cell_or_with_more_is_named_and_its_sentence_set_aside(line: str, tmp_path: Path) -> None:
    path = write(tmp_path, "a.conll", f"EU\tO\n\nIn\tO\n{line}\nnow\tO\n\n.\tO\n")
    with pytest.raises(DataError) as raised:
        list(conll_rows(path))
    assert f"{path}, line 4" in raised.value.wanted
    bad = Skipped()
    assert [row.values["text"] for row in conll_rows(path, bad=bad)] == ["EU", "."]
    assert bad.count == 1


def test_a_file_of_words_is_a_table_of_sentences(tmp_path: Path) -> None:
    path = write(tmp_path, "a.conllu", UNIVERSAL)
    assert [row.values["text"] for row in read_table(path, ["text"])][1] == "Yes"
    assert find_format(path).kind == "conll"


def test_an_empty_file_is_refused(tmp_path: Path) -> None:
    for text in ("", "\n\n", "# a comment\n"):
        with pytest.raises(DataError):
            conll_columns(write(tmp_path, "a.conll", text))
