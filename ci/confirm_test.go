package ci

import (
	"context"
	"io"
	"strings"
	"testing"
)

func TestConfirm(t *testing.T) {
	tests := []struct {
		name      string
		answers   string
		byDefault bool
		want      bool
	}{
		{"yes", "y\n", false, true},
		{"in words and any case", "  YES \n", false, true},
		{"no", "n\n", true, false},
		{"nothing takes the default", "\n", true, true},
		{"nothing takes the default, no", "\n", false, false},
		{"anything else is asked again", "what\nyes\n", false, true},
		{"the end of the input is no", "", true, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := New(nil, io.Discard, io.Discard)
			s.in = strings.NewReader(tt.answers)
			if got := s.Confirm(t.Context(), "Delete?", tt.byDefault); got != tt.want {
				t.Errorf("want %v, got %v", tt.want, got)
			}
		})
	}
}

func TestConfirmEndsWithTheContext(t *testing.T) {
	s := New(nil, io.Discard, io.Discard)
	r, w := io.Pipe()
	defer w.Close() // lets the read go
	s.in = r
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if s.Confirm(ctx, "Delete?", true) {
		t.Error("a signal counts as declined (S-188)")
	}
}

func TestNobodyIsAskedWithoutATerminal(t *testing.T) {
	var out strings.Builder
	if New(nil, &out, &out).Confirm(t.Context(), "Delete?", true) || out.String() != "" {
		t.Errorf("asked: %q (G-8.10)", out.String())
	}
}
