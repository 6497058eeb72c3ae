"""Chat by a decoder alone: replies alone are learned, each once, after the turns that fit; its loss, its replies."""

import json
import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
import torch
from torch.nn.functional import cross_entropy

import glassformer as gf
from glassformer.base.errors import CheckpointError, ConfigError, DataError
from glassformer.data.batches.corrupt import IGNORED
from glassformer.data.readers.read import Dialogue, read_dialogues
from glassformer.models.inputs import Inputs
from glassformer.scoring.score import THIS_MODEL, Unigram
from glassformer.tasks.tables import TableTask
from glassformer.tasks.writing.chat.alone import ChatAlone, DialogueSource, Exchanges
from glassformer.tasks.writing.chat.settings import ChatData, ChatSection
from glassformer.tasks.writing.chat.task import Chat
from glassformer.tasks.writing.chat.turns import TurnWriter, lessons, messages_of, perspectives
from glassformer.tasks.writing.next_token_scores import NEXT
from glassformer.text.chat_template import ChatTemplate, ChatTemplates, Message, own_templates, template_tokens
from tests.refusals import refused
from tests.talkers import READ, talking, with_marks
from tests.text.chat_templates import BRACKETS, COMMON, ENDLESS

ORDER = 1e-10
WIDE = 200
TURNS = ("Hi how are you", "I am fine", "And the family?", "All well, thanks.", "The summer is better", "than winter")
GREEDY = gf.DecodeSettings(max_tokens=9)


@pytest.fixture(scope="module")
def writer() -> TurnWriter:
    tokenizer = with_marks()
    return TurnWriter(tokenizer, own_templates(tokenizer).named(), [tokenizer.end_id or 0])


def dialogue(count: int, *, roles: bool = False) -> Dialogue:
    turns = tuple(TURNS[n % len(TURNS)] for n in range(count))
    named = tuple(("user", "assistant")[n % 2] for n in range(count)) if roles else ()
    return Dialogue(turns, tuple(n % 2 == 1 if roles else n > 0 for n in range(count)), "here", named)


def learned_text(writer: TurnWriter, ids: Sequence[int], flags: Sequence[int]) -> list[str]:
    """The texts that are learned, each up to the end after it."""
    text = writer.tokenizer.decode([i for i, of in zip(ids, flags, strict=True) if of], skip_special=False)
    assert text.endswith("<|endoftext|>")
    return text.removesuffix("<|endoftext|>").split("<|endoftext|>")


@pytest.mark.parametrize("room", [19, 24, 40, 200])
@pytest.mark.parametrize("history", [None, 1, 3])
@pytest.mark.parametrize("roles", [True, False])
def test_each_reply_is_learned_once_and_nothing_else(
    writer: TurnWriter, room: int, history: int | None, roles: bool
) -> None:
    given = dialogue(6, roles=roles)
    taught: list[str] = []
    for messages, learned in perspectives(given):
        for each in lessons(writer, messages, learned, room=room, history=history):
            if each is None:
                continue
            assert len(each.ids) <= room + 1
            texts = learned_text(writer, each.ids, each.learned)
            taught += texts
            whole = writer.tokenizer.decode(each.ids, skip_special=False)
            turns = whole.count("<|user|>") + whole.count("<|assistant|>")
            assert turns >= 2
            if history is not None:
                assert len(texts) == 1
                assert turns <= history + 1
            if room == 200 and history is None:
                assert len(texts) == sum(learned)
    expected = [turn for turn, of in zip(given.turns, given.replies, strict=True) if of]
    if room >= 40:  # else some are too long
        assert sorted(taught) == sorted(expected)
    assert set(taught) <= set(expected)


@pytest.mark.parametrize(("room", "history"), [(100, 2), (100, 4), (26, None)])
def test_a_reply_without_a_question_is_learned(writer: TurnWriter, room: int, history: int | None) -> None:
    roles = ("system", "assistant", "user", "assistant")
    messages = [Message(*each) for each in zip(roles, ("Be kind", "Hello there", "How are you", "Fine"), strict=True)]
    learned = [each.role == "assistant" for each in messages]
    found = [each for each in lessons(writer, messages, learned, room=room, history=history) if each is not None]
    assert [text for each in found for text in learned_text(writer, each.ids, each.learned)] == ["Hello there", "Fine"]


def test_spans_are_the_same_by_the_mark_and_by_what_a_template_adds(writer: TurnWriter) -> None:
    text = own_templates(writer.tokenizer).texts["default"]
    plain = text.replace("{%- generation -%}", "").replace("{%- endgeneration -%}", "")
    other = TurnWriter(writer.tokenizer, ChatTemplate(plain, writer.template.tokens), writer.ends)
    for messages, learned in perspectives(dialogue(6)):
        assert other.lesson(messages, learned) == writer.lesson(messages, learned)


