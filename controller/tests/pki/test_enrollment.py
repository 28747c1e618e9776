# SPDX-License-Identifier: Apache-2.0
"""Tokens, certificates and revocations at a store, with every refusal; nothing here depends on the wall clock."""

import asyncio
import datetime
from collections.abc import AsyncIterator, Callable
from dataclasses import replace

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec

from airbound.core.reasons import Code, RefusedError
from airbound.pki.authority import Authority, create, new_key
from airbound.pki.certificates import Certificate, serial_text
from airbound.pki.enrollment import CERTIFICATES_MAX, COUNTED_AT_ONCE, Enrollment, Lifetimes
from airbound.pki.identities import Identity
from airbound.pki.records import ENROLLED, REVOKED, TOKENS, Enrolled, Issued, RecordError, TokenRecord, decoded, encoded
from airbound.pki.revocation import Revocations
from airbound.store.memory import Memory, MemoryStore
from airbound.store.types import StoreError
from airbound_testing.pki import request

DOMAIN = "wifi.example"
START_S = 1_900_000_000.0
DAY_S = 86_400
PHONE = Identity("terminal", "phone-1")


def csr(key: ec.EllipticCurvePrivateKey) -> bytes:
    return request(key, hashes.SHA256())


class Replica:
    """One controller's enrolment at a store that others may share."""

    def __init__(self, store: MemoryStore, authority: Authority, now_s: Callable[[], float]) -> None:
        self.store = store
        self.reports: list[str] = []
        self.ended: list[frozenset[int]] = []
        self.authority = authority
        self.revocations = Revocations(store, now_s, self.reports.append)
        self.revocations.listen(self._ended)
        self.enrollment = Enrollment(
            store,
            authority=lambda: self.authority,
            revocations=self.revocations,
            lifetimes=Lifetimes(agents=datetime.timedelta(days=30), operators=datetime.timedelta(days=10)),
            now_s=now_s,
            report=self.reports.append,
        )

    def _ended(self, serials: frozenset[int]) -> int:
        self.ended.append(serials)
        return len(serials)

    async def token(self, identity: Identity = PHONE, uses: int = 1, lifetime_s: int = DAY_S) -> str:
        return (await self.enrollment.new_token(identity, uses, lifetime_s)).token.text()

    async def enroll(self, token: str, key: ec.EllipticCurvePrivateKey | None = None, role: str = "") -> Certificate:
        credentials = await self.enrollment.enroll(token, csr(key or new_key()), role)
        return self.enrollment.issued(credentials)

    async def renew(self, certificate: Certificate) -> Certificate:
        return self.enrollment.issued(await self.enrollment.renew(certificate, csr(new_key())))


class World:
    """Replicas of one store, and the time."""

    def __init__(self) -> None:
        self.now_s = START_S
        self.authority = create(DOMAIN, datetime.datetime.fromtimestamp(START_S, datetime.UTC))
        self.memory = Memory(now_ms=lambda: round(self.now_s * 1000))
        self.stores: list[MemoryStore] = []

    async def replica(self, store: type[MemoryStore] = MemoryStore) -> Replica:
        made = store(self.memory)
        await made.start(f"r{len(self.stores)}", lambda _: None, lambda: None)
        self.stores.append(made)
        return Replica(made, self.authority, lambda: self.now_s)


@pytest.fixture
async def world() -> AsyncIterator[World]:
    made = World()
    yield made
    for store in made.stores:
        await store.close()


@pytest.fixture
async def site(world: World) -> Replica:
    return await world.replica()


async def refused(call: object, code: Code) -> None:
    with pytest.raises(RefusedError) as caught:
        await call  # type: ignore[misc]
    assert caught.value.reason.code is code


