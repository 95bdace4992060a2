"""'Where things are taught' leads to every section of every chapter."""

import re

import pytest
from pages import BOOK

CHAPTERS = ("rnn", "bptt", "lstm", "gru", "bidirectional", "practice", "choosing", "grading-a-class")
TOPICS = (BOOK / "topics.md").read_text("utf-8")


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_every_labelled_section_is_a_topic(chapter):
    labels = re.findall(
        rf"^\(({chapter}-[a-z-]+)\)=$", (BOOK / f"{chapter}.md").read_text("utf-8"), flags=re.M
    )
    assert len(labels) >= 3
    missing = [label for label in labels if not label.endswith("-assignment") and f"({label})" not in TOPICS]
    assert not missing


def test_every_claim_is_a_topic():
    labels = re.findall(r"^\((claim-[a-z0-9-]+)\)=$", (BOOK / "claims.md").read_text("utf-8"), flags=re.M)
    assert len(labels) >= 25
    assert not [label for label in labels if f"({label})" not in TOPICS]
