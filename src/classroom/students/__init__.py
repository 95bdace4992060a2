"""The sample class: who hands in what. A module of this package is named after its assignment and lists `STUDENTS`.

It also lists `FEEDBACK`: what a student's page for a notebook has to say, as (student, notebook, words).
"""

import importlib
import pkgutil

from classroom.students.kinds import Edit, Student

__all__ = ["CLASS", "FEEDBACK", "Edit", "Student"]

_MODULES = {
    module.name: importlib.import_module(f"classroom.students.{module.name}")
    for module in pkgutil.iter_modules(__path__)
    if module.name != "kinds"
}
CLASS: dict[str, list[Student]] = {name: module.STUDENTS for name, module in _MODULES.items()}
FEEDBACK: dict[str, list[tuple[str, str, str]]] = {
    name: getattr(module, "FEEDBACK", []) for name, module in _MODULES.items()
}