async def test_a_token_gives_a_certificate_for_its_role_and_name(site: Replica, world: World) -> None:
    key = new_key()
    credentials = await site.enrollment.enroll(await site.token(), csr(key))
    certificate = x509.load_der_x509_certificate(credentials.certificate)
    assert certificate.public_key() == key.public_key()
    assert [x509.load_der_x509_certificate(der) for der in credentials.authorities] == [world.authority.certificate]
    found = site.enrollment.issued(credentials)
    assert found.identity == PHONE
    assert found.not_after_s == START_S + 30 * DAY_S
    (enrolled,) = await site.enrollment.enrolled()
    assert (enrolled.role, enrolled.name, enrolled.enrolled_at_s) == ("terminal", "phone-1", START_S)
    assert [(item.serial, item.origin) for item in enrolled.certificates] == [(serial_text(found.serial), "token")]
    operator = await site.enroll(await site.token(Identity("operator", "alice")))
    assert operator.not_after_s == START_S + 10 * DAY_S


async def test_the_store_has_no_secret(site: Replica) -> None:
    token = (await site.enrollment.new_token(PHONE, 1, 60)).token
    for kind in (TOKENS, ENROLLED):
        for name, value in (await site.store.records(kind)).items():
            for secret in (token.secret, token.secret.hex().encode(), token.text().encode()):
                assert secret not in name.encode() + value


async def test_a_token_is_used_as_often_as_it_may_be(site: Replica) -> None:
    token = await site.token(uses=2)
    serials = {(await site.enroll(token)).serial for _ in range(2)}
    assert len(serials) == 2
    await refused(site.enroll(token), Code.TOKEN_USED)


async def test_a_lost_answer_is_given_again_to_the_same_key_for_ten_minutes(site: Replica, world: World) -> None:
    token, key = await site.token(lifetime_s=60), new_key()
    first = await site.enrollment.enroll(token, csr(key))
    world.now_s += 599
    assert await site.enrollment.enroll(token, csr(key)) == first  # although the token's own time is over
    (enrolled,) = await site.enrollment.enrolled()
    assert len(enrolled.certificates) == 1
    await refused(site.enroll(token), Code.TOKEN_USED)  # another key
    world.now_s += 1
    await refused(site.enroll(token, key), Code.TOKEN_USED)


async def test_a_device_that_lost_the_answer_takes_no_use_from_others(site: Replica) -> None:
    token, key = await site.token(uses=2), new_key()
    one = await site.enroll(token, key)
    assert await site.enroll(token, key) == one
    await site.enroll(token)
    assert await site.enroll(token, key) == one


async def test_an_answer_is_given_again_after_the_authority_was_replaced(site: Replica, world: World) -> None:
    token, key = await site.token(), new_key()
    first = await site.enrollment.enroll(token, csr(key))
    after = create(DOMAIN, datetime.datetime.fromtimestamp(START_S, datetime.UTC))
    site.authority = replace(after, also_trusted=(world.authority.certificate,))
    again = await site.enrollment.enroll(token, csr(key))
    assert again.certificate == first.certificate
    signer, other = (x509.load_der_x509_certificate(der) for der in again.authorities)
    assert (signer, other) == (world.authority.certificate, after.certificate)
    assert (await site.enroll(await site.token())).identity == PHONE


async def test_a_token_for_another_role_is_refused_and_not_used_up(site: Replica, world: World) -> None:
    token, key = await site.token(lifetime_s=60), new_key()
    for role in ("access-point", "operator", "no role"):
        await refused(site.enroll(token, key, role), Code.TOKEN_OF_ANOTHER_ROLE)
    assert await site.enrollment.enrolled() == []
    made = await site.enroll(token, key, "terminal")
    assert made.identity == PHONE
    await refused(site.enroll(token, key, "access-point"), Code.TOKEN_OF_ANOTHER_ROLE)  # nor a lost answer
    assert await site.enroll(token, key) == made  # by an agent that names none
    world.now_s += 60
    await refused(site.enroll(token, role="access-point"), Code.TOKEN_OF_ANOTHER_ROLE)


