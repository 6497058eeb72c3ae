"""Replies learned from self_dialogue, measured on DailyDialog: ours against transformers' model of the same size."""
