"""Whether somebody collects traces, as the environment says."""

import logging
from collections.abc import Mapping

from posthouse.contracts import names
from posthouse.support.tracing import NO_TRACING, Tracing

_SERVICE = "posthouse-server"


def tracing_of(environment: Mapping[str, str], log: logging.Logger) -> Tracing:
    """What the process traces: nothing unless a collector is named. *log* hears why it can't be done."""
    if not _is_wanted(environment):
        return NO_TRACING
    try:
        from posthouse.support import otel
    except ImportError as error:
        log.warning("no traces: install posthouse[otel]", extra={"missing": error.name})
        return NO_TRACING
    return otel.exporting(environment.get(names.OTEL_SERVICE_NAME) or _SERVICE)


def _is_wanted(environment: Mapping[str, str]) -> bool:
    if environment.get(names.OTEL_DISABLED, "").strip().lower() == "true":
        return False
    exporter = environment.get(names.OTEL_EXPORTER, "otlp").strip().lower() or "otlp"
    return exporter == "otlp" and any(environment.get(name) for name in names.OTEL_ENDPOINTS)
