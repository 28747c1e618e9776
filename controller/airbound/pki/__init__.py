# SPDX-License-Identifier: Apache-2.0
"""The certificate authority: who gets a certificate, by which token, and who loses it. Knows neither gRPC nor the
engine; the cryptography is that of `cryptography`.
"""
