"""A vocabulary and a table of word vectors for each side of a pair (`tokenizer.shared = false`)."""

import json
import pickle
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from torch.nn import functional as F

import glassformer as gf
from glassformer.api.model import Model
from glassformer.base.errors import CheckpointError, ConfigError, TokenizerError
from glassformer.data.batches.corrupt import IGNORED
from glassformer.models.families import marian
from glassformer.models.inputs import Inputs
from glassformer.models.transformer import Transformer, build
from glassformer.run.first_weights import use_vectors
from glassformer.run.independence import independence
from glassformer.run.prepare import Prepared, prepare_run
from glassformer.saved.foreign import read_foreign, write_foreign
from glassformer.saved.recipe import resolve
from glassformer.tasks.writing.pair_source import PairSource
from glassformer.tasks.writing.translate.settings import TranslateSection
from glassformer.text.load import load_tokenizer
from glassformer.text.special import MARIAN, ROBERTA
from glassformer.text.token_text import marked
from glassformer.text.tokenizer import Tokenizer
from glassformer.text.train import train_tokenizer
from glassformer.training.progress import NoProgress
from tests.contracts.families import random_weights
from tests.contracts.tasks import TASKS
from tests.refusals import refused
from tests.translators import ENGLISH, FRENCH

ROW = next(row for row in TASKS if row.task == "translate")
# Sums of float64 numbers near 1, in another order.
ORDER = 1e-12
SIZES: dict[str, Any] = {"layers": 1, "width": 16, "heads": 2, "feed_forward": 24, "max_length": 40}


def learned(texts: tuple[str, ...], vocabulary: int) -> Tokenizer:
    return train_tokenizer("bpe", [*texts] * 3, vocabulary=vocabulary, lowercase=False, special=MARIAN)


@pytest.fixture(scope="module")
def model() -> Model:
    """The vocabulary of the sources is the larger one: ids of one side are none of the other."""
    tokenizer = learned(ENGLISH, 310).with_target(learned(FRENCH, 300))
    config = marian(vocabulary=310, target_vocabulary=300, **SIZES)
    module = random_weights(build(config), seed=2).double()
    return Model(module, tokenizer, task=TranslateSection(beams=3), length=40)


def prepared_from(folder: Path, **changes: Any) -> Prepared:
    named = {name.replace("__", "."): value for name, value in changes.items()}
    recipe = resolve(ROW.recipe(folder), {"tokenizer.shared": False, **named})
    return prepare_run(recipe, folder / "run", NoProgress())


# --------------------------------------------------------------------------- training


def test_each_side_learns_its_own_vocabulary(tmp_path: Path) -> None:
    prepared = prepared_from(tmp_path)
    source = prepared.feed.source
    assert isinstance(source, PairSource)
    tokenizer = prepared.tokenizer
    for side, texts in zip((tokenizer, tokenizer.target), source.examples.sides, strict=True):
        alone = train_tokenizer("bpe", texts, vocabulary=320, lowercase=False, special=MARIAN)
        assert side.vocabulary() == alone.vocabulary()
    module = prepared.module
    assert module.encoder is not None
    assert module.encoder.embed.word.weight is not module.word_table
    batch = prepared.feed.batch(0)
    assert batch.decoder_inputs is not None
    assert batch.inputs.ids is not None
    for texts, ids, side in (
        (source.examples.sources, batch.inputs.ids, tokenizer),
        (source.examples.targets, batch.labels["target"], tokenizer.target),
    ):
        text = side.decode([id_ for id_ in ids[0].tolist() if id_ != IGNORED])
        assert any(text.strip().startswith(each) for each in texts)


def test_it_computes_what_one_table_of_both_vocabularies_computes(model: Model) -> None:
    """The reference has one table, the source's rows above the target's, and ids that count through both."""
    theirs = model.config.model_copy(update={"share_embeddings": True})
    both = {
        side: stack.model_copy(update={"embed": stack.embed.model_copy(update={"vocabulary": 610})})
        for side, stack in (("encoder", theirs.encoder), ("decoder", theirs.decoder))
        if stack is not None
    }
    reference = Transformer(theirs.model_copy(update=both)).double().eval()
    state = model.module.state_dict()
    tables = [state.pop(f"{side}.embed.word.weight") for side in ("encoder", "decoder")]
    state |= {f"{side}.embed.word.weight": torch.cat(tables) for side in ("encoder", "decoder")}
    state["head.bias"] = torch.cat([torch.zeros(310).double(), state["head.bias"]])
    reference.load_state_dict(state)
    source = torch.tensor([model.tokenizer.encode(ENGLISH[0]).ids])
    read = torch.tensor([[299, *model.tokenizer.target.encode(FRENCH[0]).ids]])
    with torch.no_grad():
        ours = model.module(Inputs(ids=source), Inputs(ids=read)).logits
        wanted = reference(Inputs(ids=source), Inputs(ids=read + 310)).logits[..., 310:]
    torch.testing.assert_close(ours, wanted, rtol=0, atol=ORDER)
    labels = model.tokenizer.target.encode(FRENCH[0]).ids
    scored = model.score(ENGLISH[0], FRENCH[0])
    wanted[..., 299] = -torch.inf  # no translation has padding
    expected = -F.cross_entropy(wanted[0, : len(labels)], torch.tensor(labels), reduction="none")
    assert [token.log_probability for token in scored.tokens] == pytest.approx(expected.tolist(), abs=ORDER)
    assert [token.token for token in scored.tokens] == [model.tokenizer.target.token(id_) for id_ in labels]


