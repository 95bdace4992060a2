"""Tests of the tests: are wrong answers found, right ones kept, and is the student told what is wrong?

`notebooks` runs an assignment's test cells in this process, `mutants` makes mechanical mistakes, `measure` counts.
`python -m classroom.report` prints the result.
"""
