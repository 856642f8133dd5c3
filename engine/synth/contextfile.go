package synth

import (
	"fmt"
	"os"

	"github.com/org/cdkd-action/engine/value"
)

// A contextFile is a cdk.context.json.
type contextFile struct{ path string }

func (f contextFile) read() (*value.Object, error) { return readObject(f.path) }

// add lays values over what the file holds by now. A file that cannot be read
// is not written: what is in it is somebody's work. It is written in place, so
// that its owner and a link to it stay what they are.
func (f contextFile) add(values *value.Object) error {
	now, err := f.read()
	if err != nil {
		return err
	}
	body, err := value.MarshalIndent(merge(now, values))
	if err != nil {
		return fmt.Errorf("write %s: %w", f.path, err)
	}
	return os.WriteFile(f.path, append(body, '\n'), 0o644)
}
