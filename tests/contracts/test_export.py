"""What a trained model answers, it answers in `transformers` as well once it has been exported."""

import json
from pathlib import Path
from typing import Any

import pytest
import transformers

import glassformer as gf
from glassformer.convert.search_settings import search_of
from glassformer.saved.foreign import read_foreign, write_foreign
from glassformer.training.progress import NoProgress
from tests.contracts.tasks import TASKS

WRITING = [row for row in TASKS if row.verb == "translate"]


@pytest.mark.sampled(1)
@pytest.mark.parametrize("row", WRITING, ids=[row.name for row in WRITING])
def test_an_export_writes_what_the_model_writes(row: Any, tmp_path: Path) -> None:
    model = gf.train(row.recipe(tmp_path), out=tmp_path / "run", progress=NoProgress())
    write_foreign(model, tmp_path / "theirs")
    said = json.loads((tmp_path / "theirs" / "generation_config.json").read_text())
    settings = search_of({**said, "max_length": 12}, {})[0].settings
    tokens = transformers.AutoTokenizer.from_pretrained(tmp_path / "theirs")
    written = tmp_path / "theirs" / "target_tokenizer.json"  # where translations have a vocabulary of their own
    target_tokens = transformers.PreTrainedTokenizerFast(tokenizer_file=str(written)) if written.exists() else tokens
    theirs: Any = transformers.AutoModelForSeq2SeqLM.from_pretrained(tmp_path / "theirs")
    back, _ = read_foreign(tmp_path / "theirs", gf.Model)
    for record in row.records[:3]:
        text = " ".join(record["text"].split()[:4])  # its positions end
        given = tokens(text, return_tensors="pt")
        answer = target_tokens.decode(theirs.generate(**given, max_length=12)[0], skip_special_tokens=True).strip()
        assert model.translate(text, search=settings).translation == answer
        assert back.translate(text, max_tokens=11).translation == answer
