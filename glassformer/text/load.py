"""Reading tokenizers: Hugging Face's `tokenizer.json`; BERT's `vocab.txt`, which is written too; `vocab.json` with
`merges.txt`, as GPT-2 (Radford et al. 2019) and RoBERTa (Liu et al. 2019) were published; and the SentencePiece models
(Kudo & Richardson 2018) of an original Marian folder.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import tokenizers
from tokenizers import AddedToken, Regex, decoders, models, normalizers, pre_tokenizers

from glassformer.base.errors import MissingExtraError, TokenizerError
from glassformer.base.json_text import read_json
from glassformer.text.configured import WORD_PIECES, as_configured, class_for, switch
from glassformer.text.library import refusing, with_template
from glassformer.text.special import BERT, MARIAN, NONE, ROBERTA, SpecialTokens, roles_by_name, roles_from_files
from glassformer.text.tokenizer import FILE, TARGET_FILE, Tokenizer

SOURCE, TARGET, TARGET_IDS = "source.spm", "target.spm", "target_vocab.json"
# The files that are a tokenizer, alone or together, the first ones first.
TOKENIZER_FILES = ((FILE,), ("vocab.txt",), ("vocab.json", "merges.txt"), (SOURCE, TARGET, "vocab.json"))
_ROLE_FILES = ("tokenizer_config.json", "special_tokens_map.json")
_SAVE_WHOLE = "save it by transformers with AutoTokenizer, which writes tokenizer.json"


def load_tokenizer(path: str | Path) -> Tokenizer:
    """Read `tokenizer.json`, BERT's `vocab.txt`, GPT-2's and RoBERTa's `vocab.json` with its `merges.txt`, or
    Marian's `source.spm` and `target.spm` with `vocab.json`: a file, or the directory that holds it, `tokenizer.json`
    first. A directory with `target_tokenizer.json` has another one for targets (`Tokenizer.target`).

    Raises TokenizerError, with the path, when there is none or it cannot be read, MissingExtraError for Marian's
    without sentencepiece.
    """
    path = Path(path)
    if path.is_dir():
        for names in TOKENIZER_FILES:
            if all((path / name).is_file() for name in names):
                tokenizer, target = load_tokenizer(path / names[0]), path / TARGET_FILE
                return tokenizer.with_target(load_tokenizer(target)) if target.is_file() else tokenizer
        raise TokenizerError(
            f"{path} must hold tokenizer.json, vocab.txt, vocab.json with merges.txt, or Marian's {SOURCE} with others",
            got="none of them",
        )
    if not path.is_file():
        raise TokenizerError(f"a tokenizer is needed at {path}", got="no such file")
    if path.name == "vocab.json":
        return load_byte_pairs(path, path.with_name("merges.txt"), _role_maps(path.parent))
    if path.name == SOURCE:
        return load_sentence_pieces(path.parent, _role_maps(path.parent))
    return _from_vocabulary(path) if path.suffix == ".txt" else _from_json(path)


def _from_json(path: Path) -> Tokenizer:
    settings = _role_maps(path.parent)
    try:
        text = as_configured(path.read_text(encoding="utf-8"), settings)
        plain = Tokenizer(text, NONE)
    except (OSError, UnicodeDecodeError) as error:
        raise TokenizerError(f"{path} must be a readable UTF-8 file", got=str(error)) from None
    except TokenizerError as error:
        raise TokenizerError(f"{path}: {error.wanted}", got=error.got, do=error.do) from None
    special = {plain.token(id_) for id_ in plain.special_ids}
    roles = roles_from_files(settings, roles_by_name(special), set(plain.vocabulary()) - {""})
    return plain if roles == NONE else Tokenizer(text, roles)


def _from_vocabulary(path: Path) -> Tokenizer:
    """BERT's own format: one token per line, its id the line's number (google-research/bert, tokenization.py)."""
    vocabulary: dict[str, int] = {}
    for id_, token in enumerate(read_text(path).removesuffix("\n").split("\n")):
        token = token.removesuffix("\r")
        if token in vocabulary:
            raise TokenizerError(
                f"{path} must hold each token once", got=f"{token!r} on lines {vocabulary[token] + 1} and {id_ + 1}"
            )
        vocabulary[token] = id_
    missing = [token for token in BERT if token not in vocabulary]
    if missing:
        raise TokenizerError(f"{path} must be a BERT vocabulary", got=f"a file without {', '.join(missing)}")
    settings = _role_maps(path.parent)
    added = {*read_object(path.with_name(_ADDED))} if path.with_name(_ADDED).is_file() else set()
    added |= {str(of.get("content")) for of in _objects(settings.get("added_tokens_decoder"))}
    if (kind := str(settings.get("tokenizer_class") or "")) and kind.removesuffix("Fast") not in WORD_PIECES:
        raise TokenizerError(f"{path} alone is a tokenizer of BERT's class", got=kind[:80], do=_SAVE_WHOLE)
    if more := sorted(added - vocabulary.keys()):
        raise TokenizerError(
            f"{path} must hold all tokens, as nothing else says how they are read",
            got=f"the added token {more[0][:80]!r}",
            do=_SAVE_WHOLE,
        )
    return _from_tokens(vocabulary, settings)


def _objects(value: object) -> list[Mapping[str, Any]]:
    return [each for each in value.values() if isinstance(each, Mapping)] if isinstance(value, Mapping) else []


class VocabularyFile(NamedTuple):
    """The text of a `vocab.txt`, and the settings that the `tokenizer_config.json` next to it must hold."""

    text: str
    settings: dict[str, bool | None]


def as_vocabulary_file(tokenizer: Tokenizer) -> VocabularyFile | None:
    """The tokenizer as BERT's `vocab.txt`; None where that would be read back as another tokenizer."""
    stated, tokens = tokenizer.settings, tokenizer.vocabulary()
    normalizer = stated["normalizer"] or {}
    text = "".join(f"{token}\n" for token in tokens)
    if normalizer.get("type") != "BertNormalizer" or text.splitlines() != list(tokens) or not {*BERT} <= {*tokens}:
        return None
    settings = {
        "do_lower_case": normalizer["lowercase"],
        "strip_accents": normalizer["strip_accents"],
        "tokenize_chinese_chars": normalizer["handle_chinese_chars"],
    }
    again = _from_tokens({token: id_ for id_, token in enumerate(tokens)}, settings)
    return VocabularyFile(text, settings) if again.settings == stated else None


