"""Numbers as text."""

from posthouse.web.exposition import Family, Sample, render


def test_a_family_is_its_help_its_type_and_its_numbers() -> None:
    """One line each, labels escaped. The parser of Prometheus reads all of it in `integration/`."""
    samples = [Sample(value=2, labels={"kind": 'a"b'}), Sample(value=0.5, labels={"kind": "c"})]

    assert render([Family(name="x_total", kind="counter", help="X.", samples=samples)]) == (
        '# HELP x_total X.\n# TYPE x_total counter\nx_total{kind="a\\"b"} 2\nx_total{kind="c"} 0.5\n'
    )