def make(model: gf.Model, dialogues: Sequence[Dialogue], *, length: int, history: int | None = None) -> DialogueSource:
    writer = TurnWriter(model.tokenizer, own_templates(model.tokenizer).named(), [model.tokenizer.end_id or 0])
    found, asked = [], Exchanges()
    for each in dialogues:
        for messages, learned in perspectives(each):
            found += [one for one in lessons(writer, messages, learned, room=length, history=history) if one]
            asked.add(messages, learned)
    return DialogueSource(found, asked, length=length, pad_id=0)


@pytest.mark.parametrize("family", ["gpt2", "llama"])
def test_the_loss_is_that_of_each_reply_alone_after_its_turns(family: str) -> None:
    """Which is the definition of the encoder–decoder's: the tokens of a reply and its end."""
    model = talking(family, length=WIDE)
    dialogues = [dialogue(n, roles=n % 2 == 0) for n in (2, 3, 4, 5)]
    source = make(model, dialogues, length=WIDE)
    end, total, count = model.tokenizer.end_id, 0.0, 0
    for each in dialogues:
        for messages, learned in perspectives(each):
            for number, of in enumerate(learned):
                if of:
                    turns = TurnWriter(model.tokenizer, own_templates(model.tokenizer).named(), ())
                    given = turns.prompt(messages[:number])
                    reply = [*model.tokenizer.ids(messages[number].content), end]
                    row = torch.tensor([[*given, *reply]])
                    logits = model.module(Inputs(ids=row)).logits[0, len(given) - 1 : -1]
                    total += float(cross_entropy(logits, torch.tensor(reply), reduction="sum").detach())
                    count += len(reply)
    task = ChatAlone(ChatSection(), model.tokenizer, own_templates(model.tokenizer))
    task.unigram = Unigram(np.ones(300, np.int64))
    scores = task.evaluate_in_training(model.module, source)
    assert scores.count == count
    assert scores.of[THIS_MODEL]["loss"] * count == pytest.approx(total, abs=ORDER * count)
    replies = "".join(source.examples[number].reply for number in range(len(source.examples)))
    bits = total / math.log(2) / len(replies.encode())  # the ends have no bytes
    assert scores.of[THIS_MODEL]["bits_per_byte"] == pytest.approx(bits)
    batch = source.batch(np.arange(len(source)), np.zeros(len(source), np.int64), shape=(len(source) + 1, WIDE))
    assert batch.counts[NEXT] == count == int((batch.labels[NEXT] != IGNORED).sum())
    assert float(task.losses(model.module, batch)[NEXT].detach()) == pytest.approx(total, abs=ORDER * count)
    assert len(source.examples) == sum(sum(each.replies) for each in dialogues)
    assert source.examples[0].before[-1].role == "user"


@pytest.mark.parametrize("kind", [Chat, ChatAlone])
def test_few_dialogues_are_all_learned_unless_a_whole_one_is_asked_for(kind: type[TableTask], tmp_path: Path) -> None:
    path = tmp_path / "dialogues.txt"
    texts = [f"How is number {n}\nNumber {n} is fine" for n in range(20)]
    shares = []
    for count, validation in ((1, 0.05), (19, 0.05), (4, 0.5), (20, 0.05)):
        path.write_text("\n\n".join(texts[:count]) + "\n")
        data = ChatData(files=(str(path),), validation=validation)
        shares.append(kind.resolve_shares(data)["validation"])
    assert shares[:2] == [0.0, 0.0]
    assert shares[2] >= 0.5
    assert shares[3] >= 0.05


def test_it_is_compared_with_a_trigram_as_a_language_model_is() -> None:
    """Counted in the whole dialogues of training, asked for the replies alone, with intervals like the model's."""
    model = talking("llama", length=WIDE)
    train, source = (make(model, [dialogue(n) for n in sizes], length=WIDE) for sizes in ((4, 5, 6), (2, 3)))
    task = ChatAlone(ChatSection(), model.tokenizer, own_templates(model.tokenizer))
    task.unigram = Unigram.count(train.target_tokens, model.tokenizer.vocabulary_size)
    scores = task.evaluate(model.module, source, limit=2)
    scores = task.with_baselines(scores, train, source, limit=2, log=None)
    assert {"unigram", "trigram", "right replies"} < set(scores.of)
    names = {"loss", "perplexity", "bits_per_byte"}
    assert names <= set(scores.of["trigram"]) < set(scores.of[THIS_MODEL])
    assert {THIS_MODEL, "unigram", "trigram"} <= set(scores.measures)
    tokens = [id_ for each in map(dialogue, (4, 5, 6)) for id_ in whole_ids(model, each)]
    assert sorted(train.stream.tolist()) == sorted(tokens)
    assert scores.of["trigram"]["loss"] < scores.of["unigram"]["loss"]  # the replies are known by heart


