"""What is believed of a TUI, from looks at its screen and notes of prompts. Pure: time is an argument.

Owns the belief; callers own looking, and how it is shown.
"""
