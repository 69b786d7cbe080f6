"""A gateway on a real queue in a folder of its own, around an agent that obeys the test."""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager

import pytest

from posthouse.gateway.service import Gateway
from posthouse.gateway.status import Binding
from posthouse.sessions.session import Session
from posthouse.testing import running_gateways
from posthouse.testing.gateway import FakeAgent

Opener = Callable[[FakeAgent], AbstractAsyncContextManager[Gateway]]


@pytest.fixture
def opened(made_session: Session) -> Opener:
    """Opens the gateway of that session around the agent it is given; stops it at the end."""
    binding = Binding(host="127.0.0.1", port=43123)
    return lambda agent: running_gateways.opened(made_session, agent, binding)
