"""Receipts: what became of every prompt, recorded on its way, followed to its end, shown to who asks."""