async def test_a_token_that_is_over_unknown_or_none(site: Replica, world: World) -> None:
    token, later = await site.token(lifetime_s=60), await site.token(lifetime_s=61)
    world.now_s += 60
    await refused(site.enroll(token), Code.TOKEN_EXPIRED)
    await site.enroll(later)
    await refused(site.enroll(token[:2] + ("A" if token[2] != "A" else "B") + token[3:]), Code.TOKEN_UNKNOWN)
    await refused(site.enroll(token[:-1]), Code.TOKEN_UNKNOWN)
    await refused(site.enroll(""), Code.TOKEN_UNKNOWN)
    world.now_s += DAY_S
    await refused(site.enroll(token), Code.TOKEN_UNKNOWN)  # forgotten


async def test_of_many_devices_at_once_as_many_get_a_certificate_as_may(world: World) -> None:
    replicas = [await world.replica(Slow) for _ in range(3)]
    token = await replicas[0].token(uses=4)
    tries = [replicas[number % 3].enroll(token) for number in range(30)]
    results = await asyncio.gather(*tries, return_exceptions=True)
    made = [result for result in results if isinstance(result, Certificate)]
    codes = [result.reason.code for result in results if isinstance(result, RefusedError)]
    assert len({certificate.serial for certificate in made}) == len(made) == 4
    assert codes == [Code.TOKEN_USED] * 26
    (enrolled,) = await replicas[0].enrollment.enrolled()
    assert {item.serial for item in enrolled.certificates} == {serial_text(item.serial) for item in made}


class Slow(MemoryStore):
    """Has others run between any two calls, as a network does."""

    async def get(self, kind: str, name: str) -> bytes | None:
        value = await super().get(kind, name)
        await asyncio.sleep(0)
        return value


async def test_one_device_that_asks_at_many_replicas_gets_one_certificate(world: World) -> None:
    replicas = [await world.replica(Slow) for _ in range(3)]
    token, key = await replicas[0].token(), new_key()
    made = await asyncio.gather(*(replica.enroll(token, key) for replica in replicas * 3))
    assert len({certificate.serial for certificate in made}) == 1


@pytest.mark.parametrize(
    ("identity", "uses", "lifetime_s", "complaint"),
    [
        (Identity("controller", "c"), 1, 60, "airbound ca controller"),
        (PHONE, 0, 60, "uses = 0"),
        (PHONE, 10_001, 60, "uses = 10001"),
        (PHONE, 1, 0, "a life of 0 s"),
        (PHONE, 1, 31 * DAY_S, "a life of"),
    ],
)
async def test_tokens_that_are_not_made(
    site: Replica, identity: Identity, uses: int, lifetime_s: int, complaint: str
) -> None:
    with pytest.raises(ValueError, match=complaint):
        await site.enrollment.new_token(identity, uses, lifetime_s)
    assert await site.store.records(TOKENS) == {}


async def test_a_certificate_is_renewed(site: Replica, world: World) -> None:
    first = await site.enroll(await site.token())
    world.now_s += 20 * DAY_S
    second = await site.renew(first)
    assert (second.identity, second.not_after_s) == (PHONE, START_S + 50 * DAY_S)
    (enrolled,) = await site.enrollment.enrolled()
    assert [item.origin for item in enrolled.certificates] == ["token", "renewal"]
    world.now_s += 10 * DAY_S
    await refused(site.renew(first), Code.CERTIFICATE_EXPIRED)
    (enrolled,) = await site.enrollment.enrolled()
    assert [item.serial for item in enrolled.certificates] == [serial_text(second.serial)]
    world.now_s += 20 * DAY_S
    assert await site.enrollment.enrolled() == []
    assert await site.store.records(ENROLLED) == {}


async def test_controllers_renew_nothing_here(site: Replica) -> None:
    controller = Certificate(1, Identity("controller", "c"), int(START_S) + 60)
    await refused(site.enrollment.renew(controller, csr(new_key())), Code.WRONG_ROLE)


