"""The routes of the notifier. Those of the contract serve beyond this machine too; mail itself does not."""

from pydantic import TypeAdapter

from posthouse.contracts import gateway_notifier_http as wire
from posthouse.gateway.service import Gateway
from posthouse.web.route import Route

_PATH = "/v1/mail-notifier"
_WAKE = "/v1/mail-notifier/wake"
_DISK = {503: "The disk refused; nothing was changed."}


async def notifier_status(gateway: Gateway, _: None) -> wire.NotifierStatus:
    return await gateway.mail.notifier.status()


async def enable_notifier(gateway: Gateway, asked: wire.PutNotifier) -> wire.NotifierStatus:
    return await gateway.mail.notifier.enable(asked)


async def disable_notifier(gateway: Gateway, _: None) -> wire.NotifierStatus:
    return await gateway.mail.notifier.disable()


async def wake_settings(gateway: Gateway, _: None) -> wire.WakeSettings:
    return await gateway.mail.notifier.wake_settings()


async def put_wake_settings(gateway: Gateway, asked: wire.WakeSettings) -> wire.WakeSettings:
    return await gateway.mail.notifier.put_wake_settings(asked)


async def mail_progress(gateway: Gateway, asked: wire.AskProgress) -> wire.MailProgress:
    return await gateway.mail.notifier.progress(asked)


ROUTES = (
    Route(
        method="GET",
        path=_PATH,
        summary="How the agent is woken for its mail.",
        handler=notifier_status,
        response=wire.NotifierStatus,
        refusals=_DISK,
    ),
    Route(
        method="PUT",
        path=_PATH,
        summary="Wake the agent for its mail; the first look comes one interval later.",
        handler=enable_notifier,
        request=TypeAdapter(wire.PutNotifier),
        response=wire.NotifierStatus,
        refusals={**_DISK, 502: "Storage failed, or did not answer in time."},
    ),
    Route(
        method="DELETE",
        path=_PATH,
        summary="Wake the agent no more. What was set stays, the interval excepted.",
        handler=disable_notifier,
        response=wire.NotifierStatus,
        refusals=_DISK,
    ),
    Route(
        method="GET",
        path=_WAKE,
        summary="Whether mail wakes at once, and how often the same mail wakes again.",
        handler=wake_settings,
        response=wire.WakeSettings,
        refusals=_DISK,
    ),
    Route(
        method="PUT",
        path=_WAKE,
        summary="Set whether mail wakes at once, and how often the same mail wakes again.",
        handler=put_wake_settings,
        request=TypeAdapter(wire.WakeSettings),
        response=wire.WakeSettings,
        refusals=_DISK,
    ),
    Route(
        method="POST",
        path="/v1/mail/progress",
        summary="How far a message has come: waiting, notified, read or answered, and why no further.",
        handler=mail_progress,
        request=TypeAdapter(wire.AskProgress),
        response=wire.MailProgress,
        refusals={
            404: "There is no such message.",
            502: "Storage failed, or did not answer in time.",
            503: "The gateway listens beyond this machine, or too much waits for storage.",
        },
    ),
)
