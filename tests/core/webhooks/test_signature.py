from datetime import UTC, datetime
from uuid import UUID

import pytest
from standardwebhooks import Webhook

from tenure.core.errors import InvalidInput
from tenure.core.webhooks import signature
from tenure.core.webhooks.signature import SignedMessage, derived_secret, key_of, random_secret

WEBHOOK = UUID(int=7)
AT = datetime(2026, 1, 2, 3, 4, 5, 600_000, tzinfo=UTC)


def test_the_standard_s_own_example_is_signed_as_it_says() -> None:
    """The values are those of the specification."""
    signed = SignedMessage("msg_p5jXN8AQM9LWM0D4loKWxJek", 1_614_265_330, b'{"test": 2432232314}')
    key = key_of("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
    assert signature.signature(signed, key) == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


def test_a_message_is_signed_as_the_reference_signs_it() -> None:
    """S1.73"""
    secret = random_secret()
    headers = signature.signed_headers("msg_1", AT, b'{"a":"\xc3\xa9"}', [secret])
    assert headers["webhook-signature"] == Webhook(secret).sign("msg_1", AT, '{"a":"é"}')
    assert headers["webhook-timestamp"] == "1767323045"


def test_two_secrets_make_two_signatures() -> None:
    old, new = random_secret(), random_secret()
    headers = signature.signed_headers("msg_1", AT, b"{}", [new, old])
    alone = [signature.signed_headers("msg_1", AT, b"{}", [one])[signature.SIGNATURE] for one in (new, old)]
    assert headers[signature.SIGNATURE].split(" ") == alone


def test_a_derived_secret_follows_from_key_webhook_and_rotation_alone() -> None:
    secret = derived_secret("k" * 32, WEBHOOK, 1)
    assert secret == derived_secret("k" * 32, WEBHOOK, 1)
    others = {
        derived_secret("j" * 32, WEBHOOK, 1),
        derived_secret("k" * 32, UUID(int=8), 1),
        derived_secret("k" * 32, WEBHOOK, 2),
    }
    assert len({secret, *others}) == 4
    assert len(key_of(secret)) == 32


def test_random_secrets_differ_and_are_of_the_length_that_the_standard_asks_for() -> None:
    assert random_secret() != random_secret()
    assert 24 <= len(key_of(random_secret())) <= 64


@pytest.mark.parametrize(
    "secret", ["", "whsec_", "whsec_c2hvcnQ=", "whsec_%%%", "é" * 40, "whsec_" + "QUJD" * 30]
)
def test_what_is_no_secret_is_refused_and_not_shown(secret: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        key_of(secret)
    assert caught.value.field == "secret"
    assert len(secret) < 8 or secret not in str(caught.value)
