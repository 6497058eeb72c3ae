"""The answer to a question, as a part of a passage."""
