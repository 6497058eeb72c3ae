"""docs/look/views.md: every view of the explorer, and the models on which a test opens it: python -m manual.views.

`tests/page/test_views.py` opens each cell in a browser and follows a number from there; an empty cell has its reason.
"""

from __future__ import annotations

from experiments.page import DOCS, table, write
from experiments.view import (
    ALONE,
    ATTENTION,
    ENCODERS,
    LONG,
    MODELS,
    NO_BIAS,
    NO_HEAD,
    NO_RIGHT,
    NO_ROTARY,
    NO_VECTORS,
    PICTURE,
    TAGS,
    TOO_LARGE,
    UNMADE,
    UNPADDED,
    UNSEARCHED,
    UNTRAINED,
    WRITES_NOT,
    WRITES_NOTHING,
    View,
    carried,
    decoding,
    encodings,
    ending,
    is_padded,
    made_by,
    made_with,
    pairs,
    scene,
)
from glassformer.look.trace.tensors import layers_of
from manual.document_pictures import document_pictures

TEXT = """# Views

Every view of the explorer, where it comes from, and the models on which it is tested. In each cell marked ✓ a test
opens the view in a browser, follows a number from there to its operands, and compares the page with the trace
(`tests/page/test_views.py`). A number in a cell names the reason below the table why the model has no such view.

Built by `python -m manual.views`.
"""

SCENES: tuple[View, ...] = (
    scene("cells", "scores, cell by cell", "slides: *Step I*", ATTENTION),
    scene("mixing", "weighted values, word after word", "slides: *Step II*", ATTENTION),
    scene("shared", "one table for the whole batch", "slides: *Step I*", carried(ATTENTION), **TOO_LARGE),
    scene("product", "one product of tensors with four dimensions", "slides: *Step I*", ATTENTION),
    scene("recap", "attention on one page", "notes: 44:42", ATTENTION),
    scene("two-words", "two words, from x to r", "notes: 26:01", carried(ATTENTION), **TOO_LARGE),
    scene("matrix", "attention as products of matrices", "notes: 31:04", carried(ATTENTION), **TOO_LARGE),
    scene(
        "split",
        "splitting into heads, and joining them",
        "guide: *Multi-headed Attention*; notes: 42:35",
        carried(ATTENTION),
        **TOO_LARGE,
    ),
    scene("look-up", "a word is looked up", "notes: 13:46", made_by("look_up", at="embed.word")),
    scene("stages", "from a closed box to its blocks", "notes: 05:08, 07:04", carried(ending("output")), **TOO_LARGE),
    scene(
        "writing",
        "writing, word by word: the most likely words of each step",
        "guide: *Linear Classifier*; notes: 1:11:05",
        lambda found: ending("probabilities")(found) if decoding(found) else [],
        empty=WRITES_NOTHING,
        says=True,
    ),
    scene(
        "earlier",
        "keys, and the same keys one step earlier",
        "in no source document",
        decoding,
        empty=dict.fromkeys(ENCODERS, "an encoder reads all words at once"),
        says=True,
    ),
    scene(
        "padding",
        "padding: the filled positions, the mask, the sentence alone",
        "notes: 1:01:04",
        lambda found: ATTENTION(found) if is_padded(found) else [],
        empty=dict.fromkeys((name for name in MODELS if name != "trained"), UNPADDED),
        says=True,
    ),
    scene("directions", "forward only, compared with both directions", "notes: 1:37:47", ATTENTION),
    scene("four-ways", "four ways to use one encoder", "notes: 1:44:46", carried(ATTENTION), **TOO_LARGE),
    scene(
        "skit",
        "the guesses at the hidden position",
        "notes: 1:42:05",
        lambda found: [name for name in ending("probabilities")(found) if name.startswith("head.")],
        empty={"encoder": NO_HEAD, "tagger": TAGS},
    ),
    scene(
        "vectors",
        "six ways to take the vector of a word, layer by layer",
        "notes: 1:48:27",
        carried(layers_of),
        **TOO_LARGE,
    ),
    scene("block-outputs", "the outputs of all blocks as features", "notes: 1:47:45", carried(layers_of), **TOO_LARGE),
    scene(
        *("same-word", "one word in two places: cosines by layer", "in no source document"),
        carried(layers_of),
        **TOO_LARGE,
    ),
    *(
        scene(
            name,
            title,
            source,
            made_with,
            empty=dict.fromkeys((each for each in MODELS if each != "trained"), UNMADE),
            says=True,
        )
        for name, title, source in (
            ("regression", "a frozen encoder and a logistic regression", "notes: 1:50:07"),
            ("neighbours", "the nearest texts of an index", "guide: *Query, Key, and Value Vectors*"),
            ("transfer", "from one model to the next: moved and new weights", "notes: 1:27:19, 1:35:54"),
        )
    ),
    scene(
        "next-sentence",
        "does the second text follow the first",
        "notes: 1:44:11",
        lambda found: ending("probabilities")(found) if pairs(found) else [],
        empty=dict.fromkeys((name for name in MODELS if name != "trained"), ALONE),
    ),
)

