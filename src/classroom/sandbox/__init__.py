"""A kernel for a student's code: forked warm, confined by the operating system, and without the course's answers.

`bundle` is the part of the package that such a kernel may import, `confine` what the operating system is asked to
enforce, `kernel` what runs in the new process, `provisioner` how jupyter_client starts it.
"""

from classroom.sandbox.confine import Limits, enforcement

__all__ = ["Limits", "enforcement"]