@pytest.mark.long
def test_it_goes_on_with_both_tokenizers(tmp_path: Path) -> None:
    recipe = resolve(ROW.recipe(tmp_path), {"tokenizer.shared": False, "train.steps": 2})
    gf.train(recipe, out=tmp_path / "run", progress=NoProgress())
    (tmp_path / "run" / "glassformer.json").unlink()
    kept = load_tokenizer(tmp_path / "run")
    again = gf.train(recipe, out=tmp_path / "run", resume=True, progress=NoProgress())
    assert again.tokenizer.fingerprint == kept.fingerprint
    (tmp_path / "run" / "target_tokenizer.json").unlink()
    (tmp_path / "run" / "glassformer.json").unlink()
    with refused(TokenizerError, wanted=str(tmp_path / "run")):
        gf.train(recipe, out=tmp_path / "run", resume=True, progress=NoProgress())


def test_vectors_are_given_to_both_sides(model: Model, tmp_path: Path) -> None:
    path = tmp_path / "vectors.txt"
    path.write_text("".join(f"{word} {' '.join(['0.5'] * 16)}\n" for word in ("She", "plus")), encoding="utf-8")
    module = build(model.config)
    sides = [side.vocabulary_size for side in model.tokenizer.sides]
    assert f"of {sum(sides)} tokens" in use_vectors(module, model.tokenizer, path, freeze=True)
    assert module.encoder is not None
    for table, side, word in ((module.encoder.embed.word.weight, 0, "She"), (module.word_table, 1, "plus")):
        rows = [n for n, token in enumerate(model.tokenizer.sides[side].vocabulary()) if token.lstrip("Ġ") == word]
        assert rows
        assert bool((table[rows] == 0.5).all())
        assert not table.requires_grad


# --------------------------------------------------------------------------- saving and looking


def test_saved_and_loaded_it_is_the_same(model: Model, tmp_path: Path) -> None:
    back = gf.load(model.save(tmp_path / "saved"), dtype="float64")
    assert back.tokenizer.fingerprint == model.tokenizer.fingerprint
    assert back.tokenizer.target.vocabulary_size == 300
    found = back.translate(ENGLISH[0], max_tokens=6, alignment=True)
    assert found == model.translate(ENGLISH[0], max_tokens=6, alignment=True)
    assert {each.token for each in found.tokens} <= set(model.tokenizer.target.vocabulary())
    carried = pickle.loads(pickle.dumps(model.tokenizer))  # to another process
    assert carried.target.fingerprint == model.tokenizer.target.fingerprint
    # A model of one vocabulary in the same folder takes the file of the other away.
    one = learned(ENGLISH + FRENCH, 310)
    Model(build(marian(vocabulary=310, **SIZES)), one).save(tmp_path / "saved")
    assert not (tmp_path / "saved" / "target_tokenizer.json").exists()


def test_another_tokenizer_of_targets_is_refused(model: Model, tmp_path: Path) -> None:
    folder = model.save(tmp_path / "saved")
    other = learned((FRENCH[1], ENGLISH[0]), 300)
    shutil.copyfile(other.save(tmp_path / "other"), folder / "target_tokenizer.json")
    with refused(CheckpointError, wanted=str(folder / "tokenizer.json")):
        gf.load(folder)
    (folder / "target_tokenizer.json").unlink()
    with refused(TokenizerError, wanted="300", got="310"):
        gf.load(folder)
    with refused(TokenizerError, wanted="300", got="301"):
        Model(model.module, model.tokenizer.with_target(learned(FRENCH, 301)))


def test_roles_that_names_do_not_tell_are_kept(tmp_path: Path) -> None:
    """The saved folder names the roles of the tokens; both tokenizers have them."""
    special = MARIAN.__class__(separator="</s>", end="</s>", unknown="<unk>", pad="</s>")
    one, two = (
        train_tokenizer("bpe", texts, vocabulary=300, lowercase=False, special=special) for texts in (ENGLISH, FRENCH)
    )
    module = build(marian(vocabulary=300, target_vocabulary=300, **SIZES))
    back = gf.load(Model(module, one.with_target(two)).save(tmp_path))
    assert back.tokenizer.special == back.tokenizer.target.special == special


