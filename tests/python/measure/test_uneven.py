"""A host that is slower or busier than the others is named."""

import pytest

from taskgrain.measure.uneven import AtHost, at_hosts, notices


def test_rates_are_divided_among_the_hosts() -> None:
    found = at_hosts(("a", "b"), (0.1, 0.0), ((4.0, 6.0, 1.0, 2.0), (4.0, 6.0, None, 3.0)))
    assert found == {"a": AtHost(5.0, 0.1), "b": AtHost(2.0, 0.0)}
    assert at_hosts(("a", "b"), (0.1, 0.0), ((),)) == {"a": AtHost(None, 0.1), "b": AtHost(None, 0.0)}


def test_a_slower_host_is_named_with_its_factor() -> None:
    runs = [{"a": AtHost(2.0, 0.0), "b": AtHost(rate, 0.0)} for rate in (1.0, 1.0, 9.0)]
    (said,) = notices(runs)
    assert said.text.startswith("The kernel alone was 2.00 times as fast on host a as on b")
    assert not notices([{"a": AtHost(2.0, 0.0), "b": AtHost(1.9, 0.0)}])


def test_a_busier_host_is_named_with_its_share() -> None:
    runs = [{"a": AtHost(None, 0.01), "b": AtHost(None, share)} for share in (0.1, 0.3)]
    (said,) = notices(runs)
    assert said.text.startswith("Others took 20.0 % of the cores of host b, and at most 1.0 % of those of")
    assert not notices([{"a": AtHost(None, 0.2), "b": AtHost(None, 0.3)}]), "all are busy"
    assert not notices([{"a": AtHost(None, 0.0), "b": AtHost(None, 0.02)}]), "it is little"


@pytest.mark.parametrize("runs", [[], [{}], [{"a": AtHost(1.0, 0.5)}]])
def test_of_one_host_nothing_is_said(runs: list[dict[str, AtHost]]) -> None:
    assert notices(runs) == []
