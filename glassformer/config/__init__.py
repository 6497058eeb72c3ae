"""The settings of a model: frozen, strict, nested like its modules.

A parent does not repeat its child's settings. All rules are checked before any tensor is created. The tree is saved as
JSON next to the weights and is enough to rebuild the model.
"""

from glassformer.config.model import (
    BlockConfig,
    HeadUse,
    InitialConfig,
    ModelConfig,
    SentenceHeadConfig,
    StackConfig,
    TokenHeadConfig,
    TransformConfig,
    VocabularyHeadConfig,
    changed,
)
from glassformer.config.parts import (
    Activation,
    AttentionConfig,
    AttentionSublayerConfig,
    EmbedConfig,
    FeedForwardConfig,
    FeedForwardSublayerConfig,
    FillConfig,
    NormConfig,
    PositionConfig,
    RelativeBiasConfig,
    RotaryConfig,
    SublayerConfig,
)

__all__ = [
    "Activation",
    "AttentionConfig",
    "AttentionSublayerConfig",
    "BlockConfig",
    "EmbedConfig",
    "FeedForwardConfig",
    "FeedForwardSublayerConfig",
    "FillConfig",
    "HeadUse",
    "InitialConfig",
    "ModelConfig",
    "NormConfig",
    "PositionConfig",
    "RelativeBiasConfig",
    "RotaryConfig",
    "SentenceHeadConfig",
    "StackConfig",
    "SublayerConfig",
    "TokenHeadConfig",
    "TransformConfig",
    "VocabularyHeadConfig",
    "changed",
]
