"""What the driver tells a person, on stderr: stdout belongs to the scripts it runs."""

import sys


class DriverError(Exception):
    """A mistake or a failure, told as 'who: what is wrong; what to do'."""


class Mistake(DriverError):
    """Options that cannot work, told before anything is started."""


class Lost(DriverError):
    """The browser or its page is gone."""


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
