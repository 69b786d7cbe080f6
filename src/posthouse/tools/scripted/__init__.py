"""A scripted agent CLI that follows directives in its prompt: for tests and demos.

`program.py` is the program (standard library only, `-I -S`); `profile.py` is its `Tool` adapter. The
program owns its conversations, settings and truth log in its home; callers own the home.
"""