VIEWS: tuple[View, ...] = (
    View(
        "the whole model: its parts to scale, the tensors between them, its answer",
        "guide: *A High-Level Look*; notes: the first pictures",
        ending("probabilities"),
        "level=model",
        follow="links",
        empty={"encoder": NO_HEAD},
    ),
    View(
        "all heads: sorted and grouped by what they do, with the share that decides each label",
        "in no source document",
        made_by("softmax", at="attention"),
        "level=heads",
        follow="pairs",
    ),
    View(
        "heads that tie a word to one word more than to others (C-38)",
        "guide: *it*, *animal* and *tired*; the score table of *Hi how are you*",
        ATTENTION,
        "level=ties",
        follow="links",
    ),
    View(
        "attention rolled out through all blocks, a word followed upward",
        "in no source document",
        carried(ATTENTION),
        "level=rollout",
        follow="links",
        **TOO_LARGE,
    ),
    View(
        "the answer block by block (logit lens)",
        "in no source document",
        lambda found: [name for name in ending("probabilities")(found) if name.startswith("head.")],
        "level=lens",
        follow="links",
        empty={"encoder": NO_HEAD, "tagger": TAGS},
    ),
    View(
        "attention compared with gradients",
        "in no source document",
        ending("logits"),
        "level=gradients",
        follow="links",
        empty={"encoder": NO_HEAD},
    ),
    View(
        "a text word by word as it is written: candidates, the sampled token, the attention of each step, the triangle "
        "growing",
        "guide: *As Aliens entered our planet*, *Hi how are you*, *Look-Ahead Mask*",
        lambda found: ["head.probabilities"] if found.config.decoder is not None else [],
        "level=tree&picture=words",
        follow="links",
        empty=dict.fromkeys(ENCODERS, WRITES_NOT),
    ),
    View(
        "one attention head: lines between words, square, from score to weight, weighted values",
        "guide: *it*, *animal* and *tired*; the score table of *Hi how are you*; *Look-Ahead Mask*",
        made_by("softmax", at="attention"),
        "level=head",
        follow="stages",
    ),
    View("a part of the model as boxes", "slides: the whole", ending("output", "sum", "weights"), "level=block"),
    View(
        "a tensor as numbers", "slides: *Input representation*", ending("query", "key", "value", "sum"), "level=tensor"
    ),
    View(
        "a tensor as a box: sentences as depth, any sentence in front, any word framed",
        "slides: *Input representation*",
        ending("sum", "query", "key", "value", "output"),
        f"{PICTURE}box",
    ),
    View(
        "hidden words as red cubes",
        "slides: *a boolean mask tensor*",
        lambda found: ending("word")(found) if "inputs.masked_words" in found.facts else [],
        f"{PICTURE}box",
        empty=dict.fromkeys(
            ("encoder", "tagger", "en-fr", "gpt2", "marian", "llama", "t5", "trained", "writer", "chat"),
            "no word is hidden from it: a [MASK] would be a word like any other",
        ),
    ),
    View("the mask as a box", "slides: *Step I*; guide: *Look-Ahead Mask*", ending("may_look"), f"{PICTURE}box"),
    View(
        "scores as one product of four dimensions, a group of boxes for each head",
        "slides: *implemented as a single matmul of 4d tensors*",
        made_by("dot_product", at="attention"),
        f"{PICTURE}product",
    ),
    View(
        "weighted values as a product",
        "slides: *Step II*",
        made_by("weighted_sum", at="attention"),
        f"{PICTURE}product",
    ),
    View(
        "positions as waves",
        "slides: *Positional encoding*; guide: its formulas",
        encodings,
        f"{PICTURE}waves",
        empty=NO_VECTORS,
    ),
    View(
        "positions as distances, with the correction (C-10)",
        "notes: *Positional encoder*",
        encodings,
        f"{PICTURE}distances",
        follow="operand",
        empty=NO_VECTORS,
    ),
    View(
        "positions as a colour map, also of 512 channels, in each layout (C-11)",
        "notes: *Positional encoder*",
        encodings,
        f"{PICTURE}map",
        empty=NO_VECTORS,
    ),
    View(
        "rotary positions as angles",
        "in no source document",
        made_by("rotate"),
        f"{PICTURE}angles",
        empty=dict.fromkeys(
            ("slides", "encoder", "tagger", "en-fr", "gpt2", "marian", "t5", "trained", "chat"), NO_ROTARY
        ),
    ),
    View(
        "what a distance adds to a score",
        "in no source document",
        made_by("relative_bias"),
        f"{PICTURE}bias",
        empty=dict.fromkeys(
            ("slides", "encoder", "tagger", "en-fr", "gpt2", "marian", "llama", "trained", "writer", "chat"), NO_BIAS
        ),
    ),
    View(
        "probabilities sorted, the right word marked, the others added up",
        "slides: *Step IV*; notes: *Linear Classifier*",
        ending("probabilities", "logits"),
        f"{PICTURE}sorted",
        empty={"encoder": NO_HEAD},
    ),
    View(
        "the loss, place by place",
        "notes: 1:11:05",
        lambda found: [
            name for name in ending("probabilities")(found) if name.startswith("head.") and not pairs(found)
        ],
        f"{PICTURE}loss",
        follow="table",
        empty={"encoder": NO_HEAD, "tagger": TAGS, "trained": NO_RIGHT},
    ),
    View("a slice as a histogram", "in no source document", ending("scores", "output"), f"{PICTURE}histogram"),
    View(
        "the mask workshop: the activity matrix in its three readings, row by row",
        "post: the whole; guide: *Look-Ahead Mask*",
        lambda found: [name for name in ending("sum", "word")(found) if "embed" in name],
        "level=mask",
        follow="operand",
    ),
    View("one number with all it is made of", "slides: *Let's go through a few steps*", list, "level=number"),
    View(
        "the search as a tree: kept and pruned branches, the score of each as a sum",
        "in no source document",
        lambda found: ["head.log_probabilities"] if found.words.decoder_inputs else [],
        "level=tree",
        follow="addends",
        empty=WRITES_NOTHING | UNSEARCHED,
        says=True,
    ),
    View(
        "writing as it happens, with the attention of each step: of a translation the growing alignment and the beam's "
        "rivals",
        "guide: *Decoder Layer*",
        lambda found: ending("probabilities")(found) if decoding(found) else [],
        "level=tree&picture=words",
        follow="links",
        empty=WRITES_NOTHING,
        says=True,
    ),
    View(
        "training: the loss, guesses and heads at each kept step",
        "notes: 51:28",
        lambda found: ["head.probabilities"] if pairs(found) else [],
        "level=training",
        follow="record",
        empty=dict.fromkeys((name for name in MODELS if name != "trained"), UNTRAINED),
    ),
    *SCENES,
)


def page() -> str:
    """The whole page."""
    reasons = [*dict.fromkeys(reason for view in VIEWS for reason in view.empty.values())]
    marks = {reason: f"({number})" for number, reason in enumerate(reasons, start=1)}
    rows = [
        [f"{view.name}; {view.source}", *(marks[view.empty[model]] if model in view.empty else "✓" for model in MODELS)]
        for view in VIEWS
    ]
    models = [
        f"- **{name}**: {text}{' (tested by `make test-long`)' if name in LONG else ''}"
        for name, text in MODELS.items()
    ]
    notes = [f"- {mark} {reason}" for reason, mark in marks.items()]
    views = [TEXT, *models, "", table(["view; source document", *MODELS], rows), "", *notes, ""]
    return "\n".join([*views, document_pictures()])


if __name__ == "__main__":
    write(DOCS / "look" / "views.md", page())
