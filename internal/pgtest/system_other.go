//go:build !linux

package pgtest

import "syscall"

// processAttributes changes nothing: servers are started on Linux only as another user.
func processAttributes(*credential) *syscall.SysProcAttr { return nil }

// freeBytes returns 0: unknown.
func freeBytes(string) uint64 { return 0 }
