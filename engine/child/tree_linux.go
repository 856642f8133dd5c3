package child

import (
	"bytes"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// A process is told from a later one with the same number by when it began.
type process struct {
	id, parent, group int
	began             string
}

// outside are the descendants of a process that have left its group, such as those
// that Node.js starts as detached. One whose parents have ended is nobody's, and not
// found; in a container it ends with the container.
func outside(head int) (left []process) {
	for _, p := range descendants(head) {
		if p.group != head {
			left = append(left, p)
		}
	}
	return left
}

// descendants of a process, parents first.
func descendants(id int) (found []process) {
	children := map[int][]process{}
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		if n, err := strconv.Atoi(e.Name()); err == nil {
			if p, ok := look(n); ok {
				children[p.parent] = append(children[p.parent], p)
			}
		}
	}
	found = children[id]
	for i := 0; i < len(found); i++ {
		found = append(found, children[found[i].id]...)
	}
	return found
}

// look reads what the system says of a process.
func look(id int) (process, bool) {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(id) + "/stat")
	// The name comes second, in parentheses, and may hold any character.
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	if err != nil || len(fields) < 20 {
		return process{}, false
	}
	parent, _ := strconv.Atoi(fields[1])
	group, _ := strconv.Atoi(fields[2])
	return process{id: id, parent: parent, group: group, began: fields[19]}, true
}

func (p process) signal(s syscall.Signal) {
	if now, ok := look(p.id); ok && now.began == p.began {
		_ = syscall.Kill(p.id, s)
	}
}

func (p process) interrupt() { p.signal(syscall.SIGINT) }

// kill ends a process and what it has started, which it is kept from going on with.
func (p process) kill() {
	p.signal(syscall.SIGSTOP)
	for _, c := range descendants(p.id) {
		c.signal(syscall.SIGKILL)
	}
	p.signal(syscall.SIGKILL)
}
