"""`doctor`: checks installed programs, logins, state on disk and live processes."""

import os
from typing import Any

from posthouse import tools
from posthouse.cli import agent_description, dependencies, gateways, health_problems, humanize, tui_state_view
from posthouse.cli.context import Call
from posthouse.cli.dependencies import Finding
from posthouse.cli.output import Cell, Output, encode
from posthouse.cli.wiring import Wiring
from posthouse.contracts import gateway_files as gf
from posthouse.errors import PosthouseError
from posthouse.sessions import liveness
from posthouse.support import files


def doctor(call: Call) -> int:
    """Show the report; exit code 1 only if a required program is missing."""
    search_path = call.wiring.environment.get("PATH")
    findings = [
        dependencies.inspect(dependency, search_path=search_path)
        for dependency in dependencies.catalogue(is_root=os.geteuid() == 0)
    ]
    healthy = not any(finding.is_missing and finding.dependency.needed for finding in findings)
    report: dict[str, Any] = {
        "ok": healthy,
        "pieces": [_dependency(finding) for finding in findings],
        "logins": _logins(call.wiring),
        "folders": _folders(call.wiring),
        "live": _live(call.wiring),
        "troubles": health_problems.collect(call.wiring),
        "broken_queues": _broken_queues(call.wiring),
        "unreadable_staged_mail": _unreadable_staged_mail(call.wiring),
        "notifiers_without_backoff": _notifiers_without_backoff(call.wiring),
        "untold": _failed_notifications(call.wiring),
        "drifting": _drift(call.wiring),
        "packs": _packs(),
    }
    if call.output.is_json:
        call.output.line(encode(report))
    else:
        _show(call.output, findings, report)
    return 0 if healthy else 1


def _dependency(finding: Finding) -> dict[str, Any]:
    dependency = finding.dependency
    return {
        "name": dependency.name,
        "path": finding.path,
        "version": finding.version,
        "needed": dependency.needed,
        "enables": dependency.enables,
        "problem": finding.problem,
        "get": dependency.install_command if finding.is_missing else None,
    }


def _logins(wiring: Wiring) -> list[dict[str, Any]]:
    """The login of each agent CLI that needs an account, read from files and variables."""
    accounts = {name: tools.load(name).account(wiring.user_home, wiring.environment) for name in tools.NAMES}
    return [
        {
            "tool": name,
            "kind": account.kind,
            "owner": account.owner,
            "shareable": account.is_shareable,
            "get": account.login_command or None,
        }
        for name, account in accounts.items()
        if name != "scripted"
    ]


def _folders(wiring: Wiring) -> list[dict[str, Any]]:
    roots = wiring.roots
    folders = {"registry": roots.registry, "runtime": roots.runtime, "mailbox": roots.mailbox}
    return [
        {
            "name": name,
            "path": str(path),
            "exists": path.is_dir(),
            "bytes": files.size_of(path),
        }
        for name, path in folders.items()
    ]


def _live(wiring: Wiring) -> dict[str, Any]:
    """Counts of live agents, of live gateways, and of agents in an unknown state, with a reason."""
    agents = liveness.registered(wiring.registry)
    living = [agent for agent in agents if agent.is_live]
    unknown = [agent for agent in agents if agent.health == "unknown"]
    return {
        "agents": len(living),
        "gateways": len([agent for agent in living if agent_description.gateway(agent)]),
        "unknown": len(unknown),
        "problem": unknown[0].detail if unknown else None,
    }


def _notifiers_without_backoff(wiring: Wiring) -> list[str]:
    """Agents whose notifier wakes them for unchanged mail at every interval, without backoff."""
    named = []
    for agent in liveness.registered(wiring.registry):
        client = None if agent.session is None else gateways.client_of(wiring, agent.session)
        if client is None:
            continue
        try:
            notifier = client.notifier()
            if notifier["enabled"] and client.wake_settings()["backoff_max_seconds"] is None:
                named.append(agent.name)
        except PosthouseError:
            continue  # it does not respond; `health_problems` reports that
    return named


def _failed_notifications(wiring: Wiring) -> list[dict[str, Any]]:
    """Notification targets whose last delivery failed, with the reason."""
    from posthouse.gateway.notifications.targets import TargetFiles  # slow import, needed only here

    found = []
    for agent in liveness.registered(wiring.registry):
        if agent.session is None:
            continue
        kept = TargetFiles(agent.session.gateway_root)
        try:
            targets = kept.read()
        except PosthouseError as error:
            found.append({"agent": agent.name, "target_id": None, "detail": str(error)})
            continue
        for target in targets:
            state = kept.state(target.target_id)
            if state is not None and state.last is not None and state.last.outcome == "given_up":
                failure = {"target_id": target.target_id, "detail": state.last.detail}
                found.append({"agent": agent.name, **failure})
    return found


def _broken_queues(wiring: Wiring) -> list[str]:
    """Corrupt queues that gateways set aside. Their waiting requests were not run."""
    from posthouse.queue import set_aside_at  # imports asyncio

    pattern = f"sessions/*/*/gateway/{gf.QUEUE}.corrupt-*"
    roots = {found.parent for found in wiring.roots.runtime.glob(pattern)}
    return [str(kept) for root in sorted(roots) for kept in set_aside_at(root / gf.QUEUE)]


