"""Which commands there are: a table, from which dispatch, help, suggestions and completion are made.

A verb acts on one agent and is written once; three scopes find the agent in three ways, so every
verb appears as `agents VERB NAME`, `agents single --agent-name NAME VERB` and `agents self VERB`.
"""

from collections.abc import Iterator
from typing import Literal, NamedTuple

#: How a command finds its agent: not at all; NAME or a selector; a selector; the current tmux session.
Scope = Literal["none", "short", "single", "self"]
Path = tuple[str, ...]


# Tuples, because every start pays for a class: a dataclass costs ten times as much.
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
    #: `self` has no stop: an agent does not end itself in the middle of its own command.
    on_self: bool = True


GROUPS: dict[Path, str] = {
    ("agents",): "launch agents, ask them, stop them",
    ("agents", "global"): "all agents",
    ("agents", "single"): "one agent, chosen by --agent-name or --agent-id",
    ("agents", "single", "cleanup"): "what a stopped agent left on disk",
    ("agents", "self"): "the agent of the current tmux session",
    ("agents", "external"): "agents of other machines, talked to through their servers",
    ("gateway",): "one process for the gateways of many agents",
    ("project",): "project overlays: state that belongs to one working folder",
    ("tokens",): "who may call the coordination server from beyond this machine",
    ("demo",): "two scripted agents to try things on",
    ("tui",): "what the agents' screens mean: packs and the captures that prove them",
    ("mailbox",): "a mailbox root and its accounts",
    ("mailbox", "accounts"): "who has a mailbox",
    ("mailbox", "messages"): "what is in a mailbox",
    ("internals",): "single steps of other commands",
    ("admin",): "look after what is on disk",
    ("admin", "cleanup"): "remove what died",
}

_VERB_GROUPS: dict[Path, str] = {
    ("requests",): "what became of every prompt",
    ("turn",): "single headless turns and their artifacts",
    ("notify",): "who is told when the agent finished, failed, is blocked or limited",
    ("gateway",): "the agent's HTTP gateway",
    ("tui",): "how the gateway sees the agent's screen",
    ("reminders",): "what the gateway gives the agent later",
    ("mail",): "what is in the agent's mailbox, and new mail from it",
    ("mailbox",): "which mailbox the agent has",
    ("mail-notifier",): "how the agent is woken for its mail",
}

