package auth

import (
	"context"
	"crypto/rand"
	"errors"
	"strings"
	"time"
	"unicode"

	"github.com/google/uuid"
)

// Errors of a sign-in by a device code.
var (
	// ErrDevicePending means that no user has confirmed the device yet.
	ErrDevicePending = errors.New("sign-in is not confirmed yet")

	// ErrDeviceCode means that a code is malformed, unknown, expired, or was used before.
	ErrDeviceCode = errors.New("device code is not valid")
)

const (
	// deviceLifetime is how long a sign-in by a code may take.
	deviceLifetime = 2 * time.Minute

	// maxPendingDevices bounds the store while somebody starts sign-ins in a flood.
	maxPendingDevices = 10_000

	// Codes have no vowels, so that they spell nothing, and no digits (RFC 8628, section 6.1).
	codeLetters = "BCDFGHJKLMNPQRSTVWXZ"
	codeLength  = 6
)

// Device is a browser, or another device without an account at the platform, that asks to be signed
// in. Its user reads the Code there and confirms it where they are signed in already.
type Device struct {
	Code      string // 6 letters, for people; it alone signs nobody in
	Name      string // such as "Firefox, Windows"
	Address   string // of the network, or ""
	CreatedAt time.Time
	ExpiresAt time.Time
}

// NewDevice is the input of [Store].CreateDevice.
type NewDevice struct {
	Device
	SecretHash TokenHash
}

// StartDevice begins the sign-in of a device by the device authorization grant (RFC 8628). It
// returns the code to show, which is valid for two minutes and once, and the secret with which the
// device calls [Service.DeviceLogin]; it keeps the secret to itself, so that who has seen the code
// gains nothing. Name and address are cut to 256 bytes. It fails with [ErrRateLimited] while very
// many sign-ins are pending.
func (s *Service) StartDevice(ctx context.Context, name, address string) (_ Device, secret string, err error) {
	now := s.now()
	n := NewDevice{Device: Device{
		Name: displayName(name), Address: displayName(address), CreatedAt: now, ExpiresAt: now.Add(deviceLifetime),
	}}
	n.Code, secret = newCode(), newToken() // one of 64 million codes: if it is taken, this fails
	n.SecretHash, _ = hashToken(secret)
	err = s.ask(ctx, "start sign-in of a device", func(ctx context.Context) error {
		return s.store.CreateDevice(ctx, n, maxPendingDevices)
	}, ErrRateLimited)
	if errors.Is(err, ErrRateLimited) {
		err = &ExchangeError{Kind: ErrRateLimited, Message: "too many devices", After: deviceLifetime}
	}
	if err != nil {
		return Device{}, "", err
	}
	return n.Device, secret, nil
}

// Device returns the device that shows a code, for its user to recognise it before
// [Service.ConfirmDevice]. Case and spaces of the code do not matter. It fails with
// [ErrDeviceCode].
func (s *Service) Device(ctx context.Context, code string) (d Device, err error) {
	code, ok := normalCode(code)
	if !ok {
		return Device{}, ErrDeviceCode
	}
	err = s.ask(ctx, "find device", func(ctx context.Context) (err error) {
		d, err = s.store.Device(ctx, code, s.now())
		return err
	}, ErrDeviceCode)
	return d, err
}

// ConfirmDevice lets the device that shows a code sign in as the user. A code is confirmed once. It
// fails with [ErrDeviceCode].
//
// A stranger can send a code of their own device and ask for its confirmation (RFC 8628, section
// 5.4). Show the user what [Service.Device] returns first, and list the [Service.Sessions].
func (s *Service) ConfirmDevice(ctx context.Context, user uuid.UUID, code string) error {
	code, ok := normalCode(code)
	if !ok {
		return ErrDeviceCode
	}
	return s.ask(ctx, "confirm device", func(ctx context.Context) error {
		return s.store.ConfirmDevice(ctx, code, user, s.now())
	}, ErrDeviceCode)
}

// DeviceLogin signs in the device to which [Service.StartDevice] returned the secret, once a user
// has confirmed it. Until then it fails with [ErrDevicePending]; [ErrDeviceCode] is final. The
// secret works once.
func (s *Service) DeviceLogin(ctx context.Context, secret string) (Login, error) {
	device, ok := hashToken(secret)
	if !ok {
		return Login{}, ErrDeviceCode
	}
	login, session := s.newSession()
	err := s.ask(ctx, "sign in device", func(ctx context.Context) (err error) {
		login.UserID, err = s.store.CreateDeviceSession(ctx, device, session)
		return err
	}, ErrDevicePending, ErrDeviceCode)
	if err != nil {
		return Login{}, err
	}
	s.log.InfoContext(ctx, "signed in", "teacher_id", login.UserID, "platform", "device")
	return login, nil
}

// Sessions returns the sessions of a user, newest first.
func (s *Service) Sessions(ctx context.Context, user uuid.UUID) (sessions []Session, err error) {
	err = s.ask(ctx, "list sessions", func(ctx context.Context) (err error) {
		sessions, err = s.store.Sessions(ctx, user, s.now())
		return err
	})
	return sessions, err
}

// EndSession ends the session of a user with the given hash, that of [Principal] or of
// [Service.Sessions]: when it returns, the token is invalid. It fails with [ErrNoSession].
func (s *Service) EndSession(ctx context.Context, user uuid.UUID, hash TokenHash) error {
	session, err := s.findSession(ctx, hash)
	if err != nil {
		return err
	}
	if session.UserID != user {
		return ErrNoSession
	}
	return s.ask(ctx, "delete session", func(ctx context.Context) error { return s.store.DeleteSession(ctx, hash) })
}

// maxNameBytes is the length of the longest name or address of a device.
const maxNameBytes = 256

// displayName makes a name printable and short.
func displayName(name string) string {
	name = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(name, ""))
	return strings.TrimSpace(strings.ToValidUTF8(name[:min(len(name), maxNameBytes)], ""))
}

func newCode() string {
	code := make([]byte, 0, codeLength)
	var b [1]byte
	for len(code) < codeLength {
		_, _ = rand.Read(b[:])
		if b[0] < 240 { // a multiple of the number of letters: each is as likely
			code = append(code, codeLetters[int(b[0])%len(codeLetters)])
		}
	}
	return string(code)
}

// normalCode returns a code as it is stored, and whether it can be one.
func normalCode(code string) (string, bool) {
	if len(code) > 4*codeLength {
		return "", false
	}
	code = strings.ToUpper(strings.NewReplacer(" ", "", "-", "").Replace(code))
	return code, len(code) == codeLength && strings.Trim(code, codeLetters) == ""
}
