"""`mail/resolve-live` of the coordination server: an agent's mailbox, and the live gateway beside it."""

from typing import Annotated, Literal

from pydantic import Discriminator, Field

from posthouse.contracts.gateway_http import Wire


class FilesystemLocation(Wire):
    root: str
    mailbox_kind: Literal["in_root", "symlink"]
    mailbox_path: str
    inbox_path: str
    sqlite_path: str
    local_sqlite_path: str


class StalwartLocation(Wire):
    jmap_url: str
    management_url: str
    login_identity: str
    credential_ref: str
    credential_file: str | None


class _Mailbox(Wire):
    principal_id: str
    address: str
    bindings_version: str


class FilesystemMailbox(_Mailbox):
    transport: Literal["filesystem"]
    filesystem: FilesystemLocation


class StalwartMailbox(_Mailbox):
    transport: Literal["stalwart"]
    stalwart: StalwartLocation


class GatewayLocation(Wire):
    """Address of the live gateway, and the source of that address."""

    source: Literal["process_env", "tmux_session_env", "current_instance_record"]
    host: str
    port: Annotated[int, Field(ge=1, le=65535)]
    base_url: str
    protocol_version: str
    state_path: str


class ResolvedMail(Wire):
    source: Literal["pair_authority"]
    transport: Literal["filesystem", "stalwart"]
    principal_id: str
    address: str
    bindings_version: str
    mailbox: Annotated[FilesystemMailbox | StalwartMailbox, Discriminator("transport")]
    gateway: GatewayLocation | None
