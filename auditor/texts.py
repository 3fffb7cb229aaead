"""Which texts a release may hold."""

from .errors import must


def _acts(char, lines):
    code = ord(char)
    if lines and char in "\t\n\r":
        return False
    return code < 32 or 127 <= code < 160 or 0x2028 <= code <= 0x202E or 0x2066 <= code <= 0x2069


def safe(text):
    """For a terminal: what could act on it is shown and not sent."""
    return "".join(f"\\u{{{ord(char):x}}}" if _acts(char, False) else char for char in text)


def harmless(text, lines=False):
    """No control characters, no line separators, nothing that turns the direction of writing."""
    acts = any(_acts(char, lines) for char in text)
    must(not acts, "a text has control characters, or some that turn the direction of writing")
    return text
