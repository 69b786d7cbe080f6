"""Random ids. Enough bits that two never meet."""

import os


def hex_id(length: int) -> str:
    """*length* random hex digits."""
    return os.urandom((length + 1) // 2).hex()[:length]


def generation() -> str:
    """A fresh uuid4 in its dashed form."""
    import uuid  # most commands never make one

    return str(uuid.uuid4())
