"""An index that begins with the texts of another: their vectors are copied, and it is the index of all texts."""

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from glassformer.api.model import Model
from glassformer.base.errors import CheckpointError, ConfigError
from glassformer.cli.__main__ import main
from glassformer.features import embed
from glassformer.features.search import building
from glassformer.features.search.index import SearchIndex
from tests.contracts.tasks import SENTENCES
from tests.refusals import refused

TEXTS = [f"{sentence} {number}" for number in range(4) for sentence in SENTENCES]
RECORDS = [{"text": text, "id": number, "title": f"the {number}th"} for number, text in enumerate(TEXTS)]


def content(path: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in path.iterdir() if file.name != building.INDEX}


@pytest.mark.parametrize("more", [{}, {"per": "text"}, {"pooling": "first", "strategy": "embedding"}])
def test_it_is_the_index_of_all_texts(model: Model, tmp_path: Path, more: dict[str, Any]) -> None:
    old = SearchIndex.build(tmp_path / "old", RECORDS[:12], model, **more)
    before = content(old.path)
    new = old.extended(tmp_path / "new", RECORDS[12:])
    whole = SearchIndex.build(tmp_path / "whole", RECORDS, model, **more)
    assert content(old.path) == before
    one, two = content(new.path), content(whole.path)
    vectors = [np.load(path / building.VECTORS) for path in (new.path, whole.path, old.path)]
    assert np.abs(vectors[0] - vectors[1]).max() <= 1e-6  # sums of another batch round otherwise
    assert vectors[0][: len(vectors[2])].tobytes() == vectors[2].tobytes()
    del one[building.VECTORS], two[building.VECTORS]
    assert one == two
    facts = [each.facts.model_dump(exclude={"checksums"}) for each in (new, whole)]
    assert facts[0] == facts[1]
    assert [(hit.row, hit.kept) for hit in new.ask(TEXTS[17], top=3)] == [
        (hit.row, hit.kept) for hit in whole.ask(TEXTS[17], top=3)
    ]


def test_the_command_reads_only_the_new_texts_and_goes_on_when_it_is_stopped(
    model: Model, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    saved = str(model.save(tmp_path / "model"))
    for name, some in (("first", RECORDS[:8]), ("second", RECORDS[8:]), ("all", RECORDS)):
        (tmp_path / f"{name}.jsonl").write_text("".join(f"{json.dumps(each)}\n" for each in some), encoding="utf-8")
    first, second, old, new = (str(tmp_path / name) for name in ("first.jsonl", "second.jsonl", "old", "new"))
    keep = ["--keep", "title"]
    assert main(["search", "build", saved, first, "-o", old, *keep]) == 0
    read: list[str] = []
    rows_of, stopped = embed.embed, [True]

    def counting(opened: Any, maker: Any, texts: Any, **named: Any) -> Any:
        for vectors in rows_of(opened, maker, texts, **named):
            if stopped and len(read) == 5:
                raise KeyboardInterrupt
            read.append(vectors.text)
            yield vectors

    monkeypatch.setattr(embed, "embed", counting)
    extend = ["search", "build", second, "-o", new, "--extend", old, *keep]
    assert main(extend) == 130
    assert (tmp_path / "new.partial").is_dir()
    stopped.clear()
    read.clear()
    assert main([*extend, "--resume"]) == 0
    assert read == TEXTS[8:]
    assert main(["search", "build", saved, str(tmp_path / "all.jsonl"), "-o", str(tmp_path / "whole"), *keep]) == 0
    one, two = content(tmp_path / "new"), content(tmp_path / "whole")
    del one[building.VECTORS], two[building.VECTORS]
    assert one == two
    capsys.readouterr()
    assert main(["search", "ask", new, TEXTS[9], "--json", "--top", "1"]) == 0
    (hit,) = json.loads(capsys.readouterr().out)["hits"]
    assert (hit["row"], hit["id"], hit["kept"]) == (9, 9, {"title": "the 9th"})


def test_what_would_make_other_vectors_is_refused(model: Model, tmp_path: Path) -> None:
    from glassformer.cli.vectors.search_build import search_build

    saved = str(model.save(tmp_path / "model"))
    (tmp_path / "more.txt").write_text("another text\n", encoding="utf-8")
    old, more, new = tmp_path / "old", str(tmp_path / "more.txt"), tmp_path / "new"
    SearchIndex.build(old, TEXTS, model)  # of a model in memory: it names none
    for asked, value in (("pooling", ["max"]), ("strategy", ["embedding"]), ("per", "text")):
        with refused(ConfigError, wanted=asked, got="max" if asked == "pooling" else str(value).strip("[']")):
            search_build([saved, more], out=new, extend=old, **{asked: value})  # type: ignore[arg-type]  # each has its type
    with refused(ConfigError, do="--model"):
        search_build([more], out=new, extend=old)
    with refused(CheckpointError, got="another model"):
        search_build(["english", more], out=new, extend=old)
    with refused(CheckpointError, wanted="index"):
        search_build([saved, more], out=new, extend=tmp_path / "model")
    assert not new.exists()
    search_build([saved, more], out=new, extend=old, pooling=["mean"])
    assert len(SearchIndex.open(new)) == len(TEXTS) + 1


def test_a_damaged_index_is_not_extended(model: Model, tmp_path: Path) -> None:
    index = SearchIndex.build(tmp_path / "old", TEXTS, model)
    texts = index.path / building.TEXTS
    whole = texts.read_bytes()
    texts.write_bytes(whole.replace(b"the", b"teh"))
    with refused(CheckpointError, wanted="old", got="checksum"):
        index.extended(tmp_path / "new", ["more"])
    shutil.rmtree(index.path)
    SearchIndex.build(index.path, TEXTS[:3], model)  # another index in its place
    with refused(CheckpointError, wanted="old", got="another index"):
        index.extended(tmp_path / "new", ["more"])
    shutil.rmtree(index.path)
    with refused(CheckpointError, wanted="old"):
        index.ask(TEXTS[0])
    assert not (tmp_path / "new").exists()


def test_a_missing_value_of_a_table_is_not_kept(model: Model, tmp_path: Path) -> None:
    class NAType:  # as pandas' NA: it has no truth value
        def __ne__(self, other: object) -> Any:
            return self

        def __bool__(self) -> bool:
            raise TypeError

        __hash__ = object.__hash__

    records: list[dict[str, Any]] = [
        {"text": TEXTS[0], "title": NAType(), "year": float("nan")},
        {"text": TEXTS[1], "title": "second"},
    ]
    index = SearchIndex.build(tmp_path / "index", records, model)
    assert {hit.row: hit.kept for hit in index.ask(TEXTS[0], top=2)} == {0: {}, 1: {"title": "second"}}
    backend: Any
    for backend in ("zz", "Faiss", None, 3):
        with refused(ConfigError, got=repr(backend)):
            SearchIndex.open(index.path, model, backend=backend)
