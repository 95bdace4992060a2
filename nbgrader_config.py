"""nbgrader for this course: run its commands from the folder that holds this file.

solutions/ is the source (text notebooks, converted beside themselves by jupytext), exercises/ the release.
"""

import os
import sys
from pathlib import Path

from nbconvert.preprocessors import ClearMetadataPreprocessor, CSSHTMLHeaderPreprocessor
from nbgrader.preprocessors import (
    AssignLatePenalties,
    CheckCellMetadata,
    ClearHiddenTests,
    ClearMarkScheme,
    ClearOutput,
    ClearSolutions,
    ComputeChecksums,
    DeduplicateIds,
    GetGrades,
    IgnorePattern,
    IncludeHeaderFooter,
    LimitOutput,
    LockCells,
    OverwriteCells,
    OverwriteKernelspec,
    SaveAutoGrades,
)

from classroom.collect import PlatformCollector, SafeExtractor
from classroom.export import QuotedCsvExport
from classroom.feedback import WithoutHiddenTests
from classroom.late import LatePolicy
from classroom.preprocessors import (
    PUBLIC,
    CheckedInstantiateTests,
    FirstCell,
    HiddenSeeds,
    StableNotebook,
    UnknownCells,
    published,
)
from classroom.releases import GuardedSaveCells, RecordRelease
from classroom.separate import SeparateExecute

c = get_config()

# nbgrader calls alembic by name, which an environment that is used without being activated does not have on its path.
if os.path.dirname(sys.executable) not in os.environ.get("PATH", "").split(os.pathsep):
    os.environ["PATH"] = os.path.dirname(sys.executable) + os.pathsep + os.environ.get("PATH", "")

c.CourseDirectory.course_id = "learning-to-remember"
# The gradebook: gradebook.db in this folder, or another database, such as postgresql://user:password@host/name.
if os.environ.get("COURSE_DB"):
    c.CourseDirectory.db_url = os.environ["COURSE_DB"]
c.CourseDirectory.source_directory = "solutions"
c.CourseDirectory.release_directory = "exercises"
# Of solutions/ only notebooks are released, and of a submission only notebooks are graded: no text source leaks, and no
# file of a student's shadows a package.
c.CourseDirectory.ignore = [".*", "*.py", "*.pyc", "*.so", "*.yml", "__pycache__", ".ipynb_checkpoints"]

# No exchange is set up. Whoever wants one names its folder; without that, the exchange's commands stay inside the
# course and do not touch the shared default folder outside it.
c.Exchange.root = os.environ.get("NBGRADER_EXCHANGE", os.path.abspath("exchange"))

c.GenerateAssignment.pre_convert_hook = "classroom.hooks.refresh_notebooks"
c.GenerateAssignment.preprocessors = [
    IncludeHeaderFooter,
    StableNotebook,  # the same cell ids at every generation, and the release's version
    HiddenSeeds,  # the seeds of hidden tests, from the instructor's secret
    CheckedInstantiateTests,  # the directives, refusing a value that no test can be made of
    LockCells,
    ClearSolutions,
    ClearOutput,
    CheckCellMetadata,
    ComputeChecksums,
    GuardedSaveCells,  # questions can be added to what has submissions, and none is removed by mistake
    ClearHiddenTests,
    ClearMarkScheme,
    ComputeChecksums,
    CheckCellMetadata,
    FirstCell,  # installs the package on Colab, where the course has an address
    RecordRelease,  # what students get, and when
]
# The address stands in one place, the site's settings.
c.FirstCell.repository, c.FirstCell.branch = published(Path(__file__).with_name("_config.yml"))
c.ClearSolutions.code_stub = {"python": '# Your code here.\nraise NotImplementedError("not written yet")'}
# Mark schemes stand in the locked question above the answer, where graders see them beside it.
c.ClearMarkScheme.enforce_metadata = False
c.ClearSolutions.text_stub = "*Your answer here.*"

# Hidden tests use other numbers than visible ones. For a class of your own, set the secret and keep it to yourself.
c.HiddenSeeds.secret = os.environ.get("COURSE_SECRET", PUBLIC)

c.Autograde.sanitize_preprocessors = [
    ClearOutput,
    DeduplicateIds,
    OverwriteKernelspec,
    UnknownCells,  # nothing is the course's because a submission says so
    OverwriteCells,
    CheckCellMetadata,
]
# As nbgrader has them, but for the first: a student's cells run in a confined kernel, the tests in nbgrader's own process.
c.Autograde.autograde_preprocessors = [
    SeparateExecute,
    IgnorePattern,
    ClearMetadataPreprocessor,
    LimitOutput,
    SaveAutoGrades,
    AssignLatePenalties,
    CheckCellMetadata,
]
# Downloads of Moodle and Canvas, for `classroom collect` and nbgrader's zip_collect.
c.ZipCollectApp.extractor_plugin = SafeExtractor
c.ZipCollectApp.collector_plugin = PlatformCollector
# Lateness is shown and costs nothing, unless you say so: 0.1 takes a tenth of the points for each day.
c.AssignLatePenalties.plugin_class = LatePolicy
c.LatePolicy.grace_minutes = 10
c.LatePolicy.share_per_day = 0
c.LatePolicy.most = 0.5
# Quoted, and with what became of each submission.
c.ExportApp.plugin_class = QuotedCsvExport
# A student's HTML is shown without what runs, in formgrader as in feedback.
c.HTMLExporter.sanitize_html = True
c.HTMLExporter.filters = {
    "clean_html": "classroom.safe_html.cleaned",
    "markdown2html": "classroom.safe_html.CleanMarkdown",
}
c.HTMLExporter.preprocessors = ["classroom.safe_html.PlainOutputs"]
# Hidden tests stay hidden in the pages that students get.
c.GenerateFeedback.preprocessors = [GetGrades, WithoutHiddenTests, CSSHTMLHeaderPreprocessor]
c.OverwriteCells.add_missing_cells = True  # restores test cells that a student deleted
c.Execute.timeout = 120  # seconds a cell
c.Execute.extra_arguments = ["--IPKernelApp.log_level=40"]  # errors only
