"""The one exception that the commands of this package turn into a line for the user."""


class CourseError(Exception):
    """Something about the course or the class is not as it has to be; the message says what to do."""
