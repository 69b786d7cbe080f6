"""The routes of the notifier. They are served on every bind address; mail only on loopback."""

from pydantic import TypeAdapter

from posthouse.contracts import gateway_notifier_http as wire
from posthouse.gateway.service import Gateway
from posthouse.web.route import Route

_PATH = "/v1/mail-notifier"
_WAKE = "/v1/mail-notifier/wake"
_DISK = {503: "Disk error; nothing was changed."}


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
        summary="Settings and status of the mail notifier.",
        handler=notifier_status,
        response=wire.NotifierStatus,
        refusals=_DISK,
    ),
    Route(
        method="PUT",
        path=_PATH,
        summary="Enable the mail notifier; the first poll runs after one interval.",
        handler=enable_notifier,
        request=TypeAdapter(wire.PutNotifier),
        response=wire.NotifierStatus,
        refusals={**_DISK, 502: "Storage failed or timed out."},
    ),
    Route(
        method="DELETE",
        path=_PATH,
        summary="Disable the mail notifier. Settings are kept, except the interval.",
        handler=disable_notifier,
        response=wire.NotifierStatus,
        refusals=_DISK,
    ),
    Route(
        method="GET",
        path=_WAKE,
        summary="Settings for immediate wake-ups and for the backoff of repeated ones.",
        handler=wake_settings,
        response=wire.WakeSettings,
        refusals=_DISK,
    ),
    Route(
        method="PUT",
        path=_WAKE,
        summary="Replace the settings for immediate wake-ups and for the backoff of repeated ones.",
        handler=put_wake_settings,
        request=TypeAdapter(wire.WakeSettings),
        response=wire.WakeSettings,
        refusals=_DISK,
    ),
    Route(
        method="POST",
        path="/v1/mail/progress",
        summary="Progress of a message: waiting, notified, read or answered, and what holds it.",
        handler=mail_progress,
        request=TypeAdapter(wire.AskProgress),
        response=wire.MailProgress,
        refusals={
            404: "The message does not exist.",
            502: "Storage failed or timed out.",
            503: "The gateway is not bound to loopback, or too many operations wait for storage.",
        },
    ),
)
