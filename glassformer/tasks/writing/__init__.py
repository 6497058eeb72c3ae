"""Tasks that write: translation, language modelling, chat."""