VERBS: tuple[Verb, ...] = (
    Verb(("state",), "state.state", "what the agent is doing, and how that is known"),
    Verb(("prompt",), "prompt.prompt", "give the agent a prompt; --wait prints the answer"),
    Verb(("interrupt",), "prompt.interrupt", "interrupt what the agent is doing"),
    Verb(("answer",), "answer.answer", "answer what the agent asks; without a choice, show it"),
    Verb(("resume",), "answer.resume", "let the queue go on before a usage limit ends"),
    Verb(("stop",), "lifecycle.stop", "end the agent and its gateway; it can be relaunched", on_self=False),
    Verb(("relaunch",), "lifecycle.relaunch", "start the agent again in its own home"),
    Verb(("attach",), "attach.attach", "open the agent's terminal"),
    Verb(("logs",), "logs.logs", "what happened: events and gateway log; -f follows"),
    Verb(("watch",), "watch.watch", "what happens, as it happens; without a name, all agents in a table"),
    Verb(
        ("notify", "add"),
        "notify.add",
        "tell a command or a webhook when something is up",
    ),
    Verb(("notify", "list"), "notify.listing", "who is told, and how the last telling went"),
    Verb(("notify", "remove"), "notify.remove", "tell somebody no more"),
    Verb(("notify", "test"), "notify.trial", "tell somebody once, now, to see whether they hear"),
    Verb(("last",), "last.last", "the last prompt and its answer"),
    Verb(("requests", "list"), "requests.listing", "what was asked of the agent, newest first"),
    Verb(("requests", "show"), "requests.show", "what became of a request, step by step"),
    Verb(("requests", "wait"), "requests.wait", "wait until a request is over"),
    Verb(("requests", "cancel"), "requests.cancel", "take back a request that has not started"),
    Verb(("turn", "submit"), "turn.submit", "start a headless turn and print its id"),
    Verb(("turn", "status"), "turn.status", "how a turn stands"),
    Verb(("turn", "events"), "turn.events", "what happened in a turn"),
    Verb(("turn", "stdout"), "turn.stdout", "the provider's own output, raw"),
    Verb(("turn", "stderr"), "turn.stderr", "the provider's error output, raw"),
    Verb(("gateway", "attach"), "gateway.attach", "start the agent's gateway"),
    Verb(("gateway", "detach"), "gateway.detach", "stop the agent's gateway; the agent stays"),
    Verb(("gateway", "status"), "gateway.status", "the gateway's own status"),
    Verb(
        ("gateway", "reconcile"),
        "gateway_reconcile.reconcile",
        "decide what becomes of work whose agent was replaced",
    ),
    Verb(("gateway", "prompt"), "gateway_control.prompt", "give the agent a prompt now, past the queue"),
    Verb(("gateway", "interrupt"), "gateway_control.interrupt", "interrupt what the agent is doing"),
    Verb(("gateway", "send-keys"), "gateway_control.send_keys", "type raw keys into the agent's terminal"),
    Verb(("gateway", "tui", "state"), "gateway_tui.state", "how the TUI stands"),
    Verb(
        ("gateway", "tui", "belief"), "gateway_tui.belief", "what the TUI is believed to do, and who says so"
    ),
    Verb(("gateway", "tui", "history"), "gateway_tui.history", "how the TUI stood, oldest first"),
    Verb(("gateway", "tui", "watch"), "gateway_tui.watch", "how the TUI stands, until Ctrl-C"),
    Verb(
        ("gateway", "tui", "note-prompt"),
        "gateway_tui.note_prompt",
        "tell of a prompt that the agent got by another way",
    ),
    Verb(("gateway", "reminders", "list"), "gateway_reminders.listing", "reminders, in their order"),
    Verb(("gateway", "reminders", "get"), "gateway_reminders.get", "one reminder"),
    Verb(("gateway", "reminders", "create"), "gateway_reminders.create", "make a reminder"),
    Verb(("gateway", "reminders", "set"), "gateway_reminders.change", "change a reminder"),
    Verb(("gateway", "reminders", "remove"), "gateway_reminders.remove", "forget a reminder"),
    Verb(
        ("mail", "resolve-live"),
        "mail.resolve_live",
        "which mailbox the agent has now, and the gateway beside it",
    ),
    Verb(("mail", "status"), "mail.status", "whose mailbox it is"),
    Verb(("mail", "list"), "mail.listing", "messages of a box, newest first"),
    Verb(("mail", "check"), "mail.check", "the inbox, newest first"),
    Verb(("mail", "peek"), "mail.peek", "one message; it stays unread"),
    Verb(("mail", "read"), "mail.read", "one message, which is read from now on"),
    Verb(("mail", "send"), "mail.send", "send a message"),
    Verb(("mail", "post"), "mail.post", "leave a note of the operator in the mailbox"),
    Verb(("mail", "reply"), "mail.reply", "answer a message"),
    Verb(("mail", "mark"), "mail.mark", "mark messages read, answered or archived, or take it back"),
    Verb(("mail", "mark-read"), "mail.mark_read", "mark messages read"),
    Verb(("mail", "move"), "mail.move", "put messages into another box"),
    Verb(("mail", "archive"), "mail.archive", "put messages into the archive"),
    Verb(("mail", "thread"), "mail.thread", "the conversation of a message"),
    Verb(("mail", "search"), "mail.search", "messages that hold all the words"),
    Verb(("mail", "save-attachment"), "mail.save_attachment", "copy an attachment to a file"),
    Verb(("mail", "track"), "mail.track", "how far a sent message has come"),
    Verb(("mailbox", "register"), "agent_mailbox.register", "give the agent a mailbox"),
    Verb(("mailbox", "unregister"), "agent_mailbox.unregister", "take the agent's mailbox away"),
    Verb(("mailbox", "status"), "agent_mailbox.status", "which mailbox the agent has"),
    Verb(("gateway", "mail-notifier", "status"), "mail_notifier.status", "how the agent is woken for mail"),
    Verb(("gateway", "mail-notifier", "enable"), "mail_notifier.enable", "wake the agent for its mail"),
    Verb(("gateway", "mail-notifier", "disable"), "mail_notifier.disable", "wake the agent no more"),
)

_FIRST: tuple[Command, ...] = (
    Command(("agents", "launch"), "lifecycle.launch", "start a new agent"),
    Command(("agents", "list"), "list_agents.listing", "agents and their state"),
    Command(("agents", "join"), "lifecycle.join", "manage an agent that already runs in tmux"),
)

