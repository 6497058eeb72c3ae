"""Texts in any script: no letter is lost where tokens are made, words are found, and scores are computed."""

import json
import unicodedata
from pathlib import Path

import pytest
import sacrebleu
import transformers

from glassformer.api.model import Model
from glassformer.base.errors import MissingColumnError
from glassformer.cli.__main__ import main
from glassformer.data.readers.conll import conll_rows
from glassformer.data.readers.rows import read_table
from glassformer.features.search.words import words_of
from glassformer.models.families import bert
from glassformer.models.transformer import build
from glassformer.scoring.baselines import Lesson, TfIdf
from glassformer.tasks.labels.answer.answers import encode
from glassformer.tasks.labels.classify.settings import ClassifySection
from glassformer.tasks.labels.classify.task import Classify
from glassformer.tasks.rows import label_of
from glassformer.tasks.writing.translate.scores import References
from glassformer.text.special import BERT
from glassformer.text.tokenizer import Tokenizer
from glassformer.text.train import train_tokenizer
from tests.refusals import refused
from tests.text.plain import of_bert_alone

# Pairs of words that differ in a mark alone: fruit and flower, forest and aunt, Paris and Bali, year and anus.
APART = [("फल", "फूल"), ("ป่า", "ป้า"), ("パリ", "バリ"), ("año", "ano"), ("oldu", "öldü")]


@pytest.mark.parametrize("kind", ["wordpiece", "unigram", "words", "bpe"])
def test_words_that_differ_in_a_mark_have_different_tokens(kind: str) -> None:
    texts = [word for pair in APART for word in pair] * 3
    tokenizer = train_tokenizer(kind, texts, vocabulary=400)  # type: ignore[arg-type]  # a Literal
    for one, other in APART:
        assert tokenizer.ids(one) != tokenizer.ids(other)
    assert tokenizer.ids("ANO") == tokenizer.ids("ano")  # the capitals are left out all the same


def without_accents(texts: list[str]) -> Tokenizer:
    """A tokenizer that leaves out accents, as those of BERT's models without capitals do."""
    settings = of_bert_alone(train_tokenizer("wordpiece", texts, vocabulary=200)).settings
    settings["normalizer"]["strip_accents"] = True
    return Tokenizer(json.dumps(settings), BERT)


@pytest.mark.parametrize("name", ["राजू", "ลำพู่", "مُحَمَّدٌ", "Zoe\u0301"])
def test_an_answer_has_the_marks_of_its_last_letter(name: str) -> None:
    text = f"a {name} b"
    passage = encode(without_accents([text, "Zoe", "राज", "ลาพ"]), text)
    span = passage.tokens_of(2, 2 + len(name))
    assert span is not None
    begin, end = passage.characters_of(*span)
    assert text[begin:end] == name


def test_a_label_has_one_unicode_form() -> None:
    assert label_of("e\u0301leve\u0301", "") == label_of("\u00e9lev\u00e9 ", "") == "\u00e9lev\u00e9"


@pytest.mark.parametrize(
    ("text", "question"),
    [
        ("İstanbul büyük", "istanbul"),
        ("ISTANBUL", "ıstanbul"),
        ("die Straße", "STRASSE"),
        ("แมวดำนั่งอยู่บนเก้าอี้", "แมว"),
        ("서울은 수도이다", "서울"),
        ("わたしはパンをたべました", "パン"),
        ("苹果很好", "果"),
        ("苹果很好", "苹果"),
        ("they co\u00adoperate", "cooperate"),
        ("می\u200cخواهم", "میخواهم"),
        ("फूलों", "फूलों"),
    ],
)
def test_each_word_of_a_question_is_found(text: str, question: str) -> None:
    assert set(words_of(question)) <= set(words_of(text))


def test_words_of_other_scripts_are_not_words_of_everything() -> None:
    assert words_of("The stones' colours") == ["the", "stones", "stone", "colours", "colou"]
    assert not set(words_of("แมว")) & set(words_of("สุนัขวิ่ง"))
    assert words_of("猫") == ["猫"]
    assert words_of("서울") == ["서울"]
    assert not set(words_of("फल")) & set(words_of("फूल"))


