"""One page about a graded assignment: scores, questions, mistakes, and what an instructor still has to look at.

`numbers` reads the gradebook and the graded notebooks and computes; `page` writes the page.
"""

from classroom.class_report.numbers import ClassNumbers, class_numbers
from classroom.class_report.page import report_page, write_report

__all__ = ["ClassNumbers", "class_numbers", "report_page", "write_report"]
