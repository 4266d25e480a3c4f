"""Names of values that are secret, unless a setting says otherwise."""

REDACTED = (
    *("*password*", "*passwd*", "*passphrase*", "*secret*", "*credential*", "*token", "*api_key", "*apikey"),
    *("*private_key", "*access_key", "authorization", "*_authorization", "cookie", "set_cookie"),
)
"""Names whose values are never shown; `*` matches anything."""
