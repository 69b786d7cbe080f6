"""Rows of a capture."""

from posthouse.terminal.screen import plain, rows_of


def test_every_row_repeats_what_is_in_force_where_it_begins() -> None:
    """tmux writes attributes once; a row read alone still knows them."""
    capture = (
        "\x1b[1m\x1b[31mred\nstill\x1b[39m bold\n"
        "bold\x1b[0m\x1b[38;5;12mblue\x1b[48;2;1;2;3m\nboth\x1b[49m\x1b[39m\nnone"
    )

    assert rows_of(capture) == (
        "\x1b[1m\x1b[31mred",
        "\x1b[1m\x1b[31mstill\x1b[39m bold",
        "\x1b[1mbold\x1b[0m\x1b[38;5;12mblue\x1b[48;2;1;2;3m",
        "\x1b[38;5;12m\x1b[48;2;1;2;3mboth\x1b[49m\x1b[39m",
        "none",
    )


def test_a_reset_may_carry_the_next_attributes() -> None:
    """`0;2` forgets all that was and makes dim."""
    assert rows_of("\x1b[1;7ma\x1b[0;2mb\nc") == ("\x1b[1;7ma\x1b[0;2mb", "\x1b[0;2mc")


def test_plain_leaves_the_text() -> None:
    """Colours, hyperlinks and line-drawing shifts go; text and glyphs stay."""
    assert (
        plain("\x1b[1;38:2::1:2:3m❯\xa0x\x1b[0m\x1b]8;;http://a\x1b\\link\x1b]8;;\x1b\\\x0eq\x0f")
        == "❯\xa0xlinkq"
    )


def test_an_attribute_that_is_said_again_and_again_is_kept_once() -> None:
    """A capture of any length costs what it holds, not more."""
    assert rows_of("\x1b[1ma\x1b[1mb\x1b[2m\x1b[1mc\nd")[1] == "\x1b[2m\x1b[1md"


def test_escapes_that_tmux_never_writes_are_no_text() -> None:
    """A capture may come from another program; numbers without end are none."""
    assert plain("a\x1b[2Kb\x1b[?25lc\x1b]0;title\x07d\r") == "abcd"
    assert rows_of(f"\x1b[{'9' * 9000}mx") == (f"\x1b[{'9' * 9000}mx",)