def _from_tokens(vocabulary: dict[str, int], settings: Mapping[str, Any]) -> Tokenizer:
    lowercase, strip_accents = switch(settings, "do_lower_case", True), switch(settings, "strip_accents", None)
    chinese = switch(settings, "tokenize_chinese_chars", True)
    backend = tokenizers.Tokenizer(models.WordPiece(vocabulary, unk_token=BERT.unknown, max_input_chars_per_word=100))
    backend.normalizer = normalizers.BertNormalizer(
        lowercase=bool(lowercase), strip_accents=strip_accents, handle_chinese_chars=bool(chinese)
    )
    backend.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    backend.decoder = decoders.WordPiece(prefix="##")
    backend.add_special_tokens(list(BERT))
    return Tokenizer(with_template(backend, BERT, segments=True).to_str(), BERT)


def _role_maps(directory: Path) -> dict[str, Any]:
    """The roles and the normalising settings in the files next to it; later files have priority."""
    config = directory / "config.json"
    found: dict[str, Any] = {**class_for(read_object(config))} if config.is_file() else {}
    for name in _ROLE_FILES:
        path = directory / name
        if path.is_file():
            found.update(read_object(path))
    return found


_GPT2 = "<|endoftext|>"
# Tokens that were added after the vocabulary was made, with their ids.
_ADDED = "added_tokens.json"


