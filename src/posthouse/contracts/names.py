"""Names of the published protocols, verbatim. Other modules use posthouse's own names.

Nothing outside this module spells an environment variable, file name or prefix of a contract.
"""

from typing import Final

# --- environment ---------------------------------------------------------------------------
REGISTRY_DIR: Final = "HOUMAO_GLOBAL_REGISTRY_DIR"
RUNTIME_DIR: Final = "HOUMAO_GLOBAL_RUNTIME_DIR"
MAILBOX_DIR: Final = "HOUMAO_GLOBAL_MAILBOX_DIR"
LOCAL_JOBS_DIR: Final = "HOUMAO_LOCAL_JOBS_DIR"
OVERLAY_DIR: Final = "HOUMAO_PROJECT_OVERLAY_DIR"
OVERLAY_DISCOVERY_MODE: Final = "HOUMAO_PROJECT_OVERLAY_DISCOVERY_MODE"
MANIFEST_PATH: Final = "HOUMAO_MANIFEST_PATH"
AGENT_ID: Final = "HOUMAO_AGENT_ID"
AGENT_DEF_DIR: Final = "HOUMAO_AGENT_DEF_DIR"
TOOL: Final = "HOUMAO_TOOL"
RESUME_ID: Final = "HOUMAO_RESUME_ID"
GATEWAY_HOST: Final = "HOUMAO_AGENT_GATEWAY_HOST"
GATEWAY_PORT: Final = "HOUMAO_AGENT_GATEWAY_PORT"
GATEWAY_STATE_PATH: Final = "HOUMAO_GATEWAY_STATE_PATH"
GATEWAY_PROTOCOL_VERSION: Final = "HOUMAO_GATEWAY_PROTOCOL_VERSION"
#: Published only while a gateway lives.
LIVE_GATEWAY: Final = (GATEWAY_HOST, GATEWAY_PORT, GATEWAY_STATE_PATH, GATEWAY_PROTOCOL_VERSION)
#: Published by earlier versions; unset when found.
RETIRED: Final = ("HOUMAO_GATEWAY_ATTACH_PATH", "HOUMAO_GATEWAY_ROOT")
GATEWAY_EXECUTION_MODE: Final = "HOUMAO_GATEWAY_EXECUTION_MODE"
GATEWAY_TMUX_WINDOW_ID: Final = "HOUMAO_GATEWAY_TMUX_WINDOW_ID"
GATEWAY_TMUX_WINDOW_INDEX: Final = "HOUMAO_GATEWAY_TMUX_WINDOW_INDEX"
GATEWAY_TMUX_PANE_ID: Final = "HOUMAO_GATEWAY_TMUX_PANE_ID"
GATEWAY_RESPECT_PROXY: Final = "HOUMAO_GATEWAY_RESPECT_PROXY_ENV"
SERVER_PORT: Final = "HOUMAO_PASSIVE_SERVER_PORT"
PRINT_STYLE: Final = "HOUMAO_CLI_PRINT_STYLE"

# Ours.
TMUX_SOCKET: Final = "POSTHOUSE_TMUX_SOCKET"
CRASH_AT: Final = "POSTHOUSE_CRASH_AT"
#: Turn id, in the environment of a turn's program and its children.
TURN_ID: Final = "POSTHOUSE_TURN_ID"
DEBUG: Final = "POSTHOUSE_DEBUG"
#: The command name that the user typed, for messages that suggest a command.
PROGRAM: Final = "POSTHOUSE_PROG"
STATE_HOME: Final = "POSTHOUSE_HOME"

# OpenTelemetry; the SDK reads its other variables itself.
OTEL_DISABLED: Final = "OTEL_SDK_DISABLED"
OTEL_EXPORTER: Final = "OTEL_TRACES_EXPORTER"
#: Either one enables tracing.
OTEL_ENDPOINTS: Final = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
OTEL_SERVICE_NAME: Final = "OTEL_SERVICE_NAME"

# --- headers, posthouse extensions ---------------------------------------------------------
#: Idempotency key of a turn request.
TURN_ID_HEADER: Final = "posthouse-turn-id"

# --- files ---------------------------------------------------------------------------------
HOME_ANCHOR: Final = "houmao"
OVERLAY_FOLDER: Final = ".houmao"
OVERLAY_CONFIG: Final = "houmao-config.toml"
MANIFEST_FILE: Final = "manifest.json"
TURN_ARTIFACTS: Final = "manifest.turn-artifacts"
RECORD_FILE: Final = "record.json"
LIVE_AGENTS: Final = "live_agents"
EXTERNAL_AGENTS: Final = "external_agents"

# --- mail ----------------------------------------------------------------------------------
NOTIFY_FENCE: Final = "houmao-notify"
ORIGIN_HEADER: Final = "x-houmao-origin"
REPLY_POLICY_HEADER: Final = "x-houmao-reply-policy"
#: In the marker file of a mailbox root and in every document.
MAIL_PROTOCOL: Final = 3
MAIL_PROTOCOL_FILE: Final = "protocol-version.txt"
MAIL_INDEX: Final = "index.sqlite"
MAIL_LOCAL_INDEX: Final = "mailbox.sqlite"
#: In a session's folder: the credentials of its mailbox.
MAIL_SECRETS: Final = "mailbox-secrets"

# --- identity ------------------------------------------------------------------------------
PREFIX: Final = "HOUMAO-"
AGENT_WINDOW: Final = "agent"
GATEWAY_WINDOW: Final = "gateway"
PROTOCOL_VERSION: Final = "v1"
