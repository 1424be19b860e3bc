"""What ends a run that cannot go on."""


class RunError(RuntimeError):
    """A run cannot go on; the text says why, for the user."""
