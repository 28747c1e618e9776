# SPDX-License-Identifier: Apache-2.0
"""The commands about certificates, by files alone and against a controller with TLS."""

import asyncio
import datetime
import io
import json
import stat
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization

from airbound.operator import cli, join
from airbound.operator.tls_files import TlsFiles, default_directory
from airbound.pki import files
from airbound.pki.authority import new_key
from airbound.pki.directory import Directory
from airbound.pki.enrollment import Lifetimes
from airbound.pki.errors import PkiError
from airbound.pki.tokens import EnrollmentToken
from airbound_testing.live import LiveController
from airbound_testing.pki import Site


def now() -> datetime.datetime:
    """When a test runs, which may be minutes after this file was read."""
    return datetime.datetime.now(datetime.UTC)


Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """A command in this process; the default directories are the test's."""
    monkeypatch.setenv("AIRBOUND_CA_DIR", str(tmp_path / "ca"))
    monkeypatch.setenv("AIRBOUND_TLS_DIR", str(tmp_path / "tls"))
    monkeypatch.setattr(sys, "stdin", io.StringIO())

    def command(*arguments: str) -> tuple[int, str, str]:
        code = cli.main(arguments)
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return command


# Where the authority is


def test_from_nothing_to_a_certificate(run: Run, tmp_path: Path) -> None:
    code, out, err = run("ca", "init", "--trust-domain", "wifi.example")
    assert (code, err) == (0, "")
    assert "trust domain  wifi.example\n" in out
    shown = json.loads(run("ca", "show", "--json")[1])
    assert shown["trust_domain"] == "wifi.example"
    assert shown["fingerprint"] == Directory(tmp_path / "ca").load(now()).fingerprint.hex()
    assert shown["fingerprint"] in out
    assert shown["key"] == "not encrypted"
    code, out, err = run("ca", "operator", "alice", "--json")
    assert (code, err) == (0, "")
    made = json.loads(out)
    assert (made["identity"], made["directory"]) == ("operator/alice", str(tmp_path / "tls"))
    identity = TlsFiles(default_directory()).load(now())
    assert f"{identity.certificate.serial:032x}" == made["serial"]
    assert stat.S_IMODE((tmp_path / "tls" / "key.pem").stat().st_mode) == 0o600
    assert stat.S_IMODE((tmp_path / "tls").stat().st_mode) == 0o700


def test_nothing_is_overwritten(run: Run, tmp_path: Path) -> None:
    assert run("ca", "init")[0] == 0
    assert run("ca", "operator", "alice")[0] == 0
    key = (tmp_path / "tls" / "key.pem").read_bytes()
    for command in (("ca", "init"), ("ca", "request"), ("ca", "operator", "bob")):
        code, out, err = run(*command)
        assert (code, out) == (2, "")
        assert "is there already: --force" in err
    assert (tmp_path / "tls" / "key.pem").read_bytes() == key
    assert run("ca", "operator", "bob", "--force")[0] == 0
    assert key in [path.read_bytes() for path in (tmp_path / "tls").iterdir()]


def test_an_encrypted_key_needs_its_passphrase(run: Run, tmp_path: Path) -> None:
    passphrase = tmp_path / "passphrase"
    passphrase.write_text("s3cret\n", encoding="utf-8")
    passphrase.chmod(0o600)
    with_it = ("--passphrase-file", str(passphrase))
    assert run("ca", "init", *with_it)[0] == 0
    assert json.loads(run("ca", "show", "--json")[1])["key"] == "encrypted"
    code, _, err = run("ca", "operator", "alice")
    assert (code, "the key is encrypted: --passphrase-file" in err) == (2, True)
    assert run("ca", "operator", "alice", *with_it)[0] == 0


def test_a_passphrase_that_nobody_can_type(run: Run) -> None:
    code, _, err = run("ca", "init", "--encrypt")
    assert (code, "nobody can answer: --passphrase-file" in err) == (2, True)


