"""Clock, ids, whole files, locks, processes, crash points: no domain words.

Modules here are imported by name (`from posthouse.support import files`), so that a caller pays
only for what it uses.
"""