def load_byte_pairs(vocabulary: Path, merges: Path, settings: Mapping[str, Any]) -> Tokenizer:
    """The tokenizer of these two files; `settings` are those of `tokenizer_config.json` and `special_tokens_map.json`.
    A vocabulary with <s>, </s> and <mask> frames a text as RoBERTa does, any other frames nothing, as GPT-2. Raises
    TokenizerError, with the path, for a file that is missing or damaged, and for merges of unknown tokens.
    """
    ids = read_ids(vocabulary)
    pairs = _merges(merges, ids)
    prefixed = settings.get("add_prefix_space", False)
    if not isinstance(prefixed, bool):
        raise TokenizerError("add_prefix_space in tokenizer_config.json must be true or false", got=repr(prefixed)[:80])

    def refusal(message: str) -> TokenizerError:
        return TokenizerError(f"{vocabulary} and {merges} must be a byte-level BPE", got=message)

    with refusing(refusal):
        backend = tokenizers.Tokenizer(models.BPE(ids, pairs))
        backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=prefixed)
        backend.decoder = decoders.ByteLevel()
        # RoBERTa's tokens where they are in the vocabulary, else GPT-2's one token.
        guessed = ROBERTA if all(token in ids for token in ROBERTA) else roles_by_name({_GPT2} & ids.keys())
        added = _added_ids(vocabulary.with_name(_ADDED), ids)
        for token in sorted(added, key=added.__getitem__):
            backend.add_special_tokens([AddedToken(token, normalized=False, special=True)])
            if backend.token_to_id(token) != added[token]:
                raise TokenizerError(
                    f"{vocabulary.with_name(_ADDED)} must give the next free id to each token",
                    got=f"{added[token]} for {token[:80]!r}",
                )
        roles = roles_from_files(settings, guessed, set(ids) | set(added))
        backend.add_special_tokens([_special_token(token, roles, settings) for token in roles])
        framed = with_template(backend, roles, segments=False, byte_level=True)
        return Tokenizer(framed.to_str(), roles)


def _special_token(token: str, roles: SpecialTokens, settings: Mapping[str, Any]) -> AddedToken:
    """A mask absorbs the space before it, as RoBERTa was trained, unless the files say that it does not. transformers 5
    forgets this where the files say nothing, and then puts a token for the space before each mask.
    """
    said = settings.get("mask_token")
    absorbs = said.get("lstrip", True) if isinstance(said, Mapping) else True
    return AddedToken(token, lstrip=token == roles.mask and bool(absorbs), normalized=False, special=True)


def read_ids(path: Path) -> dict[str, int]:
    """The id of each token in a `vocab.json`; raises TokenizerError, with the path, unless each has one of its own."""
    values = read_object(path)
    wrong = next((token for token, id_ in values.items() if not _is_id(id_)), None)
    if wrong is not None:
        raise TokenizerError(f"{path} must give each token a number", got=repr(values[wrong])[:80])
    if sorted(values.values()) != list(range(len(values))):
        raise TokenizerError(f"{path} must number its tokens from 0, each once", got=f"{len(values):,} tokens")
    return values


def _added_ids(path: Path, ids: Mapping[str, int]) -> dict[str, int]:
    values = read_object(path) if path.is_file() else {}
    if not all(_is_id(id_) for id_ in values.values()):
        raise TokenizerError(f"{path} must give each token a number", got=repr(values)[:80])
    return {token: id_ for token, id_ in values.items() if token not in ids}


