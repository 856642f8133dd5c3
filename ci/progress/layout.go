package progress

import (
	"fmt"
	"strings"
	"time"

	"github.com/mattn/go-runewidth"
)

const (
	margin = "  "
	gap    = "  "
	more   = "…"
)

// The columns, in their order.
const (
	stackColumn = iota
	idColumn
	typeColumn
	actionColumn
	elapsedColumn
	noteColumn
	columns
)

// narrow is what gives way where a terminal is too narrow, first to last, and
// how far. Then the columns of width zero go.
var narrow = [...]struct{ column, to int }{
	{noteColumn, 16}, {typeColumn, 16}, {noteColumn, 0}, {stackColumn, 12}, {idColumn, 16}, {typeColumn, 0}, {stackColumn, 0},
}

// A frame is the table as it stands on a terminal at a moment.
type frame struct {
	lines   []string
	shown   map[Key]bool
	version int
}

// frame lays the table out. Each line is shorter than the terminal is wide, and
// all lines with that of the cursor below them are no more than it has. While
// nothing is under way and nothing waits there are none.
func (t *Table) frame(width, height int, now time.Time) frame {
	t.mu.Lock()
	defer t.mu.Unlock()
	f := frame{version: t.version, shown: map[Key]bool{}}
	if len(t.rows) == 0 && len(t.waiting) == 0 {
		return f
	}
	rows, hidden := t.rows, 0
	if room := max(height-2, 0); len(rows) > room { // beside the cursor's line and the counts
		hidden = len(rows) - max(room-1, 0)
		rows = rows[:len(rows)-hidden]
	}
	measure := runewidth.NewCondition()
	cells := make([][columns]string, len(rows))
	for i, r := range rows {
		f.shown[r.key] = true
		cells[i] = [columns]string{r.stack, r.id, r.typ, r.action, elapsed(now.Sub(r.began)), r.note}
	}
	t.widths = steady(fit(measure, cells, width-1), t.widths, width-1)
	for _, c := range cells {
		f.lines = append(f.lines, line(measure, c, t.widths, width-1))
	}
	if hidden > 0 && height > 2 {
		f.lines = append(f.lines, measure.Truncate(fmt.Sprintf("%sand %d more", margin, hidden), width-1, more))
	}
	f.lines = append(f.lines, measure.Truncate(margin+t.counts(now), width-1, more))
	return f
}

func (t *Table) counts(now time.Time) string {
	resources := 0
	for _, r := range t.rows {
		if r.key.LogicalID != "" {
			resources++
		}
	}
	text := fmt.Sprintf("%d done", t.done)
	if t.failed > 0 {
		text += fmt.Sprintf(" · %d failed", t.failed)
	}
	text += fmt.Sprintf(" · %d under way · %d waiting", resources, len(t.waiting))
	if !t.began.IsZero() {
		text += " · " + elapsed(now.Sub(t.began))
	}
	return text
}

// fit returns how wide each column may be for a line to fit.
func fit(measure *runewidth.Condition, cells [][columns]string, room int) (widths [columns]int) {
	for _, c := range cells {
		for i, text := range c {
			widths[i] = max(widths[i], measure.StringWidth(text))
		}
	}
	over := taken(widths) - room
	for _, n := range narrow {
		if less := min(over, widths[n.column]-n.to); less > 0 {
			if n.to == 0 {
				less = widths[n.column]
				over -= len(gap)
			}
			widths[n.column] -= less
			over -= less
		}
	}
	return widths
}

// taken is how wide a line with such columns is.
func taken(widths [columns]int) int {
	n := len(margin) - len(gap) // there is no gap after the last
	for _, w := range widths {
		if w > 0 {
			n += w + len(gap)
		}
	}
	return n
}

// steady keeps columns that became narrower where they are, as far as there is
// room: a table that jumps is hard to read.
func steady(widths, before [columns]int, room int) [columns]int {
	left := room - taken(widths)
	for i := range noteColumn {
		if more := min(before[i]-widths[i], left); more > 0 && widths[i] > 0 {
			widths[i] += more
			left -= more
		}
	}
	return widths
}

func line(measure *runewidth.Condition, cells [columns]string, widths [columns]int, room int) string {
	var shown []string
	for i, text := range cells {
		if widths[i] == 0 {
			continue
		}
		text = measure.Truncate(text, widths[i], more)
		if i == elapsedColumn {
			text = measure.FillLeft(text, widths[i])
		} else {
			text = measure.FillRight(text, widths[i])
		}
		shown = append(shown, text)
	}
	whole := strings.TrimRight(margin+strings.Join(shown, gap), " ")
	return measure.Truncate(whole, room, more)
}

func elapsed(d time.Duration) string { return max(d, 0).Truncate(time.Second).String() }
