"""Configures OpenTelemetry tracing from its environment variables."""

import logging
from collections.abc import Mapping

from posthouse.contracts import names
from posthouse.support.tracing import NO_TRACING, Tracing

_SERVICE = "posthouse-server"


def configure_tracing(environment: Mapping[str, str], log: logging.Logger) -> Tracing:
    """Tracing to the configured collector; `NO_TRACING` without one or without the `otel` extra."""
    if not _is_enabled(environment):
        return NO_TRACING
    try:
        from posthouse.support import otel
    except ImportError as error:
        log.warning("tracing disabled: install posthouse[otel]", extra={"missing": error.name})
        return NO_TRACING
    return otel.otlp_tracing(environment.get(names.OTEL_SERVICE_NAME) or _SERVICE)


def _is_enabled(environment: Mapping[str, str]) -> bool:
    if environment.get(names.OTEL_DISABLED, "").strip().lower() == "true":
        return False
    exporter = environment.get(names.OTEL_EXPORTER, "otlp").strip().lower() or "otlp"
    return exporter == "otlp" and any(environment.get(name) for name in names.OTEL_ENDPOINTS)
