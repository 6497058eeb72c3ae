"""The tokens that are not text, by their role in a tokenizer."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields

from glassformer.base.errors import TokenizerError, did_you_mean


@dataclass(frozen=True)
class SpecialTokens:
    """Which token has which role; None where a tokenizer has none. One token may have several roles. `first` and
    `separator` frame a text for an encoder ([CLS] … [SEP], or <s> … </s>); `begin` and `end` are the tokens where a
    decoder starts and stops.
    """

    pad: str | None = None
    unknown: str | None = None
    first: str | None = None
    separator: str | None = None
    mask: str | None = None
    begin: str | None = None
    end: str | None = None

    @property
    def pad_is_last(self) -> bool:
        """Whether padding gets the last id: where a decoder begins with it. Of Marian, ctranslate2 reads no other."""
        return self.pad is not None and self.begin is None and self.end is not None

    def __iter__(self) -> Iterator[str]:
        tokens = (getattr(self, field.name) for field in fields(self))
        return iter(dict.fromkeys(token for token in tokens if token is not None))


BERT = SpecialTokens(pad="[PAD]", unknown="[UNK]", first="[CLS]", separator="[SEP]", mask="[MASK]")
ROBERTA = SpecialTokens(
    first="<s>", begin="<s>", pad="<pad>", separator="</s>", end="</s>", unknown="<unk>", mask="<mask>"
)
# A decoder begins with padding and ends with </s>, which also closes the source (Marian).
MARIAN = SpecialTokens(separator="</s>", end="</s>", unknown="<unk>", pad="<pad>")
# One token between texts, with which a decoder begins and ends each of them (GPT-2).
GPT2 = SpecialTokens(begin="<|endoftext|>", end="<|endoftext|>")
NONE = SpecialTokens()

# Hugging Face's names for the roles, as in special_tokens_map.json and tokenizer_config.json.
FOREIGN_ROLES = {
    "pad_token": "pad",
    "unk_token": "unknown",
    "mask_token": "mask",
    "cls_token": "first",
    "sep_token": "separator",
    "bos_token": "begin",
    "eos_token": "end",
}

UNKNOWN = ("[UNK]", "<unk>")
_WELL_KNOWN = {
    "pad": ("[PAD]", "<pad>", "<|padding|>"),
    "unknown": UNKNOWN,
    "mask": ("[MASK]", "<mask>"),
    "first": ("[CLS]",),
    "separator": ("[SEP]",),
    "begin": ("<s>", "<|begin_of_text|>", "<bos>", "[BOS]", "<|startoftext|>", "<|endoftext|>"),
    "end": ("</s>", "<|end_of_text|>", "<eos>", "[EOS]", "<|endoftext|>"),
}


def roles_by_name(special: set[str]) -> SpecialTokens:
    """Guess roles from names. Only with a mask, as in RoBERTa and not in Llama, do <s> and </s> frame a text."""
    found = {role: next((name for name in names if name in special), None) for role, names in _WELL_KNOWN.items()}
    if found["mask"] is not None:
        found["first"] = found["first"] or found["begin"]
        found["separator"] = found["separator"] or found["end"]
    return SpecialTokens(**found)


def roles_from_files(maps: Mapping[str, object], special: SpecialTokens, known: set[str]) -> SpecialTokens:
    """Roles from Hugging Face's files, over guessed ones; TokenizerError for a token that is not there."""
    roles = {field.name: getattr(special, field.name) for field in fields(special)}
    for foreign, role in FOREIGN_ROLES.items():
        if foreign not in maps:
            continue
        value = maps[foreign]
        token = value.get("content") if isinstance(value, Mapping) else value
        if token is None:
            roles[role] = None
            continue
        if not isinstance(token, str):
            raise TokenizerError(f"{foreign} must name a token of the tokenizer", got=repr(token)[:80])
        if token not in known:
            hint = did_you_mean(token, known) if len(token) < 80 else ""
            raise TokenizerError(f"{foreign} must name a token of the tokenizer", got=repr(token)[:80], do=hint)
        roles[role] = token
    return SpecialTokens(**roles)
