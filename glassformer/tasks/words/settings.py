"""What the settings of several tasks of words share."""

from __future__ import annotations

from glassformer.tasks.settings import CardWords

FILLED = CardWords("filled", limit="Several masked words are guessed independently of one another.")
