"""File inputs of a launch: the brain manifest and the role folder.

A brain manifest (YAML, schema 3) describes one prepared tool home. The launcher writes one when the
user gives only a tool and a name. Unknown keys are ignored.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Any

from posthouse.errors import InvalidInput
from posthouse.sessions.secrets import parse_env_file
from posthouse.support import files, untrusted_files

_SCHEMA_VERSION = 3
_MAX_BYTES = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Brain:
    """The fields of a brain manifest that a launch uses."""

    tool: str
    home_path: Path
    home_variable: str
    executable: str
    args: tuple[str, ...] = ()
    #: Variables with non-secret values.
    environment: Mapping[str, str]
    #: Variables taken from the credentials file.
    credentials: Mapping[str, str]
    agent_name: str | None = None
    agent_id: str | None = None
    role_text: str | None = None
    #: The declarative mailbox payload, unparsed.
    mailbox: Mapping[str, Any] | None = None


def read(path: Path) -> Brain:
    """Read a brain manifest.

    Raises:
        InvalidInput: A required key is missing or has the wrong type; the message names it.
    """
    document = _load(path)
    reader = _Reader(path, document)
    return Brain(
        tool=reader.text("inputs.tool"),
        home_path=Path(reader.text("runtime.home_path")),
        home_variable=reader.text("runtime.launch_home_selector.env_var"),
        executable=reader.text("runtime.launch_executable"),
        args=reader.texts("runtime.launch_contract.adapter_defaults.args"),
        environment=reader.variables("runtime.launch_contract.env_records"),
        credentials=_credentials(reader),
        agent_name=reader.optional_text("agent_name"),
        agent_id=reader.optional_text("agent_id"),
        role_text=reader.optional_text("inputs.role_prompt_text"),
        mailbox=reader.mapping("mailbox"),
    )


def write(path: Path, brain: Brain) -> None:
    """Write *brain* durably, without credentials."""
    import yaml  # imported at first use: the gateway of an idle agent does not need it

    document = {
        "schema_version": _SCHEMA_VERSION,
        "inputs": {"tool": brain.tool},
        "runtime": {
            "home_path": str(brain.home_path),
            "launch_home_selector": {"env_var": brain.home_variable, "value": str(brain.home_path)},
            "launch_executable": brain.executable,
            "launch_contract": {
                "adapter_defaults": {"args": list(brain.args)},
                "env_records": dict(brain.environment),
            },
        },
        "credentials": {"env_contract": {"source_file": None, "selected_env_vars": []}},
        "agent_name": brain.agent_name,
        "agent_id": brain.agent_id,
    }
    files.private_folder(path.parent)
    files.write_whole(path, yaml.safe_dump(document, sort_keys=True).encode(), durable=True)


def role_path(agent_def_dir: Path, role_name: str) -> Path:
    return agent_def_dir / "roles" / role_name / "system-prompt.md"


def read_role(agent_def_dir: Path, role_name: str) -> str:
    """The role's text.

    Raises:
        InvalidInput: The folder has no such role.
    """
    path = role_path(agent_def_dir, role_name)
    named = PurePath(role_name)
    if named.is_absolute() or not named.parts or ".." in named.parts:
        raise _bad_definition(
            f"role {role_name!r} is not the name of a folder below {agent_def_dir / 'roles'}"
        )
    try:
        return untrusted_files.read_text(path, follow=True)
    except (OSError, ValueError) as error:
        raise _bad_definition(f"role {role_name!r} has no readable text at {path}: {error}") from error


def write_role(agent_def_dir: Path, role_name: str, text: str) -> None:
    path = role_path(agent_def_dir, role_name)
    files.private_folder(path.parent)
    files.write_whole(path, text.encode(), durable=True)


def _load(path: Path) -> Mapping[str, Any]:
    import yaml

    try:
        document = yaml.safe_load(untrusted_files.read_own_bytes(path, max_bytes=_MAX_BYTES, follow=True))
    except RecursionError:
        raise _bad_definition(f"brain manifest {path} is nested too deeply") from None
    except (OSError, ValueError, yaml.YAMLError) as error:
        raise _bad_definition(f"brain manifest {path} can't be read: {error}") from error
    if not isinstance(document, dict):
        raise _bad_definition(f"brain manifest {path} is not a mapping")
    return document


def _credentials(reader: "_Reader") -> dict[str, str]:
    source = reader.optional_text("credentials.env_contract.source_file")
    chosen = reader.texts("credentials.env_contract.selected_env_vars")
    if source is None:
        return {}
    available = parse_env_file(Path(source))
    missing = [name for name in chosen if name not in available]
    if missing:
        raise _bad_definition(f"{source} has no {', '.join(missing)}, which {reader.path} requires")
    return {name: available[name] for name in chosen}


@dataclass(frozen=True, slots=True)
class _Reader:
    """Reads values of a document by dotted key and checks their types."""

    path: Path
    document: Mapping[str, Any]

    def text(self, key: str) -> str:
        value = self.optional_text(key)
        if value is None:
            raise _bad_definition(f"{self.path} has no {key}")
        return value

    def optional_text(self, key: str) -> str | None:
        value = self._value(key)
        if value is not None and (not isinstance(value, str) or not value.strip()):
            raise _bad_definition(f"{self.path}: {key} must be a text that is not blank")
        return value

    def texts(self, key: str) -> tuple[str, ...]:
        value = self._value(key)
        if value is None:
            return ()
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise _bad_definition(f"{self.path}: {key} must be a list of texts")
        return tuple(value)

    def variables(self, key: str) -> dict[str, str]:
        value = self.mapping(key) or {}
        if not all(isinstance(name, str) and isinstance(text, str) for name, text in value.items()):
            raise _bad_definition(f"{self.path}: {key} must map names to texts")
        return dict(value)

    def mapping(self, key: str) -> Mapping[str, Any] | None:
        value = self._value(key)
        if value is not None and not isinstance(value, dict):
            raise _bad_definition(f"{self.path}: {key} must be a mapping")
        return value

    def _value(self, key: str) -> Any:
        current: Any = self.document
        for part in key.split("."):
            if not isinstance(current, dict):
                return None
            current = current.get(part)
        return current


def _bad_definition(message: str) -> InvalidInput:
    return InvalidInput(message, code="bad_definition")
