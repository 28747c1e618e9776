# SPDX-License-Identifier: Apache-2.0

import pytest

from airbound.config import Config, ConfigError, parse
from airbound.pki.options import enrollment_endpoint


def tls(text: str) -> Config:
    return parse(f"[tls]\n{text}", "t")


def test_tls_is_on_unless_somebody_says_otherwise() -> None:
    assert parse("", "t").tls.plain_text is False
    assert tls("plain_text = true").tls.plain_text is True
    assert parse("", "t").tls.enrollment == ":50053"
    assert tls('enrollment = ""').tls.enrollment == ""


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("plain_txt = true", "unknown key tls.plain_txt; did you mean tls.plain_text?"),
        ("directory = 'here'", "tls.directory = 'here': expected an absolute path"),
        ("certificate = '/a'", "certificate and key: one needs the other"),
        ("key = '/a'", "certificate and key: one needs the other"),
        ("authorities = '/a'", "authorities: needs certificate and key as well"),
        ("enrollment = 'here'", "tls.enrollment = 'here': expected ADDRESS:PORT or :PORT"),
        ("name = 'a b'", "tls.name = 'a b': expected 1 to 64 of the letters"),
        ("name = '..'", "tls.name = '..': expected 1 to 64 of the letters"),
        ("agent_days = 398.0", "tls.agent_days = 398.0: should be less than or equal to 397"),
        ("controller_days = 91.0", "tls.controller_days = 91.0: should be less than or equal to 90"),
        ("operator_days = 0.0", "tls.operator_days = 0.0: should be greater than or equal to 0.01"),
        ("enrollments_at_once = 0", "tls.enrollments_at_once = 0: should be greater than or equal to 1"),
    ],
)
def test_what_is_wrong_is_named(text: str, complaint: str) -> None:
    with pytest.raises(ConfigError) as caught:
        tls(text)
    assert complaint in str(caught.value)


@pytest.mark.parametrize(
    ("enrollment", "listen", "endpoint"),
    [
        (":50053", "127.0.0.1:50051", "127.0.0.1:50053"),
        (":50053", "[::]:50051", "[::]:50053"),
        (":0", "controller.example:0", "controller.example:0"),
        ("192.0.2.1:50053", "127.0.0.1:50051", "192.0.2.1:50053"),
        ("", "127.0.0.1:50051", ""),
    ],
)
def test_enrolment_listens_where_agents_do_unless_it_has_an_address(
    enrollment: str, listen: str, endpoint: str
) -> None:
    assert enrollment_endpoint(enrollment, listen) == endpoint
