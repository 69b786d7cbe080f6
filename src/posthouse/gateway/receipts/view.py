"""Converts receipts to their wire format. Pure."""

from posthouse.contracts import gateway_receipts_http as wire
from posthouse.queue import Receipt, ReceiptList

_PREVIEW_CHARACTERS = 200
_PAYLOAD_FIELDS = ("prompt", "reminder_id", "turn_id")


def to_wire(receipt: Receipt) -> wire.Receipt:
    """The wire format of *receipt*."""
    end = receipt.end
    last = end or receipt.stage("unknown")
    # Another program may have written the row.
    prompt, reminder_id, turn_id = (_text(receipt.payload.get(name)) for name in _PAYLOAD_FIELDS)
    return wire.Receipt(
        request_id=receipt.request_id,
        kind=receipt.kind,
        state=receipt.state,
        managed_agent_instance_epoch=receipt.epoch,
        accepted_at_utc=receipt.accepted_at_utc,
        finished_at_utc=None if end is None else end.at_utc,
        turn_id=receipt.turn_id or turn_id,
        reminder_id=reminder_id,
        prompt_preview=None if prompt is None else prompt[:_PREVIEW_CHARACTERS],
        stages=[
            wire.Stage(stage=stage.name, at_utc=stage.at_utc, evidence=dict(stage.detail.get("evidence", {})))
            for stage in receipt.stages
        ],
        result=_result(receipt),
        error=_error(receipt) if last is None or last.name != "completed" else None,
    )


def page(found: ReceiptList) -> wire.ReceiptPage:
    cursor = found.next_before
    return wire.ReceiptPage(
        requests=[to_wire(receipt) for receipt in found.receipts],
        next_cursor=None if cursor is None else str(cursor),
    )


def _result(receipt: Receipt) -> wire.ReceiptResult | None:
    detail = {} if receipt.end is None else receipt.end.detail
    if not {"answer", "usage", "cost_usd"}.intersection(detail):
        return None
    return wire.ReceiptResult(
        answer=detail.get("answer"),
        answer_is_cut=detail.get("answer_is_cut", False),
        usage=detail.get("usage"),
        cost_usd=detail.get("cost_usd"),
    )


def _error(receipt: Receipt) -> str | None:
    last = receipt.end or receipt.stage("unknown")
    recorded = None if last is None else last.detail.get("error")
    return receipt.error or recorded


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None
