"""The sample class: who hands in what. A module of this package is named after its assignment and lists `STUDENTS`."""

import importlib
import pkgutil

from classroom.students.kinds import Edit, Student

__all__ = ["CLASS", "Edit", "Student"]

CLASS: dict[str, list[Student]] = {
    module.name: importlib.import_module(f"classroom.students.{module.name}").STUDENTS
    for module in pkgutil.iter_modules(__path__)
    if module.name != "kinds"
}
