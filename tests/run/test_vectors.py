import gzip
from pathlib import Path

import torch

from glassformer.api.model import Model
from glassformer.base.errors import DataError, ShapeError
from glassformer.run.first_weights import use_vectors
from tests.refusals import refused


def vectors(width: int = 16) -> str:
    rows = {"summer": 1.0, "winter": -1.0, "unheard": 7.0}
    return "".join(
        f"{word} {' '.join(str(value + place / 64) for place in range(width))}\n" for word, value in rows.items()
    )


def test_words_of_the_file_get_its_vectors_and_no_others(model: Model, tmp_path: Path) -> None:
    path = tmp_path / "glove.txt"
    path.write_text(vectors(), encoding="utf-8")
    table = model.module.word_table
    before = table.detach().clone()
    found = use_vectors(model.module, model.tokenizer, path, freeze=False)
    summer, winter = (model.tokenizer.id(word) for word in ("summer", "winter"))
    wanted = torch.arange(16) / 64
    assert torch.equal(table[summer], wanted + 1)
    assert torch.equal(table[winter], wanted - 1)
    others = [row for row in range(len(table)) if row not in (summer, winter)]
    assert torch.equal(table[others], before[others])
    assert found.startswith("2 of ")
    assert table.requires_grad


def test_word2vec_heading_and_gz_are_understood_and_frozen_stays(model: Model, tmp_path: Path) -> None:
    path = tmp_path / "word2vec.txt.gz"
    path.write_bytes(gzip.compress(f"3 16\n{vectors()}".encode()))
    assert "frozen" in use_vectors(model.module, model.tokenizer, path, freeze=True)
    assert not model.module.word_table.requires_grad
    assert model.module.word_table[model.tokenizer.id("summer"), 0] == 1.0


def test_vectors_of_another_width(model: Model, tmp_path: Path) -> None:
    path = tmp_path / "glove.txt"
    path.write_text(vectors(17), encoding="utf-8")
    with refused(ShapeError, wanted="16", got=("17", f"{path}, line 1"), do="model.settings.width = 17"):
        use_vectors(model.module, model.tokenizer, path, freeze=False)


def test_a_word_may_have_blanks(model: Model, tmp_path: Path) -> None:
    path = tmp_path / "glove.txt"
    path.write_text(f". . . {'0.5 ' * 16}\n{vectors()}", encoding="utf-8")
    assert use_vectors(model.module, model.tokenizer, path, freeze=False).startswith("2 of ")
    path.write_text(f"summer {'nan ' * 16}\n", encoding="utf-8")
    with refused(DataError, wanted=f"{path}, line 1", got="nan"):
        use_vectors(model.module, model.tokenizer, path, freeze=False)


def test_lines_that_are_no_vectors(model: Model, tmp_path: Path) -> None:
    path = tmp_path / "glove.txt"
    path.write_text(f"summer {'x ' * 15}x\n", encoding="utf-8")
    with refused(DataError, wanted=f"{path}, line 1", got="summer x x"):
        use_vectors(model.module, model.tokenizer, path, freeze=False)
    path.write_text(vectors().splitlines()[2] + "\n", encoding="utf-8")
    with refused(DataError, wanted=(str(path), "vocabulary"), got="none"):
        use_vectors(model.module, model.tokenizer, path, freeze=False)
