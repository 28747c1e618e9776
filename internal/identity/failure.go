// SPDX-License-Identifier: Apache-2.0

package identity

// FailureCode says what kind of failure a status is about, for programs. Those of a controller's refusal that are not
// here (reason.proto has them all) are taken over as they are.
type FailureCode string

// Codes of failures. The first four are the controller's.
const (
	TokenUnknown           FailureCode = "TOKEN_UNKNOWN"
	TokenUsed              FailureCode = "TOKEN_USED"
	TokenExpired           FailureCode = "TOKEN_EXPIRED"
	TokenOfAnotherRole     FailureCode = "TOKEN_OF_ANOTHER_ROLE"
	TokenMalformed         FailureCode = "TOKEN_MALFORMED"  //nolint:gosec // no secret
	TokenUnreadable        FailureCode = "TOKEN_UNREADABLE" //nolint:gosec // no secret
	ControllerNotVerified  FailureCode = "CONTROLLER_NOT_VERIFIED"
	ControllerNotInToken   FailureCode = "CONTROLLER_NOT_IN_TOKEN"
	ControllerUnreachable  FailureCode = "CONTROLLER_UNREACHABLE"
	NotEnrolled            FailureCode = "NOT_ENROLLED"
	CertificateEnded       FailureCode = "CERTIFICATE_ENDED"
	CertificateRevoked     FailureCode = "CERTIFICATE_REVOKED" // the controller's
	CertificateOfOtherRole FailureCode = "CERTIFICATE_OF_ANOTHER_ROLE"
	FilesDamaged           FailureCode = "FILES_DAMAGED"
	FilesUnreadable        FailureCode = "FILES_UNREADABLE"
	DirectoryNotPrivate    FailureCode = "DIRECTORY_NOT_PRIVATE"
	DiskFull               FailureCode = "DISK_FULL"
	DiskReadOnly           FailureCode = "DISK_READ_ONLY"
	Refused                FailureCode = "REFUSED" // for a reason without a code
	Failed                 FailureCode = "FAILED"
)

// Advice is what to do about a failure, for a person; empty if that is in the text of the failure itself.
func (c FailureCode) Advice() string {
	const newToken = "make a new token with `airbound enroll` where the controller runs, put it into the " +
		"configuration or the token file, and start the agent again"
	switch c {
	case TokenUsed:
		return "a token is for one device, unless it was made for more (--uses); " + newToken
	case TokenExpired:
		return "a token is good for a limited time; " + newToken
	case TokenUnknown:
		return "the controller never made this token, its name was revoked, or it expired long ago; " + newToken
	case TokenMalformed:
		return "copy the whole token, one line of 66 characters, and start the agent again"
	case TokenUnreadable:
		return "check the file that --token-file names; the agent tries again when it is started"
	case TokenOfAnotherRole:
		return "`airbound enroll access-point NAME` is for access points, `airbound enroll terminal NAME` for " +
			"phones; " + newToken
	case ControllerNotInToken:
		return "check --controller and --enroll: the token is of another controller's authority; or " + newToken
	case ControllerNotVerified:
		return "check --controller, and this device's clock; the operator may have replaced the authority"
	case ControllerUnreachable:
		return "check that this device has a network, and --controller and --enroll; the agent goes on trying"
	case CertificateEnded:
		return "check this device's clock; if it is right, " + newToken
	case CertificateRevoked:
		return "an operator revoked this device; to let it in again, remove the directory of the certificate and " +
			newToken
	case CertificateOfOtherRole:
		return "give each agent a directory of its own (--credentials-dir)"
	case FilesDamaged, FilesUnreadable:
		return "repair the disk or restore the file; or " + newToken
	case DiskFull:
		return "delete what is not needed from the disk; the agent goes on trying"
	case DiskReadOnly:
		return "mount the disk for writing, or take another directory (--credentials-dir); the agent goes on trying"
	default:
		return ""
	}
}
