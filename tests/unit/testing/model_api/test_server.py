"""The model API over HTTP, as the clients of its vendors use it."""

import http.client
import json
import signal
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from posthouse.testing.model_api import ModelApi, Step, running

MESSAGES = "/v1/messages"
RESPONSES = "/v1/responses"
GEMINI = "/v1beta/models/g:streamGenerateContent?alt=sse"


@pytest.fixture
def api() -> Iterator[ModelApi]:
    with running() as api:
        yield api


def ask(prompt: str, **more: Any) -> dict[str, Any]:
    """An agent's request in Anthropic's form."""
    return {"messages": [{"role": "user", "content": prompt}], "tools": [{"name": "Bash"}], **more}


def post(api: ModelApi, path: str, body: Mapping[str, Any]) -> tuple[int, str]:
    request = urllib.request.Request(api.base_url + path, data=json.dumps(body).encode())
    try:
        with urllib.request.urlopen(request, timeout=30) as response:
            return response.status, response.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()


def get(api: ModelApi, path: str) -> Any:
    with urllib.request.urlopen(api.base_url + path, timeout=30) as response:
        return json.loads(response.read())


def text_of(answer: tuple[int, str]) -> str:
    """The text of a whole answer in Anthropic's form."""
    text: str = json.loads(answer[1])["content"][0]["text"]
    return text


@pytest.mark.parametrize(
    ("path", "body", "name"),
    [
        (MESSAGES, ask("mock:ok", stream=True), "anthropic"),
        (RESPONSES, {"input": "mock:ok", "tools": [{"name": "shell"}], "stream": True}, "openai"),
        (
            GEMINI,
            {
                "contents": [{"role": "user", "parts": [{"text": "mock:ok"}]}],
                "tools": [{"functionDeclarations": [{"name": "ls"}]}],
            },
            "gemini",
        ),
    ],
)
def test_each_vendor_s_path_streams_events(api: ModelApi, path: str, body: dict[str, Any], name: str) -> None:
    """A scripted answer comes as server-sent events in the form of whoever is asked."""
    status, stream = post(api, path, body)

    payloads = [json.loads(line[6:]) for line in stream.splitlines() if line.startswith("data: ")]
    assert (status, len(payloads) > 1, '"OK"' in stream) == (200, True, True)
    assert [(record.api, record.step, record.outcome) for record in api.records()] == [
        (name, "mock:ok", "completed")
    ]


def test_an_error_has_its_status_and_headers(api: ModelApi) -> None:
    """A scripted failure is one to the client, and to the records."""
    body = ask('[[mock {"status": 429, "message": "slow down", "headers": {"retry-after": "3"}}]]')
    request = urllib.request.Request(api.base_url + MESSAGES, data=json.dumps(body).encode())

    with pytest.raises(urllib.error.HTTPError) as raised:
        urllib.request.urlopen(request, timeout=30)

    with raised.value as error:
        assert (error.code, error.headers["retry-after"]) == (429, "3")
        assert json.loads(error.read())["error"]["message"] == "slow down"
    assert [record.outcome for record in api.records()] == ["error 429"]


def test_a_failure_that_passes_is_answered_in_the_end(api: ModelApi) -> None:
    """A client that tries again gets through after as many failures as were scripted."""
    answers = [post(api, MESSAGES, ask("mock:529x2")) for _ in range(3)]

    assert [status for status, _ in answers] == [529, 529, 200]
    assert text_of(answers[2]) == "recovered after overload"


def test_a_side_call_takes_no_step(api: ModelApi) -> None:
    """What a client asks on the side, for a title, repeats the prompt and must not use up its script."""
    api.queue(Step(text="queued"))

    aside = post(api, MESSAGES, {"messages": [{"role": "user", "content": "mock:hang"}]})
    proper = post(api, MESSAGES, ask("mock:hang"))

    assert [text_of(aside), text_of(proper)] == ["Mock side answer", "queued"]
    assert [record.prompt for record in api.main_records()] == ["mock:hang"]
    assert len(api.records()) == 2


def test_a_form_that_is_demanded_goes_before_the_script(api: ModelApi) -> None:
    """A caller that wants JSON by a schema gets it, also where its prompt carries a step."""
    body = {
        "contents": [{"role": "user", "parts": [{"text": "mock:ok"}]}],
        "generationConfig": {"responseJsonSchema": {"properties": {"choice": {"enum": ["flash"]}}}},
    }

    _, answer = post(api, "/v1beta/models/g:generateContent", body)

    assert json.loads(answer)["candidates"][0]["content"]["parts"] == [{"text": '{"choice": "flash"}'}]


def test_a_held_answer_stands_still_until_it_is_released(api: ModelApi) -> None:
    """Tests catch an agent in the middle of its answer, for as long as they like."""
    connection = http.client.HTTPConnection(api.base_url.removeprefix("http://"), timeout=30)
    connection.request("POST", MESSAGES, json.dumps(ask("mock:hold", stream=True)))
    response = connection.getresponse()
    before = _read_until(response, "part one")
    outcome = api.records()[0].outcome

    api.release()
    rest = response.read().decode()
    connection.close()

    assert ("part two" in before, outcome, "part two" in rest) == (False, "started", True)
    api.wait(lambda records: records[0].outcome == "completed")