def test_held_out_turns_that_nobody_may_ask_are_left_out() -> None:
    model = talking("llama", length=WIDE)
    turns = [Message("user", "Hi"), Message("assistant", "Ho"), Message("assistant", "I wait")]
    exchanges = Exchanges()
    exchanges.add(turns, [False, True, True])
    train = make(model, [dialogue(4)], length=WIDE)
    writer = TurnWriter(model.tokenizer, own_templates(model.tokenizer).named(), [model.tokenizer.end_id or 0])
    known = [one for one in lessons(writer, turns, [False, True, True], room=WIDE, history=None) if one is not None]
    whole = DialogueSource(known, exchanges, length=WIDE, pad_id=0)
    task = ChatAlone(ChatSection(), model.tokenizer, own_templates(model.tokenizer))
    task.unigram = Unigram.count(train.target_tokens, model.tokenizer.vocabulary_size)
    assert task.evaluate(model.module, whole).report["written"] == 1


def test_a_template_that_wants_the_user_first_learns_of_dialogues_without_roles() -> None:
    templates = ChatTemplates({"default": BRACKETS}, {"bos_token": "", "eos_token": "<|endoftext|>"})
    model = talking(templates=templates, length=WIDE)
    writer = TurnWriter(model.tokenizer, templates.named(), [model.tokenizer.end_id or 0])
    given = Dialogue(
        ("Hi how are you", "I am fine", "And the family?", "All well, thanks"), (False, True, True, True), ""
    )
    for messages, learned in perspectives(given):
        found = [one for one in lessons(writer, messages, learned, room=WIDE, history=None) if one is not None]
        assert found
        assert all(any(one.learned) for one in found)


def whole_ids(model: gf.Model, given: Dialogue) -> list[int]:
    """The tokens of all lessons of a dialogue that fits into a row."""
    writer = TurnWriter(model.tokenizer, own_templates(model.tokenizer).named(), [model.tokenizer.end_id or 0])
    found = [lessons(writer, messages, learned, room=WIDE, history=None) for messages, learned in perspectives(given)]
    return [id_ for its in found for one in its if one is not None for id_ in one.ids]


@pytest.mark.parametrize("family", ["gpt2", "llama"])
def test_a_reply_is_what_the_logits_say_after_the_template(family: str) -> None:
    model = talking(family)
    ids = model.tokenizer.ids("<|user|>Hi how are you<|assistant|>")
    expected: list[int] = []
    with torch.no_grad():
        while len(expected) < 9:
            logits = model.module(Inputs(ids=torch.tensor([[*ids, *expected]]))).logits[0, -1]
            expected.append(int(logits.argmax()))
            if expected[-1] in model.tokenizer.special_ids:
                break
    found = model.chat("Hi how are you", search=GREEDY)
    assert [each.token for each in found.tokens] == [model.tokenizer.token(id_) for id_ in expected]
    assert found.reply == model.tokenizer.decode(expected).strip()
    assert found.ended == (expected[-1] in model.tokenizer.special_ids)
    said = model.chat([{"role": "user", "content": "Hi how are you"}], search=GREEDY)
    assert said == found


def test_a_stream_is_the_reply() -> None:
    model = talking()
    for seed in range(4):
        words, parts = model.stream_chat("Hi how are you", seed=seed, max_tokens=12, system="Be kind."), []
        while True:
            try:
                parts.append(next(words))
            except StopIteration as end:
                found = end.value
                break
        assert found == model.chat("Hi how are you", seed=seed, max_tokens=12, system="Be kind.")
        assert "".join(parts) == found.reply


def test_as_many_of_the_last_turns_are_read_as_fit() -> None:
    model = talking()
    turns = [*TURNS, "Hi there"] * 3
    found = model.chat(turns, max_tokens=8, beams=1)
    count = found.read
    assert 1 < count < len(turns)
    sizes = [
        len(TurnWriter(model.tokenizer, own_templates(model.tokenizer).named(), ()).prompt(messages_of(turns[-n:])))
        for n in (count, count + 1)
    ]
    assert sizes[0] <= READ - 8 < sizes[1]
    last = model.chat(turns, max_tokens=8, beams=1, history=1)
    assert last.read == 1
    assert last.reply == model.chat(turns[-1], max_tokens=8, beams=1).reply
    long = model.chat(" ".join(TURNS * 5), max_tokens=8, beams=1)
    assert long.left_out > 0
    assert long.read == 1
    assert len(long.notes) == 2 - long.ended


