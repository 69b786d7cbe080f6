"""Receipts: the stages and the outcome of every prompt, recorded, followed to the end, and served."""
