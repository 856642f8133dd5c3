package sandbox

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// Main runs a sandbox in a process of its own: it prints its URL, then its
// environment as a shell would set it, and serves until SIGINT or SIGTERM. It
// returns the exit code.
func Main(args []string) int { return run(args, os.Stdout, os.Stderr) }

func run(args []string, stdout, stderr io.Writer) int {
	var o Options
	flags := flag.NewFlagSet("sandbox", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&o.Addr, "addr", "127.0.0.1:0", "address to listen at")
	flags.StringVar(&o.AccountID, "account", "", "account id (default 123456789012)")
	flags.StringVar(&o.Region, "region", "", "default region (default us-east-1)")
	flags.StringVar((*string)(&o.Upstream), "upstream", string(Kumo), "emulator for the other services: kumo, moto or none")
	flags.DurationVar(&o.ProgressDelay, "progress", 0, "how long operations of Cloud Control take")
	flags.BoolVar(&o.RunCode, "run-code", false, "run the code of invoked functions under node or python3")
	latency := flags.Duration("latency", 0, "time that every call takes in addition")
	if err := flags.Parse(args); err != nil {
		return 2
	}

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	starting, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	s, err := Start(starting, o)
	if err != nil {
		fmt.Fprintln(stderr, err)
		return 1
	}
	s.SetLatency("", "", *latency)
	fmt.Fprintln(stdout, s.URL)
	for _, each := range s.Env() {
		fmt.Fprintln(stdout, "export "+each)
	}
	<-ctx.Done()
	if err := s.Close(); err != nil {
		fmt.Fprintln(stderr, err)
		return 1
	}
	return 0
}
