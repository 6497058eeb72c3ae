"""The verb `translate`: sentences in their places, tokens with probabilities, words that belong together."""

import math
from typing import Any

import pytest
import torch

import glassformer as gf
from glassformer.base.errors import ConfigError, DataError
from glassformer.cli.terminal.options import TYPED
from glassformer.config import ModelConfig
from glassformer.decode.asked import search_settings
from glassformer.decode.options import WritingOptions
from glassformer.decode.request import Hypothesis
from glassformer.decode.settings import DecodeSettings, SearchDefaults
from glassformer.models.families import bert
from glassformer.models.inputs import Inputs
from glassformer.models.weights import cross_weights
from glassformer.tasks.writing.pair_source import TextPair
from glassformer.tasks.writing.translate.settings import TranslateSection
from glassformer.tasks.writing.translation import token_spans, unknown_characters
from glassformer.tasks.writing.translator import Translator
from glassformer.tasks.writing.writers import check_translates, special_ids
from glassformer.text.special import SpecialTokens
from glassformer.text.train import train_tokenizer
from tests.refusals import refused
from tests.translators import ENGLISH, translating

TEXTS = [*ENGLISH, "She loves food", "the winter the summer the friends", "He"]
# Sums of a few hundred float64 numbers near 1, in another order.
ORDER = 1e-10


@pytest.fixture(scope="module")
def model() -> gf.Model:
    return translating()


def naive(model: gf.Model, text: str, most: int) -> tuple[list[int], list[float]]:
    """The likeliest token after another, everything computed again for each of them."""
    ids = special_ids(model.tokenizer)
    source = Inputs(ids=torch.tensor([model.tokenizer.encode(text).ids]))
    found, logs = [ids.begin], []
    with torch.no_grad():
        while len(found) <= most:
            logits = model.module(source, Inputs(ids=torch.tensor([found]))).logits[0, -1]
            found.append(int(logits.argmax()))
            logs.append(float(logits.log_softmax(-1)[found[-1]]))
            if found[-1] in ids.end:
                break
    return found[1:], logs


@pytest.mark.parametrize("text", TEXTS)
def test_one_beam_writes_the_likeliest_token_after_another(model: gf.Model, text: str) -> None:
    found = model.translate(text, beams=1, max_tokens=12)
    expected, logs = naive(model, text, 12)
    assert [each.token for each in found.tokens] == [model.tokenizer.token(id_) for id_ in expected]
    assert [each.log_probability for each in found.tokens] == pytest.approx(logs, abs=ORDER)
    assert found.translation == model.tokenizer.decode(expected).strip()
    assert found.log_probability == pytest.approx(math.fsum(logs), abs=ORDER)
    assert found.whole == (expected[-1] in special_ids(model.tokenizer).end)


def test_an_answer_is_the_same_alone_and_among_others(model: gf.Model) -> None:
    together = model.translate([*TEXTS, *TEXTS], max_tokens=9, alignment=True)
    for number, text in enumerate([*TEXTS, *TEXTS]):
        alone = model.translate(text, max_tokens=9, alignment=True)
        assert alone.translation == together[number].translation
        assert alone.score == pytest.approx(together[number].score, abs=ORDER)
        assert [link[:2] for link in alone.alignment] == [link[:2] for link in together[number].alignment]


def test_samples_depend_on_the_seed_and_the_text_alone(model: gf.Model) -> None:
    def samples(texts: list[str], seed: int) -> list[list[str]]:
        search = gf.DecodeSettings(method="sample", n_best=3, max_tokens=6, seed=seed)
        return [[each.translation for each in found.n_best] for found in model.translate(texts, search=search)]

    first = samples(TEXTS, 0)
    assert samples(TEXTS[::-1], 0) == first[::-1]
    assert samples(TEXTS, 1) != first
    assert len({tuple(each) for each in first}) == len(TEXTS)


