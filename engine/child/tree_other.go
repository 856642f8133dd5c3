//go:build !linux

package child

// Elsewhere, what has left the group of a child is not looked for.
func outside(int) []process { return nil }

type process struct{}

func (process) interrupt() {}
func (process) kill()      {}
