"""How `transformers` searches for a text, as settings of our decoding loop."""

from collections.abc import Mapping
from typing import Any

from glassformer.base.errors import CheckpointError
from glassformer.base.settings import MOST_TOKENS, read_settings
from glassformer.decode.settings import DecodeSettings, SearchDefaults, SpecialIds

# What has no counterpart, with the values that change nothing.
_NEUTRAL: dict[str, tuple[object, ...]] = {
    **dict.fromkeys(("encoder_no_repeat_ngram_size", "epsilon_cutoff", "eta_cutoff", "penalty_alpha"), (0,)),
    **dict.fromkeys(("encoder_repetition_penalty", "guidance_scale", "typical_p"), (1.0,)),
    **dict.fromkeys(("renormalize_logits", "remove_invalid_values", "token_healing"), (False,)),
    **dict.fromkeys(("begin_suppress_tokens", "force_words_ids", "forced_decoder_ids", "constraints"), ([],)),
    "sequence_bias": ({}, []),
}
_READ = (
    *("num_beams", "do_sample", "num_return_sequences", "max_length", "max_new_tokens", "min_length"),
    *("min_new_tokens", "early_stopping", "length_penalty", "num_beam_groups", "diversity_penalty", "temperature"),
    *("top_k", "top_p", "min_p", "repetition_penalty", "no_repeat_ngram_size", "stop_strings", "bad_words_ids"),
    *("suppress_tokens", "eos_token_id", "bos_token_id", "decoder_start_token_id", "forced_bos_token_id"),
    "forced_eos_token_id",
)
# What is found does not depend on these: how it is given back, how fast it is found.
_ELSEWHERE = (
    *("pad_token_id", "cls_token_id", "sep_token_id", "mask_token_id", "unk_token_id", "use_cache", "low_memory"),
    *("cache_implementation", "cache_config", "output_attentions", "output_hidden_states", "output_scores"),
    *("output_logits", "return_dict_in_generate", "return_legacy_cache", "num_assistant_tokens", "compile_config"),
    *("num_assistant_tokens_schedule", "assistant_confidence_threshold", "assistant_early_exit", "is_assistant"),
    *("assistant_lookbehind", "target_lookbehind", "prompt_lookup_num_tokens", "max_matching_ngram_size"),
    *("disable_compile", "prefill_chunk_size", "_from_model_config"),
)
_BEGIN_AND_END = ("bos_token_id", "decoder_start_token_id", "eos_token_id")
_EARLY = {True: "full", False: "estimate", "never": "exact"}


def search_of(
    generation: Mapping[str, Any], tokens: Mapping[str, Any], *, alone: bool = False
) -> tuple[SearchDefaults, dict[str, str]]:
    """The search that these settings of generation ask for, and the reason for each one that has no counterpart.

    `alone`: of a decoder alone, whose lengths count the prompt and whose answers need no token to begin with. `tokens`
    are those with a role in `config.json`: they count where `generation` says nothing at all, as in transformers, and
    for the first and the last token also where it does not name these. Raises CheckpointError for a value that cannot
    be.
    """
    named = {key: value for key, value in tokens.items() if not generation or key in _BEGIN_AND_END}
    said = {key: value for key, value in {**named, **generation}.items() if value is not None}
    aside = {
        key: "the decoding loop has no such setting"
        for key in said
        if key not in (*_READ, *_ELSEWHERE) and said[key] not in _NEUTRAL.get(key, ())
    }
    beams = _whole(said, "num_beams", 1)
    method = "beam" if beams > 1 else "sample" if said.get("do_sample") else "greedy"
    if beams > 1 and said.get("do_sample"):
        aside["do_sample"] = "beams are searched, not drawn"
    ends = _tokens(said, "eos_token_id")
    settings: dict[str, Any] = {"method": method, **_length(said, alone=alone)}
    if alone and _whole(said, "min_length", 0) and "min_new_tokens" not in said:
        aside["min_length"] = "it counts the prompt; min_new_tokens does not"
    if method == "beam":
        stops = said.get("early_stopping", False)
        if not isinstance(stops, bool | str) or stops not in _EARLY:
            raise CheckpointError("early_stopping must be true, false or 'never'", got=repr(stops)[:80])
        groups = _whole(said, "num_beam_groups", 1)
        settings |= {
            "beams": beams,
            "length_penalty": said.get("length_penalty", 1.0),
            "length_penalty_form": "power",
            "early_stopping": _EARLY[stops],
            **({"groups": groups, "diversity": said.get("diversity_penalty", 0.0)} if groups > 1 else {}),
        }
    if method == "sample":
        settings |= _of_samples(said)
    if method != "greedy":
        settings["n_best"] = _whole(said, "num_return_sequences", 1)
    if said.get("repetition_penalty", 1.0) != 1.0:
        settings["repetition_penalty"] = said["repetition_penalty"]
        settings["penalized"] = "log_probabilities" if method == "beam" else "logits"
    if _whole(said, "no_repeat_ngram_size", 0):
        settings["no_repeat_ngram"] = said["no_repeat_ngram_size"]
    if "stop_strings" in said:
        stop = said["stop_strings"]
        settings["stop"] = [stop] if isinstance(stop, str) else stop
    last = _tokens(said, "forced_eos_token_id")
    if last and last[:1] == ends[:1]:
        settings["forced_end"] = True
    elif last:
        aside["forced_eos_token_id"] = "only the token that ends an answer can be its last one"
    if alone and _tokens(said, "forced_bos_token_id"):
        aside["forced_bos_token_id"] = "an answer of a decoder alone begins with any token"
    start = _tokens(said, "decoder_start_token_id") or _tokens(said, "bos_token_id") or (ends if alone else ())
    found = SearchDefaults(
        settings=read_settings(DecodeSettings, settings, where="settings of generation"),
        ids=SpecialIds(start[0], ends) if start and ends else None,
        prefix=() if alone else _tokens(said, "forced_bos_token_id"),
        forbidden=_forbidden(said, ends),
        whole=_whole(said, "max_length", 1)
        if alone and "max_length" in said and "max_new_tokens" not in said
        else None,
    )
    return found, aside


