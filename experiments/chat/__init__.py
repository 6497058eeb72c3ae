"""Replies learned from self_dialogue, measured on DailyDialog: ours beside transformers' model of the same size."""