_LAST: tuple[Command, ...] = (
    Command(("agents", "cleanup"), "cleanup.cleanup", "put right what died without being stopped"),
    Command(("agents", "external", "register"), "external.register", "know an agent of another machine"),
    Command(("agents", "external", "list"), "external.listing", "every agent of another machine"),
    Command(("agents", "external", "get"), "external.get", "one of them"),
    Command(("agents", "external", "show"), "external.get", "one of them", hidden=True),
    Command(("agents", "external", "verify"), "external.verify", "ask its server again who it is"),
    Command(("agents", "external", "remove"), "external.remove", "forget it; it goes on where it is"),
    Command(("agents", "global", "list"), "list_agents.listing", "agents and their state"),
    Command(("agents", "self", "identity"), "state.identity", "who this agent is", scope="self"),
    Command(("agents", "self", "join"), "lifecycle.join", "manage the agent in this tmux session"),
    Command(("serve",), "serve.serve", "one HTTP address for all agents, until Ctrl-C"),
    Command(("project", "init"), "project.init", "make an overlay in this folder, trusted by you"),
    Command(("project", "trust"), "project.trust", "use the overlay of a folder from now on"),
    Command(("project", "untrust"), "project.untrust", "refuse the overlay of a folder from now on"),
    Command(("project", "list"), "project.listing", "the overlays that you trust"),
    Command(("tokens", "list"), "tokens.listing", "who else may call the server, and for what"),
    Command(("tokens", "create"), "tokens.create", "let somebody else call the server"),
    Command(("tokens", "revoke"), "tokens.revoke", "let somebody call the server no more"),
    Command(("mcp",), "mcp.mcp", "mail and agents as MCP tools on stdin and stdout"),
    Command(("doctor",), "doctor.doctor", "what is installed, what is missing, and how to get it"),
    Command(("gateway", "host"), "host.host", "serve gateways in one process until Ctrl-C"),
    Command(("gateway", "hosted"), "host.hosted", "which gateways the host serves"),
    Command(("tui", "classify"), "tui.classify", "what one captured screen means, as JSON"),
    Command(("tui", "record"), "tui_record.record", "add a capture of a live agent", scope="short"),
    Command(("tui", "check"), "tui.check", "read every capture and compare with what a person read"),
    Command(
        ("internals", "mail-prompt"),
        "internals.ask_tui",
        "let a TUI do a mail operation itself",
        scope="short",
    ),
    Command(("demo", "up"), "demo.up", "start the demo and stay until Ctrl-C"),
    Command(("demo", "down"), "demo.down", "stop the demo"),
    Command(("demo", "reset"), "demo.reset", "stop the demo and remove its state"),
    Command(("mailbox", "init"), "mailbox.init", "make a mailbox root"),
    Command(("mailbox", "status"), "mailbox.status", "whether the root can be used, and what is in it"),
    Command(("mailbox", "register"), "mailbox.register", "give an address a mailbox"),
    Command(("mailbox", "unregister"), "mailbox.unregister", "take a mailbox out of use, or away"),
    Command(("mailbox", "accounts", "list"), "mailbox_contents.accounts_list", "every account of the root"),
    Command(("mailbox", "accounts", "get"), "mailbox_contents.accounts_get", "one account and its boxes"),
    Command(
        ("mailbox", "messages", "list"), "mailbox_contents.messages_list", "the newest messages of a box"
    ),
    Command(("mailbox", "messages", "get"), "mailbox_contents.messages_get", "one message, left unread"),
    Command(("mailbox", "repair"), "mailbox.repair", "make the index again from the messages"),
    Command(("mailbox", "export"), "mailbox.export", "copy mailboxes into a folder that stands by itself"),
    Command(("mailbox", "cleanup"), "mailbox.cleanup", "remove what dead processes left"),
    Command(("mailbox", "clear-messages"), "mailbox.clear", "remove every message; mailboxes stay"),
    Command(("admin", "cleanup", "registry"), "cleanup.cleanup", "put right what died without being stopped"),
    Command(("completion",), "completion.completion", "print a completion script for bash, zsh or fish"),
    Command(("complete",), "completion.complete", "candidates for the last word", hidden=True),
)


#: What is left of one agent, which has ended: for nobody's own session.
_OF_ONE: tuple[tuple[str, str], ...] = (
    ("session", "forget a stopped agent and its folders"),
    ("logs", "remove the logs of a stopped agent's gateways"),
    ("mailbox", "remove the mail credentials that a stopped agent kept"),
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
    for part, summary in _OF_ONE:
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
