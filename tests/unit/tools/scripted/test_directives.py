"""The little language of prompts."""

import pytest

from posthouse.tools.scripted import directives as d


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("say hello there", d.Say("hello there"), id="say"),
        pytest.param("think hm", d.Think("hm"), id="think"),
        pytest.param("wait 2", d.Wait(2.0), id="wait"),
        pytest.param("stream 5 words every 0.5", d.Stream(5, 0.5), id="stream"),
        pytest.param("stream 5", d.Stream(5, 0.1), id="stream at its usual pace"),
        pytest.param("tool echo hi", d.UseTool("echo hi"), id="tool"),
        pytest.param("tool [ -f x ]", d.UseTool("[ -f x ]"), id="brackets of its own"),
        pytest.param("permission", d.UseTool("echo allowed", needs_permission=True), id="permission"),
        pytest.param("permission rm x", d.UseTool("rm x", needs_permission=True), id="permission for"),
        pytest.param("ask Which? | red | blue", d.Ask("Which?", ("red", "blue")), id="ask"),
        pytest.param("ask Sure?", d.Ask("Sure?", ("Yes", "No")), id="ask yes or no"),
        pytest.param("fail context", d.Fail("context"), id="fail"),
        pytest.param("fail limit 5", d.Fail("limit", 5.0), id="a limit"),
        pytest.param("retry 2", d.Retry(2), id="retry"),
        pytest.param("crash", d.Crash("SIGKILL"), id="crash"),
        pytest.param("crash 3", d.Crash(3), id="crash with a code"),
        pytest.param("crash term", d.Crash("SIGTERM"), id="crash by a signal"),
        pytest.param("ignore signals", d.IgnoreSignals(), id="ignore signals"),
        pytest.param("spawn 30", d.Spawn(30.0), id="spawn"),
        pytest.param("recall", d.Describe("recall"), id="recall"),
        pytest.param("role", d.Describe("role"), id="role"),
        pytest.param("cwd", d.Describe("cwd"), id="cwd"),
        pytest.param("repeat 3", d.Repeat(3), id="repeat"),
        pytest.param("env HOME", d.Env("HOME", hashed=False), id="env"),
        pytest.param("secret KEY", d.Env("KEY", hashed=True), id="secret"),
        pytest.param("stderr oh", d.WriteStderr("oh"), id="stderr"),
        pytest.param("say", d.InvalidDirective("can't follow [[say]]: it needs a text"), id="no text"),
        pytest.param(
            "wait long",
            d.InvalidDirective("can't follow [[wait long]]: it needs a number of seconds"),
            id="no number",
        ),
        pytest.param(
            "wait nan",
            d.InvalidDirective("can't follow [[wait nan]]: seconds are between 0 and 86400"),
            id="not a time",
        ),
        pytest.param(
            "fail 418",
            d.InvalidDirective("can't follow [[fail 418]]: it fails with 400, overloaded, context, limit"),
            id="failure",
        ),
        pytest.param(
            "ignore me",
            d.InvalidDirective("can't follow [[ignore me]]: write it as [[ignore signals]]"),
            id="ignore what",
        ),
    ],
)
def test_a_directive_is_a_step(text: str, expected: d.Step) -> None:
    """Each directive is read as it is documented, and a wrong one says what is wrong."""
    assert d.parse(f"please [[{text}]] now") == (expected,)


def test_an_unknown_directive_names_the_known_ones() -> None:
    """The answer to a slip tells what can be asked."""
    [step] = d.parse("[[dance]]")

    assert isinstance(step, d.InvalidDirective)
    assert step.text.startswith("unknown directive [[dance]]; there is ask, crash, cwd,")


def test_steps_keep_their_order_and_talk_is_none() -> None:
    """Text around directives is not carried out."""
    assert d.parse("hello") == ()
    assert d.parse("a [[say b]] c [[wait 1]]") == (d.Say("b"), d.Wait(1.0))


def test_a_prompt_has_a_bounded_number_of_steps() -> None:
    """A huge prompt is cut with a word about it."""
    steps = d.parse("[[recall]]" * 150)

    assert steps == (
        *[d.Describe("recall")] * 100,
        d.InvalidDirective("only the first 100 directives of a prompt are carried out"),
    )