def test_the_best_translations_come_with_falling_scores(model: gf.Model) -> None:
    found = model.translate(TEXTS[0], beams=6, n_best=4, max_tokens=8)
    scores = [each.score for each in found.n_best]
    assert scores == sorted(scores, reverse=True)
    assert len({each.translation for each in found.n_best}) == 4
    assert (found.n_best[0].translation, found.n_best[0].score) == (found.translation, found.score)


@pytest.mark.parametrize(("method", "count"), [("beam", 2), ("sample", 3)])
def test_beams_that_write_one_text_in_other_tokens_give_it_once(model: gf.Model, method: Any, count: int) -> None:
    whole, letters = (
        tuple(id_ for part in parts for id_ in model.tokenizer.encode(part, special=False).ids)
        for parts in (["aime"], "aime")
    )
    assert len(whole) < len(letters)
    search = gf.DecodeSettings(method=method, n_best=3, beams=3 if method == "beam" else 1)
    translator = Translator(model.tokenizer, length=24, search=search)
    answers = [Hypothesis(each, (), True, -n, -n) for n, each in enumerate((whole, letters, (*whole, *whole)), start=1)]
    found = translator.merge(TextPair("He"), [answers])
    assert len(found.n_best) == count
    assert [each.score for each in found.n_best if each.translation == found.translation] == [-1, -2][: count - 1]


@pytest.mark.long
def test_a_blank_after_a_prefix_is_that_before_the_next_word(model: gf.Model) -> None:
    """As in a text editor: a word follows, no second blank, and not the rest of a longer word."""
    for text in (*ENGLISH, "He likes", "the winter"):
        for typed in ("Elle aim ", " Elle aim ", "Elle a  "):
            found = model.translate(text, prefix=typed, beams=3, max_tokens=12)
            word = typed.strip()
            assert found.translation.startswith(f"{word} ") or found.translation == word
            assert "  " not in found.translation
            assert [each.text for each in found.tokens].count(" ") == 0
            words = "".join(model.stream_translation(text, prefix=typed, beams=3, max_tokens=12))
            assert words == found.translation
    bare, blanks = (model.translate("He", prefix=prefix, max_tokens=8) for prefix in ("", "  "))
    assert bare.translation == blanks.translation


def test_translations_much_longer_than_the_source_are_not_waited_for(model: gf.Model) -> None:
    options = WritingOptions(search=gf.DecodeSettings(method="beam", beams=3, max_tokens=100_000))
    translator = Translator.of(model.module, model.tokenizer, model.context(options))
    (row,) = translator.rows(translator.example({"text": "He"}, ""))
    asked = translator.request(row.ids, None)
    usual = Translator.of(model.module, model.tokenizer, model.context({}))
    assert asked.max_tokens == 100_000
    assert asked.likely == usual.request(row.ids, None).max_tokens


def test_words_are_put_first_forced_and_forbidden(model: gf.Model) -> None:
    free = model.translate(TEXTS[1], max_tokens=10)
    begun = model.translate(TEXTS[1], max_tokens=10, prefix="Elle aime")
    assert begun.translation.startswith("Elle aime")
    assert begun.translation != free.translation
    search = search_settings(WritingOptions(forced=["amis"], max_tokens=10))
    assert "amis" in model.translate(TEXTS[1], search=search).translation
    word = free.tokens[0].token
    search = search_settings(
        WritingOptions(forbidden=[model.tokenizer.decode([model.tokenizer.id(word) or 0])], max_tokens=10)
    )
    assert word not in [each.token for each in model.translate(TEXTS[1], search=search).tokens]


def test_a_translation_ends_before_a_stop_string(model: gf.Model) -> None:
    free = model.translate(TEXTS[1], beams=1, max_tokens=8).translation
    stop = free[3:6]
    found = model.translate(TEXTS[1], search=search_settings(WritingOptions(beams=1, stop=[stop], max_tokens=8)))
    assert found.translation == free[: free.index(stop)]
    assert found.whole
    cut = model.translate(TEXTS[1], search=search_settings(WritingOptions(beams=1, stop=["never this"], max_tokens=3)))
    assert (len(cut.tokens), cut.whole) == (3, False)
    assert max(each.end for each in found.tokens) == len(found.translation)
    assert found.notes == ()


