"""The section of docs/measured/claims.md on X-17: does a head tie "it" to "animal"? From docs/results/ties.json."""

from collections.abc import Mapping
from typing import Any

from experiments import results
from experiments.page import NOT_YET, made_by, table

HEADING = '## X-17 · A head ties "it" to "animal"'
CLAIM = """**Claim** (the notes, of the picture of *it* and *animal*): a strong line from *it* to *animal* shows that
the model has well understood the relation; a high weight is compared with the similarity of two word vectors. The
picture's model, tensor2tensor's, was not available; other models read the same sentence."""
RULE = """**Rule**: the observation holds for a model where some self-attention head looks from *it* at *animal* more
than at *street* and more than at *tired*. That this is understanding is supported only where one of these heads also
follows the meaning: with *wide* in place of *tired*, where *it* is the street, it looks at *street* more than at
*animal*. Many heads are asked: that one of them looks most at a given noun of two is to be expected by chance."""


def section() -> list[str]:
    """Heading, claim, rule, table and verdict."""
    row = results.read("ties")
    lines = [HEADING, "", CLAIM, "", RULE, ""]
    if row is None:
        return [*lines, f"**Verdict**: **{NOT_YET}**."]
    models: Mapping[str, Mapping[str, Any]] = row["models"]
    heads = [
        "model",
        "heads that do",
        "the clearest one",
        "animal",
        "street",
        "tired",
        "same head, *wide*: animal, street",
    ]
    cosines = ["model", "tensor", "cosine of *it* with animal", "street", "tired"]
    held = [name for name, found in models.items() if found["tying"]]
    following = [name for name, found in models.items() if found["following"]]
    whole = len(held) == len(following) == len(models)  # the claim has both halves: the line, and that it shows meaning
    word = "holds" if whole else "in part" if held else "does not hold"
    return [
        *lines,
        table(heads, [weights(name, found) for name, found in models.items()]),
        "",
        "The similarity of the vectors is another number: in the word table, and in the last state.",
        "",
        table(cosines, [alike(name, found, place) for name, found in models.items() for place in (0, -1)]),
        "",
        "What is lost without the clearest head, on 48 sentences that no model has learned from:",
        "",
        *(f"- {name}: {lost(found)}" for name, found in models.items()),
        *translations(models),
        "",
        f"**Verdict**: **{word}**: the observation holds for {some(held, len(models))}. {followed(models, following)}",
        f"Nor is a weight a similarity: {alike_most(models)}.",
        "",
        '**Likewise**, "you" in *Hi how are you* (the illustrated guide). Heads that look from *you* at *how* and at',
        f"*are*, more than at *hi* each: {'; '.join(greeted(name, found) for name, found in models.items())}.",
        "",
        made_by(row),
    ]


def weights(name: str, found: Mapping[str, Any]) -> list[str]:
    """The clearest head of a model, on both sentences."""
    best = found["best"]
    count = f"{found['tying']} of {found['heads']}"
    if best is None:
        return [name, count, "none", "", "", "", ""]
    other = best["with wide"]
    shares = [f"{best[word]:.3f}" for word in ("animal", "street", "tired")]
    return [name, count, best["head"], *shares, f"{other['animal']:.3f}, {other['street']:.3f}"]


def alike(name: str, found: Mapping[str, Any], place: int) -> list[str]:
    """The cosines in one tensor of a model."""
    row = found["cosines"][place]
    where = "word table" if place == 0 else "last state"
    return [name, where, *(f"{row[word]:+.2f}" for word in ("animal", "street", "tired"))]


def lost(found: Mapping[str, Any]) -> str:
    """What is lost without the clearest head."""
    if found["best"] is None:
        return "no head ties the words"
    measured = found["best"]["lost"]
    interval = f"{measured['value']:+.3f} ({measured['low']:.3f} … {measured['high']:.3f})"
    return f"{measured['measure']} {interval} {measured['unit']}, number {measured['rank']} of {measured['of']}"


def translations(models: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """What a model that translates makes of *it* in both sentences: French has to choose."""
    found = next((each["translations"] for each in models.values() if "translations" in each), None)
    return [] if found is None else ["", f"`en-fr` translates them as *{found[0]}* and *{found[1]}*"]


def greeted(name: str, found: Mapping[str, Any]) -> str:
    """What a model's heads do with "you"."""
    greeting, best = found["greeting"], found["greeting"]["best"]
    said = f"{name} {greeting['both']} of {greeting['heads']}"
    if best is None:
        return said
    return f"{said} ({best['head']}: how {best['how']:.2f}, are {best['are']:.2f}, hi {best['hi']:.2f})"


def followed(models: Mapping[str, Mapping[str, Any]], names: list[str]) -> str:
    """Whether a head follows the meaning, and how much that says."""
    if not names:
        return "That such a head follows the meaning is **not shown** by any of them."
    said = "; ".join(f"{name}: {' / '.join(models[name]['following'])}" for name in names)
    clearest = [name for name in names if models[name]["best"]["head"] in models[name]["following"]]
    which = f"the clearest one of {', '.join(clearest)} is" if clearest else "the clearest one is not"
    count = max(found["heads"] for found in models.values())
    return (
        f"That some of these heads follow the meaning too is seen in {len(names)} of {len(models)} models "
        f"({said}; {which} among them). One pair of sentences and up to {count} heads show no more than that: "
        "understanding is **not shown**."
    )


def alike_most(models: Mapping[str, Mapping[str, Any]]) -> str:
    """In which models the vector of *it* is most like that of *animal*, and in which a head ties them."""

    def closest(found: Mapping[str, Any]) -> bool:
        last = found["cosines"][-1]
        return bool(last["animal"] > max(last["street"], last["tired"]))

    alike = [name for name, found in models.items() if closest(found)]
    return f"in the last state *it* is most like *animal* in {some(alike, len(models))}"


def some(names: list[str], total: int) -> str:
    """How many models, and which."""
    return f"{len(names)} of {total} models ({', '.join(names)})" if names else f"none of {total} models"
