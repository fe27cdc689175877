from comptoir.auth.challenge import invalid_token, missing_credentials


def test_a_description_holds_only_what_rfc_6750_lets_it_hold() -> None:
    refusal = invalid_token('for "us"\r\nSet-Cookie: é\\')
    assert refusal.headers["WWW-Authenticate"] == (
        """Bearer error="invalid_token", error_description="for 'us'''Set-Cookie: ''" """.strip()
    )


def test_missing_credentials_are_challenged_without_an_error() -> None:
    challenge = missing_credentials("Send a token.").headers["WWW-Authenticate"]
    assert challenge == 'Bearer realm="comptoir"'