def _unreadable_staged_mail(wiring: Wiring) -> list[str]:
    """The reasons why files in the mailbox root's staging folder are skipped."""
    from posthouse.mailbox.filesystem import layout, recovery  # imports sqlite3

    if not layout.is_root(wiring.roots.mailbox):
        return []
    try:
        return [reason for _, reason in recovery.unreadable(layout.Root(wiring.roots.mailbox))]
    except PosthouseError as error:
        return [str(error)]


def _drift(wiring: Wiring) -> list[dict[str, Any]]:
    """Agents whose screen and hooks persistently contradict each other."""
    found = []
    for agent in liveness.registered(wiring.registry):
        tui = None if agent.session is None else tui_state_view.read_saved(agent.session)
        if tui is not None and tui.get("drift_alarm_at_utc") and agent_description.gateway(agent):
            found.append({"agent": agent.name, "tool": agent.record.identity.tool, "detail": tui["drift"]})
    return found


def _packs() -> list[str]:
    """Installed agent CLIs with a version that no screen pack covers."""
    from posthouse.tools.packs import catalog  # reads the packs

    lines = []
    for name in tools.NAMES:
        version = tools.load(name).version()
        try:
            served = catalog.pack_for(name, version)
        except catalog.NoPack:
            continue
        if version is not None and served.is_nearest:
            lines.append(f"{name}: {served.description}")
    return lines


def _show(output: Output, findings: list[Finding], report: dict[str, Any]) -> None:
    rows = [_row(finding) for finding in findings]
    output.line("\n".join(output.table_lines(("program", "version", "state", "path"), rows)))
    for finding in findings:
        if finding.is_missing:
            need = "is needed for" if finding.dependency.needed else "would enable"
            output.line()
            output.line(
                f"{finding.dependency.name}: {finding.problem}. It {need} {finding.dependency.enables}."
            )
            output.line(f"  install it with: {finding.dependency.install_command}")
    for login in report["logins"]:
        output.line()
        output.line(_login(login))
    output.line()
    folders = [_folder_row(folder) for folder in report["folders"]]
    output.line("\n".join(output.table_lines(("state", "size", "folder"), folders)))
    output.line()
    output.line(_live_line(report["live"]))
    for trouble in report["troubles"]:
        for line in health_problems.lines(trouble):
            output.line(line)
    for line in report["packs"]:
        output.line(line)
    for one in report["drifting"]:
        output.line(
            f"{one['agent']}: the screens of {one['tool']} may have changed: {one['detail']}; "
            "see `posthouse tui record`"
        )
    for one in report["untold"]:
        output.line()
        output.line(f"{one['agent']}: {_failed_notification_line(one)}")
    for name in report["notifiers_without_backoff"]:
        output.line()
        output.line(f"{name} is woken for unchanged mail at every interval; each wake-up costs a turn")
        output.line(
            f"  agents gateway mail-notifier enable {name} --interval-seconds N --backoff-max-seconds 3600"
        )
    for path in report["broken_queues"]:
        output.line()
        output.line(f"a gateway set aside its corrupt queue; the waiting requests were not run: {path}")
        output.line("  inspect it with sqlite3, then delete it")
    for reason in report["unreadable_staged_mail"]:
        output.line()
        output.line(f"a file in the mailbox root's staging folder is skipped: {reason}")
        output.line("  set it aside with: mailbox repair")


def _row(finding: Finding) -> list[Cell]:
    state = Cell("ok", "good")
    if finding.is_missing:
        state = Cell("NEEDED", "bad") if finding.dependency.needed else Cell("missing", "busy")
    return [
        Cell(finding.dependency.name),
        Cell(finding.version or "-"),
        state,
        Cell(finding.path or "-", "faint"),
    ]


def _folder_row(folder: dict[str, Any]) -> list[Cell]:
    size = humanize.size(folder["bytes"]) if folder["exists"] else "not created yet"
    return [Cell(folder["name"]), Cell(size), Cell(folder["path"], "faint")]


def _login(login: dict[str, Any]) -> str:
    if login["kind"] is None:
        return f"{login['tool']}: not logged in; create a login that agents can use with: {login['get']}"
    who = f"{login['kind']}{' of ' + login['owner'] if login['owner'] else ''}"
    if login["shareable"]:
        return f"{login['tool']}: logged in ({who}); agents can use it"
    return f"{login['tool']}: logged in ({who}); agents can't share it: {login['get']}"


def _failed_notification_line(one: dict[str, Any]) -> str:
    if one["target_id"] is None:
        return f"notification targets unreadable: {one['detail']}"
    return (
        f"{one['target_id']} the last delivery failed: {one['detail']}\n"
        f"  test it with: agents notify test {one['agent']} {one['target_id']}"
    )


def _live_line(live: dict[str, Any]) -> str:
    line = f"agents: {live['agents']} live, {live['gateways']} with a gateway"
    return f"{line}, {live['unknown']} unknown: {live['problem']}" if live["unknown"] else line
