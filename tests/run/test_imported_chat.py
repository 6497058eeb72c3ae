"""Imported chat models: the text, the ends and the search of transformers; and ours, exported, in transformers."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers

import glassformer as gf
from glassformer.base.errors import ConfigError, DataError
from glassformer.saved.foreign import write_foreign
from glassformer.text.chat_template import Message, own_templates
from tests.refusals import refused
from tests.talkers import READ, talking, with_marks
from tests.text.chat_templates import BRACKETS, CHATML

TURNS = ["Hi how are you", "I am fine", "And the family?"]


def messages(*, system: str = "") -> list[dict[str, str]]:
    given = [{"role": ("user", "assistant")[n % 2], "content": turn} for n, turn in enumerate(TURNS)]
    return [*([{"role": "system", "content": system}] if system else []), *given]


@pytest.fixture(params=["GPT2", "Llama"])
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A random chat model as transformers writes it, which searches greedily for eight tokens, with two ends."""
    tokenizer = with_marks()
    tokenizer.save(tmp_path)
    size = tokenizer.vocabulary_size
    sizes: dict[str, Any] = {"vocab_size": size, "bos_token_id": 0, "eos_token_id": 0}
    if request.param == "GPT2":
        config: Any = transformers.GPT2Config(**sizes, n_embd=16, n_layer=2, n_head=2, n_positions=256)
    else:
        config = transformers.LlamaConfig(
            **sizes, hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=24
        )
    torch.manual_seed(1)
    model: Any = getattr(
        transformers, f"{request.param}LMHeadModel" if request.param == "GPT2" else "LlamaForCausalLM"
    )(config)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(0.0, 0.4)
    model.save_pretrained(tmp_path)
    tell(tmp_path, eos_token_id=[0, tokenizer.id("<|user|>"), 70], max_new_tokens=8, do_sample=False)
    theirs = transformers.PreTrainedTokenizerFast(
        tokenizer_file=str(tmp_path / "tokenizer.json"),
        bos_token="<|endoftext|>",
        eos_token="<|endoftext|>",
        chat_template={"default": CHATML, "brackets": BRACKETS},
    )
    theirs.save_pretrained(tmp_path)
    return tmp_path


def tell(folder: Path, **generation: Any) -> None:
    (folder / "generation_config.json").write_text(json.dumps(generation), encoding="utf-8")


def theirs_of(folder: Path) -> tuple[Any, Any]:
    model = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float64).eval()
    return model, transformers.AutoTokenizer.from_pretrained(folder)


def continued(model: Any, tokenizer: Any, given: list[dict[str, str]], **more: Any) -> list[int]:
    """What transformers writes after the conversation."""
    asked = tokenizer.apply_chat_template(
        given, add_generation_prompt=True, return_tensors="pt", return_dict=True, **more
    )
    found: list[int] = model.generate(**asked, pad_token_id=0)[0, asked["input_ids"].shape[1] :].tolist()
    return found


@pytest.mark.sampled(2)
@pytest.mark.parametrize("template", [None, "brackets"])
def test_the_reply_is_that_of_transformers(folder: Path, template: str | None) -> None:
    model, tokenizer = theirs_of(folder)
    ours = gf.load(folder, dtype="float64")
    more = {} if template is None else {"chat_template": template}
    for search in ({"num_beams": 3, "num_return_sequences": 1}, {"do_sample": False}):
        ends = [0, ours.tokenizer.id("<|user|>"), 70]
        tell(folder, eos_token_id=ends, max_new_tokens=8, **search)
        model.generation_config = transformers.GenerationConfig.from_pretrained(folder)
        ours = gf.load(folder, dtype="float64")
        for given in (messages(), messages(system="Be kind.")):
            expected = continued(model, tokenizer, given, **more)
            expected = expected[: next((n + 1 for n, id_ in enumerate(expected) if id_ in ends), 8)]
            found = ours.chat(given, template=template)
            assert [each.token for each in found.tokens] == [ours.tokenizer.token(id_) for id_ in expected]
            assert found.ended == (expected[-1] in ends)
    said = ours.chat(TURNS, system="Be kind.", template=template)
    assert said.reply == found.reply
    assert said.read == 3
    copied = folder / "ours"
    ours.save(copied)
    assert gf.load(copied).chat(TURNS, system="Be kind.", template=template).reply == found.reply


@pytest.mark.parametrize("setting", [{"typical_p": 0.5, "do_sample": True}, {"guidance_scale": 2.0}, {"top_h": 0.3}])
def test_a_setting_of_generation_that_is_not_here_is_refused_by_its_name(folder: Path, setting: dict[str, Any]) -> None:
    tell(folder, eos_token_id=0, **setting)
    model = gf.load(folder)
    for asked in (model.chat, model.generate):
        with refused(ConfigError, wanted=next(iter(setting))):
            asked("Hi")
        asked("Hi", beams=1, max_tokens=2)


def test_settings_of_generation_are_kept(folder: Path) -> None:
    tell(folder, do_sample=True, temperature=0.6, top_k=7, top_p=0.8, repetition_penalty=1.2, max_length=160)
    model = gf.load(folder)
    settings = model.search[0]
    assert settings is not None
    assert settings.settings.model_dump(exclude_unset=True) == {
        **{"method": "sample", "temperature": 0.6, "top_k": 7, "top_p": 0.8, "n_best": 1},
        **{"repetition_penalty": 1.2, "penalized": "logits", "max_tokens": 160},
    }
    assert settings.whole == 160
    found = model.chat("Hi")
    count = len(model.tokenizer.ids(model.templates.named().written([Message("user", "Hi")], ask=True).text))  # type: ignore[union-attr]
    assert len(found.tokens) <= 160 - count
    tell(folder, max_length=3)
    with refused(DataError, wanted="max_length = 3"):
        gf.load(folder).generate("Hi there")
    gf.load(folder).generate("Hi there", max_tokens=2)
    tell(folder, eos_token_id=0, bos_token_id=0)  # nothing of a search: drawn as ours
    assert gf.load(folder).search[0].settings.method == "sample"  # type: ignore[union-attr]


def test_ours_talks_in_transformers_by_the_same_template(tmp_path: Path) -> None:
    model = talking()
    tmp_path.rmdir()
    write_foreign(model, tmp_path)
    theirs, tokenizer = theirs_of(tmp_path)
    for given in (messages(), messages(system="Be kind.")):
        text = own_templates(model.tokenizer).named().written([Message(**each) for each in given], ask=True).text
        assert tokenizer.apply_chat_template(given, tokenize=False, add_generation_prompt=True) == text
        expected = continued(theirs, tokenizer, given, **{})
        assert len(expected) <= 256
    ends = theirs.generation_config.eos_token_id
    assert {model.tokenizer.end_id, model.tokenizer.id("<|user|>")} <= set(ends)
    assert not theirs.generation_config.do_sample
    whole = [*messages(), {"role": "assistant", "content": "All well."}]
    masked = tokenizer.apply_chat_template(whole, return_dict=True, return_assistant_tokens_mask=True)
    learned = [id_ for id_, of in zip(masked["input_ids"], masked["assistant_masks"], strict=True) if of]
    assert tokenizer.decode(learned) == "I am fine<|endoftext|>All well.<|endoftext|>"
    again = gf.load(tmp_path, dtype="float64")
    assert again.chat(TURNS, max_tokens=8).reply == model.chat(TURNS, max_tokens=8).reply
    assert again.length == READ
