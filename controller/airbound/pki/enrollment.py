# SPDX-License-Identifier: Apache-2.0
"""Who gets a certificate. The steps are those of EST (RFC 7030): a token gives a role and a name, once; from then on
the certificate that a client shows does.

Order makes it safe against crashes, and against two replicas at once. The certificate is signed first and written
into the token's record, by compare and set: so a token is used as often as it may be, and a device that lost the
answer gets the same certificate again. Then it is written into the record of the name, and only then given out: so
the revocation of a name finds every certificate of it.
"""

import asyncio
import base64
import datetime
from collections.abc import Callable
from dataclasses import dataclass, replace

from cryptography import x509
from cryptography.hazmat.primitives import serialization

from airbound.core.reasons import Code, Reason, RefusedError
from airbound.pki.authority import Authority, fingerprint_of
from airbound.pki.certificates import Certificate, serial_of_text, serial_text
from airbound.pki.enrolled_count import EnrolledCount
from airbound.pki.identities import CLIENT_ROLES, CONTROLLER, CertificateRole, Identity
from airbound.pki.records import (
    ENROLLED,
    REVOKED,
    TOKENS,
    Enrolled,
    Issued,
    Origin,
    Record,
    RecordError,
    Revoked,
    TokenRecord,
    TokenUse,
    decoded,
    encoded,
)
from airbound.pki.requests import key_sha256, public_key_of
from airbound.pki.revocation import UNKNOWN_LIFETIME_S, Revocations
from airbound.pki.tokens import EnrollmentToken
from airbound.store.types import Store, StoreError

SAME_KEY_AGAIN_S = 600
# So long after its end a token is refused as ended, not as unknown.
TOKEN_KEPT_S = 86_400
TOKEN_LIFETIME_MAX_S = 30 * 86_400
TOKEN_USES_MAX = 10_000
CERTIFICATES_MAX = 16
ATTEMPTS_MAX = 100
COUNTED_AT_ONCE = 200  # records; some milliseconds
REASON_MAX_CHARACTERS = 256


@dataclass(frozen=True, slots=True)
class Lifetimes:
    """Of new certificates."""

    agents: datetime.timedelta = datetime.timedelta(days=30)
    operators: datetime.timedelta = datetime.timedelta(days=30)

    def validity(self, identity: Identity) -> datetime.timedelta:
        """By role."""
        return self.operators if identity.role == "operator" else self.agents


@dataclass(frozen=True, slots=True)
class Credentials:
    """What a client gets, DER: its certificate, and all authorities to be trusted, the signer first."""

    certificate: bytes
    authorities: tuple[bytes, ...]


@dataclass(frozen=True, slots=True)
class NewToken:
    """A token that was made."""

    token: EnrollmentToken
    expires_at_s: int
    valid_certificates: int  # that its name has already


@dataclass(frozen=True, slots=True)
class Revocation:
    """What a revocation did: the certificates that were not revoked before, how many streams of this controller ended,
    how many tokens, used ones included, are no longer known.
    """

    serials: tuple[int, ...]
    streams: int
    tokens: int


