// Command probe is the process in the containers of the runner's own tests. It
// does what PROBE says.
package main

import (
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"
)

func main() {
	signals := make(chan os.Signal, 8)
	if os.Getenv("PROBE") != "unhandled" {
		signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	}
	dir, _ := os.Getwd()
	_, stdin := io.ReadAll(os.Stdin)
	fmt.Printf("pid %d in %s, HOME %s, input %q, stdin %v\n", os.Getpid(), dir, os.Getenv("HOME"), os.Getenv("INPUT_A-B"), stdin)

	switch os.Getenv("PROBE") {
	case "write":
		write("GITHUB_OUTPUT", "result=done\n")
		write("GITHUB_STATE", "kept=for later\n")
		write("GITHUB_STEP_SUMMARY", "# Summary of s3cret\n")
		write("GITHUB_PATH", "/a\n/b\n")
		fmt.Println("::add-mask::s3cret\ntold s3cret")
	case "malformed":
		write("GITHUB_OUTPUT", "result=done\nnonsense\n")
	case "post":
		fmt.Println("kept:", os.Getenv("STATE_kept"))
	case "fail":
		os.Exit(3)
	case "handle":
		fmt.Println("ready")
		fmt.Println("got", <-signals)
		os.Exit(130)
	case "ignore":
		fmt.Println("ready")
		for s := range signals {
			fmt.Println("got", s)
		}
	case "unhandled":
		fmt.Println("ready")
		time.Sleep(time.Hour)
	}
}

func write(variable, text string) {
	f, err := os.OpenFile(os.Getenv(variable), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		panic(err)
	}
	defer f.Close()
	if _, err := f.WriteString(text); err != nil {
		panic(err)
	}
}
