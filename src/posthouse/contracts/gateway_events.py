"""The event kinds that the contract lists for `events.jsonl`. Readers rely on their exact fields."""

CONTRACT_KINDS = frozenset(
    (
        "accepted",
        "accepted_internal",
        "completed",
        "failed",
        "coalesced",
        "control_prompt_submitted",
        "control_prompt_completed",
        "control_prompt_failed",
        "control_input",
        "reminder_registered",
        "reminder_updated",
        "reminder_deleted",
        "reminder_started",
        "reminder_deferred",
        "reminder_completed",
        "reminder_failed",
        "reminder_lost_on_restart",
    )
)
#: Posthouse extension: the first line of every rotated part; its `event_number` is its own.
PART_BEGUN = "events_continued"
