"""Policies as texts: read back as they are written, and never run."""

from __future__ import annotations

from importlib.metadata import EntryPoint

import pytest

from whichdo import policy_names
from whichdo.errors import UsageError
from whichdo.policy_names import available_policies, policy, policy_text, read_policy


@pytest.mark.parametrize("name", available_policies())
def test_a_name_is_a_policy_with_its_defaults(name: str) -> None:
    assert read_policy(name) == policy(name)
    assert policy_text(policy(name)) == name


@pytest.mark.parametrize(
    "text",
    [
        "srm(second_phase=rejects)",
        "srm(second_phase=rejects, pool=true)",
        "srm(prune_parents=false)",
        "warm-halving(caution=2.5)",
        "cb(truncation=0.25)",
        "importance(truncation=clip)",
    ],
)
def test_what_is_written_is_read_back(text: str) -> None:
    assert policy_text(read_policy(text)) == text
    assert read_policy(f" {text.replace('=', ' = ')} ") == read_policy(text)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("smr", 'There is no policy "smr". Did you mean'),
        ("", "is not a policy; write a name"),
        ("srm(", "is not a policy; write a name"),
        ("srm()x", "is not a policy; write a name"),
        ("srm" * 1000, "is not a policy; write a name"),
        ("srm(rejects)", '"rejects" is not a parameter; write name=value'),
        ("srm(second_phase=)", "is not a parameter; write name=value"),
        ("srm(phase=rejects)", 'srm has no parameter "phase".'),
        ("ue(x=1)", 'ue has no parameter "x". It has none.'),
        ("srm(pool=true,pool=true)", "pool is given twice"),
        ("srm(pool=1)", "it must be true or false"),
        ("srm(second_phase=both)", "must be uniform or rejects"),
        ("warm-halving(caution=much)", "it must be a number"),
        ("warm-halving(caution=nan)", "it must be a number"),
        ("warm-halving(caution=1_0)", "it must be a number"),
        ("warm-halving(caution=0)", "it must be above 0"),
        ("importance(laws=1)", 'in Python, whichdo.policy("importance", laws=...)'),
        ("srm(second_phase=__import__('os').abort())", "it must be uniform or rejects"),
    ],
)
def test_what_is_no_policy_is_told(text: str, said: str) -> None:
    with pytest.raises(UsageError) as refused:
        read_policy(text)
    assert said in str(refused.value)


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (
            "math:pi",
            r'a package offers it as math:pi, and UsageError: "3\.14\d+" is not a subclass of whichdo\.Policy\.',
        ),
        ("whichdo.policies.uniform:UniformExploration", 'UsageError: it registers itself as "ue"'),
        ("no_such_package:Best", "ModuleNotFoundError: No module named 'no_such_package'"),
    ],
)
def test_what_a_package_offers_wrongly_is_refused_when_somebody_asks_for_it(
    value: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(policy_names, "_refused", {})
    monkeypatch.setattr("importlib.metadata.entry_points", lambda group: [EntryPoint("another", value, group)])
    assert "ue" in available_policies()
    with pytest.raises(UsageError, match=f'The policy "another" cannot be used: .*{said}'):
        policy("another")


def test_a_listed_file_must_name_a_class(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WHICHDO_POLICIES", "my_policy.py")
    with pytest.raises(
        UsageError, match=r'"my_policy\.py" does not name a class in a file; write path/to/file\.py:Name'
    ):
        available_policies()
