"""What the coordination server keeps on disk, and what each file is called."""

from typing import Final

DEFAULT_PORT: Final = 9891
#: Under the runtime root; below it one folder per address, `127.0.0.1-9891`.
SERVERS: Final = "houmao_servers"
#: Held by the one server of a runtime root for as long as it lives; ours.
LOCK: Final = "server.lock"
CURRENT_INSTANCE: Final = "run/current-instance.json"
LOG: Final = "logs/server.log"
#: What happened, as `GET /houmao/events` tells it; ours.
EVENTS: Final = "logs/events.jsonl"
#: How far each gateway's events were heard; ours.
HEARD: Final = "logs/events-heard.json"
#: Beside the servers' folders: the tokens that callers beyond this machine show, by scope; ours.
TOKENS: Final = "tokens"
