"""How a command ends: what a person can mend is one line and status 2; a bug shows itself."""

from __future__ import annotations

import sys
from collections.abc import Callable

from arrows.typesys.errors import ArrowValueError, InputError


def exit_status(program: str, work: Callable[[], int]) -> int:
    """Runs a command and returns its exit status.

    Args:
        program: what the line on standard error begins with.
        work: returns the status if all goes well.

    Returns:
        What `work` returns; 2 if a file, an option or an example was wrong; 130 if it was interrupted.

    >>> exit_status("arrows demo", lambda: 0)
    0
    """
    try:
        return work()
    except (InputError, ArrowValueError, OSError) as error:
        print(f"{program}: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt as interrupt:
        print(f"{program}: interrupted{''.join(f'; {words}' for words in interrupt.args)}", file=sys.stderr)
        return 130
