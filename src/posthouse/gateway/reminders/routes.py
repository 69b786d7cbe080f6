"""The routes of reminders."""

from pydantic import TypeAdapter

from posthouse.contracts import gateway_reminders_http as wire
from posthouse.gateway.service import Gateway
from posthouse.web.route import Route, RouteInput

_ALL = "/v1/reminders"
_ONE = "/v1/reminders/{reminder_id}"
_UNKNOWN = {404: "The reminder does not exist."}


async def create_reminders(gateway: Gateway, order: wire.CreateReminders) -> wire.Reminders:
    return gateway.reminders.create(order)


async def list_reminders(gateway: Gateway, _: None) -> wire.Reminders:
    return gateway.reminders.list_all()


async def get_reminder(gateway: Gateway, asked: RouteInput) -> wire.Reminder:
    return gateway.reminders.get(asked.path_params["reminder_id"])


async def put_reminder(gateway: Gateway, asked: RouteInput) -> wire.Reminder:
    return gateway.reminders.put(asked.path_params["reminder_id"], asked.body)


async def delete_reminder(gateway: Gateway, asked: RouteInput) -> wire.ReminderDeleted:
    return gateway.reminders.delete(asked.path_params["reminder_id"])


ROUTES = (
    Route(
        method="POST",
        path=_ALL,
        summary="Create reminders, all or none. They are lost when the gateway ends.",
        handler=create_reminders,
        request=TypeAdapter(wire.CreateReminders),
        response=wire.Reminders,
        refusals={409: "The limit of stored reminders is exceeded."},
    ),
    Route(
        method="GET",
        path=_ALL,
        summary="All reminders in delivery order.",
        handler=list_reminders,
        response=wire.Reminders,
    ),
    Route(
        method="GET",
        path=_ONE,
        summary="One reminder.",
        handler=get_reminder,
        response=wire.Reminder,
        refusals=_UNKNOWN,
    ),
    Route(
        method="PUT",
        path=_ONE,
        summary="Replace a reminder's definition; its schedule restarts now.",
        handler=put_reminder,
        request=TypeAdapter(wire.PutReminder),
        response=wire.Reminder,
        refusals={**_UNKNOWN, 409: "The reminder is being delivered."},
    ),
    Route(
        method="DELETE",
        path=_ONE,
        summary="Delete a reminder. A delivery in progress is completed.",
        handler=delete_reminder,
        response=wire.ReminderDeleted,
        refusals=_UNKNOWN,
    ),
)
