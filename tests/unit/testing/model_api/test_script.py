"""What a prompt makes the model say."""

import pytest

from posthouse.testing.model_api.script import (
    BadStep,
    Entry,
    Step,
    last_prompt,
    next_step,
    scenarios,
    steps_of,
)

SAID, TOOL = Entry("assistant"), Entry("tool")


def user(text: str) -> Entry:
    return Entry("user", text)


@pytest.mark.parametrize(
    ("prompt", "steps"),
    [
        ("no directive", []),
        ("please mock:ok", [Step(key="mock:ok", text="OK")]),
        ("see /mock:ok and xmock:ok", []),
        (
            '[[mock {"text": "hi", "chunks": 2}]]',
            [Step(key='[[mock {"text": "hi", "chunks": 2}]]', text="hi", chunks=2)],
        ),
        (
            'mock:read then [[mock {"tool": "Read", "args": {"path": {"a": 1}}}]]',
            [
                Step(key="mock:read", shell="ls -la"),
                Step(
                    key='[[mock {"tool": "Read", "args": {"path": {"a": 1}}}]]',
                    tool="Read",
                    arguments={"path": {"a": 1}},
                ),
            ],
        ),
        ("mock:nope", [Step(key="mock:nope", text="mock: unknown scenario nope")]),
        ("[[mock {text}]]", [Step(key="[[mock {text}]]", text="mock: bad directive JSON")]),
        ('[[mock {"txt": 1}]]', [Step(key='[[mock {"txt": 1}]]', text="mock: bad directive: txt")]),
    ],
)
def test_a_prompt_carries_its_steps(prompt: str, steps: list[Step]) -> None:
    """Every directive is a step, in order; one that cannot be read answers with what is wrong."""
    assert steps_of(prompt) == steps


@pytest.mark.parametrize("name", sorted(scenarios()))
def test_every_scenario_is_a_step(name: str) -> None:
    """The catalogue holds only keys that a step has."""
    assert Step.parse(name, scenarios()[name]).key == name


def test_durations_are_spelled_without_their_unit() -> None:
    """Directives are typed by hand: what is seconds inside is short outside."""
    step = Step.parse("k", {"delay": 1, "first_delay": 2, "chunk_delay": 0.5})

    assert step == Step(key="k", delay_seconds=1, first_delay_seconds=2, chunk_delay_seconds=0.5)


def test_an_unknown_key_is_refused() -> None:
    """A misspelled step is told, not half obeyed."""
    with pytest.raises(BadStep, match="mock: bad directive: text, colour"):
        Step.parse("k", {"text": "a", "colour": "red"})


@pytest.mark.parametrize(
    ("step", "deltas"),
    [
        (Step(text="abcdef", chunks=3), ["ab", "cd", "ef"]),
        (Step(text="abcde", chunks=2), ["abc", "de"]),
        (Step(text="ab", chunks=9), ["a", "b"]),
        (Step(text="ab", chunks=0), ["ab"]),
        (Step(), [""]),
        (Step(text="not this", words=3), ["w0000 w0001 w0002"]),
    ],
)
def test_text_is_sent_in_the_pieces_asked_for(step: Step, deltas: list[str]) -> None:
    """No piece is empty, except when all of it is."""
    assert step.deltas == deltas


def test_many_words_come_in_lines() -> None:
    """Long answers wrap after a dozen words, as an agent's screen expects."""
    assert Step(words=13).body.splitlines()[1] == " w0012"


@pytest.mark.parametrize(
    ("history", "answer"),
    [
        pytest.param([user("mock:read mock:ok")], "", id="the first call takes the first step"),
        pytest.param([user("mock:read mock:ok"), SAID, TOOL], "OK", id="the second takes the second"),
        pytest.param(
            [user("mock:ok"), SAID, TOOL],
            "All scripted steps are done.",
            id="after the last there is no more",
        ),
        pytest.param(
            [user("mock:ok"), SAID, user("hello")], "Mock reply (5 chars in).", id="old steps are over"
        ),
        pytest.param(
            [user("mock:ok"), user("reminder"), SAID, TOOL],
            "All scripted steps are done.",
            id="a tool's turn looks past what was added to it",
        ),
        pytest.param([user("hello"), SAID, TOOL], "Tool result received.", id="an unscripted tool call"),
        pytest.param([], "Mock reply (0 chars in).", id="nothing said"),
    ],
)
def test_the_history_decides_which_step_is_due(history: list[Entry], answer: str) -> None:
    """A turn's calls take the steps of its prompt one after the other."""
    assert next_step(history).body == answer


def test_the_last_prompt_is_what_the_user_said_last() -> None:
    """Answers and tool results are not prompts."""
    assert last_prompt([user("first"), user("second"), SAID, TOOL]) == "second"