def test_the_words_of_each_side_are_its_own(model: Model, tmp_path: Path) -> None:
    trace = model.trace(ENGLISH[0], FRENCH[0])
    assert trace.verify().holds
    target = model.tokenizer.target
    assert list(trace.words.sentence("decoder_inputs", 0)[1:3]) == [
        target.shown[id_] for id_ in target.encode(FRENCH[0]).ids[:2]
    ]
    changed = trace.intervene(gf.ChangeWord(0, "He"), gf.ChangeWord(1, "Il", where="decoder_inputs"))
    ids = [step.id for step in changed.interventions if isinstance(step, gf.ChangeWord)]
    assert ids == [model.tokenizer.id("He"), target.id("Il")]
    assert ids[0] != model.tokenizer.target.id("He")
    assert changed.words.inputs[0][0] == "He"
    trace.save(tmp_path / "trace.safetensors")
    again = gf.load_trace(tmp_path / "trace.safetensors", model=model.module)
    assert tuple(again.words.vocabulary_of("inputs")) == model.tokenizer.shown
    assert tuple(again.words.vocabulary_of("decoder_inputs")) == target.shown
    assert independence(model, ENGLISH[0], FRENCH[0]).holds
    own = model.trace(ENGLISH[0]).words.sentence("decoder_inputs", 0)
    assert [*own[1:]] == [marked(each.text) for each in model.translate(ENGLISH[0]).tokens[: len(own) - 1]]


# --------------------------------------------------------------------------- out and in again


def test_transformers_translates_as_we_do(model: Model, tmp_path: Path) -> None:
    stated = write_foreign(model, tmp_path / "theirs")
    assert any("target_tokenizer.json" in sentence and "ctranslate2" in sentence for sentence in stated)
    config = json.loads((tmp_path / "theirs" / "config.json").read_text())
    assert (config["vocab_size"], config["decoder_vocab_size"]) == (310, 300)
    assert config["share_encoder_decoder_embeddings"] is False
    theirs: Any = transformers.MarianMTModel.from_pretrained(tmp_path / "theirs", dtype=torch.float64)
    sources = transformers.AutoTokenizer.from_pretrained(tmp_path / "theirs")
    targets = transformers.PreTrainedTokenizerFast(tokenizer_file=str(tmp_path / "theirs" / "target_tokenizer.json"))
    back, _ = read_foreign(tmp_path / "theirs", Model)
    back.module.double()
    assert back.tokenizer.fingerprint == model.tokenizer.fingerprint
    for text in ENGLISH:
        given = sources(text, return_tensors="pt")
        answer = theirs.generate(**given, num_beams=1, max_length=12, early_stopping=False)[0]
        found = model.translate(text, beams=1, max_tokens=11)
        assert targets.decode(answer, skip_special_tokens=True).strip() == found.translation
        assert back.translate(text, beams=1, max_tokens=11).translation == found.translation


def test_padding_that_the_sources_do_not_have_cannot_go_out(tmp_path: Path) -> None:
    tokenizer = learned(ENGLISH, 290).with_target(learned(FRENCH, 300))
    module = build(marian(vocabulary=290, target_vocabulary=300, **SIZES))
    with refused(ConfigError, got=("299", "290"), do="tokenizer.vocabulary"):
        write_foreign(Model(module, tokenizer, task=TranslateSection()), tmp_path / "theirs")


# --------------------------------------------------------------------------- refusing


def test_what_cannot_have_two_vocabularies_is_refused(tmp_path: Path) -> None:
    for family in ("bart", "t5"):
        with refused(ConfigError, got=family, do="marian"):
            prepared_from(tmp_path, model__family=family, model__size=None, model__settings={})
    row = next(row for row in TASKS if row.name == "classify")
    recipe = resolve(row.recipe(tmp_path), {"tokenizer.shared": False})
    with refused(ConfigError, got="classify", do="tokenizer.shared"):
        prepare_run(recipe, tmp_path / "run", NoProgress())
    folder = tmp_path / "tokenizers"
    learned(ENGLISH, 300).with_target(learned(FRENCH, 300)).save(folder)
    with refused(ConfigError, got="tokenizer.shared"):
        prepared_from(tmp_path, tokenizer={"file": str(folder), "shared": False})
    found = prepared_from(tmp_path, tokenizer={"file": str(folder)})
    assert len(found.tokenizer.sides) == 2
    alone = learned(FRENCH, 300)
    other = train_tokenizer("bpe", ENGLISH, vocabulary=300, special=ROBERTA)
    with refused(TokenizerError, got=("<pad>", "<mask>")):
        alone.with_target(other)
