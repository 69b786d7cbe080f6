"""Names of the coordination server's files."""

from typing import Final

DEFAULT_PORT: Final = 9891
#: Under the runtime root; below it one folder per address, `127.0.0.1-9891`.
SERVERS: Final = "houmao_servers"
#: Lock held by the one server of a runtime root during its lifetime; a posthouse extension.
LOCK: Final = "server.lock"
CURRENT_INSTANCE: Final = "run/current-instance.json"
LOG: Final = "logs/server.log"
#: The event log of `GET /houmao/events`; a posthouse extension.
EVENTS: Final = "logs/events.jsonl"
#: Read position in each gateway's events; a posthouse extension.
HEARD: Final = "logs/events-heard.json"
#: Next to the servers' folders: bearer tokens of remote callers, by scope; a posthouse extension.
TOKENS: Final = "tokens"
