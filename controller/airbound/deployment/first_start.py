# SPDX-License-Identifier: Apache-2.0
"""Makes what the services of docker-compose.yml need before they start.

    python -m airbound.deployment.first_start DIR

DIR has a folder for each volume; a folder that is not there is left out. Each service has volumes of its own, whose
files belong to the user that the service runs as, and to nobody else:

    ca/          of the controllers: the certificate authority
    store/       of the controllers: the password of Redis
    operator/    of the operator's commands: a certificate
    openflow/    of `airbound openflow` (profile openflow): a certificate of role switch
    redis/       of Redis: its users, with a hash of the password
    grafana/     of Grafana: the password of its user admin
    *-data/      what Redis, Prometheus and Grafana keep: empty at first

It runs at each start. Secrets that are there stay; Redis's users are written again, since an update may need other
rules, and certificates of the operator and of `airbound openflow` are made again after two thirds of its life.

It starts as root with the capabilities CHOWN, SETUID and SETGID, gives each folder to its user, and becomes that user
before it reads or writes a file in there.
"""

import contextlib
import datetime
import hashlib
import os
import secrets
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from airbound.operator.tls_files import TlsFiles
from airbound.pki import files
from airbound.pki.authority import new_key
from airbound.pki.directory import Directory
from airbound.pki.errors import PkiError
from airbound.pki.identities import DEFAULT_TRUST_DOMAIN, Identity, IdentityError

CONTROLLER, REDIS, PROMETHEUS, GRAFANA = 900, 999, 65_534, 472
OWNERS = {
    "ca": CONTROLLER,
    "store": CONTROLLER,
    "operator": CONTROLLER,
    "openflow": CONTROLLER,
    "redis": REDIS,
    "redis-data": REDIS,
    "prometheus-data": PROMETHEUS,
    "grafana": GRAFANA,
    "grafana-data": GRAFANA,
}
"""User and group of each volume, by the images' own numbers."""

OPERATOR = "admin"
OPENFLOW = "openflow"
OPERATOR_LIFE = datetime.timedelta(days=30)
PASSWORD_BYTES = 32
TRUST_DOMAIN_VARIABLE = "TRUST_DOMAIN"

CONTROLLER_RULES = (
    "resetkeys ~airbound:* resetchannels &airbound:replica:* -@all"
    " +client|setname +cluster|slots +asking +eval +evalsha +spublish +ssubscribe +time"
    " +get +set +del +pexpire +pexpireat +persist +pttl"
    " +hget +hgetall +hset +hdel +hlen +zadd +zrem +zcard +zrangebyscore +zrevrange"
)
"""As in docs/store.md."""


class FirstStart:
    """Volumes below a folder, and who gets them."""

    def __init__(self, root: Path, owners: Mapping[str, int], now: datetime.datetime) -> None:
        self._root = root
        self._owners = owners
        self._now = now
        self.made: list[str] = []  # for people

    def run(self, trust_domain: str) -> None:
        """Make what is missing.

        Raises:
            PkiError, IdentityError, OSError: something cannot be made or read.
        """
        there = [name for name in self._owners if (self._root / name).is_dir()]
        for name in there:
            self._give(name)
        if "ca" in there:
            self._authority(trust_domain)
        if "store" in there and "redis" in there:
            with self._as_owner_of("store") as folder:
                password = self._secret(folder / "password", "password of Redis")
            with self._as_owner_of("redis") as folder:
                files.write(folder / "users.acl", users(password).encode(), files.SECRET_MODE)
        if "grafana" in there:
            with self._as_owner_of("grafana") as folder:
                self._secret(folder / "admin-password", "password of Grafana's user admin")
        identities = {"operator": Identity("operator", OPERATOR), "openflow": Identity("switch", OPENFLOW)}
        for volume, identity in identities.items():
            if "ca" in there and volume in there:
                self._certificate(volume, identity)

    def _give(self, name: str) -> None:
        folder, owner = self._root / name, self._owners[name]
        os.chown(folder, owner, owner)
        with self._as_owner_of(name):
            folder.chmod(files.DIRECTORY_MODE)

    @contextlib.contextmanager
    def _as_owner_of(self, name: str) -> Iterator[Path]:
        """Within this, files are read and written as the user of that volume."""
        before, owner = (os.geteuid(), os.getegid()), self._owners[name]
        os.setegid(owner)
        os.seteuid(owner)
        try:
            yield self._root / name
        finally:
            os.seteuid(before[0])
            os.setegid(before[1])

    def _authority(self, trust_domain: str) -> None:
        with self._as_owner_of("ca") as folder:
            directory = Directory(folder)
            if directory.certificate.exists():
                return
            made = directory.init(trust_domain, self._now)
            self.made.append(f"authority of {made.trust_domain}, SHA-256 {made.fingerprint.hex()}")

    def _certificate(self, volume: str, identity: Identity) -> None:
        with self._as_owner_of(volume) as folder:
            to = TlsFiles(folder)
            if not self._is_due(to):
                return
        with self._as_owner_of("ca") as folder:
            directory = Directory(folder)
            if directory.key_state() != "not encrypted":
                return  # an operator with the passphrase, or the key, makes it: docs/operate.md
            authority = directory.load(self._now)
        key = new_key()
        certificate = authority.sign(identity, key.public_key(), OPERATOR_LIFE, self._now)
        with self._as_owner_of(volume):
            to.prepare(force=True)
            to.write(certificate, authority.trusted, key)
        self.made.append(f"certificate of {identity} until {certificate.not_valid_after_utc:%Y-%m-%d %H:%M} UTC")

    def _is_due(self, to: TlsFiles) -> bool:
        """Whether there is no certificate, or it cannot be used any more, or two thirds of its life are over."""
        if not to.certificate.exists():
            return True
        try:
            return self._now.timestamp() >= to.load(self._now).renew_from_s()
        except PkiError:
            return True

    def _secret(self, path: Path, what: str) -> str:
        """The text in a file, made at random if there is none."""
        if not path.exists():
            files.write(path, f"{secrets.token_urlsafe(PASSWORD_BYTES)}\n".encode(), files.SECRET_MODE)
            self.made.append(what)
        return path.read_text(encoding="ascii").rstrip("\n")


def users(password: str) -> str:
    """Redis's ACL: the controllers' user, one that may ask whether the server answers, and nobody else.

    Nobody can be the user `default`, which has no password and is off. It keeps all rights nevertheless: Redis repeats
    the transactions of its append-only file by them, and drops those that they do not allow (`multi.c`, execCommand).
    """
    digest = hashlib.sha256(password.encode()).hexdigest()
    return (
        f"user airbound on #{digest} {CONTROLLER_RULES}\n"
        "user health on nopass resetkeys resetchannels -@all +ping\n"
        "user default off resetpass ~* &* +@all\n"
    )


def main(
    argv: list[str], environment: Mapping[str, str] = os.environ, write: Callable[[str], object] = sys.stdout.write
) -> int:
    """Make it, and say what was made; the exit code."""
    start = FirstStart(Path(argv[0]), OWNERS, datetime.datetime.now(datetime.UTC))
    try:
        start.run(environment.get(TRUST_DOMAIN_VARIABLE) or DEFAULT_TRUST_DOMAIN)
    except (PkiError, IdentityError, OSError) as error:
        sys.stderr.write(f"airbound: first start: {error}\n")
        return 1
    write("".join(f"made: {what}\n" for what in start.made) or "everything is there\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
