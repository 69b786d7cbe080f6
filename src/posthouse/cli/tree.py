"""The table of commands. Dispatch, help, suggestions and completion derive from it.

A verb acts on one agent and is declared once. Three scopes select the agent, so every verb appears as
`agents VERB NAME`, `agents single --agent-name NAME VERB` and `agents self VERB`.
"""

from collections.abc import Iterator
from typing import Literal, NamedTuple

#: How a command finds its agent: not at all; NAME or a selector; a selector; the current tmux session.
Scope = Literal["none", "short", "single", "self"]
Path = tuple[str, ...]


# Named tuples: a dataclass makes every start of the command line slower (its class costs ten times as much).
class Command(NamedTuple):
    path: Path
    #: `module.function` below `posthouse.cli.commands`.
    handler: str
    summary: str
    scope: Scope = "none"
    hidden: bool = False


class Verb(NamedTuple):
    path: Path
    handler: str
    summary: str
    #: False for `stop`: an agent does not end itself in the middle of its own command.
    on_self: bool = True


GROUPS: dict[Path, str] = {
    ("agents",): "launch, prompt and stop agents",
    ("agents", "global"): "all agents",
    ("agents", "single"): "one agent, chosen by --agent-name or --agent-id",
    ("agents", "single", "cleanup"): "remove files of a stopped agent",
    ("agents", "self"): "the agent of the current tmux session",
    ("agents", "external"): "agents of other machines, reached through their servers",
    ("gateway",): "run the gateways of many agents in one process",
    ("project",): "project overlays: state folders of single projects",
    ("tokens",): "access tokens for remote callers of the coordination server",
    ("demo",): "a demo with two scripted agents",
    ("tui",): "classify captured screens and check the screen packs",
    ("mailbox",): "manage a mailbox root and its accounts",
    ("mailbox", "accounts"): "accounts of a mailbox root",
    ("mailbox", "messages"): "messages of a mailbox",
    ("internals",): "internal steps of other commands",
    ("admin",): "maintain files on disk",
    ("admin", "cleanup"): "clean up after dead processes",
}

_VERB_GROUPS: dict[Path, str] = {
    ("requests",): "requests and their outcome",
    ("turn",): "single headless turns and their artifacts",
    ("notify",): "notifications when the agent finishes, fails, is blocked or limited",
    ("gateway",): "the agent's HTTP gateway",
    ("tui",): "the TUI state tracked by the gateway",
    ("reminders",): "scheduled prompts and keys",
    ("mail",): "read and send mail of the agent",
    ("mailbox",): "the agent's mailbox",
    ("mail-notifier",): "wake-ups of the agent for new mail",
}

