"""What the loss of its worker means for one job, where a caller chooses it."""

import pytest

from tenure.core.errors import InvalidInput
from tenure.core.model.lanes import ASYNC
from tenure.core.model.loss import with_on_lost
from tenure.core.model.policy import OnLost, Policy
from tenure.core.model.spec import Spec
from tenure.core.values.documents import EMPTY


def test_a_caller_may_be_stricter_than_the_definition() -> None:
    spec = Spec(key="mail")
    strict = with_on_lost(spec.new_job(EMPTY), spec, OnLost.BURY)
    assert (strict.policy.on_lost, strict.policy.max_attempts) == (OnLost.BURY, 1)
    same = spec.new_job(EMPTY)
    assert with_on_lost(same, spec, OnLost.RETRY, max_attempts=5) == same


@pytest.mark.parametrize(
    ("spec", "on_lost", "max_attempts", "field"),
    [
        (Spec(key="mail", policy=Policy(on_lost=OnLost.BURY)), OnLost.RETRY, None, "on_lost"),
        (Spec(key="mail", lane=ASYNC), OnLost.BURY, None, "on_lost"),
        (Spec(key="mail"), OnLost.BURY, 2, "max_attempts"),
    ],
)
def test_what_cannot_be_promised_is_refused(
    spec: Spec, on_lost: OnLost, max_attempts: int | None, field: str
) -> None:
    with pytest.raises(InvalidInput) as refused:
        with_on_lost(spec.new_job(EMPTY), spec, on_lost, max_attempts)
    assert refused.value.field == field
