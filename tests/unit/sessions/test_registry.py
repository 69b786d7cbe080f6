import json
import subprocess
import sys
from pathlib import Path

import pytest
from msgspec import structs

from posthouse.contracts import registry as r
from posthouse.sessions.registry import RecordTaken, Registry, RegistryEntry, lease

_CLAIM = """
import sys
from pathlib import Path
from posthouse.sessions.registry import Registry
with Registry(Path(sys.argv[1])).locked("gpu"):
    print("held", flush=True)
    sys.stdin.read()
"""


#: One for the whole module: a lease has seconds.
_LEASE = lease()


def _record(generation: str = "one") -> r.Record:
    return r.Record(
        schema_version=3,
        agent_name="gpu",
        agent_id="gpu",
        generation_id=generation,
        lifecycle=r.Lifecycle(
            state="active", relaunchable=True, state_updated_at="2026-06-05T00:00:00+00:00"
        ),
        identity=r.Identity(backend="local_interactive", tool="scripted"),
        runtime=r.Runtime(manifest_path="/s/manifest.json"),
        terminal=r.Terminal(current_session_name="S", last_session_name="S"),
        liveness=_LEASE,
    )


def test_another_generation_can_not_take_an_active_record(tmp_path: Path) -> None:
    """Only the generation that holds a record may write it while it is active."""
    registry = Registry(tmp_path)
    registry.publish(_record("one"))

    with pytest.raises(RecordTaken):
        registry.publish(_record("two"))

    held = registry.get("gpu")
    assert held is not None
    assert held.generation_id == "one"
    assert registry.change("gpu", "two", lambda record: record) is None
    assert not registry.remove("gpu", "two")


def test_a_record_is_changed_and_forgotten_by_its_own_generation(tmp_path: Path) -> None:
    """A change is published; removing twice is harmless."""
    registry = Registry(tmp_path)
    registry.publish(_record())

    changed = registry.change("gpu", "one", lambda record: structs.replace(record, agent_name="other"))

    assert registry.records() == [changed]
    assert (registry.remove("gpu", "one"), registry.remove("gpu")) == (True, False)
    assert registry.entries() == []


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("{", "can't be used"),
        ("[]", "not a JSON object"),
        (json.dumps({"schema_version": 9}), "can't be used"),
        ("x" * ((1 << 20) + 1), "larger than a record"),
        ("[" * 100_000, "nested too deeply"),
        ('{"a":' * 100_000, "nested too deeply"),
    ],
)
def test_one_broken_record_is_reported_and_spoils_no_other(
    tmp_path: Path, content: str, problem: str
) -> None:
    """The readable records are still there, and the broken one says what is wrong."""
    registry = Registry(tmp_path)
    registry.publish(_record())
    folder = tmp_path / "live_agents" / "broken"
    folder.mkdir()
    (folder / "record.json").write_text(content)

    broken, good = registry.entries()

    assert broken.problem is not None
    assert problem in broken.problem
    assert good.record == _record()


def test_a_folder_that_has_no_record_yet_is_no_problem(tmp_path: Path) -> None:
    """A publication makes the folder first; whoever looks in between finds an agent to come, not a fault."""
    registry = Registry(tmp_path)
    (tmp_path / "live_agents" / "gpu").mkdir(parents=True)

    assert registry.entries() == [RegistryEntry("gpu", None)]


def test_symlinks_are_not_followed(tmp_path: Path) -> None:
    """A symlinked folder is ignored, and a symlinked record is replaced, not written through."""
    registry = Registry(tmp_path)
    registry.publish(_record())
    (tmp_path / "live_agents" / "alias").symlink_to(tmp_path / "live_agents" / "gpu")
    outside = tmp_path / "outside.json"
    outside.write_text("mine")
    record = tmp_path / "live_agents" / "gpu" / "record.json"
    record.unlink()
    record.symlink_to(outside)

    assert [entry.agent_id for entry in registry.entries()] == ["gpu"]
    assert registry.records() == []
    registry.publish(_record())
    assert outside.read_text() == "mine"
    assert registry.records() == [_record()]


def test_a_record_in_another_agents_folder_is_not_believed(tmp_path: Path) -> None:
    """The folder and the record name the same agent."""
    registry = Registry(tmp_path)
    registry.publish(_record())
    (tmp_path / "live_agents" / "gpu").rename(tmp_path / "live_agents" / "cpu")

    [entry] = registry.entries()

    assert (entry.record, entry.problem) == (None, f"{tmp_path}/live_agents/cpu/record.json is about gpu")


def test_the_lock_keeps_others_out_and_may_be_taken_again_inside(tmp_path: Path) -> None:
    """One process at a time works on an agent; the lock is free again when its holder is killed."""
    registry = Registry(tmp_path)
    with registry.locked("gpu"), registry.locked("gpu"):
        rival = subprocess.Popen(
            [sys.executable, "-c", _CLAIM, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        assert rival.stdout is not None
        assert rival.poll() is None

    assert rival.stdout.readline() == b"held\n"
    rival.kill()
    rival.communicate()
    with registry.locked("gpu"):
        pass


def test_a_record_that_others_could_have_written_is_neither_used_nor_overwritten(tmp_path: Path) -> None:
    """Its rights may be all that is wrong with it: its user is told how to mend them."""
    registry = Registry(tmp_path)
    registry.publish(_record())
    path = tmp_path / "live_agents" / "gpu" / "record.json"
    path.chmod(0o646)
    content = path.read_bytes()

    [entry] = registry.entries()
    with pytest.raises(RecordTaken, match="can be written by other users; run: chmod go-w"):
        registry.publish(_record())

    assert (entry.record, entry.is_foreign) == (None, True)
    assert path.read_bytes() == content
    path.chmod(0o600)
    assert registry.records() == [_record()]
