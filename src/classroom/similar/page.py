"""What was found, for the terminal and as a page with the answers side by side."""

from collections.abc import Sequence
from pathlib import Path

from classroom.pages import render
from classroom.similar.compare import (
    CODE_SHARE,
    COMMON_FEWEST,
    COMMON_SHARE,
    FEWEST_CODE,
    FEWEST_PROSE,
    PROSE_SHARE,
    Answer,
    Found,
    Pair,
    Span,
    compare_class,
)

__all__ = ["similar_page", "text_table", "write_similar"]

# Pairs that the page shows side by side, of each kind; the table names all.
MOST_SHOWN = 60

# Rows that the terminal shows of each table.
MOST_ROWS = 30


def write_similar(
    course: Path,
    assignment: str,
    out: Path,
    *,
    code_share: float = CODE_SHARE,
    prose_share: float = PROSE_SHARE,
    progress: bool = True,
) -> Found:
    """Compare a class's answers and write the page about what is alike; gives what was found.

    Args:
        course: the course's folder.
        assignment: its name.
        out: the file to write; its folder is made.
        code_share: the share from which code is shown.
        prose_share: the share from which prose is shown.
        progress: whether to show a bar on stderr.

    Raises:
        CourseError: if there is no release of the assignment, nobody handed in, or a share is none.
    """
    found = compare_class(
        course, assignment, code_share=code_share, prose_share=prose_share, progress=progress
    )
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(similar_page(found), encoding="utf-8")
    return found


def text_table(found: Found) -> str:
    """The pairs as tables for a terminal, the largest shared parts first."""
    parts = []
    for title, pairs in (
        ("Look at these: students whose answers share much", found.pairs),
        ("Look at these: answers that share much with the course's own", found.course),
    ):
        if not pairs:
            continue
        rows = [("notebook", "student", "and", "alike", "lines", "answers")]
        for pair in pairs[:MOST_ROWS]:
            questions = ", ".join(match.question for match in pair.matches)
            rows.append(
                (pair.notebook, pair.left, pair.right, f"{pair.share:.0%}", str(pair.lines), questions)
            )
        widths = [max(len(row[k]) for row in rows) for k in range(5)]
        parts.append(f"{title} ({len(pairs)})")
        for row in rows:
            cells = [cell.ljust(width) for cell, width in zip(row[:3], widths[:3], strict=True)]
            cells += [cell.rjust(width) for cell, width in zip(row[3:5], widths[3:], strict=True)]
            parts.append("  " + "  ".join([*cells, row[5]]))
        if len(pairs) > MOST_ROWS:
            parts.append(f"  and {len(pairs) - MOST_ROWS} more, on the page")
        parts.append("")
    if not parts:
        parts = ["No two answers share more than the question asks for.", ""]
    for student, notebook, reason in found.unreadable:
        parts.append(f"not compared: {student}/{notebook}: {reason}")
    return "\n".join(parts).rstrip()


def similar_page(found: Found) -> str:
    """The page as text: the same for the same submissions, to the byte."""
    return render(
        "similar.html",
        found=found,
        groups=[
            ("students", "Pairs of students", found.pairs, _shown(found.pairs)),
            ("course", "Students and the course's own answers", found.course, _shown(found.course)),
        ],
        fewest_code=FEWEST_CODE,
        fewest_prose=FEWEST_PROSE,
        common_share=COMMON_SHARE,
        common_fewest=COMMON_FEWEST,
        pieces=_pieces,
    )


def _shown(pairs: Sequence[Pair]) -> Sequence[Pair]:
    return pairs[:MOST_SHOWN]


def _pieces(answer: Answer, spans: Sequence[Span]) -> list[tuple[str, bool]]:
    """An answer in pieces: the text, and whether the other side has it too."""
    found = []
    place = 0
    for start, end in spans:
        found += [(answer.text[place:start], False), (answer.text[start:end], True)]
        place = end
    found.append((answer.text[place:], False))
    return [(text, both) for text, both in found if text]
