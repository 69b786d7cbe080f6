"""The routes of reminders."""

from pydantic import TypeAdapter

from posthouse.contracts import gateway_reminders_http as wire
from posthouse.gateway.service import Gateway
from posthouse.web.route import Addressed, Route

_ALL = "/v1/reminders"
_ONE = "/v1/reminders/{reminder_id}"
_UNKNOWN = {404: "There is no such reminder."}


async def create_reminders(gateway: Gateway, order: wire.CreateReminders) -> wire.Reminders:
    return gateway.reminders.create(order)


async def list_reminders(gateway: Gateway, _: None) -> wire.Reminders:
    return gateway.reminders.listing()


async def get_reminder(gateway: Gateway, asked: Addressed) -> wire.Reminder:
    return gateway.reminders.get(asked.names["reminder_id"])


async def put_reminder(gateway: Gateway, asked: Addressed) -> wire.Reminder:
    return gateway.reminders.put(asked.names["reminder_id"], asked.body)


async def delete_reminder(gateway: Gateway, asked: Addressed) -> wire.ReminderDeleted:
    return gateway.reminders.delete(asked.names["reminder_id"])


ROUTES = (
    Route(
        method="POST",
        path=_ALL,
        summary="Keep new reminders, all or none. They are lost when the gateway ends.",
        handler=create_reminders,
        request=TypeAdapter(wire.CreateReminders),
        response=wire.Reminders,
        refusals={409: "There is no room for so many."},
    ),
    Route(
        method="GET",
        path=_ALL,
        summary="All reminders, in the order in which they come.",
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
        summary="Give a reminder a whole new definition; its time counts from now.",
        handler=put_reminder,
        request=TypeAdapter(wire.PutReminder),
        response=wire.Reminder,
        refusals={**_UNKNOWN, 409: "It is being delivered right now."},
    ),
    Route(
        method="DELETE",
        path=_ONE,
        summary="Forget a reminder. What is being delivered goes on to its end.",
        handler=delete_reminder,
        response=wire.ReminderDeleted,
        refusals=_UNKNOWN,
    ),
)
