"""Locations of state: registry, runtime and mailbox roots, and the project overlay.

Every root follows one rule: explicit argument, then environment variable, then default.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from posthouse.contracts import names
from posthouse.errors import InvalidInput
from posthouse.sessions import overlay_trust
from posthouse.support import files


@dataclass(frozen=True, slots=True, kw_only=True)
class Roots:
    """The resolved folders. None of them needs to exist yet."""

    registry: Path
    runtime: Path
    mailbox: Path
    #: The project's `.houmao` folder, if one was found.
    overlay: Path | None = None

    def variables(self) -> dict[str, str]:
        """The variables by which a program inside a session finds the same roots."""
        return {
            names.REGISTRY_DIR: str(self.registry),
            names.RUNTIME_DIR: str(self.runtime),
            names.MAILBOX_DIR: str(self.mailbox),
        }


def resolve(environment: Mapping[str, str], working_directory: Path) -> Roots:
    """The roots for a command that runs in *working_directory*.

    Raises:
        InvalidInput: A variable names a folder that is not absolute, or the discovery mode is unknown.
        Denied: Another user or a `git pull` could change a root, or a root is in an overlay that this user
            neither created nor trusted.
    """
    overlay = find_overlay(environment, working_directory)
    anchor = home_anchor(environment)
    local = overlay or anchor
    found = Roots(
        registry=_from(environment, names.REGISTRY_DIR) or anchor / "registry",
        runtime=_from(environment, names.RUNTIME_DIR) or local / "runtime",
        mailbox=_from(environment, names.MAILBOX_DIR) or local / "mailbox",
        overlay=overlay,
    )
    _check(found, anchor, is_named=_from(environment, names.OVERLAY_DIR) is not None)
    return found


def _check(found: Roots, anchor: Path, *, is_named: bool) -> None:
    """Refuse roots that another user controls. An explicitly named overlay needs no trust record."""
    # A mailbox root may be shared between users on purpose, so its own folder is not checked.
    for root in (found.registry, found.runtime):
        overlay_trust.check_folder(root, follow_link=True)
    if found.overlay is None or found.overlay not in (found.runtime.parent, found.mailbox.parent):
        return
    if is_named:
        overlay_trust.check_overlay(found.overlay)
        overlay_trust.check_not_tracked(found.overlay)
    else:
        overlay_trust.require_trust(found.overlay, anchor)


def find_overlay(environment: Mapping[str, str], working_directory: Path) -> Path | None:
    """The overlay that governs *working_directory*, or None."""
    explicit = _from(environment, names.OVERLAY_DIR)
    if explicit is not None:
        return explicit
    mode = environment.get(names.OVERLAY_DISCOVERY_MODE, "").strip() or "ancestor"
    if mode not in ("ancestor", "cwd_only"):
        raise InvalidInput(
            f"{names.OVERLAY_DISCOVERY_MODE} is {mode!r}; it can be 'ancestor' or 'cwd_only'", code="bad_root"
        )
    here = working_directory.resolve()
    for folder in (here, *here.parents) if mode == "ancestor" else (here,):
        if (folder / names.OVERLAY_FOLDER / names.OVERLAY_CONFIG).is_file():
            return folder / names.OVERLAY_FOLDER
    return None


def make_overlay(working_directory: Path, anchor: Path) -> Path:
    """Create an overlay in *working_directory* and trust it. A second call changes nothing.

    Raises:
        Denied: An overlay exists that this user has not trusted; nothing was changed.
    """
    overlay = working_directory.resolve() / names.OVERLAY_FOLDER
    config = overlay / names.OVERLAY_CONFIG
    if os.path.lexists(overlay):
        overlay_trust.require_trust(overlay, anchor)
        return overlay
    files.private_folder(overlay)
    files.write_whole(config, b"schema_version = 1\n", durable=True)
    overlay_trust.trust(overlay, anchor)
    return overlay


def home_anchor(environment: Mapping[str, str]) -> Path:
    """The user's configuration folder."""
    config_home = environment.get("XDG_CONFIG_HOME", "").strip()
    # The XDG rule: a relative XDG_CONFIG_HOME is ignored.
    if config_home.startswith("/"):
        return Path(config_home) / names.HOME_ANCHOR
    return _home(environment) / ".config" / names.HOME_ANCHOR


def _home(environment: Mapping[str, str]) -> Path:
    home = environment.get("HOME", "").strip()
    return Path(home) if home else Path.home()


def _from(environment: Mapping[str, str], variable: str) -> Path | None:
    text = environment.get(variable, "").strip()
    if not text:
        return None
    path = _home(environment) / text[2:] if text.startswith("~/") else Path(text)
    if not path.is_absolute():
        raise InvalidInput(f"{variable} is {text!r}; it must be an absolute path", code="bad_root")
    return path