async def test_a_name_has_a_limited_number_of_certificates(site: Replica) -> None:
    token = await site.token(uses=100)
    for _ in range(CERTIFICATES_MAX):
        certificate = await site.enroll(token)
    await refused(site.enroll(token), Code.TOO_MANY_CERTIFICATES)
    await refused(site.renew(certificate), Code.TOO_MANY_CERTIFICATES)
    await site.enroll(await site.token(Identity("terminal", "phone-2")))
    records = [decoded(TokenRecord, value) for value in (await site.store.records(TOKENS)).values()]
    assert {len(record.used) for record in records} == {CERTIFICATES_MAX, 1}  # what was refused took no use
    await site.enrollment.revoke(PHONE, "")
    await site.enroll(await site.token())


async def test_revoking_a_name_revokes_all_its_certificates_and_tokens(site: Replica, world: World) -> None:
    token = await site.token(uses=2)
    first = await site.enroll(token)
    second = await site.renew(first)
    other = await site.enroll(await site.token(Identity("terminal", "phone-2")))
    done = await site.enrollment.revoke(PHONE, "stolen")
    assert set(done.serials) == {first.serial, second.serial}
    assert (done.streams, done.tokens) == (2, 1)
    assert site.ended == [frozenset(done.serials)]
    await refused(site.renew(second), Code.CERTIFICATE_REVOKED)
    await refused(site.enroll(token), Code.TOKEN_UNKNOWN)
    await site.renew(other)
    assert (await site.revocations.reasons())[first.serial] == "stolen"
    again = await site.enrollment.revoke(PHONE, "")
    assert (again.serials, again.streams) == ((), 0)
    world.now_s = second.not_after_s
    assert await site.store.records(REVOKED) == {}
    await site.revocations.load()
    assert len(site.revocations) == 0


async def test_revoking_a_name_that_nobody_has(site: Replica) -> None:
    with pytest.raises(LookupError, match="terminal/phone-1"):
        await site.enrollment.revoke(PHONE, "")
    await site.token()
    assert (await site.enrollment.revoke(PHONE, "")).tokens == 1


async def test_revoking_one_certificate(site: Replica) -> None:
    first = await site.enroll(await site.token())
    second = await site.renew(first)
    done = await site.enrollment.revoke_serial(first.serial, "")
    assert done.serials == (first.serial,)
    await refused(site.renew(first), Code.CERTIFICATE_REVOKED)
    await site.renew(second)
    assert (await site.enrollment.revoke_serial(first.serial, "")).serials == ()


async def test_a_certificate_of_which_only_the_number_is_known(site: Replica, world: World) -> None:
    unknown = Certificate(77, PHONE, int(START_S) + 500)
    assert (await site.enrollment.revoke_serial(77, "x" * 1000)).serials == (77,)
    await refused(site.renew(unknown), Code.CERTIFICATE_REVOKED)
    assert len((await site.revocations.reasons())[77]) == 256
    world.now_s += 396 * DAY_S
    await site.revocations.load()
    assert site.revocations.is_revoked(77)
    world.now_s += DAY_S
    await site.revocations.load()
    assert not site.revocations.is_revoked(77)


async def test_a_certificate_that_a_command_made_is_recorded_when_it_is_used(site: Replica) -> None:
    alice = Certificate(5, Identity("operator", "alice"), int(START_S) + 500)
    for _ in range(2):
        await site.enrollment.record(alice)
    (enrolled,) = await site.enrollment.enrolled("operator")
    assert [(item.serial, item.origin) for item in enrolled.certificates] == [(serial_text(5), "command")]
    assert (await site.enrollment.revoke(alice.identity, "")).serials == (5,)
    assert await site.enrollment.enrolled("terminal") == []


