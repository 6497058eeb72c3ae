"""The settings of a model: frozen, strict, nested like its modules.

A parent does not repeat its child's settings. All rules are checked before any tensor is created. The tree is saved as
JSON next to the weights and is enough to rebuild the model.
"""

from glassformer.config.model import NEIGHBOURS as NEIGHBOURS
from glassformer.config.model import TEXTS as TEXTS
from glassformer.config.model import BlockConfig as BlockConfig
from glassformer.config.model import HeadUse as HeadUse
from glassformer.config.model import InitialConfig as InitialConfig
from glassformer.config.model import ModelConfig as ModelConfig
from glassformer.config.model import SentenceHeadConfig as SentenceHeadConfig
from glassformer.config.model import StackConfig as StackConfig
from glassformer.config.model import TokenHeadConfig as TokenHeadConfig
from glassformer.config.model import TransformConfig as TransformConfig
from glassformer.config.model import VocabularyHeadConfig as VocabularyHeadConfig
from glassformer.config.model import changed as changed
from glassformer.config.parts import Activation as Activation
from glassformer.config.parts import AttentionConfig as AttentionConfig
from glassformer.config.parts import AttentionSublayerConfig as AttentionSublayerConfig
from glassformer.config.parts import EmbedConfig as EmbedConfig
from glassformer.config.parts import FeedForwardConfig as FeedForwardConfig
from glassformer.config.parts import FeedForwardSublayerConfig as FeedForwardSublayerConfig
from glassformer.config.parts import FillConfig as FillConfig
from glassformer.config.parts import NormConfig as NormConfig
from glassformer.config.parts import PositionConfig as PositionConfig
from glassformer.config.parts import RelativeBiasConfig as RelativeBiasConfig
from glassformer.config.parts import RotaryConfig as RotaryConfig
from glassformer.config.parts import SublayerConfig as SublayerConfig
