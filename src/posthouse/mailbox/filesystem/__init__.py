"""Mailboxes in a folder that several programs share: documents, links, and two kinds of SQLite files."""
