package demo

import (
	"context"
	"os"
	"os/exec"
	"runtime"
)

// openBrowser shows an address in the user's browser, where the demo runs in a terminal of a
// desktop. Elsewhere it does nothing: the address is printed too.
func openBrowser(ctx context.Context, address string) {
	program := "xdg-open"
	if runtime.GOOS == "darwin" {
		program = "open"
	} else if os.Getenv("DISPLAY") == "" && os.Getenv("WAYLAND_DISPLAY") == "" {
		return
	}
	_ = exec.CommandContext(ctx, program, address).Start() // the user has the address
}
