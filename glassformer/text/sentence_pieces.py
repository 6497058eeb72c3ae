"""Reading the tokenizer of an original Marian folder: SentencePiece models (Kudo & Richardson 2018) for the source and
the target, `source.spm` and `target.spm`, with the ids of the pieces of both in `vocab.json`, unless those of the
target are in `target_vocab.json`.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import tokenizers
from tokenizers import AddedToken, Regex, decoders, models, normalizers, pre_tokenizers

from glassformer.base.errors import MissingExtraError, TokenizerError
from glassformer.text.byte_pairs import read_ids
from glassformer.text.library import refusing, with_template
from glassformer.text.special import MARIAN, roles_from_files
from glassformer.text.tokenizer import Tokenizer

SOURCE, TARGET, TARGET_IDS = "source.spm", "target.spm", "target_vocab.json"
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
    source = _tokenizer(folder / SOURCE, folder / "vocab.json", settings)
    if not (folder / TARGET_IDS).is_file():
        return source
    return source.with_target(_tokenizer(folder / TARGET, folder / TARGET_IDS, settings))


def _tokenizer(path: Path, vocabulary: Path, settings: Mapping[str, Any]) -> Tokenizer:
    ids = read_ids(vocabulary)
    missing = [token for token in MARIAN if token not in ids]
    if missing:
        raise TokenizerError(f"{vocabulary} must be Marian's", got=f"a file without {', '.join(missing)}")
    model = _read(path)
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
        roles = roles_from_files({key: settings[key] for key in settings if key in _ROLES}, MARIAN, set(ids))
        languages = [token for token in ordered if token.startswith(">>") and token.endswith("<<")]
        backend.add_special_tokens([AddedToken(each, normalized=False) for each in (*roles, *languages)])
        return Tokenizer(with_template(backend, roles, segments=False).to_str(), roles)


# The tokens that these settings may name anew.
_ROLES = ("pad_token", "unk_token", "eos_token")


def _read(path: Path) -> Any:
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
