package state

import (
	"errors"
	"testing"
)

func TestRequestErrorSaysWhatToDo(t *testing.T) {
	for _, tt := range []struct {
		name, want string
		err        error
	}{
		{"no answer", "run the command again; if it fails in the same way, see whether S3 can be reached from here", errors.New("EOF")},
		{"a cause that knows better", (&VersionError{}).Remedy(), &VersionError{}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := (&RequestError{Bucket: "b", Key: "k", Doing: "write", Err: tt.err}).Remedy(); got != tt.want {
				t.Errorf("remedy (S-191)\nwant %s\ngot  %s", tt.want, got)
			}
		})
	}
}