def test_an_authority_that_another_one_signs(run: Run, tmp_path: Path) -> None:
    """What openssl's or a company's authority does is done here by another authority of ours."""
    code, out, _ = run("ca", "request", "--trust-domain", "wifi.example")
    assert code == 0
    assert "airbound ca import CERT" in out
    code, _, err = run("ca", "operator", "alice")
    assert (code, "no authority is there" in err) == (2, True)
    request = x509.load_pem_x509_csr((tmp_path / "ca" / "request.pem").read_bytes())
    key, name = new_key(), x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "company")])

    def build(subject: x509.Name, public_key: object) -> x509.CertificateBuilder:
        return (
            x509.CertificateBuilder()
            .serial_number(x509.random_serial_number())
            .issuer_name(name)
            .subject_name(subject)
            .not_valid_before(now() - datetime.timedelta(hours=1))
            .not_valid_after(now() + datetime.timedelta(days=100))
            .public_key(public_key)  # type: ignore[arg-type]
        )

    root = build(name, key.public_key()).add_extension(x509.BasicConstraints(ca=True, path_length=1), critical=True)
    answer = build(request.subject, request.public_key())
    for extension in request.extensions:
        answer = answer.add_extension(extension.value, critical=extension.critical)
    signed, above = tmp_path / "signed.pem", tmp_path / "above.pem"
    files.write(signed, files.pem([answer.sign(key, hashes.SHA256())]))
    files.write(above, files.pem([root.sign(key, hashes.SHA256())]))
    code, out, err = run("ca", "import", str(signed), "--chain", str(above))
    assert (code, err) == (0, "")
    assert "CN=company" in out
    assert run("ca", "operator", "alice")[0] == 0


def test_a_certificate_for_a_controller_elsewhere(run: Run, tmp_path: Path) -> None:
    assert run("ca", "init")[0] == 0
    before = now().replace(microsecond=0)  # as certificates have it
    assert run("ca", "controller", "replica-2", "--out", str(tmp_path / "replica"), "--days", "1.5")[0] == 0
    after = now()
    certificate = x509.load_pem_x509_certificate((tmp_path / "replica" / "certificate.pem").read_bytes())
    names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert names.get_values_for_type(x509.UniformResourceIdentifier) == [
        "spiffe://airbound.internal/controller/replica-2"
    ]
    assert before <= certificate.not_valid_after_utc - datetime.timedelta(days=1.5) <= after


@pytest.mark.parametrize(
    "arguments",
    [
        ["ca"],
        ["ca", "sign"],
        ["ca", "operator"],
        ["ca", "controller", "x"],
        ["ca", "operator", "x", "--days", "0"],
        ["ca", "operator", "x", "--days", "398"],
        ["enroll", "controller", "x"],
        ["enroll", "terminal"],
        ["enroll", "terminal", "x", "--uses", "0"],
        ["enroll", "terminal", "x", "--expires", "soon"],
        ["enroll", "terminal", "x", "--expires", "0h"],
        ["login"],
        ["login", "--token", "x", "--renew"],
    ],
)
def test_wrong_usage(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        cli.main(arguments)
    assert caught.value.code == 2
    assert "usage: airbound" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["init", "request", "import", "show", "operator", "controller"])
