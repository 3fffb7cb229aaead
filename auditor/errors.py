"""The two ways in which a file is not read."""


class Refused(Exception):
    """The file breaks a rule of the format."""

    outcome = "failed"


class Beyond(Exception):
    """The file may be sound, but this program does not go so far."""

    outcome = "unchecked"


def must(condition, why):
    if not condition:
        raise Refused(why)