def test_a_template_that_wants_the_user_first_gets_him() -> None:
    templates = ChatTemplates({"default": BRACKETS}, {"bos_token": "", "eos_token": "<|endoftext|>"})
    model = talking(templates=templates, length=WIDE)
    assert model.chat(["I am fine", "Hi", "How"], beams=1, max_tokens=4).read == 3
    found = model.chat(["Well?", "Hi", "Hello", "And?"], beams=1, max_tokens=4)
    assert found.read == 3
    with refused(DataError, got="Conversation roles must alternate user/assistant/user/assistant/..."):
        model.chat([{"role": "user", "content": "Hi"}, {"role": "user", "content": "Hi"}] * 2)


def test_roles_are_read_as_in_training() -> None:
    usual = messages_of([{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Ho"}, "Who?"])
    assert messages_of([{"role": "User", "content": "Hi"}, {"from": "gpt", "value": "Ho"}, "Who?"]) == usual


def test_a_conversation_keeps_its_own_system_message() -> None:
    turns = [{"role": "system", "content": "Be brief."}, "Hi"]
    assert messages_of(turns, system="Be kind.") == messages_of(turns)


def test_what_cannot_be_answered_is_refused() -> None:
    model = talking()
    for turns in (
        [],
        "",
        ["Hi", " "],
        [3],
        [{"role": "king", "content": "Hi"}],
        [{"role": "assistant", "content": "a"}],
    ):
        with pytest.raises(DataError):
            model.chat(turns)  # type: ignore[arg-type]
    with refused(DataError, got="'<|user|>'"):
        model.chat("Hi <|user|> there")
    with pytest.raises(ConfigError):
        model.chat("Hi", max_tokens=0)
    with pytest.raises(ConfigError):
        model.chat("Hi", template="tool_use")
    with pytest.raises(DataError):
        model.chat("Hi", system="word " * 100)
    for text in (ENDLESS["nested loops"], "{% include 'x' %}"):
        with pytest.raises(CheckpointError):
            talking(templates=ChatTemplates({"default": text})).chat("Hi")
    with pytest.raises(ConfigError):
        gf.Model(model.module, model.tokenizer, length=READ).chat("Hi")


def test_a_file_of_conversations_with_roles_is_read_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "d.jsonl"
    rows = [
        {"messages": [{"role": "system", "content": "Be kind."}, {"role": "human", "content": "Hi"}]},
        {
            "messages": [
                {"role": "user", "content": "Hi"},
                {"role": "gpt", "content": "Yes"},
                {"role": "user", "content": "?"},
            ]
        },
    ]
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    bad: list[str] = []
    (found,) = read_dialogues(path, column="turns", bad=lambda error: bad.append(str(error)))
    assert len(bad) == 1
    assert (found.roles, found.replies) == (("user", "assistant", "user"), (False, True, False))
    ((messages, learned),) = perspectives(found)
    assert messages[1] == Message("assistant", "Yes")
    assert learned == (False, True, False)


def test_templates_of_other_styles_can_be_learned_from() -> None:
    """The reply and what the template writes after it, up to the end."""
    tokenizer = with_marks()
    tokens = {**template_tokens(tokenizer), "bos_token": ""}
    for style in ("chatml", "brackets", "model turns"):
        writer = TurnWriter(tokenizer, ChatTemplate(COMMON[style], tokens), [tokenizer.end_id or 0])
        messages = [Message("user", "Hi"), Message("assistant", "I am fine"), Message("user", "?")]
        found = writer.lesson(messages, [False, True, False])
        text = tokenizer.decode([i for i, of in zip(found.ids, found.learned, strict=True) if of], skip_special=False)
        assert text.strip().startswith("I am fine")
        assert "Hi" not in text
        assert "?" not in text


def test_nothing_is_learned_after_the_end_of_a_reply(writer: TurnWriter) -> None:
    """Of a template that writes a line break after each turn, as ChatML does: the reply and its end, no more."""
    template = (
        "{% for message in messages %}"
        "{{ '<|' + message.role + '|>' + message.content + eos_token + '\\n' }}"
        "{% endfor %}"
        "{% if add_generation_prompt %}{{ '<|assistant|>' }}{% endif %}"
    )
    other = TurnWriter(writer.tokenizer, ChatTemplate(template, writer.template.tokens), writer.ends)
    messages = [Message(role, text) for role, text in zip(("user", "assistant") * 2, TURNS, strict=False)]
    found = other.lesson(messages, [False, True, False, True])
    assert "\n" in writer.tokenizer.decode(found.ids)
    (end,) = writer.ends
    expected = [[*writer.tokenizer.ids(turn), end] for turn in (TURNS[1], TURNS[3])]
    assert [i for i, of in zip(found.ids, found.learned, strict=True) if of] == [i for ids in expected for i in ids]
