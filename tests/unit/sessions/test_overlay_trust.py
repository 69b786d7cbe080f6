"""Overlays and folders of state that others could have made."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from posthouse.errors import Denied, NotFound
from posthouse.sessions import overlay_trust, roots


@pytest.fixture
def anchor(tmp_path: Path) -> Path:
    return tmp_path / "home" / ".config" / "houmao"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    return folder


def _shipped(project: Path) -> Path:
    """An overlay as a clone would bring it, with an id of its author's choice."""
    overlay = project / ".houmao"
    (overlay / "runtime").mkdir(parents=True, mode=0o755)
    (overlay / "houmao-config.toml").write_text("schema_version = 1\n")
    (overlay / "posthouse-trust-id").write_text("known to the author")
    return overlay


def test_an_overlay_that_was_made_here_is_trusted(project: Path, anchor: Path) -> None:
    """The user who makes an overlay is not asked about it."""
    overlay = roots.make_overlay(project, anchor)

    overlay_trust.require_trust(overlay, anchor)
    assert [(one.overlay, one.is_current) for one in overlay_trust.list_trusted(anchor)] == [(overlay, True)]


def test_a_shipped_overlay_is_refused_until_it_is_trusted(project: Path, anchor: Path) -> None:
    """The refusal names the overlay and the command; the id that came along counts for nothing."""
    overlay = _shipped(project)

    with pytest.raises(Denied, match=f"posthouse project trust {project}"):
        overlay_trust.require_trust(overlay, anchor)
    overlay_trust.trust(overlay, anchor)
    overlay_trust.require_trust(overlay, anchor)
    assert (overlay / "posthouse-trust-id").read_text() != "known to the author"
    overlay_trust.untrust(overlay, anchor)
    with pytest.raises(Denied, check=lambda error: error.code == "untrusted_overlay"):
        overlay_trust.require_trust(overlay, anchor)
    with pytest.raises(NotFound):
        overlay_trust.untrust(overlay, anchor)


def test_neither_a_copy_nor_a_replacement_is_trusted(project: Path, anchor: Path, tmp_path: Path) -> None:
    """Trust is for one overlay at one path."""
    overlay = roots.make_overlay(project, anchor)
    copied = tmp_path / "copy"
    shutil.copytree(project, copied)
    shutil.rmtree(overlay)
    _shipped(project)

    for found in (overlay, copied / ".houmao"):
        with pytest.raises(Denied, check=lambda error: error.code == "untrusted_overlay"):
            overlay_trust.require_trust(found, anchor)
    assert [one.is_current for one in overlay_trust.list_trusted(anchor)] == [False]


def test_making_an_overlay_does_not_trust_one_that_is_there(project: Path, anchor: Path) -> None:
    """`project init` in a hostile clone changes nothing."""
    _shipped(project)

    with pytest.raises(Denied, check=lambda error: error.code == "untrusted_overlay"):
        roots.make_overlay(project, anchor)
    assert overlay_trust.list_trusted(anchor) == []


def test_what_is_no_overlay_is_not_trusted(project: Path, anchor: Path) -> None:
    """A mistyped folder is an error, and leaves no record."""
    with pytest.raises(NotFound, match=r"houmao-config\.toml"):
        overlay_trust.trust(project / ".houmao", anchor)


def _open_to_all(overlay: Path) -> None:
    overlay.chmod(0o707)


def _state_open_to_all(overlay: Path) -> None:
    (overlay / "runtime").mkdir(exist_ok=True)
    (overlay / "runtime").chmod(0o777)


def _linked_state(overlay: Path) -> None:
    (overlay / "mailbox").symlink_to(overlay)


def _linked(overlay: Path) -> None:
    overlay.rename(overlay.with_name("elsewhere"))
    overlay.symlink_to("elsewhere")


def _file_as_state(overlay: Path) -> None:
    (overlay / "jobs").touch()


@pytest.mark.parametrize(
    ("spoil", "problem"),
    [
        (_open_to_all, "can be written by other users; run: chmod go-w"),
        (_state_open_to_all, "runtime can be written by other users"),
        (_linked_state, "mailbox is a symbolic link"),
        (_linked, "is a symbolic link"),
        (_file_as_state, "is not a folder"),
    ],
)
def test_a_trusted_overlay_that_others_could_change_is_refused(
    project: Path, anchor: Path, spoil: Callable[[Path], None], problem: str
) -> None:
    """Trust does not outweigh rights that let another user plant files."""
    overlay = roots.make_overlay(project, anchor)
    spoil(overlay)

    with pytest.raises(Denied, match=problem):
        overlay_trust.require_trust(overlay, anchor)


@pytest.mark.needs_host("root")
def test_another_users_folder_is_refused(project: Path, anchor: Path, tmp_path: Path) -> None:
    """An overlay in a shared parent folder, a runtime root and a registry alike."""
    overlay = roots.make_overlay(project, anchor)
    os.chown(overlay, 65534, 65534)
    environment = {"HOME": str(tmp_path / "home")}

    with pytest.raises(Denied, match="belongs to user 65534"):
        roots.resolve(environment, project)
    for variable in ("HOUMAO_GLOBAL_RUNTIME_DIR", "HOUMAO_GLOBAL_REGISTRY_DIR", "HOUMAO_PROJECT_OVERLAY_DIR"):
        with pytest.raises(Denied, match="belongs to user 65534"):
            roots.resolve({**environment, variable: str(overlay)}, tmp_path)


def test_an_overlay_whose_roots_are_not_used_is_not_asked_about(project: Path, tmp_path: Path) -> None:
    """A program in a session has its roots from variables, wherever it works."""
    _shipped(project)
    environment = {
        "HOME": str(tmp_path / "home"),
        "HOUMAO_GLOBAL_RUNTIME_DIR": str(tmp_path / "runtime"),
        "HOUMAO_GLOBAL_MAILBOX_DIR": str(tmp_path / "mailbox"),
    }

    assert roots.resolve(environment, project).runtime == tmp_path / "runtime"