def test_blanks_have_an_empty_translation(model: gf.Model) -> None:
    found = model.translate(["", " \t", TEXTS[0]], max_tokens=4)
    assert [each.translation == "" for each in found[:2]] == [True, True]
    assert found[0].tokens == ()
    assert found[2].translation == model.translate(TEXTS[0], max_tokens=4).translation


def test_sentences_are_translated_one_by_one_and_put_together_again(model: gf.Model) -> None:
    one, two = (model.translate(text, max_tokens=6, alignment=True) for text in ENGLISH)
    text = f" {ENGLISH[0]}  {ENGLISH[1]}\n\n{ENGLISH[0]}\n"
    found = model.translate(text, max_tokens=6, paragraphs=True, alignment=True)
    assert found.translation == f" {one.translation}  {two.translation}\n\n{one.translation}\n"
    assert found.score == pytest.approx(2 * one.score + two.score, abs=ORDER)
    assert found.windows == 1
    parts = [each.translation[token.start : token.end] for each in (one, two, one) for token in each.tokens]
    assert [found.translation[token.start : token.end] for token in found.tokens] == parts
    words = [
        (part[a:b], each.translation[c:d])
        for part, each in zip((ENGLISH[0], ENGLISH[1], ENGLISH[0]), (one, two, one), strict=True)
        for (a, b), (c, d), _ in each.alignment
    ]
    assert [(text[a:b], found.translation[c:d]) for (a, b), (c, d), _ in found.alignment] == words


def test_a_text_that_is_too_long_is_cut_into_sentences(model: gf.Model) -> None:
    short = [model.translate(text, max_tokens=5) for text in ENGLISH]
    found = model.translate(" ".join(ENGLISH), max_tokens=5)
    assert found.windows == 2
    assert found.translation == " ".join(each.translation for each in short)
    endless = model.translate("likes the summer " * 20, max_tokens=5)
    assert endless.windows > 2


def test_the_translation_of_each_row_has_room_for_what_is_asked_for(model: gf.Model) -> None:
    """By default a translation of one word has at least the tokens that are forced."""
    search = search_settings(WritingOptions(forced=["healthy food for his friends"]))
    assert "healthy food for his friends" in model.translate("He", search=search).translation


@pytest.mark.parametrize(("weight", "head"), [(0.0, None), (0.05, 0)])
def test_alignment_is_the_attention_of_the_last_layer_or_of_its_head_that_learned_it(
    weight: float, head: int | None, model: gf.Model
) -> None:
    model = gf.Model(model.module, model.tokenizer, task=TranslateSection(alignment=weight), length=24)
    found = model.translate(ENGLISH[0], beams=1, max_tokens=8, alignment=True)
    source = model.tokenizer.encode(ENGLISH[0])
    ids = [model.tokenizer.id(each.token) or 0 for each in found.tokens]
    given = torch.tensor([[special_ids(model.tokenizer).begin, *ids[:-1]]])
    assert model.module.decoder is not None
    with torch.no_grad(), cross_weights(model.module.decoder, (1,), head) as seen:
        model.module(Inputs(ids=torch.tensor([source.ids])), Inputs(ids=given))
    table = seen.mean()[0]  # [T, M]
    assert found.alignment
    for (a, b), (c, d), share in found.alignment:
        rows = [n for n, each in enumerate(found.tokens) if each.start < each.end and c <= each.start and each.end <= d]
        total = table[rows][:, [n for n, (s, e) in enumerate(source.offsets) if s < e]].sum()
        columns = [n for n, (s, e) in enumerate(source.offsets) if s < e and a <= s + (s > 0) and e <= b]
        assert share == pytest.approx(float(table[rows][:, columns].sum() / total), abs=ORDER)
        assert found.text[a:b].strip()


