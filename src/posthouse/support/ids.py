"""Random ids, with enough bits to be unique."""

import os


def hex_id(length: int) -> str:
    """*length* random hex digits."""
    return os.urandom((length + 1) // 2).hex()[:length]


def generation() -> str:
    """A fresh uuid4 in its dashed form."""
    import uuid  # imported late: most commands never need it

    return str(uuid.uuid4())
