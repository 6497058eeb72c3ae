"""The layers of a run whose states are the features of its words: by number, the embedding first."""

from glassformer.look.trace.tensors import Tensors


def layers_of(trace: Tensors) -> tuple[str, ...]:
    """The tensors [sentence, token, channel] of the layers: 0 is what the first block reads, k what block k gives, the
    last one behind the stack's own norm where it has one. Of two stacks those of the encoder, which reads the text.
    """
    side, statement = side_of_features(trace), trace.statement
    stack = trace.config.encoder if side == "encoder" else trace.config.decoder
    assert stack is not None
    entering = [statement.entering[f"{side}.blocks.{index}"] for index in range(len(stack.blocks))]
    return (*entering, statement.memory or statement.entering["states"])


def side_of_features(trace: Tensors) -> str:
    """The stack whose states are the features: `encoder`, or `decoder` where there is none."""
    return "decoder" if trace.config.encoder is None else "encoder"
