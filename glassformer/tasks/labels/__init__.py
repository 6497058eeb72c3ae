"""Tasks with labels: a text, a pair or each word gets a label, a number or a span."""
