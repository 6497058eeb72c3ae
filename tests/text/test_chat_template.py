"""Chat templates: the text of transformers; what never ends, reaches for files or is wrong is refused and soon."""

import json
import time
from pathlib import Path
from typing import Any

import jinja2
import pytest
import tokenizers
from transformers import PreTrainedTokenizerFast

from glassformer.base.errors import CheckpointError, ConfigError, DataError
from glassformer.text.chat_template import (
    WITH_MARKS,
    WITH_NAMES,
    ChatTemplate,
    ChatTemplates,
    Message,
    own_templates,
    read_templates,
)
from glassformer.text.special import GPT2
from glassformer.text.train import train_tokenizer
from tests.refusals import refused
from tests.text.chat_templates import COMMON, ENDLESS, REACHING, WRONG

TOKENS = {"bos_token": "<s>", "eos_token": "</s>"}
HELLO = Message("user", "Hi there,\nhow are you? <é> \"'& ")
CONVERSATIONS = {
    "one turn": [HELLO],
    "three turns": [HELLO, Message("assistant", " I am fine. "), Message("user", "Good {{ 7 * 7 }} {% raw %}")],
    "a system": [Message("system", " Be short. "), HELLO, Message("assistant", "Fine"), Message("user", "?")],
    "no user first": [Message("assistant", "Well?"), HELLO],
}
SOON = 12.0  # seconds of the processor


def theirs(template: Any) -> PreTrainedTokenizerFast:
    """A tokenizer of transformers with this template."""
    backend = tokenizers.Tokenizer(tokenizers.models.WordLevel({"<s>": 0, "</s>": 1}, unk_token="<s>"))
    return PreTrainedTokenizerFast(tokenizer_object=backend, chat_template=template, **TOKENS)


@pytest.mark.sampled(20)
@pytest.mark.parametrize("ask", [True, False])
@pytest.mark.parametrize("conversation", CONVERSATIONS)
@pytest.mark.parametrize("style", [*COMMON, "with marks", "with names"])
def test_the_text_is_that_of_transformers(style: str, conversation: str, ask: bool) -> None:
    text = {**COMMON, "with marks": WITH_MARKS, "with names": WITH_NAMES}[style]
    messages = CONVERSATIONS[conversation]
    given = [each._asdict() for each in messages]
    try:
        expected = theirs(text).apply_chat_template(given, tokenize=False, add_generation_prompt=ask)
    except jinja2.TemplateError as error:
        with refused(DataError, got=str(error)):
            ChatTemplate(text, TOKENS).written(messages, ask=ask)
        return
    found = ChatTemplate(text, TOKENS).written(messages, ask=ask)
    assert found.text == expected
    if "generation" in text and "{% generation" in text.replace("{%-", "{%"):
        replies = [each.content for each in messages if each.role == "assistant"]
        assert [found.text[start:end].removesuffix("</s>").strip() for start, end in found.spans] == [
            reply.strip() for reply in replies
        ]


@pytest.mark.sampled(10)
@pytest.mark.parametrize("name", [*ENDLESS, *REACHING, *WRONG])
def test_what_does_not_end_reaches_out_or_is_wrong_is_refused_soon(name: str) -> None:
    template = ChatTemplate({**ENDLESS, **REACHING, **WRONG}[name], TOKENS)
    begin = time.process_time()
    try:
        found = template.written([HELLO], ask=True).text
    except CheckpointError:
        pass
    else:  # what a sandbox makes undefined is an empty text
        assert name in REACHING
        assert found.strip("[] ,") in ("", "Undefined")
    assert time.process_time() - begin < SOON


def test_long_conversations_are_written() -> None:
    messages = [Message(("user", "assistant")[n % 2], "A turn of some words. " * 60) for n in range(401)]
    for text in (WITH_MARKS, COMMON["chatml"]):
        assert ChatTemplate(text, TOKENS).written(messages, ask=True).text.count("A turn of some") == 401 * 60


def test_a_template_is_found_by_its_name() -> None:
    several = ChatTemplates({"default": "d", "tool_use": "t"})
    assert several.named().text == "d"
    assert several.named("tool_use").text == "t"
    assert ChatTemplates({"only": "o"}).named().text == "o"
    for wrong in (None, "tool_used"):
        with pytest.raises(ConfigError):
            ChatTemplates({"tool_use": "t", "rag": "r"}).named(wrong)


@pytest.mark.parametrize("several", [False, True])
@pytest.mark.parametrize("files", [False, True])
def test_templates_are_read_where_transformers_writes_them(tmp_path: Path, several: bool, files: bool) -> None:
    template: Any = {"default": COMMON["chatml"], "other": "x{{ eos_token }}"} if several else COMMON["chatml"]
    theirs(template).save_pretrained(tmp_path, save_jinja_files=files)
    tokenizer = train_tokenizer("bpe", ["some words"], vocabulary=260, special=GPT2)
    found = read_templates(tmp_path, tokenizer)
    assert found is not None
    assert found.texts == (template if several else {"default": template})
    assert found.tokens == {"bos_token": "<|endoftext|>", "eos_token": "<|endoftext|>"}


def test_strange_files_are_refused(tmp_path: Path) -> None:
    tokenizer = train_tokenizer("bpe", ["some words"], vocabulary=260, special=GPT2)
    assert read_templates(tmp_path, tokenizer) is None
    for strange in (3, ["x"], [{"name": "a"}], {"a": 1}):
        (tmp_path / "tokenizer_config.json").write_text(json.dumps({"chat_template": strange}), encoding="utf-8")
        with pytest.raises(CheckpointError):
            read_templates(tmp_path, tokenizer)
    (tmp_path / "chat_template.jinja").write_bytes(b"\xff\xfe")
    with pytest.raises(CheckpointError):
        read_templates(tmp_path, tokenizer)


def test_our_own_has_tokens_for_roles_where_the_vocabulary_has_them() -> None:
    marks = ("<|system|>", "<|user|>", "<|assistant|>")
    with_marks = train_tokenizer("bpe", ["some words"], vocabulary=270, lowercase=False, special=GPT2, marks=marks)
    assert own_templates(with_marks).texts["default"] == WITH_MARKS
    text = own_templates(with_marks).named().written(CONVERSATIONS["three turns"], ask=True).text
    ids = with_marks.ids(text)
    assert sum(id_ in with_marks.special_ids for id_ in ids) == 5  # three turns, an end, and the next turn
    assert with_marks.decode(ids, skip_special=False) == text
    without = train_tokenizer("bpe", ["some words"], vocabulary=270, special=GPT2)
    assert own_templates(without).texts["default"] == WITH_NAMES
