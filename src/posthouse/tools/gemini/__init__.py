"""Gemini CLI: what is particular to it."""
