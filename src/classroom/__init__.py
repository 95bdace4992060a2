"""The instructor's side of the course: generating the release and grading a class, on nbgrader's extension points.

It imports `refcells` and nothing of it is imported by `refcells`.
"""
