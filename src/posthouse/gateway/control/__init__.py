"""Direct control: prompts that bypass the queue, raw keys, and the state of headless and TUI agents."""