def test_a_release_waits_for_an_answer_that_can_hear_it(api: ModelApi) -> None:
    """An agent looks busy before it asks the model: who releases then means the call that is to come."""
    releasing = threading.Thread(target=api.release)
    releasing.start()

    _, answer = post(api, MESSAGES, ask("mock:hold", stream=True))
    releasing.join(timeout=60)

    assert ("part two" in answer, releasing.is_alive()) == (True, False)


def test_a_release_of_nothing_is_a_failure(api: ModelApi) -> None:
    """It would leave the next held answer standing."""
    with pytest.raises(AssertionError, match="no answer was held"):
        api.release(seconds=0.01)


def _read_until(response: http.client.HTTPResponse, words: str) -> str:
    text = ""
    while words not in text:
        text += response.readline().decode()
    return text


def test_a_scripted_drop_breaks_the_stream(api: ModelApi) -> None:
    """The client sees a connection that ends in the middle, after the deltas it was to get."""
    body = ask('[[mock {"text": "abcdef", "chunks": 6, "drop_after": 2}]]', stream=True)

    with pytest.raises(http.client.IncompleteRead) as broken:
        post(api, MESSAGES, body)

    assert broken.value.partial.count(b"text_delta") == 2
    api.wait(lambda records: records[0].outcome == "dropped")


def test_a_client_that_hangs_up_is_noted(api: ModelApi) -> None:
    """An interrupted agent shows in the records as gone."""
    body = ask('[[mock {"words": 4000, "chunks": 4000, "chunk_delay": 0.005}]]', stream=True)
    connection = http.client.HTTPConnection(api.base_url.removeprefix("http://"), timeout=30)
    connection.request("POST", MESSAGES, json.dumps(body))
    response = connection.getresponse()
    _read_until(response, "w0000")

    response.close()
    connection.close()

    (record,) = api.wait(lambda records: records[0].outcome != "started")
    assert (record.outcome, record.gone_after_s is not None) == ("client_gone", True)


def test_a_body_in_chunks_is_read(api: ModelApi) -> None:
    """Some clients send their request without its length."""
    connection = http.client.HTTPConnection(api.base_url.removeprefix("http://"), timeout=30)
    data = json.dumps(ask("mock:ok")).encode()
    connection.request("POST", MESSAGES, iter([data[:10], data[10:]]), encode_chunked=True)
    answer = connection.getresponse().read()
    connection.close()

    assert json.loads(answer)["content"] == [{"type": "text", "text": "OK"}]


def test_the_control_surface_serves_other_processes(api: ModelApi) -> None:
    """Whatever a test in this process can do, one elsewhere can by HTTP."""
    queued = post(api, "/_mock/next", {"text": "queued"})
    refused = post(api, "/_mock/next", {"txt": "?"})
    answer = text_of(post(api, MESSAGES, ask("one")))
    post(api, MESSAGES, ask("two"))
    known = [record["prompt"] for record in get(api, "/_mock/requests?since=1")]
    health = get(api, "/_mock/health")
    post(api, "/_mock/reset", {})

    assert (json.loads(queued[1]), answer, known) == ({"ok": True}, "queued", ["two"])
    assert refused == (400, '{"ok": false, "error": "mock: bad directive: txt"}')
    assert health == {"ok": True, "requests": 2}
    assert get(api, "/_mock/requests") == []


@pytest.mark.parametrize(
    ("path", "answer"),
    [
        ("/v1/messages/count_tokens", {"input_tokens": 3}),
        ("/v1beta/models/g:countTokens", {"totalTokens": 3}),
        ("/v1/telemetry", {}),
    ],
)
def test_what_else_clients_ask_for_is_answered(api: ModelApi, path: str, answer: dict[str, int]) -> None:
    """Counting tokens and the like succeed, and are no model calls."""
    assert post(api, path, {"a": "1234"}) == (200, json.dumps(answer))
    assert api.records() == []


def test_stopping_ends_answers_and_threads() -> None:
    """Neither a held answer nor an idle connection keeps a stopped server alive."""
    before = threading.active_count()
    with running() as api:
        held = http.client.HTTPConnection(api.base_url.removeprefix("http://"), timeout=30)
        held.request("POST", MESSAGES, json.dumps(ask("mock:hold", stream=True)))
        _read_until(held.getresponse(), "part one")
        idle = http.client.HTTPConnection(api.base_url.removeprefix("http://"), timeout=30)
        idle.request("GET", "/_mock/health")
        idle.getresponse().read()

    assert threading.active_count() == before
    held.close()
    idle.close()


def test_it_runs_as_a_process(tmp_path: Path) -> None:
    """The first line says where it is; the log has what it was asked; Ctrl-C ends it."""
    log = tmp_path / "calls.jsonl"
    command = [sys.executable, "-m", "posthouse.testing.model_api", "--port", "0", "--log", str(log)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        address = json.loads(process.stdout.readline())["base_url"]
        request = urllib.request.Request(address + MESSAGES, data=json.dumps(ask("mock:ok")).encode())
        urllib.request.urlopen(request, timeout=30).close()
        process.send_signal(signal.SIGINT)

    assert (process.returncode, json.loads(log.read_text())["prompt"]) == (0, "mock:ok")
