"""One of nbgrader's commands for several students in one process: `python -m classroom.many COMMAND ASSIGNMENT STUDENT...`.

It is nbgrader's own application, started once a student. Python, PyTorch and the server that kernels are forked from are
loaded once. Each student's name is printed on a line of its own when the command is done with it.
"""

import sys

from nbgrader.apps.generatefeedbackapp import GenerateFeedbackApp

from classroom.course import DONE

__all__ = ["COMMANDS", "main"]

COMMANDS = {"generate_feedback": GenerateFeedbackApp}


def main(arguments: list[str]) -> int:
    """Run the command for each student; stops at the first for whom it fails."""
    command, assignment, *students = arguments
    application = COMMANDS[command]
    for student in students:
        application.clear_instance()
        try:
            application.launch_instance(argv=[assignment, "--student", student, "--force"])
        except SystemExit as stop:
            if stop.code:
                print(f"nbgrader {command} {assignment} --student {student} failed", file=sys.stderr)
                return 1
        print(f"{DONE}{student}", flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