def test_help_has_examples_that_are_right_usage(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        cli.main(["ca", command, "--help"])
    assert caught.value.code == 0
    lines = capsys.readouterr().out.partition("examples:")[2].split("\n")
    examples = [line.split()[1:] for line in lines if line.strip()]
    assert examples
    for example in examples:
        assert example[:2] == ["ca", command]
        assert cli.parser().parse_args(example)


def test_a_name_that_is_none(run: Run) -> None:
    assert run("ca", "init")[0] == 0
    code, _, err = run("ca", "operator", "a/b")
    assert (code, "'a/b' is no name" in err) == (2, True)
    assert run("ca", "init", "--trust-domain", "A", "--force")[0] == 2


def test_without_certificates_the_commands_that_help_are_named(run: Run) -> None:
    code, out, err = run("cells")
    assert (code, out) == (2, "")
    assert "airbound ca operator NAME --out" in err
    assert "airbound login --token TOKEN" in err
    code, out, err = run("controller", "--listen", "127.0.0.1:0")
    assert (code, out) == (2, "")
    assert "airbound ca init --directory" in err
    assert "airbound ca operator" in err
    assert "--plain-text" in err


def test_what_is_wrong_with_the_files_is_named(run: Run, tmp_path: Path) -> None:
    run("ca", "init")
    run("ca", "operator", "alice")
    tls = TlsFiles(tmp_path / "tls")
    certificate = x509.load_pem_x509_certificate(tls.certificate.read_bytes())
    with pytest.raises(PkiError, match="ended at"):
        tls.load(certificate.not_valid_after_utc)
    tls.key.chmod(0o640)
    with pytest.raises(PkiError, match="others may read it"):
        tls.load(now())
    files.write(tls.key, files.key_pem(new_key()), 0o600)
    with pytest.raises(PkiError, match="is not the key of"):
        tls.load(now())


@pytest.mark.parametrize("code", ["import airbound.daemon", "from airbound.operator import cli; cli.parser()"])
def test_what_tls_needs_is_not_loaded_without_it(code: str) -> None:
    """A start of the program is slow in the lab's guest."""
    check = f"{code}\nimport sys\nsys.exit(', '.join({{'cryptography'}} & set(sys.modules)) or 0)"
    result = subprocess.run([sys.executable, "-c", check], check=False, capture_output=True, text=True)
    assert (result.returncode, result.stderr) == (0, "")


# At a controller


class World:
    """A controller with TLS, and commands against it."""

    def __init__(self, site: Site, live: LiveController, run: Run, tmp_path: Path) -> None:
        self.site, self.live, self.tmp_path = site, live, tmp_path
        self._run = run

    async def run(self, *arguments: str, at: bool = True) -> tuple[int, str, str]:
        to = ("--controller", self.live.operators, "--timeout", "30") if at else ()
        return await asyncio.to_thread(self._run, *arguments, *to)

    async def json(self, *arguments: str) -> dict[str, object]:
        code, out, err = await self.run(*arguments, "--json")
        assert (code, err) == (0, "")
        return dict(json.loads(out))


@pytest.fixture
async def world(tmp_path: Path, run: Run) -> AsyncIterator[World]:
    site = Site(tmp_path / "ca")
    assert run("ca", "operator", "alice")[0] == 0
    hour = datetime.timedelta(hours=1)
    async with (
        site.security(lifetimes=Lifetimes(hour, hour)) as security,
        LiveController(security=security, secured=lambda role, name: site.client(role, name).secured()) as live,
    ):
        yield World(site, live, run, tmp_path)


async def test_the_commands_of_always(world: World) -> None:
    await world.live.uploading(1)
    code, out, err = await world.run("terminals")
    assert (code, err) == (0, "")
    assert "phone0" in out
    code, out, err = await world.run("events", "--kind", "bounds")
    assert (code, err) == (0, "")
    assert "phone0" in out
    code, _, err = await world.run("cells", "--plain-text")
    assert (code, "no controller answers" in err) == (3, True)


async def test_a_token_and_what_to_do_with_it(world: World) -> None:
    for role, use in (
        ("access-point", "airbound-ap --controller"),
        ("terminal", "airbound-phone run --controller"),
        ("operator", f"airbound login --enroll HOST:{world.live.running.enrollment.rpartition(':')[2]}"),
        ("switch", "EnrollmentService"),
    ):
        code, out, err = await world.run("enroll", role, "x")
        assert (code, err) == (0, "")
        token, line = out.splitlines()
        assert EnrollmentToken.of_text(token).authority == world.site.authority.fingerprint
        assert line.startswith("to be used once until ")
        assert use in line
    enrolment = world.live.running.enrollment.rpartition(":")[2]
    code, out, err = await world.run("enroll", "terminal", "z", "--host", "controller.example")
    token, _, _, line, *_, remark = out.splitlines()
    assert f"echo airbound1:controller.example:50051:{enrolment}:{token} | sudo airbound-phone join -" in line
    assert remark == join.LOCAL
    code, out, err = await world.run("enroll", "terminal", "z", "--host", "not a host")
    assert (code, "the token is made" in err, "is no name or address of a host" in err) == (1, True, True)
    made = await world.json("enroll", "terminal", "y", "--uses", "3", "--expires", "90m")
    EnrollmentToken.of_text(str(made["token"]))
    assert abs(int(str(made["expires_at_s"])) - world.site.now_s() - 5400) < 100
    code, _, err = await world.run("enroll", "terminal", "a b")
    assert (code, "'a b' is no name" in err) == (1, True)


async def test_a_file_has_what_is_joined_by_and_nobody_else_may_read_it(world: World) -> None:
    file = world.tmp_path / "laptop.join"
    enroll = ("enroll", "terminal", "z", "--host", "controller.example", "--out", str(file))
    code, out, err = await world.run(*enroll)
    first = file.read_text(encoding="utf-8")
    assert (code, err, stat.S_IMODE(file.stat().st_mode)) == (0, "", 0o600)
    assert first.startswith("airbound1:controller.example:50051:")
    token = EnrollmentToken.of_text(first.strip().rpartition(":")[2]).text()
    assert token not in out
    code, out, err = await world.run(*enroll)
    assert (code, out, "is there already: --force" in err) == (2, "", True)
    assert file.read_text(encoding="utf-8") == first
    made = await world.json(*enroll, "--force")
    assert not made["token"]
    assert "join" not in made
    assert file.read_text(encoding="utf-8") not in ("", first)
    assert first in [path.read_text(encoding="utf-8") for path in world.tmp_path.glob("laptop.join.before-*")]
    code, _, err = await world.run("enroll", "terminal", "z", "--out", str(world.tmp_path / "no" / "where"))
    assert (code, "cannot be written" in err) == (2, True)


async def test_json_has_the_string_as_well(world: World) -> None:
    made = await world.json("enroll", "access-point", "roof", "--host", "controller.example")
    assert str(made["join"]).endswith(f":{made['token']}")


async def test_an_operator_elsewhere_logs_in_and_renews_and_is_revoked(world: World) -> None:
    bob = world.tmp_path / "bob"
    at_bob = ("--tls-dir", str(bob))
    token = str((await world.json("enroll", "operator", "bob"))["token"])
    enroll = ("login", "--token", token, "--enroll", world.live.running.enrollment)
    code, out, err = await world.run(*enroll, *at_bob, at=False)
    assert (code, err) == (0, "")
    assert out.startswith("operator/bob until ")
    assert stat.S_IMODE((bob / "key.pem").stat().st_mode) == 0o600
    assert (await world.run("cells", *at_bob))[0] == 0
    code, _, err = await world.run(*enroll, *at_bob, at=False)
    assert (code, "is there already" in err) == (2, True)
    files_before = {path.name: path.read_bytes() for path in bob.iterdir()}
    assert (await world.run(*enroll, "--force", *at_bob, at=False))[0] == 1
    assert {path.name: path.read_bytes() for path in bob.iterdir()} == files_before
    code, _, err = await world.run(*enroll, "--tls-dir", str(world.tmp_path / "eve"), at=False)
    assert (code, "the token was used 1 times" in err) == (1, True)
    key, before = (bob / "key.pem").read_bytes(), (bob / "certificate.pem").read_bytes()
    assert (await world.run("login", "--renew", *at_bob))[0] == 0
    assert (bob / "key.pem").read_bytes() == key
    assert (bob / "certificate.pem").read_bytes() != before
    code, out, _ = await world.run("enrolled", "--role", "operator")
    rows = [line.split() for line in out.splitlines()]
    assert rows[0] == ["NAME", "SERIAL", "ENDS", "BY", "STATE"]
    assert [(row[0], row[-2], row[-1]) for row in rows[1:]] == [
        ("operator/alice", "command", "valid"),
        ("operator/bob", "token", "valid"),
        ("operator/bob", "renewal", "valid"),
    ]
    code, out, _ = await world.run("revoke", "operator/bob", "--reason", "left")
    assert code == 0
    assert out.count("revoked ") == 2
    code, _, err = await world.run("cells", *at_bob)
    assert (code, "is revoked (permission_denied)" in err) == (1, True)
    code, _, err = await world.run("login", "--renew", *at_bob)
    assert (code, "is revoked" in err) == (1, True)
    assert "revoked: left" in (await world.run("enrolled"))[1]


async def test_one_certificate_is_revoked_by_its_number(world: World) -> None:
    made = json.loads(
        (await world.run("ca", "operator", "eve", "--out", str(world.tmp_path / "eve"), "--json", at=False))[1]
    )
    done = await world.json("revoke", made["serial"])
    assert done["serials"] == [made["serial"]]
    code, _, err = await world.run("cells", "--tls-dir", str(world.tmp_path / "eve"))
    assert (code, "is revoked" in err) == (1, True)
    assert (await world.run("revoke", made["serial"]))[1].startswith("revoked before")
    code, _, err = await world.run("revoke", "terminal/nobody")
    assert (code, "no certificate or token of terminal/nobody is known" in err) == (1, True)
    for mistyped in ("operator/alic", "alice"):
        code, _, err = await world.run("revoke", mistyped)
        assert (code, "did you mean operator/alice?" in err) == (1, True), err


async def test_a_cell_is_moved_by_its_names(world: World) -> None:
    code, _, err = await world.run("move-cell", "roof", "ap-2")
    assert (code, "no cell is called roof" in err) == (1, True), err
    assert (await world.run("move-cell", "02:00:00:00:00:01", "ap-2"))[:2] == (0, "was nobody's\n")


async def test_a_token_from_standard_input(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    token = str((await world.json("enroll", "operator", "carol"))["token"])
    monkeypatch.setattr(sys, "stdin", io.StringIO(f"  {token}\n"))
    to = ("--enroll", world.live.running.enrollment, "--tls-dir", str(world.tmp_path / "carol"))
    assert (await world.run("login", "--token", "-", *to, at=False))[0] == 0


async def test_a_phones_token_is_of_no_use_to_an_operator_and_is_not_used_up(world: World) -> None:
    token = str((await world.json("enroll", "terminal", "phone-1"))["token"])
    to = ("--enroll", world.live.running.enrollment, "--tls-dir", str(world.tmp_path / "carol"))
    for _ in range(2):
        code, _, err = await world.run("login", "--token", token, *to, at=False)
        assert (code, "terminal" in err, "permission_denied" in err) == (1, True, True), err


async def test_a_server_that_the_token_is_not_for(world: World, tmp_path: Path) -> None:
    """Nothing is sent to it: neither the token nor a request."""
    other = EnrollmentToken.new(bytes(32)).text()
    to = ("--enroll", world.live.running.enrollment, "--tls-dir", str(tmp_path / "x"))
    code, _, err = await world.run("login", "--token", other, *to, at=False)
    assert (code, "shows another authority than the token names" in err) == (2, True)
    assert not world.live.runner.counts.totals
    assert not list((tmp_path / "x").iterdir())
    code, _, err = await world.run("login", "--token", "x", *to, at=False)
    assert (code, "the token: a token has 66 characters" in err) == (2, True)
    good = str((await world.json("enroll", "operator", "x"))["token"])
    gone = ("--enroll", "127.0.0.1:1", "--tls-dir", str(tmp_path / "x"))
    code, _, err = await world.run("login", "--token", good, *gone, at=False)
    assert (code, "no controller enrols at 127.0.0.1:1" in err) == (3, True)


async def test_an_operator_is_reminded_to_renew(world: World) -> None:
    tls = TlsFiles(world.tmp_path / "tls")
    old = world.site.client("operator", "alice", datetime.timedelta(seconds=120))  # backdated by 300 s
    tls.write(old.certificate, [world.site.authority.certificate], old.key)
    code, _, err = await world.run("cells")
    assert (code, err) == (0, "airbound: your certificate ends in 0.0 days: airbound login --renew\n")


def test_the_pem_of_a_key_is_what_openssl_reads() -> None:
    key = new_key()
    loaded = serialization.load_pem_private_key(files.key_pem(key), None)
    assert loaded.public_key() == key.public_key()  # type: ignore[union-attr]