def says_how(generation: Mapping[str, Any]) -> bool:
    """Whether settings of generation say how an answer is searched, not only which tokens have a role."""
    return any(generation.get(key) is not None for key in _READ if not key.endswith("_token_id"))


def _length(said: Mapping[str, Any], *, alone: bool) -> dict[str, int]:
    """Theirs count the first token of the decoder; those of a decoder alone count its whole prompt."""
    found = {}
    if alone:
        for ours, theirs in (("max_tokens", "max_new_tokens"), ("min_tokens", "min_new_tokens")):
            if _whole(said, theirs, 0):
                found[ours] = min(said[theirs], MOST_TOKENS)
        if "max_new_tokens" not in said and "max_length" in said:
            found["max_tokens"] = min(max(1, _whole(said, "max_length", 1)), MOST_TOKENS)
        return found
    if "max_new_tokens" in said or "max_length" in said:
        most = _whole(said, "max_new_tokens", _whole(said, "max_length", 1) - 1)
        found["max_tokens"] = min(max(1, most), MOST_TOKENS)  # some folders say 10^30, for any length
    least = _whole(said, "min_new_tokens", max(0, _whole(said, "min_length", 0) - 1))
    if least:
        found["min_tokens"] = min(least, found.get("max_tokens", least))
    return found


def _of_samples(said: Mapping[str, Any]) -> dict[str, Any]:
    """Their default draws among the 50 likeliest; 0 stands for all."""
    kept = _whole(said, "top_k", 50)
    named = {key: said[key] for key in ("temperature", "top_p", "min_p") if key in said}
    return {**named, **({"top_k": kept} if kept else {})}


def _forbidden(said: Mapping[str, Any], ends: tuple[int, ...]) -> tuple[tuple[int, ...], ...]:
    """Sequences of tokens that no answer has. As in transformers, the end itself cannot be forbidden."""
    words = said.get("bad_words_ids", [])
    if not isinstance(words, list) or not all(_are_tokens(word) and word for word in words):
        raise CheckpointError("bad_words_ids must be lists of tokens", got=repr(words)[:80])
    single = [(token,) for token in _tokens(said, "suppress_tokens")]
    kept = [word for word in map(tuple, words) if not (len(word) == 1 and word[0] in ends)]
    return tuple(dict.fromkeys([*kept, *single]))


def _tokens(said: Mapping[str, Any], key: str) -> tuple[int, ...]:
    """One token or several; () where nothing is said."""
    value = said.get(key, [])
    tokens = value if isinstance(value, list) else [value]
    if not _are_tokens(tokens):
        raise CheckpointError(f"{key} must be a token or a list of tokens", got=repr(value)[:80])
    return tuple(tokens)


def _are_tokens(value: object) -> bool:
    return isinstance(value, list) and all(type(each) is int and each >= 0 for each in value)


def _whole(said: Mapping[str, Any], key: str, default: int) -> int:
    value = said.get(key, default)
    if type(value) is not int:
        raise CheckpointError(f"{key} must be a whole number", got=repr(value)[:80])
    return value
