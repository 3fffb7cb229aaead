"""Which texts a release may hold."""

import datetime
import re

from .errors import must

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*\Z")
HASH = re.compile(r"[0-9a-f]{64}\Z")


def _acts(char, lines):
    code = ord(char)
    control = code < 32 or 127 <= code < 160 or code in (0x2028, 0x2029)
    return (control and not (lines and char in "\t\n\r")) or 0x202A <= code <= 0x202E or 0x2066 <= code <= 0x2069


def safe(text):
    """For a terminal: what could act on it is shown and not sent."""
    return "".join(f"\\u{{{ord(char):x}}}" if _acts(char, False) else char for char in text)


def harmless(text, lines=False):
    """No control characters, no line separators, nothing that turns the direction of writing."""
    must(not any(_acts(char, lines) for char in text), "a text has control characters, or some that turn the direction of writing")
    return text


def name(text, most=100):
    must(isinstance(text, str) and len(text) <= most and NAME.match(text), "a name has other signs than it may have")
    return text


def day(text):
    try:
        ok = re.match(r"\d{4}-\d\d-\d\d\Z", text, re.ASCII) and datetime.date.fromisoformat(text)
    except ValueError:
        ok = False
    must(ok, "the day it was made is none of the calendar")