def _is_id(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def read_object(path: Path) -> dict[str, Any]:
    """The object in a JSON file of a tokenizer; raises TokenizerError."""
    try:
        values = read_json(path)
    except (OSError, ValueError) as error:
        raise TokenizerError(f"{path} must be JSON", got=f"an error: {error}") from None
    if not isinstance(values, dict):
        raise TokenizerError(f"{path} must hold a JSON object", got=type(values).__name__)
    return values


def read_text(path: Path) -> str:
    """The text of a file of a tokenizer; raises TokenizerError."""
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise TokenizerError(f"{path} must be UTF-8 text", got=f"byte {error.start} is not") from None
    except OSError as error:
        raise TokenizerError(f"cannot read {path}", got=str(error)) from None


def _merges(path: Path, ids: Mapping[str, int]) -> list[tuple[str, str]]:
    if not path.exists():
        raise TokenizerError(f"the merges of the vocabulary are needed at {path}", got="no such file")
    lines = read_text(path).split("\n")
    pairs: list[tuple[str, str]] = []
    for number, line in enumerate(lines, 1):
        line = line.removesuffix("\r")
        if not line or (number == 1 and line.startswith("#version")):
            continue
        first, space, second = line.partition(" ")
        if not (first and space and second) or " " in second:
            raise TokenizerError(f"{path}, line {number}: two tokens are needed", got=repr(line)[:80])
        unknown = next((token for token in (first, second, first + second) if token not in ids), None)
        if unknown is not None:
            raise TokenizerError(f"{path}, line {number}: a token of the vocabulary is needed", got=repr(unknown)[:80])
        pairs.append((first, second))
    return pairs


_UNIGRAM = 1  # TrainerSpec.ModelType
_TEXT = (1, 4)  # SentencePiece.Type: learned from text, and named by the user
# The score of a piece that the source has not: below that of any division of a text into pieces that it has.
_NEVER = -1e6


def load_sentence_pieces(folder: Path, settings: Mapping[str, Any]) -> Tokenizer:
    """The tokenizer of these files; `settings` are those of `tokenizer_config.json`.

    With one vocabulary all texts are divided as those of the source: targets that are given (`score`, training) may be
    divided otherwise by Marian, where the two models differ. A character that the source's model does not know becomes
    a piece of the target's where it has one. Raises MissingExtraError without sentencepiece, TokenizerError, with the
    path, for a file that is damaged, for another model than a unigram, and for a vocabulary without `</s>`, `<unk>` or
    `<pad>`.
    """
    source = _from_pieces(folder / SOURCE, folder / "vocab.json", settings)
    if not (folder / TARGET_IDS).is_file():
        return source
    return source.with_target(_from_pieces(folder / TARGET, folder / TARGET_IDS, settings))


def _from_pieces(path: Path, vocabulary: Path, settings: Mapping[str, Any]) -> Tokenizer:
    ids = read_ids(vocabulary)
    missing = [token for token in MARIAN if token not in ids]
    if missing:
        raise TokenizerError(f"{vocabulary} must be Marian's", got=f"a file without {', '.join(missing)}")
    model = _read_pieces(path)
    if model.trainer_spec.model_type != _UNIGRAM or model.trainer_spec.byte_fallback:
        raise TokenizerError(f"{path} must be a unigram model without bytes", got="another model of SentencePiece")
    scores = {piece.piece: piece.score for piece in model.pieces if piece.type in _TEXT}
    ordered = sorted(ids, key=ids.__getitem__)

    def refusal(message: str) -> TokenizerError:
        return TokenizerError(f"{path} must be a model that the tokenizers library can run", got=message)

    with refusing(refusal):
        pieces = [(token, scores.get(token, _NEVER)) for token in ordered]
        backend = tokenizers.Tokenizer(models.Unigram(pieces, unk_id=ids[str(MARIAN.unknown)], byte_fallback=False))
        spec = model.normalizer_spec
        steps: list[normalizers.Normalizer] = []
        if spec.precompiled_charsmap:
            steps.append(normalizers.Precompiled(spec.precompiled_charsmap))
        if spec.remove_extra_whitespaces:
            steps += [normalizers.Replace(Regex(" {2,}"), " "), normalizers.Strip()]
        backend.normalizer = normalizers.Sequence(steps)
        prefix = "always" if spec.add_dummy_prefix else "never"
        backend.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme=prefix)
        backend.decoder = decoders.Metaspace(prepend_scheme=prefix)
        roles = roles_from_files({key: settings[key] for key in settings if key in _PIECE_ROLES}, MARIAN, set(ids))
        languages = [token for token in ordered if token.startswith(">>") and token.endswith("<<")]
        backend.add_special_tokens([AddedToken(each, normalized=False) for each in (*roles, *languages)])
        return Tokenizer(with_template(backend, roles, segments=False).to_str(), roles)


# The tokens that these settings may name anew.
_PIECE_ROLES = ("pad_token", "unk_token", "eos_token")


def _read_pieces(path: Path) -> Any:
    try:
        from google.protobuf.message import DecodeError
        from sentencepiece import sentencepiece_model_pb2
    except ImportError:
        raise MissingExtraError("sentencepiece", extra="sentencepiece") from None
    model = sentencepiece_model_pb2.ModelProto()
    try:
        model.ParseFromString(path.read_bytes())
    except (OSError, DecodeError) as error:
        raise TokenizerError(f"{path} must be a model of SentencePiece", got=str(error)) from None
    return model
