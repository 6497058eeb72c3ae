"""What `tokenizer_config.json` says otherwise than the `tokenizer.json` next to it, as transformers follows it."""

import json
from collections.abc import Mapping
from typing import Any

from glassformer.base.errors import TokenizerError
from glassformer.base.json_text import parse_json

# The classes of transformers whose `vocab.txt` is read here, and those for which tokenizer_config.json has priority.
WORD_PIECES = (
    *("BertTokenizer", "DistilBertTokenizer", "ElectraTokenizer", "MobileBertTokenizer", "MPNetTokenizer"),
    *("ConvBertTokenizer", "LayoutLMTokenizer", "RetriBertTokenizer", "SqueezeBertTokenizer", "PreTrainedTokenizer"),
)
_CONFIGURED = (*WORD_PIECES[:-1], "RobertaTokenizer")
# The class that transformers takes where no file names one, by the `model_type` of `config.json`.
_OF_MODELS = {name.removesuffix("Tokenizer").lower(): name for name in _CONFIGURED}
# Of BERT's normalizer: the name in `tokenizer.json`, that in `tokenizer_config.json`, and its default there.
_NORMALIZING = (
    ("lowercase", "do_lower_case", True),
    ("strip_accents", "strip_accents", None),
    ("handle_chinese_chars", "tokenize_chinese_chars", True),
)


def as_configured(text: str, settings: Mapping[str, Any]) -> str:
    """The tokenizer of a `tokenizer.json` with what `tokenizer_config.json` says otherwise of BERT's normalizer and
    of the space before a text, which transformers follows for its classes of BERT's and of RoBERTa's tokenizers.
    """
    kind = str(settings.get("tokenizer_class", "")).removesuffix("Fast")
    if kind not in _CONFIGURED:
        return text
    try:
        stated = parse_json(text)
        parts = [part if isinstance(part := stated[name], dict) else {} for name in ("normalizer", "pre_tokenizer")]
    except (ValueError, KeyError, TypeError):
        return text  # no tokenizer: its reader says why
    (normalizer, before), asked = parts, dict[str, bool | None]()
    if kind in WORD_PIECES and normalizer.get("type") == "BertNormalizer":
        asked = {ours: switch(settings, theirs, usual) for ours, theirs, usual in _NORMALIZING}
        normalizer |= asked
    elif kind == "RobertaTokenizer" and before.get("type") == "ByteLevel" and "add_prefix_space" in settings:
        asked = {"add_prefix_space": switch(settings, "add_prefix_space", False)}
        before |= asked
    return json.dumps(stated, ensure_ascii=False) if asked else text


def class_for(config: Mapping[str, Any]) -> dict[str, str]:
    """The class of the tokenizer next to a `config.json`, where `tokenizer_config.json` does not name it."""
    kind = config.get("tokenizer_class") or _OF_MODELS.get(str(config.get("model_type")))
    return {"tokenizer_class": str(kind)} if kind else {}


def switch(settings: Mapping[str, Any], name: str, default: bool | None) -> bool | None:
    """A setting that is on, off or null; raises TokenizerError for another value."""
    value = settings.get(name, default)
    if value is None or isinstance(value, bool):
        return value
    raise TokenizerError(f"{name} in tokenizer_config.json must be true, false or null", got=repr(value)[:80])
