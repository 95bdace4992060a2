"""The instructor's side of the course: generating the release and grading a class, on nbgrader's extension points.

It imports `refcells` and nothing of it is imported by `refcells`.
"""

import sys

# nbformat brings jsonschema, which brings this where it is installed and makes a parser of a grammar of it: more than half of
# what a command, and each worker, took to start. It checks internationalised addresses, of which notebooks have none.
sys.modules.setdefault("rfc3987_syntax", None)  # type: ignore[arg-type]
