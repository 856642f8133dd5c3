package synth

import (
	"errors"
	"os/exec"
	"strings"
)

// rewrite makes a command of what may only be a script's name: a first word
// that ends in .js is run by node. Everything else is left to the shell.
func rewrite(command string, node func() (string, error)) (string, error) {
	command = strings.TrimSpace(command)
	first, rest := command, ""
	if i := strings.IndexAny(command, " \t\r\n"); i >= 0 {
		first, rest = command[:i], command[i:]
	}
	script := first
	if n := len(first); n > 1 && (first[0] == '"' || first[0] == '\'') && first[n-1] == first[0] {
		script = first[1 : n-1]
	}
	if !strings.HasSuffix(script, ".js") {
		return command, nil
	}
	path, err := node()
	if errors.Is(err, exec.ErrNotFound) {
		return "", &NoProgramError{Program: "node", Command: command}
	}
	if err != nil {
		return "", err
	}
	return `"` + path + `" "` + script + `"` + rest, nil
}
