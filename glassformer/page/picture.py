"""What a notebook shows of a trace: what it is of, the best guesses, and the first attention weights.

H heads · Q words that look · K words that are looked at
"""

from glassformer.base.errors import GlassformerError
from glassformer.base.html import page, shades, table
from glassformer.look.trace.trace import Trace

# Words and heads of a picture, places and guesses of a table.
_WORDS, _HEADS, _PLACES, _GUESSES = 12, 4, 4, 3


def of_trace(trace: Trace) -> str:
    """What the trace is of, the model's best guesses, and the attention weights of the first block."""
    shown = len(trace.stored)
    facts = [("tensors", f"{len(trace):,}, of which {shown:,} stored ({trace.nbytes / 1e6:,.1f} MB)")]
    facts += [(side.replace("_", " "), _words(trace, side)) for side in ("inputs", "decoder_inputs")]
    if trace.interventions:
        facts.append(("changed by hand", trace.python))
    parts = [table((name, value) for name, value in facts if value)]
    for draw in (_guesses, _attention):
        try:
            parts.append(draw(trace))
        except GlassformerError:  # what is not stored cannot be had without the model: the rest is shown
            continue
    return page(f"Trace of a {trace.config.family} model", *parts)


def _words(trace: Trace, side: str) -> str:
    words = trace.words.sentence(side, 0)
    more = len(getattr(trace.words, side)) - 1
    text = " ".join(words[: 2 * _WORDS]) + (" …" if len(words) > 2 * _WORDS else "")
    return text + (f" and {more} more" if more > 0 else "")


def _guesses(trace: Trace) -> str:
    """The likeliest words where the vocabulary was scored."""
    vocabulary = trace.words.vocabulary
    if "head.logits" not in trace.statement.formulas or not vocabulary or not trace.chosen_tokens:
        return ""
    side = trace.statement.formulas["head.logits"].tokens
    places = trace.chosen_tokens[:_PLACES]
    likely = trace["head.logits"][: len(places)].float().softmax(dim=-1).topk(min(_GUESSES, len(vocabulary)))
    rows = []
    for (sentence, token), shares, ids in zip(places, likely.values.tolist(), likely.indices.tolist(), strict=True):
        words = trace.words.sentence(side, sentence)
        asked = words[token] if token < len(words) else "?"
        pairs = zip(ids, shares, strict=True)
        best = ", ".join(f"{vocabulary[id_]} {share:.0%}" for id_, share in pairs if id_ < len(vocabulary))
        rows.append((str(token), asked, best))
    more = len(trace.chosen_tokens) - len(rows)
    return table(rows, head=("position", "word", "guesses" + (f" ({more} more positions)" if more else "")), right=(0,))


def _attention(trace: Trace) -> str:
    """The attention weights of the first block's first heads, between the first words of the first text."""
    name = next((name for name in trace if name.endswith(".self_attention.weights")), None)
    if name is None:
        return ""
    weights = trace[name][0].float()  # [H, Q, K]
    side = trace.statement.formulas[name].tokens
    words = list(trace.words.sentence(side, 0))[:_WORDS] or [str(place) for place in range(weights.shape[1])][:_WORDS]
    drawn = [
        shades(words, rows, f"{name}, head {head}: rows look at columns")
        for head, rows in enumerate(weights[:_HEADS, : len(words), : len(words)].tolist())
    ]
    return "".join(drawn)
