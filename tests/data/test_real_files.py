"""The published data sets are read with the sizes that their page states."""

from pathlib import Path

import pytest

from glassformer.data.readers.files import files_of
from glassformer.data.readers.read import read
from glassformer.data.readers.rows import read_table


@pytest.mark.parametrize(
    ("name", "column", "documents"),
    [
        ("text_books", "", 1783),
        ("multi30k_en_fr/val.en.gz", "", 1014),
        ("sst2/dev.tsv", "0", 872),
        ("sms_spam/sms.tsv", "1", 5574),
        ("sts_benchmark/stsb-en-dev.csv", "0", 1500),
    ],
)
def test_documents_are_as_many_as_stated(name: str, column: str, documents: int, data_directory: Path) -> None:
    path = data_directory / name
    if not path.exists():
        pytest.skip(f"{name} is not among the data sets here")
    found = list(read(path, text=column or "text", documents="line" if name.endswith(".en.gz") else "blank-line"))
    assert len([document for document in found if not document.continued]) == documents


def test_a_folder_of_books_is_its_books(data_directory: Path) -> None:
    files = files_of([data_directory / "text_books"])
    assert len(files) == 55
    assert all(path.suffix == ".txt" for path in files)
    assert len(list(read_table(data_directory / "text_books" / "INDEX.tsv"))) >= 55
