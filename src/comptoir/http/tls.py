"""TLS: the certificate that the service presents, renewed without a restart."""

import logging
import ssl
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from cryptography.x509 import Certificate, load_pem_x509_certificates

from comptoir.auth.keys import read
from comptoir.config import Settings
from comptoir.errors import operator_rows as problems
from comptoir.errors.refusal import OperatorError

_log = logging.getLogger(__name__)


class Presented:
    """The certificate that this process presents; it ends in epoch seconds, 0 without one."""

    ends_at = 0.0


def renewing_context(settings: Settings) -> ssl.SSLContext:
    """The context of a server, which presents what the files of the settings contain.

    Each handshake checks whether the files have changed. While new content cannot be used, the
    service logs that once and presents the former certificate. Raises `OperatorError` like
    `checked_context`.
    """
    loaded, context = _fingerprints(settings), checked_context(settings)

    def present(
        connection: ssl.SSLSocket | ssl.SSLObject, _name: str | None, _: ssl.SSLContext
    ) -> None:
        nonlocal loaded, context
        found = _fingerprints(settings)
        if found != loaded:
            loaded = found
            try:
                context = checked_context(settings)
            except OperatorError as error:
                _log.warning("the former TLS certificate remains in use: %s", error)
        connection.context = context

    context.sni_callback = present
    return context


def _fingerprints(settings: Settings) -> Sequence[tuple[int, ...]]:
    """The fingerprints of the files, which differ after each change."""
    return [_version(Path(each)) for each in (settings.tls_certificate, settings.tls_key)]


def _version(path: Path) -> tuple[int, ...]:
    try:
        found = path.stat()
    except OSError:
        return ()
    return found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino


def checked_context(settings: Settings) -> ssl.SSLContext:
    """A context with the certificate of the settings; raises `OperatorError` if it is unusable."""
    certificate, key = Path(settings.tls_certificate), Path(settings.tls_key)
    try:
        # Debian lets the group ssl-cert read keys
        read(key, 0o027, "g-w,o-rwx")
        end = _check_period(certificate)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.options |= ssl.OP_NO_RENEGOTIATION
        # without a password, OpenSSL would ask for that of an encrypted key
        context.load_cert_chain(certificate, key, password="")
    except ssl.SSLError as error:
        reason = (error.reason or "unknown format").replace("_", " ").lower()
        raise problems.UNUSABLE_CERTIFICATE(
            certificate=certificate, key=key, reason=reason
        ) from error
    except OSError as error:
        raise problems.UNREADABLE_CERTIFICATE(path=error.filename, reason=error.strerror) from error
    Presented.ends_at = end.timestamp()
    return context


def certificate_of(path: Path) -> Certificate:
    """The first certificate of a PEM file; raises `OperatorError` if there is none."""
    try:
        return load_pem_x509_certificates(path.read_bytes())[0]
    except ValueError as error:
        raise problems.UNUSABLE_FILE(path=path, expected="a PEM certificate") from error


def _check_period(path: Path) -> datetime:
    """The end of a certificate; raises `OperatorError` if it is not valid now."""
    certificate = certificate_of(path)
    now = datetime.now(UTC)
    if now > certificate.not_valid_after_utc:
        ended = certificate.not_valid_after_utc.isoformat(" ", "seconds")
        raise problems.CERTIFICATE_EXPIRED(path=path, end=ended)
    if now < certificate.not_valid_before_utc:
        begins = certificate.not_valid_before_utc.isoformat(" ", "seconds")
        raise problems.CERTIFICATE_BEFORE_PERIOD(path=path, begin=begins)
    return certificate.not_valid_after_utc
