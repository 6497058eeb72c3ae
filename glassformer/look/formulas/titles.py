"""What the steps of a walk-through are called."""

from collections.abc import Mapping

from glassformer.look.formulas.rules.activations import Activation
from glassformer.look.formulas.rules.evaluator import Formula
from glassformer.look.formulas.rules.notation import Title
from glassformer.look.formulas.rules.sums import Add

TITLES: Mapping[str, Title] = {
    "word": Title("Each word becomes a vector"),
    "position": Title("Where each word stands"),
    "segment": Title("Which segment each word belongs to", extra=True),
    "relative_bias": Title("A number for each distance", extra=True),
    "query": Title("Queries: what each word looks for"),
    "key": Title("Keys: what each word offers"),
    "value": Title("Values: what each word gives"),
    "query_rotated": Title("Queries turned by their position", extra=True),
    "key_rotated": Title("Keys turned by their position", extra=True),
    "scores": Title("Scores: query times key, one after the other"),
    "scaled": Title("Scores divided by the root of the query size", extra=True),
    "biased": Title("The bias of the distance is added", extra=True),
    "may_look": Title("Who may look at whom"),
    "weights": Title("Softmax: scores become weights"),
    "mixed": Title("Weights times values, word after word"),
    "merged": Title("The heads side by side"),
    "output": Title("Back to the width of the model"),
    "residual": Title("What came in is added back"),
    "gate": Title("The gate of the feed-forward network", extra=True),
    "hidden": Title("The feed-forward network widens"),
    "head.hidden": Title("A layer of the head's own", extra=True),
    "activated": Title("The activation function between the two layers"),
    "head.activated": Title("The activation function between the two layers", extra=True),
    "first": Title("The first token represents the sentence", extra=True),
    "max": Title("The largest number of each channel represents the sentence", extra=True),
    "mean": Title("The mean of the states represents the sentence", extra=True),
    "first_text": Title("The mean of the states represents the first text", extra=True),
    "second_text": Title("The mean of the states represents the second text", extra=True),
    "pair": Title("Both, their difference and their product", extra=True),
    "pooled": Title("Its vector through a layer of its own", extra=True),
    "logits": Title("A score for each token of the vocabulary"),
    "sentence_head.encoded": Title("What the encoder gives each label", extra=True),
    "sentence_head.words.token": Title("What each token adds by itself", extra=True),
    "sentence_head.words.neighbours": Title("What it adds after the token before", extra=True),
    "sentence_head.words.both": Title("Both are added", extra=True),
    "sentence_head.words.added": Title("Their sum over the text, divided by a root of its length", extra=True),
    "sentence_head.logits": Title("A score for each label", extra=True),
    "token_head.hidden": Title("A layer of the head's own", extra=True),
    "token_head.activated": Title("The activation function between the two layers", extra=True),
    "token_head.masked": Title("Padding cannot be the first or the last token", extra=True),
    "token_head.logits": Title("A score for each label of each token", extra=True),
    "log_probability": Title("How likely the best sequence is, as a logarithm", extra=True),
    "log_probabilities": Title("Logarithms of the probabilities", extra=True),
    "probabilities": Title("Softmax: scores become probabilities"),
    "choice.probabilities": Title("Softmax over the candidates: scores become probabilities", extra=True),
    "loss": Title("The mean of −log probability of the right tokens", extra=True),
}

PARTS = {"self_attention": "Self-attention", "cross_attention": "Cross-attention", "feed_forward": "Feed-forward"}

# Whose words they are, where attention is between two texts.
CROSS = {
    "query": Title("Queries, from the decoder: what each word looks for"),
    "key": Title("Keys, from the encoder: what each word offers"),
    "value": Title("Values, from the encoder: what each word gives"),
}


def title_of(formula: Formula) -> Title:
    """The title of a tensor: by its whole name, by its rule, or by the last word of its name."""
    last = formula.name.rpartition(".")[2]
    if last == "sum" and isinstance(formula.rule, Add):
        *others, final = formula.rule.terms
        added = f"{', '.join(others)} and {final} are added".capitalize()
        return Title(added if others else "The word alone: no position is added")
    if ".cross_attention." in formula.name and last in CROSS:
        return CROSS[last]
    if last == "probabilities" and isinstance(formula.rule, Activation):
        return Title("Sigmoid: each score becomes a probability of its own", extra=True)
    return TITLES.get(formula.name) or formula.rule.title or TITLES.get(last, Title(last))
