"""Mailboxes in a shared folder: documents, symlinks, and two kinds of SQLite databases."""
