"""`agents gateway attach`: the wish for a diagnostic log."""

from argparse import Namespace

import pytest

from posthouse.cli.commands.gateway import diagnostics_of
from posthouse.cli.error_output import UsageError
from posthouse.contracts.gateway_files import DiagnosticLogging


def given(diagnostics: bool | None, max_bytes: int | None = None, backups: int | None = None) -> Namespace:
    return Namespace(diagnostics=diagnostics, diagnostics_max_bytes=max_bytes, diagnostics_backups=backups)


@pytest.mark.parametrize(
    ("arguments", "wish"),
    [
        (given(None), None),
        (given(False), DiagnosticLogging(enabled=False)),
        (given(True), DiagnosticLogging(enabled=True, max_bytes=1 << 20, backup_count=5)),
        (given(True, 4096, 0), DiagnosticLogging(enabled=True, max_bytes=4096, backup_count=0)),
    ],
    ids=["nothing said", "off", "on, as usual", "on, with limits"],
)
def test_what_is_said_becomes_the_wish(arguments: Namespace, wish: DiagnosticLogging | None) -> None:
    """What is not said is left as it was."""
    assert diagnostics_of(arguments) == wish


@pytest.mark.parametrize(
    "arguments",
    [given(None, 4096), given(False, None, 3), given(True, 0), given(True, None, 101)],
    ids=["limits without a log", "limits of no log", "no bytes at all", "too many parts"],
)
def test_what_makes_no_sense_is_refused(arguments: Namespace) -> None:
    """Before anything is started or written."""
    with pytest.raises(UsageError):
        diagnostics_of(arguments)
