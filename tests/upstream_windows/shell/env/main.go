// env: prints the environment. With NAME=VALUE... [COMMAND...] it runs the command with them in it.
package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
)

func main() {
	words := os.Args[1:]
	for len(words) > 0 && strings.Contains(words[0], "=") {
		name, value, _ := strings.Cut(words[0], "=")
		os.Setenv(name, value)
		words = words[1:]
	}
	if len(words) == 0 {
		for _, line := range os.Environ() {
			fmt.Println(line)
		}
		return
	}
	command := exec.Command(words[0], words[1:]...)
	command.Stdin, command.Stdout, command.Stderr = os.Stdin, os.Stdout, os.Stderr
	var status *exec.ExitError
	if err := command.Run(); errors.As(err, &status) {
		os.Exit(status.ExitCode())
	} else if err != nil {
		fmt.Fprintln(os.Stderr, "env:", err)
		os.Exit(127)
	}
}