@pytest.mark.parametrize("weight", [0.0, 0.05])
def test_an_alignment_that_is_asked_for_changes_no_answer(weight: float, model: gf.Model) -> None:
    """The coverage penalty reads attention as well."""
    model = gf.Model(model.module, model.tokenizer, task=TranslateSection(alignment=weight), length=24)
    search = search_settings(WritingOptions(coverage_penalty=0.9, beams=3, max_tokens=8))
    shown, plain = (model.translate(TEXTS, search=search, alignment=aligned) for aligned in (True, False))
    assert [(each.translation, each.score) for each in shown] == [(each.translation, each.score) for each in plain]
    without = search_settings(WritingOptions(beams=3, max_tokens=8))
    assert [each.score for each in plain] != [each.score for each in model.translate(TEXTS, search=without)]


def test_characters_of_tokens_are_slices_of_the_translation(model: gf.Model) -> None:
    tokenizer = model.tokenizer
    text = "Elle aime l'été, 冬 !"
    ids = tokenizer.ids(f" {text}")
    whole, spans = token_spans(tokenizer, ids)
    assert whole == text
    assert "".join(text[start:end] for start, end in spans) == text.replace(" ", "")
    assert len(spans) == len(ids)


def test_characters_without_a_token_are_reported(model: gf.Model) -> None:
    assert unknown_characters(model.tokenizer, "She likes l'été") == ""
    assert unknown_characters(model.tokenizer, "She 冬 likes 冬 夏") == "冬夏"
    found = model.translate("She likes 冬", max_tokens=3)
    assert "冬" in found.notes[0]
    assert model.translate(TEXTS[0], max_tokens=1).notes[-1].endswith(f"{TEXTS[0][:40]}…")
    words = train_tokenizer("wordpiece", ENGLISH, vocabulary=100)
    assert unknown_characters(words, "she likes 冬") == "冬"


def test_sentences_that_the_translation_leaves_out_are_counted() -> None:
    """Of a text that was translated as one sentence: one that was divided has a translation of each."""
    model = gf.load("en-fr")
    text = "Hello. How are you? I am fine."
    lost, whole, one = model.translate([text, "Hello. How are you?", "I know Mr. Smith."])
    assert (lost.lost, whole.lost, one.lost) == (1, 0, 0), (lost.translation, whole.translation)
    assert ("--paragraphs" in lost.notes[-1], whole.notes, one.notes) == (True, (), ())
    assert model.translate("The dog is\nin the house.").lost == 0  # one sentence on two lines
    divided = model.translate(text, paragraphs=True)
    assert (divided.lost, divided.notes) == (0, ())


def test_an_empty_translation_of_words_is_reported(model: gf.Model) -> None:
    found = model.translate(TEXTS[0], beams=1, max_tokens=3)
    assert (found.empty, found.to_dict()["empty"]) == (0, 0)
    first = found.translation[0]
    texts = [TEXTS[0], " \n", f"{TEXTS[0]} {TEXTS[1]}"]
    search = gf.DecodeSettings(stop=(first,), max_tokens=3)
    one, blank, two = model.translate(texts, paragraphs=True, search=search)
    assert (one.translation, one.empty) == ("", 1)
    assert one.notes[-1].endswith(f"{TEXTS[0][:40]}…")
    assert (blank.translation, blank.empty, blank.notes) == ("", 0, ())
    assert two.empty == 1 + (model.translate(TEXTS[1], search=search).translation == "")
    assert two.translation.strip() or two.empty == 2


# --------------------------------------------------------------------------- the search, and what cannot be had


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, {"method": "beam", "beams": 5, "length_penalty": 0.6}),
        ({"beams": 1}, {"method": "greedy"}),
        ({"beams": 1, "length_penalty": 1.0}, {"method": "beam", "length_penalty": 1.0}),
        ({"beams": 2}, {"method": "beam", "beams": 2, "length_penalty": 0.6}),
        ({"n_best": 7}, {"method": "beam", "beams": 7}),
        ({"sample": True}, {"method": "sample", "beams": 1}),
        ({"top_p": 0.9, "n_best": 2}, {"method": "sample", "top_p": 0.9, "n_best": 2}),
        ({"forced": [], "stop": ["."]}, {"method": "beam", "stop": (".",)}),
    ],
)
def test_options_choose_the_search(options: dict[str, Any], expected: dict[str, Any]) -> None:
    found = search_settings(WritingOptions(**options)).model_dump()
    assert {name: found[name] for name in expected} == expected