class Enrollment:
    """Tokens and certificates of one authority. `now_s` is the time since 1970; `report` is called with what is wrong
    in the store.

    Every method raises StoreError if the store does not answer, and RecordError if the one record that it is about
    cannot be read.
    """

    def __init__(
        self,
        store: Store,
        *,
        authority: Callable[[], Authority],
        revocations: Revocations,
        lifetimes: Lifetimes,
        now_s: Callable[[], float],
        report: Callable[[str], None],
    ) -> None:
        self._report = report
        self._store = store
        self._authority = authority
        self._revocations = revocations
        self._lifetimes = lifetimes
        self._now_s = now_s
        self._recorded: dict[int, None] = {}  # serial numbers that `record` has seen

    @property
    def authority(self) -> Authority:
        """That signs now."""
        return self._authority()

    async def new_token(self, identity: Identity, uses: int, lifetime_s: int) -> NewToken:
        """Make a token.

        Raises:
            ValueError: it would be for a controller, have no or too many uses, or last too long.
        """
        if identity.role == CONTROLLER:
            raise ValueError("controllers get their certificates where the authority's key is: airbound ca controller")
        if not 1 <= uses <= TOKEN_USES_MAX:
            raise ValueError(f"uses = {uses}: expected 1 to {TOKEN_USES_MAX}")
        if not 1 <= lifetime_s <= TOKEN_LIFETIME_MAX_S:
            raise ValueError(f"a life of {lifetime_s} s: expected 1 to {TOKEN_LIFETIME_MAX_S}")
        token = EnrollmentToken.new(self.authority.fingerprint)
        expires_at_s = int(self._now_s()) + lifetime_s
        record = TokenRecord(identity.role, identity.name, uses, expires_at_s)
        ttl_ms = (lifetime_s + TOKEN_KEPT_S) * 1000
        await self._store.put(TOKENS, token.secret_sha256(), encoded(record), ttl_ms=ttl_ms)
        return NewToken(token, expires_at_s, await self._valid(identity))

    async def enroll(self, token_text: str, request: bytes, role: str = "") -> Credentials:
        """A certificate for whom the token was made, who must have the role unless that is empty.

        Raises:
            RefusedError: the token or the request is not good for one.
        """
        key = public_key_of(request)
        try:
            token = EnrollmentToken.of_text(token_text)
        except ValueError as error:
            raise RefusedError(Reason(Code.TOKEN_UNKNOWN)) from error
        name, fingerprint = token.secret_sha256(), key_sha256(key)
        for _ in range(ATTEMPTS_MAX):
            value = await self._store.get(TOKENS, name)
            if value is None:
                raise RefusedError(Reason(Code.TOKEN_UNKNOWN))
            record = decoded(TokenRecord, value)
            if role not in {"", record.role}:  # the device cannot use it, and the token is not used up
                raise RefusedError(Reason(Code.TOKEN_OF_ANOTHER_ROLE, record.role))
            identity = Identity(record.role, record.name)
            use = self._use_again(record, fingerprint)
            if use is None:
                self._check(record)
                await self._check_room(identity)
                authority, now = self.authority, self._now()
                certificate = authority.sign(identity, key, self._lifetimes.validity(identity), now)
                der = certificate.public_bytes(serialization.Encoding.DER)
                text = base64.b64encode(der).decode()
                use = TokenUse(fingerprint, int(self._now_s()), text, authority.fingerprint.hex())
                after = encoded(replace(record, used=(*record.used, use)))
                ttl_s = max(record.expires_at_s - self._now_s(), SAME_KEY_AGAIN_S) + TOKEN_KEPT_S
                if not await self._store.replace(TOKENS, name, value, after, ttl_ms=round(ttl_s * 1000)):
                    continue  # another device used it at the same moment
            der = base64.b64decode(use.certificate)
            await self._write(identity, x509.load_der_x509_certificate(der), fingerprint, "token")
            if await self._store.get(TOKENS, name) is None:  # its name was revoked meanwhile
                raise RefusedError(Reason(Code.TOKEN_UNKNOWN))
            return self._credentials(der, use.authority)
        raise StoreError(f"a record of the kind {TOKENS} changed {ATTEMPTS_MAX} times while it was written")

    def _use_again(self, record: TokenRecord, fingerprint: str) -> TokenUse | None:
        """The use of a device whose answer was lost."""
        for use in record.used:
            if use.key_sha256 == fingerprint and self._now_s() < use.at_s + SAME_KEY_AGAIN_S:
                return use
        return None

    def _check(self, record: TokenRecord) -> None:
        if len(record.used) >= record.uses:
            raise RefusedError(Reason(Code.TOKEN_USED, limit=record.uses))
        if self._now_s() >= record.expires_at_s:
            raise RefusedError(Reason(Code.TOKEN_EXPIRED))

    async def renew(self, certificate: Certificate, request: bytes) -> Credentials:
        """Another certificate for whom has this one.

        Raises:
            RefusedError: it is revoked or over, or the request is not good for one.
        """
        self._revocations.check(certificate)
        key = public_key_of(request)
        identity = certificate.identity
        if identity.role == CONTROLLER:
            raise RefusedError(Reason(Code.WRONG_ROLE, str(identity)))
        await self.record(certificate)
        await self._check_room(identity)
        authority = self.authority
        made = authority.sign(identity, key, self._lifetimes.validity(identity), self._now())
        await self._write(identity, made, key_sha256(key), "renewal")
        if await self._store.get(REVOKED, serial_text(certificate.serial)) is not None:  # meanwhile
            raise RefusedError(Reason(Code.CERTIFICATE_REVOKED, serial_text(certificate.serial)))
        der = made.public_bytes(serialization.Encoding.DER)
        return self._credentials(der, authority.fingerprint.hex())

    def issued(self, credentials: Credentials) -> Certificate:
        """What was made."""
        return Certificate.from_x509(
            x509.load_der_x509_certificate(credentials.certificate), self.authority.trust_domain
        )

    async def record(self, certificate: Certificate) -> None:
        """Write down a certificate that was issued by a command, where the authority's key is: by its name, those are
        found that revoke it.
        """
        if certificate.serial in self._recorded:
            return
        while len(self._recorded) >= CERTIFICATES_MAX * CERTIFICATES_MAX:
            del self._recorded[next(iter(self._recorded))]
        serial = serial_text(certificate.serial)
        issued = Issued(serial, int(self._now_s()), certificate.not_after_s, "", "command")
        await self._change(
            certificate.identity, lambda enrolled: enrolled if enrolled.has(serial) else enrolled.plus(issued)
        )
        self._recorded[certificate.serial] = None

    async def enrolled(self, role: str = "") -> list[Enrolled]:
        """Who has a certificate that has not ended, by role and name."""
        now_s = self._now_s()
        found = [self._read(Enrolled, *item) for item in (await self._store.records(ENROLLED)).items()]
        valid = [record.valid(now_s) for record in found if record is not None]
        chosen = [record for record in valid if record.certificates and role in {"", record.role}]
        return sorted(chosen, key=lambda record: (record.role, record.name))

    async def counts(self) -> dict[CertificateRole, EnrolledCount]:
        """How many names of each role have a certificate that is neither over nor revoked. Lets others have the event
        loop after COUNTED_AT_ONCE records each: there may be thousands.

        Raises:
            StoreError: the store does not answer.
        """
        counts: dict[CertificateRole, EnrolledCount] = dict.fromkeys(CLIENT_ROLES, EnrolledCount())
        for number, (name, value) in enumerate((await self._store.records(ENROLLED)).items(), 1):
            record = self._read(Enrolled, name, value)
            if record is not None:
                is_revoked = self._revocations.is_revoked
                good = [item for item in record.certificates if not is_revoked(serial_of_text(item.serial))]
                counts[record.role] = counts.get(record.role, EnrolledCount()).plus(good, self._now_s())
            if number % COUNTED_AT_ONCE == 0:
                await asyncio.sleep(0)
        return counts

    async def revoke(self, identity: Identity, reason: str) -> Revocation:
        """Revoke every certificate of a role and name, and its tokens.

        Raises:
            LookupError: there is nothing of it that has not ended.
        """
        tokens = await self._remove_tokens(identity)  # before the certificates: see `enroll`
        enrolled, _ = await self._enrolled(identity)
        if not enrolled.certificates and not tokens:
            raise LookupError(f"no certificate or token of {identity} is known that has not ended")
        done: dict[int, Revoked] = {}
        ended = 0
        for _ in range(ATTEMPTS_MAX):
            # Again until nothing was issued meanwhile: a renewal that was under way is found in the record.
            enrolled, _ = await self._enrolled(identity)
            found = {serial_of_text(item.serial): item.not_after_s for item in enrolled.certificates}
            fresh = {
                serial: self._revoked(identity, not_after_s, reason)
                for serial, not_after_s in found.items()
                if serial not in done and not self._revocations.is_revoked(serial)
            }
            if not fresh:
                return Revocation(tuple(done), ended, tokens)
            ended += await self._revocations.add(fresh)
            done |= fresh
        raise StoreError(f"{identity} got certificates as fast as they were revoked")

    async def revoke_serial(self, serial: int, reason: str) -> Revocation:
        """Revoke one certificate, known or not."""
        if self._revocations.is_revoked(serial):
            return Revocation((), 0, 0)
        text, now_s = serial_text(serial), self._now_s()
        record = Revoked("", "", int(now_s) + UNKNOWN_LIFETIME_S, int(now_s), reason[:REASON_MAX_CHARACTERS])
        for enrolled in await self.enrolled():
            for item in enrolled.certificates:
                if item.serial == text:
                    record = self._revoked(Identity(enrolled.role, enrolled.name), item.not_after_s, reason)
        return Revocation((serial,), await self._revocations.add({serial: record}), 0)

    def _revoked(self, identity: Identity, not_after_s: int, reason: str) -> Revoked:
        now_s = int(self._now_s())
        return Revoked(identity.role, identity.name, not_after_s, now_s, reason[:REASON_MAX_CHARACTERS])

    async def _remove_tokens(self, identity: Identity) -> int:
        removed = 0
        for name, value in (await self._store.records(TOKENS)).items():
            record = self._read(TokenRecord, name, value)
            if record is not None and (record.role, record.name) == (identity.role, identity.name):
                removed += await self._store.remove(TOKENS, name)
        return removed

    def _read(self, kind: type[Record], name: str, value: bytes) -> Record | None:
        """A record of a list: one that cannot be read is logged, and the others count."""
        try:
            return decoded(kind, value)
        except RecordError as error:
            self._report(f"{name}: {error}; it is ignored")
            return None

    async def _check_room(self, identity: Identity) -> None:
        if await self._valid(identity) >= CERTIFICATES_MAX:
            raise RefusedError(Reason(Code.TOO_MANY_CERTIFICATES, limit=CERTIFICATES_MAX))

    async def _valid(self, identity: Identity) -> int:
        """How many certificates it has that are neither over nor revoked."""
        enrolled, _ = await self._enrolled(identity)
        return sum(not self._revocations.is_revoked(serial_of_text(item.serial)) for item in enrolled.certificates)

    async def _enrolled(self, identity: Identity) -> tuple[Enrolled, bytes | None]:
        """The record of a name without what has ended, and as it is in the store."""
        value = await self._store.get(ENROLLED, str(identity))
        if value is None:
            return Enrolled(identity.role, identity.name, int(self._now_s())), None
        return decoded(Enrolled, value).valid(self._now_s()), value

    async def _write(self, identity: Identity, made: x509.Certificate, fingerprint: str, origin: Origin) -> None:
        """Have a certificate in the record of its name."""
        serial = serial_text(made.serial_number)
        not_after_s = int(made.not_valid_after_utc.timestamp())
        issued = Issued(serial, int(self._now_s()), not_after_s, fingerprint, origin)
        await self._change(identity, lambda enrolled: enrolled if enrolled.has(serial) else enrolled.plus(issued))

    async def _change(self, identity: Identity, change: Callable[[Enrolled], Enrolled]) -> None:
        for _ in range(ATTEMPTS_MAX):
            before, value = await self._enrolled(identity)
            after = change(before)
            if value is not None and after == before:
                return
            ends_s = max((item.not_after_s for item in after.certificates), default=0)
            ttl_ms = max(1, round((ends_s - self._now_s()) * 1000))
            if value is None:
                if await self._store.add(ENROLLED, str(identity), encoded(after), ttl_ms=ttl_ms) == encoded(after):
                    return
            elif await self._store.replace(ENROLLED, str(identity), value, encoded(after), ttl_ms=ttl_ms):
                return
        raise StoreError(f"a record of the kind {ENROLLED} changed {ATTEMPTS_MAX} times while it was written")

    def _credentials(self, der: bytes, signer: str) -> Credentials:
        """With the authorities of now; one that was replaced since it signed stays the first."""
        trusted = self.authority.trusted
        first = [item for item in trusted if fingerprint_of(item).hex() == signer]
        ordered = first + [item for item in trusted if item not in first]
        return Credentials(der, tuple(item.public_bytes(serialization.Encoding.DER) for item in ordered))

    def _now(self) -> datetime.datetime:
        return datetime.datetime.fromtimestamp(self._now_s(), datetime.UTC)
