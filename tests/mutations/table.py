"""All mutations, room by room."""

from tests.mutations import learning, looking, models, page, saved, scoring, texts, writing
from tests.mutations.record import Mutation

MUTATIONS: tuple[Mutation, ...] = (
    *models.MUTATIONS,
    *texts.MUTATIONS,
    *learning.MUTATIONS,
    *writing.MUTATIONS,
    *scoring.MUTATIONS,
    *looking.MUTATIONS,
    *saved.MUTATIONS,
    *page.MUTATIONS,
)
