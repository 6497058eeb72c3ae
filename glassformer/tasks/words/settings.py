"""What the settings of several tasks of words share."""

from glassformer.tasks.settings import CardWords

FILLED = CardWords("filled", limit="Several masked words are predicted independently of one another.")

# The labels of a pair, by their number in google-research/bert: 0 = the second text follows the first.
NEXT_SENTENCE_LABELS = ("IsNext", "NotNext")

# The labels of neighbours that may have changed places: 0 = in the order of the text.
ORDER_LABELS = ("InOrder", "Swapped")