def test_the_baseline_reads_scripts_without_blanks() -> None:
    lessons = [
        Lesson(f"今天{'天气' * (n % 3)}这个电影很{'好' if n % 2 else '差'}啊{n % 7}", None, n % 2) for n in range(60)
    ]
    guesses = TfIdf(lessons, 2).guess(lessons)
    assert [max(range(2), key=guess.__getitem__) for guess in guesses] == [each.target for each in lessons]


@pytest.mark.parametrize(
    ("references", "tokenize"),
    [
        (["The cat sat on the mat.", "Il y a 10 chats."], "13a"),
        (["今天我们去公园看电影吧,很好。", "猫在垫子上睡觉。"], "zh"),
        (["わたしはパンをたべました。", "猫がいます。"], "char"),
        (["แมวดำนั่งอยู่บนเก้าอี้"], "char"),
        (["서울은 수도이다"], "13a"),
    ],
)
def test_bleu_counts_characters_where_words_have_no_blanks(references: list[str], tokenize: str) -> None:
    translations = [text[:-2] + text[-1] for text in references]
    expected = sacrebleu.corpus_bleu(translations, [references], tokenize=tokenize, force=True).score
    found = References([[text] for text in references])
    assert found.measure(translations).values()["bleu"] == pytest.approx(expected, rel=1e-12)
    assert f"tok:{tokenize}" in found.signatures["bleu"]


def test_texts_of_unknown_tokens_are_noted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    texts = ["the cat sat", "a dog ran"] * 4
    tokenizer = train_tokenizer("wordpiece", texts, vocabulary=100)
    module = build(bert(size="tiny", layers=2, width=16, heads=2, vocabulary=tokenizer.vocabulary_size, max_length=32))
    folder = str(Model(module, tokenizer).save(tmp_path / "model"))
    assert main(["embed", folder, "the cat sat"]) == 0
    assert "[UNK]" not in capsys.readouterr().err
    assert main(["embed", folder, "猫咪睡觉", "苹果很好"]) == 0
    assert "100% of the tokens of 2 texts are [UNK]" in " ".join(capsys.readouterr().err.split())


def test_a_blank_that_breaks_no_line_stands_inside_a_word(tmp_path: Path) -> None:
    path = tmp_path / "words.conll"
    path.write_text("environ ADV\n10\u00a0000 NUM\n", encoding="utf-8")
    (row,) = conll_rows(path)
    assert list(row.values["words"]) == ["environ", "10\u00a0000"]  # type: ignore[call-overload]  # an object


def test_a_column_in_another_unicode_form_is_named(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text('{"cle\u0301": "a"}\n', encoding="utf-8")
    with refused(MissingColumnError, do="'cle\\u0301'"):
        list(read_table(path, ["cl\u00e9"]))


def test_a_letter_of_one_character_or_of_two_is_the_same_token(tmp_path: Path) -> None:
    tokenizer = train_tokenizer("wordpiece", ["un élève au café", "élève", "फूल"] * 3, vocabulary=200)
    for text in ("élève café", "फूल"):
        both = [tokenizer.encode(unicodedata.normalize(form, text)) for form in ("NFC", "NFD")]
        assert both[0].ids == both[1].ids
        assert tokenizer.unknown_id not in both[0].ids
    module = build(bert(size="tiny", layers=2, width=16, heads=2, vocabulary=tokenizer.vocabulary_size, max_length=32))
    Model(module, tokenizer).export(tmp_path / "out")
    theirs = transformers.AutoTokenizer.from_pretrained(tmp_path / "out")
    assert theirs("e\u0301le\u0300ve")["input_ids"] == list(tokenizer.encode("élève").ids)


def test_a_model_with_labels_in_another_form_is_measured() -> None:
    section = ClassifySection(labels=("e\u0301te\u0301", "hiver"))
    tokenizer = train_tokenizer("wordpiece", ["a"], vocabulary=50)
    task = Classify(section, tokenizer, length=8, segments=False, pairs=False)
    assert task.example({"text": "a", "label": "\u00e9t\u00e9"}, "").label == 0
