"""Texts on which two forms of one model are compared, where no others are given."""

from __future__ import annotations

SENTENCES = (
    "Yes.",
    "The rain stopped at noon.",
    "She reads letters by the window in summer, and nobody in the house asks her why.",
    "A train that was two hours late left the station without its passengers; the driver had not been told.",
    "Nobody liked the film, but the music was good, and the last ten minutes were better than all that came before.",
)
LONG = " ".join(SENTENCES * 4)
QUESTION = "Who reads letters by the window?"
