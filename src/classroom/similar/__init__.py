"""Near-copies among the submissions of an assignment, and of the course's own answers: pairs to look at, no verdicts.

`tokens` takes from an answer what is easily changed, `compare` counts which fingerprints two answers share, `page` shows
the two side by side.
"""

from classroom.similar.compare import CODE_SHARE, PROSE_SHARE, Found, Match, Pair, compare_class
from classroom.similar.page import similar_page, text_table, write_similar

__all__ = [
    "CODE_SHARE",
    "PROSE_SHARE",
    "Found",
    "Match",
    "Pair",
    "compare_class",
    "similar_page",
    "text_table",
    "write_similar",
]