@pytest.mark.parametrize(
    ("default", "options", "expected"),
    [
        ({}, {"groups": 3}, {"beams": 6, "groups": 3}),  # 5 as usual, and enough for equal groups
        ({}, {"groups": 2, "n_best": 7}, {"beams": 8, "n_best": 7}),
        ({"method": "beam", "beams": 4}, {"n_best": 6}, {"beams": 6, "n_best": 6}),
        ({"method": "beam", "beams": 4, "groups": 2}, {"n_best": 5}, {"beams": 6, "groups": 2}),
        ({"method": "greedy"}, {"forced": ["x"]}, {"method": "beam", "beams": 5}),
        ({"method": "greedy"}, {"n_best": 3}, {"method": "beam", "beams": 3}),
        ({"method": "sample", "top_k": 9}, {}, {"method": "sample", "top_k": 9}),  # as it came with the model
        ({"method": "sample", "top_k": 9}, {"n_best": 3}, {"method": "sample", "n_best": 3}),
        ({"method": "sample", "top_k": 9}, {"beams": 1}, {"method": "greedy", "top_k": None}),
        ({"method": "sample", "top_k": 9}, {"beams": 2}, {"method": "beam", "beams": 2}),
    ],
)
def test_there_are_as_many_beams_as_the_other_options_need(
    default: dict[str, Any], options: dict[str, Any], expected: dict[str, Any]
) -> None:
    found = search_settings(
        WritingOptions(**options), default=gf.DecodeSettings(**default) if default else None
    ).model_dump()
    assert {name: found[name] for name in expected} == expected


# What is refused, with what the error names as wanted, as found, and to do: options as they were typed, or keywords.
EXCLUDING: dict[str, tuple[dict[str, Any], tuple[str, str, str], tuple[str, str, str]]] = {
    "answers": (
        {"beams": 2, "n_best": 4},
        ("--n-best 4", "--beams 2", "--beams"),
        ("n_best = 4", "beams = 2", "beams"),
    ),
    "drawn": (
        {"beams": 2, "top_k": 3},
        ("--beams 2", "--top-k 3", "leave one"),
        ("beams = 2", "method = 'sample'", "leave beams out"),
    ),
    "samples": (
        {"sample": True, "length_penalty": 1.0},
        ("--length-penalty 1.0", "--sample", "leave one"),
        ("length_penalty = 1.0", "'sample'", "leave length_penalty out"),
    ),
    "groups": (
        {"beams": 5, "groups": 2},
        ("--groups 2", "--beams 5", "--groups"),
        ("groups = 2", "beams = 5", "groups"),
    ),
    "one group": (
        {"diversity": 0.5},
        ("--diversity 0.5", "one group", "--groups"),
        ("diversity = 0.5", "one group", "groups"),
    ),
    "one beam": (
        {"beams": 1, "forced": ["chiens", "chats"]},
        ("--force chiens chats", "--beams 1", "--beams"),
        ("forced = ('chiens', 'chats')", "beams = 1", "beams"),
    ),
    "tokens": (
        {"min_tokens": 9, "max_tokens": 8},
        ("--min-tokens 9", "--max-tokens 8", "change"),
        ("min_tokens = 9", "max_tokens = 8", "change"),
    ),
    "a word": (
        {"forced": ["chiens"], "forbidden": ["chiens"]},
        ("--forbid", "'chiens'", "leave it out"),
        ("forbidden", "'chiens'", "leave it out"),
    ),
    "no number": ({"n_best": "2"}, ("--n-best", "'2'", ""), ("n_best", "'2'", "")),
    "no number of beams": ({"beams": "2", "forced": ["x"]}, ("--beams", "'2'", ""), ("beams", "'2'", "")),
    "no groups": ({"groups": 0}, ("--groups", "0", ""), ("groups", "0", "")),
    "a probability": ({"top_p": 1.5}, ("--top-p", "1.5", ""), ("top_p", "1.5", "")),
}