VERBS: tuple[Verb, ...] = (
    Verb(("state",), "state.state", "show what the agent is doing, with the evidence"),
    Verb(("prompt",), "prompt.prompt", "give the agent a prompt; --wait prints the answer"),
    Verb(("interrupt",), "prompt.interrupt", "interrupt what the agent is doing"),
    Verb(("answer",), "answer.answer", "answer the agent's open dialog; without a choice, show it"),
    Verb(("resume",), "answer.resume", "resume the queue before a usage limit ends"),
    Verb(("stop",), "lifecycle.stop", "end the agent and its gateway; it can be relaunched", on_self=False),
    Verb(("relaunch",), "lifecycle.relaunch", "restart the agent in its existing home folder"),
    Verb(("attach",), "attach.attach", "open the agent's terminal"),
    Verb(("logs",), "logs.logs", "show events or the gateway log; -f follows"),
    Verb(("watch",), "watch.watch", "show events live; without a name, all agents in a table"),
    Verb(
        ("notify", "add"),
        "notify.add",
        "notify a command or a webhook of events",
    ),
    Verb(("notify", "list"), "notify.listing", "list notification targets and their last delivery"),
    Verb(("notify", "remove"), "notify.remove", "remove a notification target"),
    Verb(("notify", "test"), "notify.send_test", "send a test notification"),
    Verb(("last",), "last.last", "show the last prompt and its answer"),
    Verb(("requests", "list"), "requests.listing", "list requests, newest first"),
    Verb(("requests", "show"), "requests.show", "show one request, stage by stage"),
    Verb(("requests", "wait"), "requests.wait", "wait until a request ends"),
    Verb(("requests", "cancel"), "requests.cancel", "cancel a request that has not started"),
    Verb(("turn", "submit"), "turn.submit", "start a headless turn and print its id"),
    Verb(("turn", "status"), "turn.status", "show the status of a turn"),
    Verb(("turn", "events"), "turn.events", "show the events of a turn"),
    Verb(("turn", "stdout"), "turn.stdout", "print the provider's raw output"),
    Verb(("turn", "stderr"), "turn.stderr", "print the provider's raw error output"),
    Verb(("gateway", "attach"), "gateway.attach", "start the agent's gateway"),
    Verb(("gateway", "detach"), "gateway.detach", "stop the agent's gateway; the agent stays"),
    Verb(("gateway", "status"), "gateway.status", "show the gateway's status"),
    Verb(
        ("gateway", "reconcile"),
        "gateway_reconcile.reconcile",
        "replay or discard requests of a replaced agent instance",
    ),
    Verb(("gateway", "prompt"), "gateway_control.prompt", "give the agent a prompt now, bypassing the queue"),
    Verb(("gateway", "interrupt"), "gateway_control.interrupt", "interrupt what the agent is doing"),
    Verb(("gateway", "send-keys"), "gateway_control.send_keys", "type raw keys into the agent's terminal"),
    Verb(("gateway", "tui", "state"), "gateway_tui.state", "show the TUI state"),
    Verb(("gateway", "tui", "belief"), "gateway_tui.belief", "show the inferred TUI state and its evidence"),
    Verb(("gateway", "tui", "history"), "gateway_tui.history", "show the TUI state history, oldest first"),
    Verb(("gateway", "tui", "watch"), "gateway_tui.watch", "show the TUI state repeatedly, until Ctrl-C"),
    Verb(
        ("gateway", "tui", "note-prompt"),
        "gateway_tui.note_prompt",
        "report a prompt that was typed outside the gateway",
    ),
    Verb(("gateway", "reminders", "list"), "gateway_reminders.listing", "list reminders in order"),
    Verb(("gateway", "reminders", "get"), "gateway_reminders.get", "show one reminder"),
    Verb(("gateway", "reminders", "create"), "gateway_reminders.create", "create a reminder"),
    Verb(("gateway", "reminders", "set"), "gateway_reminders.change", "change a reminder"),
    Verb(("gateway", "reminders", "remove"), "gateway_reminders.remove", "delete a reminder"),
    Verb(
        ("mail", "resolve-live"),
        "mail.resolve_live",
        "show the agent's current mailbox and its gateway",
    ),
    Verb(("mail", "status"), "mail.status", "show the agent's mail identity"),
    Verb(("mail", "list"), "mail.listing", "list messages of a box, newest first"),
    Verb(("mail", "check"), "mail.check", "list the inbox, newest first"),
    Verb(("mail", "peek"), "mail.peek", "show one message and leave it unread"),
    Verb(("mail", "read"), "mail.read", "show one message and mark it read"),
    Verb(("mail", "send"), "mail.send", "send a message"),
    Verb(("mail", "post"), "mail.post", "post an operator note into the mailbox"),
    Verb(("mail", "reply"), "mail.reply", "reply to a message"),
    Verb(("mail", "mark"), "mail.mark", "set or clear the read, answered and archived marks"),
    Verb(("mail", "mark-read"), "mail.mark_read", "mark messages read"),
    Verb(("mail", "move"), "mail.move", "move messages to another box"),
    Verb(("mail", "archive"), "mail.archive", "archive messages"),
    Verb(("mail", "thread"), "mail.thread", "show the thread of a message"),
    Verb(("mail", "search"), "mail.search", "find messages that contain all the words"),
    Verb(("mail", "save-attachment"), "mail.save_attachment", "save an attachment to a file"),
    Verb(("mail", "track"), "mail.track", "show the delivery progress of a sent message"),
    Verb(("mailbox", "register"), "agent_mailbox.register", "give the agent a mailbox"),
    Verb(("mailbox", "unregister"), "agent_mailbox.unregister", "remove the agent's mailbox"),
    Verb(("mailbox", "status"), "agent_mailbox.status", "show the agent's mailbox"),
    Verb(("gateway", "mail-notifier", "status"), "mail_notifier.status", "show the mail notifier's settings"),
    Verb(("gateway", "mail-notifier", "enable"), "mail_notifier.enable", "wake the agent for new mail"),
    Verb(("gateway", "mail-notifier", "disable"), "mail_notifier.disable", "stop waking the agent for mail"),
)

_FIRST: tuple[Command, ...] = (
    Command(("agents", "launch"), "lifecycle.launch", "start a new agent"),
    Command(("agents", "list"), "list_agents.listing", "list agents and their state"),
    Command(("agents", "join"), "lifecycle.join", "manage an agent that already runs in tmux"),
)

