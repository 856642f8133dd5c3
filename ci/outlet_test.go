package ci

import (
	"bytes"
	"io"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestOutletKeepsTheOrderOfItsStreams(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got bytes.Buffer
		o := newOutlet(make(chan struct{}), outletBytes)
		out, err := o.stream(&got), o.stream(&got)
		for i := range 1000 {
			w := out
			if i%3 == 0 {
				w = err
			}
			w.Write([]byte{byte('a' + i%26)})
		}
		o.close()
		out.Write([]byte("too late"))
		if want := strings.Repeat("abcdefghijklmnopqrstuvwxyz", 39)[:1000]; got.String() != want {
			t.Errorf("got %q", got.String())
		}
	})
}

// A log that nobody reads must not hold up a save (S-189).
func TestOutletDoesNotWaitForAReaderAfterASignal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		read, write := io.Pipe() // has no room at all
		hurry := make(chan struct{})
		o := newOutlet(hurry, outletBytes)
		w := o.stream(write)
		full := bytes.Repeat([]byte("x"), outletBytes)
		w.Write(full)

		held := make(chan struct{})
		go func() {
			defer close(held)
			w.Write([]byte("more"))
		}()
		synctest.Wait()
		select {
		case <-held:
			t.Error("a slow reader slows nobody down")
		default:
		}
		start := time.Now()
		close(hurry)
		<-held
		for range 100 {
			w.Write(full)
		}
		if took := time.Since(start); took != 0 {
			t.Errorf("writing waited %s for a reader", took)
		}
		o.close()
		if took := time.Since(start); took != lastWait {
			t.Errorf("the end came after %s, want %s", took, lastWait)
		}
		read.Close()
		<-o.ended
	})
}

func TestOutletWaitsForASlowReaderOtherwise(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		read, write := io.Pipe()
		o := newOutlet(make(chan struct{}), outletBytes)
		w := o.stream(write)
		text := strings.Repeat("line\n", outletBytes/3)
		var got bytes.Buffer
		reading := make(chan struct{})
		go func() {
			defer close(reading)
			for {
				time.Sleep(time.Second) // the bubble's time
				if _, err := io.CopyN(&got, read, 200_000); err != nil {
					return
				}
			}
		}()
		for chunk := range strings.Lines(text) {
			w.Write([]byte(chunk))
		}
		o.close()
		write.Close()
		<-reading
		if got.String() != text {
			t.Errorf("%d of %d bytes arrived", got.Len(), len(text))
		}
	})
}

func TestOutletSurvivesAReaderThatIsGone(t *testing.T) {
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	read.Close()
	o := newOutlet(make(chan struct{}), outletBytes)
	o.stream(write).Write([]byte("into the void"))
	o.close()
}
