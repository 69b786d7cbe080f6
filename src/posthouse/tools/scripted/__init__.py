"""An agent CLI of our own that does what its prompt says: for tests, and for a first look.

`program.py` is the program (standard library only, `-I -S`); `profile.py` is what drives it. The
program owns its conversations, settings and truth log under its home; callers own the home.
"""
