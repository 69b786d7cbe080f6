"""Direct control: prompts past the queue, raw keys, what a headless agent or a TUI can be asked right now."""