async def test_another_replica_refuses_it_after_a_message_or_when_it_reads(world: World) -> None:
    one, two = await world.replica(), await world.replica()
    announced: list[frozenset[int]] = []
    one.revocations.announce(announced.append)
    certificate = await one.enroll(await one.token())
    await one.enrollment.revoke(PHONE, "")
    assert announced == [frozenset([certificate.serial])]
    two.revocations.check(certificate)  # not known there yet
    await refused(two.renew(certificate), Code.CERTIFICATE_REVOKED)  # the store is asked before a certificate is given
    assert two.revocations.revoked(announced[0]) == 1
    assert two.ended == announced
    with pytest.raises(RefusedError):
        two.revocations.check(certificate)
    three = await world.replica()
    await three.revocations.load()
    assert three.ended == announced
    with pytest.raises(RefusedError):
        three.revocations.check(certificate)


async def test_a_renewal_under_way_does_not_escape_a_revocation(world: World) -> None:
    """At each of its calls to the store the name is revoked by another replica: whatever is given out is revoked."""
    for pause in range(12):
        renewing, revoking = await world.replica(Paused), await world.replica()
        identity = Identity("terminal", f"p{pause}")
        first = await renewing.enroll(await renewing.token(identity))
        assert isinstance(renewing.store, Paused)
        renewing.store.calls_before_pause = pause
        task = asyncio.ensure_future(renewing.renew(first))
        await asyncio.wait([task, asyncio.ensure_future(renewing.store.paused.wait())], return_when="FIRST_COMPLETED")
        await revoking.enrollment.revoke(identity, "")
        renewing.store.resumed.set()
        (given,) = await asyncio.gather(task, return_exceptions=True)
        if isinstance(given, Certificate):
            assert revoking.revocations.is_revoked(given.serial)
        else:
            assert isinstance(given, RefusedError)


async def test_an_enrolment_under_way_does_not_escape_a_revocation(world: World) -> None:
    for pause in range(12):
        enrolling, revoking = await world.replica(Paused), await world.replica()
        identity = Identity("terminal", f"e{pause}")
        token = await enrolling.token(identity)
        assert isinstance(enrolling.store, Paused)
        enrolling.store.calls_before_pause = pause
        task = asyncio.ensure_future(enrolling.enroll(token))
        await asyncio.wait([task, asyncio.ensure_future(enrolling.store.paused.wait())], return_when="FIRST_COMPLETED")
        await revoking.enrollment.revoke(identity, "")
        enrolling.store.resumed.set()
        (given,) = await asyncio.gather(task, return_exceptions=True)
        if isinstance(given, Certificate):
            assert revoking.revocations.is_revoked(given.serial)
        else:
            assert isinstance(given, RefusedError)


class Paused(MemoryStore):
    """Waits once, before one of its calls."""

    def __init__(self, memory: Memory) -> None:
        super().__init__(memory)
        self.calls_before_pause = -1
        self.paused, self.resumed = asyncio.Event(), asyncio.Event()

    async def _count(self) -> None:
        self.calls_before_pause -= 1
        if self.calls_before_pause == -1:
            self.paused.set()
            await self.resumed.wait()

    async def get(self, kind: str, name: str) -> bytes | None:
        await self._count()
        return await super().get(kind, name)

    async def add(self, kind: str, name: str, value: bytes, *, ttl_ms: int = 0) -> bytes:
        await self._count()
        return await super().add(kind, name, value, ttl_ms=ttl_ms)

    async def replace(self, kind: str, name: str, before: bytes, value: bytes, *, ttl_ms: int = 0) -> bool:
        await self._count()
        return await super().replace(kind, name, before, value, ttl_ms=ttl_ms)


class Failing(MemoryStore):
    """Fails once it is told to."""

    fails = False

    async def put(self, kind: str, name: str, value: bytes, *, ttl_ms: int = 0) -> None:
        if self.fails:
            raise StoreError("no answer")
        await super().put(kind, name, value, ttl_ms=ttl_ms)

    async def records(self, kind: str) -> dict[str, bytes]:
        if self.fails and kind == REVOKED:
            raise StoreError("no answer")
        return await super().records(kind)


