"""One text through a model: which of its pieces is asked about."""

from __future__ import annotations

import torch

from glassformer.artefact.model import Model
from glassformer.models.families import gpt2
from glassformer.models.inputs import Inputs
from glassformer.models.transformer import build
from glassformer.text.tokenizer import Tokenizer


def test_a_decoder_tells_what_comes_after_the_texts_own_last_piece(tokenizer: Tokenizer) -> None:
    """Not after the piece that the tokenizer sets at the end."""
    module = build(gpt2(layers=1, width=16, heads=2, vocabulary=tokenizer.vocabulary_size, max_length=24))
    text = "She likes the summer"
    found = Model(module, tokenizer).trace(text)
    pieces = [tokenizer.piece(id_) for id_ in found.facts["inputs.ids"][0].tolist()]
    before, after = tokenizer.frame_ids
    assert after
    last = len(pieces) - len(after) - 1
    assert found.places is not None
    assert found.places.tolist() == [last]
    assert pieces[last] == tokenizer.encode(text, special=False).pieces[-1]
    alone = torch.tensor([[*before, *tokenizer.encode(text, special=False).ids]])
    with torch.no_grad():
        logits = module(Inputs(ids=alone)).logits  # [1, S, V]
    torch.testing.assert_close(found["head.logits"], logits[:, -1])
