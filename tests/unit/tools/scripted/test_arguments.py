"""The program's command line."""

import pytest

from posthouse.tools.scripted.arguments import Arguments, BadArguments, parse


def test_a_headless_turn_is_read_as_claude_reads_it() -> None:
    """Options may stand anywhere around the prompt."""
    words = (
        "--model m --effort low -p --verbose --append-system-prompt role hello --output-format stream-json"
    )

    assert parse(words.split()) == Arguments(
        headless=True,
        verbose=True,
        model="m",
        effort="low",
        role="role",
        prompt="hello",
        output_format="stream-json",
    )


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--nope"], "error: unknown option '--nope'"),
        (["--model"], "error: option '--model' argument missing"),
        (["-p", "--output-format", "xml"], "error: --output-format is one of text, json, stream-json"),
        (
            ["-p", "--output-format", "stream-json"],
            "Error: When using --print, --output-format=stream-json requires --verbose",
        ),
    ],
)
def test_a_bad_word_is_named(words: list[str], message: str) -> None:
    """A wrong command line says which word is wrong."""
    with pytest.raises(BadArguments) as caught:
        parse(words)

    assert str(caught.value) == message
