"""What the page gets for *Sum it up for me*, as JSON: the shape of each section, one class for each object in it.

Sections of `sections.py`, worked out from a run alone: `heads-summary`, `rollout`, `lens`, `attributions`, `ties`.
`importance` is measured on a held-out text, so a page has it only where one was given. Indices count from 0; `text` is
a token as people read it. A number that is not known is null, never NaN. Numbers have six digits.

A section that cannot be made for a model (`lens` without a vocabulary head) is `{"reason": "one sentence"}` instead.
"""

from typing import Any, TypedDict


class Word(TypedDict):
    """A token of a text: `side` is `inputs` or `decoder_inputs`."""

    side: str
    sentence: int
    token: int
    text: str


class HeadRow(TypedDict):
    """One head over all texts of the run. The measures are those of `web/src/measures/heads.ts`, entropy in nats.

    `job` is one of `jobs`, and `value` is the number it stands on: a share of the attention, for `few` and `many` the
    number of tokens at once, e to the entropy.
    """

    attention: str  # "encoder.blocks.0.self_attention"
    head: int
    job: str
    value: float
    entropy: float
    distance: float | None
    previous: float | None
    self: float | None
    next: float | None
    first: float
    separator: float | None
    same_word: float | None  # on other tokens that are the same word
    largest: float
    even: float


class HeadsSummary(TypedDict):
    """`heads-summary`: heads by group, the largest share first; `rule` says how a job is chosen."""

    texts: int
    jobs: list[str]
    rule: str
    heads: list[HeadRow]


class ImportanceRow(TypedDict):
    """What is lost without a head: the loss with the head switched off less the loss with it, and its 95 % interval."""

    attention: str
    head: int
    difference: float
    low: float | None  # null = one text has no interval
    high: float | None


class ImportanceSection(TypedDict):
    """`importance`: `measure` says what is measured (`loss of masked words`), `unit` its unit (`nats`), `baseline` its
    value with all heads, `text` what it was measured on. Heads in the order of the model.
    """

    measure: str
    unit: str
    baseline: float
    rows: int
    scored: int
    text: str
    heads: list[ImportanceRow]


class RolledOut(TypedDict):
    """Rollout after each block of one stack: `blocks[block][query][key]`, rows that sum to 1; of a long text after the
    last block alone. A row of `decoder` and the same row of `cross` sum to 1 together where there are both.

    `kind` is `encoder`, `decoder`, or `cross` (how much of each token of the source is in each of the target).
    """

    kind: str
    queries: str  # the side whose tokens look: "inputs" or "decoder_inputs"
    keys: str
    sentence: int
    first_block: int  # the block that `blocks` begins with
    blocks: list[list[list[float]]]


class RolloutSection(TypedDict):
    """`rollout`: how the attention of all blocks adds up. `left_out` says which texts are too long for the page."""

    stacks: list[RolledOut]
    formula: str
    left_out: str


class Guess(TypedDict):
    """A token of the vocabulary with its probability."""

    id: int
    text: str
    probability: float


class LensLayer(TypedDict):
    """What the head would answer from a state on the way. `state` is the tensor's name, `block` is null for the
    embedding; `rank` counts from 1, and is that of the final answer, as `probability` is.
    """

    state: str
    block: int | None
    top: list[Guess]
    rank: int
    probability: float
    entropy: float


class LensPlace(TypedDict):
    """One place where the vocabulary was scored: `at` is the token whose state is read, `answer` the final guess."""

    at: Word
    answer: Guess
    layers: list[LensLayer]


class LensSection(TypedDict):
    """`lens`: at most sixteen places, five guesses each. The last layer is the run's own answer."""

    places: list[LensPlace]
    left_out: str


class Attributed(TypedDict):
    """What a goal owes to each token of one side: `tensor` [token, channel] is where the gradient was taken.

    `gradient` is the gradient's norm, never below 0; `product` is input times gradient summed over the channels, with a
    sign: logits.
    """

    side: str
    tensor: str
    gradient: list[float]
    product: list[float]


class Added(TypedDict):
    """What one tensor of the stream added to a goal directly, and the shares of its tokens, of the side `side`. `heads`
    are the shares of an attention's heads, and `bias` is that of its output.
    """

    tensor: str
    value: float
    side: str
    words: list[float]
    heads: list[float]
    bias: float


class Goal(TypedDict):
    """A cell whose causes are asked for, of `*.logits`; `added` and `constant` sum to its value."""

    name: str
    cell: list[int]
    text: str  # "garden at [MASK]"
    value: float
    sentence: int
    of: list[Attributed]
    added: list[Added]
    constant: float


class AttributionsSection(TypedDict):
    """`attributions`: the best answer of each of at most eight places. `note` says what attention does not tell."""

    goals: list[Goal]
    note: str
    left_out: str


class IntegratedSection(TypedDict):
    """`integrated-N`, of goal N: `shares` sum to `value - baseline`, except for `missing`."""

    value: float
    baseline: float
    missing: float
    shares: dict[str, list[float]]


class Tie(TypedDict):
    """How much a head looks from the word at the one, and at each of the others."""

    attention: str
    head: int
    one: float
    others: list[float]


class Similar(TypedDict):
    """The cosine of the word's vector with the one's, and with each of the others', in one tensor of the run."""

    tensor: str
    one: float
    others: list[float]


class Question(TypedDict):
    """Does some head tie `word` to `one` more than to each of `others`? All heads in the order of the model.

    `tying` counts the heads that do; `best` is the place in `heads` of the one with the largest lead over the strongest
    of the others (null where there is none).
    """

    word: Word
    one: Word
    others: list[Word]
    heads: list[Tie]
    tying: int
    best: int | None
    similar: list[Similar]


class TiesSection(TypedDict):
    """`ties`: the questions of the documents that a text of this run has the words for; none = an empty list.

    `note` says what such a weight does not show.
    """

    questions: list[Question]
    note: str


class ShuffledSection(TypedDict):
    """`shuffled`: each text of the run, in a page that was asked for it. `words`; `order`, their places in the text in
    the shuffled order; `width` of their vectors; `ways`, with `positions` or not, `causal` or not: how far each word's
    vector moves (`apart`), and the first numbers of both vectors, `text` and `shuffled`.
    """

    texts: list[dict[str, Any]]
