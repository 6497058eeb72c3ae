"""The demo's English: prose out of Python files that are read and never run."""

from pathlib import Path

import pytest

from glassformer.bundled import corpus

FIRST = (
    "The statement is used to leave a loop early and to go on with whatever stands after the whole of that same loop"
)
SECOND = "A reader opens the file slowly and gives back every line that it finds there until nothing is left to be read"
THIRD = "Everybody who installs this package may read these words that stand in the module of it"


@pytest.fixture
def installation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A small Python of our own, with the same folders: topics, a library, and packages inside it."""
    library, packages = tmp_path / "library", tmp_path / "library" / "site-packages"
    topic = f"{FIRST}.\n\n   >>> while True:\n   ...     break\n\n{'-' * 70}\n\nx = {{1: 2}}; y[3] = (4, 5) ** 6 % 7"
    files = {
        library / "pydoc_data" / "topics.py": f"topics = {{'break': {topic!r}, 'short': 'too short to be a topic'}}\n",
        library / "reading.py": f'def read():\n    """{SECOND}.\n\n    >>> read()\n    """\n',
        library / "repeated.py": f'class Reader:\n    """{SECOND}."""\n',
        library / "runs.py": f'"""{FIRST} again."""\nopen({str(tmp_path / "was-run")!r}, "w")\nraise SystemExit\n',
        library / "test" / "hidden.py": f'"""{THIRD}, in a test."""\n',
        library / "broken.py": "def (:\n",
        library / "zero.py": f'"""{THIRD}, and in files of zero bytes as ( \\x00 )."""\n',
        packages / "package.py": f'"""{THIRD}."""\n',
    }
    for path, text in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    monkeypatch.setattr("sysconfig.get_path", {"stdlib": str(library), "purelib": str(packages)}.__getitem__)
    return tmp_path


def test_prose_is_kept_once_and_code_is_not(installation: Path) -> None:
    found = list(corpus.documents(10_000))
    assert found == [f"{FIRST}.", f"{SECOND}.", f"{FIRST} again.", f"{THIRD}."]


def test_nothing_is_run(installation: Path) -> None:
    assert f"{FIRST} again." in list(corpus.documents(10_000))
    assert not (installation / "was-run").exists()


def test_it_ends_with_the_document_that_reaches_the_limit(installation: Path) -> None:
    assert list(corpus.documents(1)) == [f"{FIRST}."]
    assert list(corpus.documents(len(FIRST) + 2)) == [f"{FIRST}.", f"{SECOND}."]


def test_the_file_holds_the_documents_parted_by_blank_lines(installation: Path) -> None:
    path = installation / "deep" / "english.txt"
    assert corpus.write_corpus(path, 10_000) == 4
    assert path.read_text(encoding="utf-8").split("\n\n") == [*corpus.documents(10_000), ""]
