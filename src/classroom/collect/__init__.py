"""Collecting a class's submissions from a learning platform's download, on nbgrader's zip_collect plugins.

`archive` unpacks what cannot be trusted, `platforms` reads the names that Moodle and Canvas give to files, `roster` knows who
is who, `run` brings every attempt to a place of its own and the last one to `submitted/`.
"""

from classroom.collect.archive import SafeExtractor
from classroom.collect.platforms import CanvasCollector, MoodleCollector, PlatformCollector
from classroom.collect.run import Collected, collect

__all__ = ["CanvasCollector", "Collected", "MoodleCollector", "PlatformCollector", "SafeExtractor", "collect"]