async def test_a_revocation_is_in_force_here_even_if_the_store_fails(world: World) -> None:
    site = await world.replica(Failing)
    assert isinstance(site.store, Failing)
    certificate = await site.enroll(await site.token())
    site.store.fails = True
    with pytest.raises(StoreError):
        await site.enrollment.revoke(PHONE, "")
    assert site.ended == [frozenset([certificate.serial])]
    await refused(site.renew(certificate), Code.CERTIFICATE_REVOKED)
    with pytest.raises(StoreError):
        await site.revocations.load()
    assert site.revocations.is_revoked(certificate.serial)


async def test_what_the_store_has_else_is_named_and_ignored(site: Replica) -> None:
    token = await site.token()
    certificate = await site.enroll(token)
    for kind in (REVOKED, ENROLLED, TOKENS):
        await site.store.put(kind, "rubbish", b"{")
    await site.revocations.load()
    assert [enrolled.name for enrolled in await site.enrollment.enrolled()] == ["phone-1"]
    assert (await site.enrollment.revoke(PHONE, "")).serials == (certificate.serial,)
    assert {what.split(":")[0].split()[-1] for what in site.reports} == {"rubbish"}
    await site.store.put(ENROLLED, "terminal/x", b"[]")
    with pytest.raises(RecordError, match="Enrolled"):
        await site.token(Identity("terminal", "x"))


def test_records_of_a_newer_replica_are_read() -> None:
    record = Enrolled("terminal", "a", 5)
    value = encoded(record)
    assert decoded(Enrolled, value[:-1] + b',"colour":"red"}') == record


# How many


async def test_names_are_counted_by_role_until_their_certificates_end(world: World, site: Replica) -> None:
    for identity in (PHONE, Identity("terminal", "phone-2"), Identity("access-point", "ap-1")):
        await site.enroll(await site.token(identity))
    await site.enroll(await site.token())  # another certificate of the same name
    counts = await site.enrollment.counts()
    assert {role: count for role, count in counts.items() if count.enrolled} == {
        "access-point": (1, 0),
        "terminal": (2, 0),
    }
    assert counts["operator"] == (0, 0)
    await site.enrollment.revoke(PHONE, "lost")
    assert (await site.enrollment.counts())["terminal"] == (1, 0)
    world.now_s += 22 * DAY_S
    assert (await site.enrollment.counts())["access-point"] == (1, 0)
    world.now_s += DAY_S  # 7 of 30 days are left
    assert (await site.enrollment.counts())["access-point"] == (1, 1)
    world.now_s += 8 * DAY_S
    assert (await site.enrollment.counts())["access-point"] == (0, 0)


async def test_who_has_renewed_is_not_overdue(world: World, site: Replica) -> None:
    certificate = await site.enroll(await site.token())
    world.now_s += 25 * DAY_S
    assert (await site.enrollment.counts())["terminal"] == (1, 1)
    await site.renew(certificate)
    assert (await site.enrollment.counts())["terminal"] == (1, 0)


async def test_a_record_that_cannot_be_read_is_not_counted(site: Replica) -> None:
    await site.enroll(await site.token())
    await site.store.put(ENROLLED, "terminal/phone-2", b"{", ttl_ms=1000)
    assert (await site.enrollment.counts())["terminal"] == (1, 0)
    assert len(site.reports) == 1


async def test_while_many_are_counted_others_have_the_event_loop(world: World, site: Replica) -> None:
    for number in range(3 * COUNTED_AT_ONCE):
        name = f"phone-{number}"
        record = Enrolled(
            "terminal", name, 0, (Issued(f"{number + 1:x}", int(world.now_s), int(world.now_s) + 9, "", "token"),)
        )
        await site.store.put(ENROLLED, f"terminal/{name}", encoded(record), ttl_ms=DAY_S * 1000)
    turns = 0

    async def others() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    task = asyncio.create_task(others())
    counts = await site.enrollment.counts()
    task.cancel()
    assert counts["terminal"] == (3 * COUNTED_AT_ONCE, 0)
    assert turns >= 3
