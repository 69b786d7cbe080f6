from pathlib import Path

import pytest

from posthouse.errors import InvalidInput
from posthouse.sessions import roots


@pytest.fixture
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("home")


def _overlay(folder: Path, home: Path) -> Path:
    return roots.make_overlay(folder, home / ".config" / "houmao")


def test_defaults_hang_on_the_config_home(tmp_path: Path) -> None:
    """Without a variable or an overlay, everything is under the config home."""
    found = roots.resolve({"XDG_CONFIG_HOME": "/c", "HOME": "/h"}, tmp_path)

    assert found == roots.Roots(
        registry=Path("/c/houmao/registry"),
        runtime=Path("/c/houmao/runtime"),
        mailbox=Path("/c/houmao/mailbox"),
    )
    assert roots.resolve({"HOME": "/h"}, tmp_path).registry == Path("/h/.config/houmao/registry")
    assert roots.resolve({"HOME": "/h", "XDG_CONFIG_HOME": "rel"}, tmp_path).registry.parts[1] == "h"


def test_variables_win_over_everything(tmp_path: Path, home: Path) -> None:
    """A variable decides its root; blank counts as unset; `~` is the home."""
    _overlay(tmp_path, home)
    environment = {
        "HOME": str(home),
        "HOUMAO_GLOBAL_REGISTRY_DIR": "/r",
        "HOUMAO_GLOBAL_RUNTIME_DIR": "~/run",
        "HOUMAO_GLOBAL_MAILBOX_DIR": "  ",
    }

    found = roots.resolve(environment, tmp_path)

    assert (found.registry, found.runtime) == (Path("/r"), home / "run")
    assert found.mailbox == tmp_path / ".houmao" / "mailbox"


def test_a_relative_variable_is_refused_by_name(tmp_path: Path) -> None:
    """A root that depends on where the command runs would split the state in two."""
    with pytest.raises(InvalidInput, match="HOUMAO_GLOBAL_RUNTIME_DIR is 'run'"):
        roots.resolve({"HOME": "/h", "HOUMAO_GLOBAL_RUNTIME_DIR": "run"}, tmp_path)


def test_the_nearest_overlay_above_governs(tmp_path: Path, home: Path) -> None:
    """A project's overlay holds for everything below it, unless only the folder itself counts."""
    overlay = _overlay(tmp_path, home)
    deep = tmp_path / "a" / "b"
    deep.mkdir(parents=True)
    environment = {"HOME": str(home)}

    assert roots.find_overlay(environment, deep) == overlay
    assert roots.resolve(environment, deep).runtime == overlay / "runtime"
    assert roots.resolve(environment, deep).registry == home / ".config/houmao/registry"
    only_here = {**environment, "HOUMAO_PROJECT_OVERLAY_DISCOVERY_MODE": "cwd_only"}
    assert roots.find_overlay(only_here, deep) is None
    assert roots.find_overlay(only_here, tmp_path) == overlay
    assert roots.find_overlay({"HOUMAO_PROJECT_OVERLAY_DIR": "/o"}, deep) == Path("/o")


def test_an_unknown_discovery_mode_is_refused(tmp_path: Path) -> None:
    """A typing error does not silently mean the default."""
    with pytest.raises(InvalidInput, match="'ancestor' or 'cwd_only'"):
        roots.resolve({"HOME": "/h", "HOUMAO_PROJECT_OVERLAY_DISCOVERY_MODE": "up"}, tmp_path)


def test_making_an_overlay_twice_keeps_what_the_user_wrote(tmp_path: Path, home: Path) -> None:
    """A second call changes nothing."""
    config = _overlay(tmp_path, home) / "houmao-config.toml"
    config.write_text("schema_version = 1\n# mine\n")

    _overlay(tmp_path, home)

    assert config.read_text() == "schema_version = 1\n# mine\n"