_LAST: tuple[Command, ...] = (
    Command(("agents", "cleanup"), "cleanup.cleanup", "repair the records of agents that died"),
    Command(("agents", "external", "register"), "external.register", "register an agent of another machine"),
    Command(("agents", "external", "list"), "external.listing", "list external agents"),
    Command(("agents", "external", "get"), "external.get", "show one external agent"),
    Command(("agents", "external", "show"), "external.get", "show one external agent", hidden=True),
    Command(("agents", "external", "verify"), "external.verify", "refresh its identity from its server"),
    Command(
        ("agents", "external", "remove"),
        "external.remove",
        "remove it from the registry; the agent keeps running",
    ),
    Command(("agents", "global", "list"), "list_agents.listing", "list agents and their state"),
    Command(("agents", "self", "identity"), "state.identity", "show this agent's identity", scope="self"),
    Command(("agents", "self", "join"), "lifecycle.join", "manage the agent in this tmux session"),
    Command(("serve",), "serve.serve", "run the coordination server until Ctrl-C"),
    Command(("project", "init"), "project.init", "create and trust an overlay in this folder"),
    Command(("project", "trust"), "project.trust", "trust the overlay of a folder"),
    Command(("project", "untrust"), "project.untrust", "stop trusting the overlay of a folder"),
    Command(("project", "list"), "project.listing", "list trusted overlays"),
    Command(("tokens", "list"), "tokens.listing", "list tokens and their scopes"),
    Command(("tokens", "create"), "tokens.create", "create a token"),
    Command(("tokens", "revoke"), "tokens.revoke", "revoke a token"),
    Command(("mcp",), "mcp.mcp", "serve mail and agents as MCP tools over stdio"),
    Command(("doctor",), "doctor.doctor", "check the installation, and show how to fix it"),
    Command(("gateway", "host"), "host.host", "run the gateway host until Ctrl-C"),
    Command(("gateway", "hosted"), "host.hosted", "list the gateways of the host"),
    Command(("tui", "classify"), "tui.classify", "classify one captured screen, as JSON"),
    Command(("tui", "record"), "tui_record.record", "record a capture of a live agent", scope="short"),
    Command(("tui", "check"), "tui.check", "compare the packs with the expected state of every capture"),
    Command(
        ("internals", "mail-prompt"),
        "internals.ask_tui",
        "ask a TUI to do a mail operation itself",
        scope="short",
    ),
    Command(("demo", "up"), "demo.up", "run the demo until Ctrl-C"),
    Command(("demo", "down"), "demo.down", "stop the demo"),
    Command(("demo", "reset"), "demo.reset", "stop the demo and remove its state"),
    Command(("mailbox", "init"), "mailbox.init", "create a mailbox root"),
    Command(("mailbox", "status"), "mailbox.status", "check the root and count its contents"),
    Command(("mailbox", "register"), "mailbox.register", "register a mailbox for an address"),
    Command(("mailbox", "unregister"), "mailbox.unregister", "deactivate or remove a mailbox"),
    Command(
        ("mailbox", "accounts", "list"), "mailbox_contents.accounts_list", "list the accounts of the root"
    ),
    Command(
        ("mailbox", "accounts", "get"), "mailbox_contents.accounts_get", "show one account and its boxes"
    ),
    Command(
        ("mailbox", "messages", "list"), "mailbox_contents.messages_list", "list the newest messages of a box"
    ),
    Command(
        ("mailbox", "messages", "get"),
        "mailbox_contents.messages_get",
        "show one message and leave it unread",
    ),
    Command(("mailbox", "repair"), "mailbox.repair", "rebuild the index from the messages"),
    Command(("mailbox", "export"), "mailbox.export", "export mailboxes into a self-contained folder"),
    Command(("mailbox", "cleanup"), "mailbox.cleanup", "remove leftovers of dead processes"),
    Command(("mailbox", "clear-messages"), "mailbox.clear", "remove every message; mailboxes stay"),
    Command(("admin", "cleanup", "registry"), "cleanup.cleanup", "repair the records of agents that died"),
    Command(("completion",), "completion.completion", "print a completion script for bash, zsh or fish"),
    Command(("complete",), "completion.complete", "print candidates for the last word", hidden=True),
)


#: Cleanup of one stopped agent. Not in scope `self`: the agent of the current session runs.
_AGENT_CLEANUPS: tuple[tuple[str, str], ...] = (
    ("session", "remove a stopped agent and its folders"),
    ("logs", "remove the logs of a stopped agent's gateways"),
    ("mailbox", "remove the mail credentials of a stopped agent"),
)


def _expanded() -> Iterator[Command]:
    yield from _FIRST
    for verb in VERBS:
        yield Command(("agents", *verb.path), verb.handler, verb.summary, "short")
    yield from _LAST
    for verb in VERBS:
        yield Command(("agents", "single", *verb.path), verb.handler, verb.summary, "single")
        if verb.on_self:
            yield Command(("agents", "self", *verb.path), verb.handler, verb.summary, "self")
    for part, summary in _AGENT_CLEANUPS:
        yield Command(("agents", "single", "cleanup", part), f"agent_cleanup.{part}", summary, "single")


COMMANDS: dict[Path, Command] = {command.path: command for command in _expanded()}


def is_group(path: Path) -> bool:
    return any(known[: len(path)] == path and known != path for known in COMMANDS)


def children(path: Path) -> dict[str, str]:
    """The visible next words after *path* with their summaries, in the order of the table."""
    found: dict[str, str] = {}
    for known, command in COMMANDS.items():
        if len(known) > len(path) and known[: len(path)] == path and not command.hidden:
            step = known[: len(path) + 1]
            found.setdefault(step[-1], command.summary if step == known else group_summary(step))
    return found


def group_summary(path: Path) -> str:
    if path in GROUPS:
        return GROUPS[path]
    return _VERB_GROUPS.get(path[-1:], "")
