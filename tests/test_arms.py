"""Arms by themselves: sets of settings that compare, hash, travel and are read from text."""

from __future__ import annotations

import copy
import itertools
import json
import pickle
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whichdo.arms import LOOK, Arm, ArmTexts, do
from whichdo.errors import ProblemError, UsageError
from whichdo.problem import Problem

NAMES = ["X", "Z", "a b", "p,q", "r=s", "f(x)", "é", "X,Z", "1"]
VALUES: list[Any] = [0, 1, "low", "a, b", "x=1", "(", ")", "0,Z=1"]


def test_the_order_of_names_does_not_matter() -> None:
    assert do(X=1, Z=0) == do(Z=0, X=1) == do({"Z": 0}, X=1)
    assert hash(do(X=1, Z=0)) == hash(do(Z=0, X=1))
    assert str(do(Z=0, X=1)) == repr(do(Z=0, X=1)) == "do(X=1, Z=0)"
    assert do(X=1, Z=0) != do(X=0, Z=1)
    assert do(X=1, Z=0) != do(X=1)
    assert do(X=1) != "do(X=1)"


def test_an_arm_tells_its_settings_targets_and_kind() -> None:
    arm = do(Z=0, X=1, Ö=1, a=1)
    assert arm.targets == ("X", "Z", "a", "Ö")  # by code point
    assert list(arm.settings.items()) == [("X", 1), ("Z", 0), ("a", 1), ("Ö", 1)]
    assert (arm.is_look, arm.is_joint) == (False, True)
    assert (do().is_look, do().targets, dict(do().settings), do().is_joint) == (True, (), {}, False)
    assert not do(X=1).is_joint
    assert do() is LOOK


def test_an_arm_cannot_be_changed() -> None:
    arm = do(X=1)
    with pytest.raises(TypeError):
        arm.settings["X"] = 0  # type: ignore[index]
    with pytest.raises(AttributeError, match="cannot be changed"):
        arm.targets = ("Z",)
    with pytest.raises(AttributeError, match="cannot be changed"):
        del arm.settings
    given = {"X": 1}
    kept = Arm(given)
    given["X"] = 0
    assert kept == do(X=1)


def test_an_arm_has_no_node_and_no_value() -> None:
    assert not hasattr(do(X=1), "node")
    assert not hasattr(do(X=1), "value")


def test_an_arm_travels_to_other_processes() -> None:
    for arm in (do(), do(X=1), do(X="low", Z=0.5)):
        for again in (pickle.loads(pickle.dumps(arm)), copy.copy(arm), copy.deepcopy(arm)):
            assert (again, hash(again), str(again)) == (arm, hash(arm), str(arm))


def test_an_arm_as_json() -> None:
    assert do(Z=0, X="low").to_dict() == {"settings": {"X": "low", "Z": 0}, "text": "do(X=low, Z=0)"}
    assert json.loads(json.dumps(do(X=1).to_dict())) == {"settings": {"X": 1}, "text": "do(X=1)"}
    assert do().to_dict() == {"settings": {}, "text": "do()"}


@pytest.mark.parametrize(("first", "second"), [({"X": 1}, {"X": 0}), ({"X": 1}, {"X": 1})])
def test_a_node_is_set_once(first: dict[str, Any], second: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match='An arm sets a node once; "X" is set twice'):
        do(first, **second)
    with pytest.raises(UsageError, match='"é" is set twice'):
        do({"\u00e9": 1, "e\u0301": 0})


def test_any_order_of_names_and_blanks_is_read() -> None:
    problem = Problem("X -> Y; Z -> Y; W -> Y", "Y", arms=[do(X=1, Z=0), do(X=1, Z=0, W=1), do(X=1)])
    for text in ("do(X=1, Z=0)", "do(Z=0,X=1)", " do( Z = 0 , X=1 ) "):
        assert problem.arm(text) is problem.arms[1]
    for order in itertools.permutations(["X=1", "Z=0", "W=1"]):
        assert problem.arm(f"do({','.join(order)})") is problem.arms[2]
    for text in (
        "do(X=1, Z=1)",
        "do(Z=0)",
        "do(X=1, Z=0, Z=0)",
        "do(X=1; Z=0)",
        "X=1, Z=0",
        "do(X=1, Z=0",
        "do(,X=1Z=0)",
    ):
        with pytest.raises(ProblemError, match="is not an arm of this problem"):
            problem.arm(text)
        assert problem.find_arm(text) is None


@given(st.data())
def test_awkward_names_and_values_are_read_in_any_order(data: st.DataObject) -> None:
    """Whatever is read is the arm that was written, unless another arm's own text is the same."""
    settings = st.dictionaries(st.sampled_from(NAMES), st.sampled_from(VALUES), max_size=4)
    arms = data.draw(
        st.lists(settings.map(do), min_size=1, max_size=8, unique_by=lambda arm: str(arm).replace(" ", ""))
    )
    texts = ArmTexts(arms)
    own = {str(arm).replace(" ", ""): arm for arm in arms}
    for arm in arms:
        assert texts.find(str(arm)) is arm
        parts = data.draw(st.permutations([f"{name}={value}" for name, value in arm.settings.items()]))
        text = f"do({', '.join(parts)})"
        try:
            assert texts.find(text) is own.get(text.replace(" ", ""), arm)
        except ProblemError as error:
            assert "can be read as" in str(error)  # noqa: PT017 - only if it can


def test_a_text_of_two_meanings_is_refused_and_an_arm_goes_by_its_own_text() -> None:
    nested, plain = do(A="1,C=3", B=2), do(A=1, B=2, C=3)
    texts = ArmTexts([nested, plain])
    assert texts.find("do(A=1,C=3,B=2)") is nested
    assert texts.find("do(A=1,B=2,C=3)") is plain
    with pytest.raises(ProblemError, match=r"can be read as do\(A=1,C=3, B=2\) and do\(A=1, B=2, C=3\)"):
        texts.find("do(B=2,A=1,C=3)")
    with pytest.raises(ProblemError, match="Two arms read alike"):
        ArmTexts([do(A="1,B=2", C=3), do(A=1, B="2,C=3")])