@pytest.mark.parametrize("name", EXCLUDING)
def test_options_that_exclude_each_other_are_refused_by_what_was_typed(name: str) -> None:
    options, typed, keywords = EXCLUDING[name]
    for called, (wanted, got, do) in ((TYPED, typed), ({}, keywords)):
        with refused(ConfigError, wanted=wanted, got=got, do=do):
            search_settings(WritingOptions(**options), called=called)


def test_words_that_no_translation_can_have_are_refused(model: gf.Model) -> None:
    with refused(ConfigError, wanted="tokens", got="2"):
        model.translate("He", prefix="Elle aime", max_tokens=2)
    with refused(ConfigError, wanted="prefix", got="'aim'", do="leave it out"):
        model.translate("He", prefix="Elle aime", stop=["aim"])
    search = search_settings(WritingOptions(forced=["Elle aime"], forbidden=["aime"]))
    with refused(ConfigError, wanted="Elle aime", got="aime"):
        model.translate("He", search=search)
    search = search_settings(WritingOptions(forced=["aime aime"], no_repeat_ngram=1, max_tokens=8))
    with refused(DataError, got=("5", "'He'")):
        model.translate("He", search=search)


@pytest.mark.parametrize("mark", ["</s>", "<pad>"])
def test_what_ends_or_fills_up_a_sentence_is_no_word(model: gf.Model, mark: str) -> None:
    """Nobody has ever read the number of a request."""
    with refused(ConfigError, got=mark):
        model.translate("He", prefix=f"Elle {mark}")
    with refused(ConfigError, got=mark):
        model.translate("He", search=search_settings(WritingOptions(forced=[mark])))
    with refused(DataError, got=mark):  # its probability is 0, or what follows is no translation
        model.score("He", f"Elle {mark} aime")


def test_blanks_are_no_words_to_force_or_forbid(model: gf.Model) -> None:
    for options in (WritingOptions(forced=[" "]), WritingOptions(forbidden=[" "])):
        with refused(ConfigError, got="' '"):
            model.translate("He", search=search_settings(options))


def test_a_translation_is_no_longer_than_the_model_numbers_tokens() -> None:
    found = translating(limited=True).translate("the winter " * 5, max_tokens=200)
    assert len(found.tokens) <= 40


def test_a_source_must_be_a_text(model: gf.Model) -> None:
    with refused(DataError, got="3"):
        model.translate([3])  # type: ignore[list-item]  # what is refused


def test_a_model_without_two_stacks_or_ends_is_refused() -> None:
    encoder: ModelConfig = bert(size="tiny", vocabulary=30)
    with refused(ConfigError, got="bert"):
        check_translates(encoder)
    plain = train_tokenizer("bpe", ENGLISH, vocabulary=300, special=SpecialTokens())
    with refused(ConfigError, do="tokenizer.file"):
        special_ids(plain)


def test_what_an_imported_model_never_writes_is_asked_of_each_row() -> None:
    """As its `bad_words_ids` and `suppress_tokens`; a token that is never written anyway is no rule for an engine."""
    model = translating()
    padding = model.tokenizer.pad_id
    assert padding is not None
    search = DecodeSettings(max_tokens=6)
    free = Translator(model.tokenizer, length=24, search=search)
    first = model.tokenizer.target.id(model.translate("the cat", search=search).tokens[0].token)
    assert first is not None
    known = SearchDefaults(search, forbidden=((padding,), (first,), (padding, first)))
    bound = Translator(model.tokenizer, length=24, search=search, default=known)
    assert bound.request([5, 6], None).forbidden == ((first,),)
    ids = next(iter(free.rows(free.example({"text": "the cat"}, "")))).ids
    before, without = (
        next(each.finished[0] for each in task.steps(model.module, [task.request(ids, None)], slots=1) if each.finished)
        for task in (free, bound)
    )
    assert before.hypotheses[0].ids[0] == first
    assert first not in without.hypotheses[0].ids
