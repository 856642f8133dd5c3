package progress

import (
	"os"

	"golang.org/x/term"
)

// A TTY is the terminal that a file is.
type TTY struct{ *os.File }

// Size is how many columns and lines it has, those of old where it does not
// know.
func (t TTY) Size() (width, height int) {
	width, height, err := term.GetSize(int(t.Fd()))
	if err != nil || width <= 0 || height <= 0 {
		return 80, 24
	}
	return width, height
}
