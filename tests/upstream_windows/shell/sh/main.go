// sh, a shell for Windows made of the interpreter mvdan.cc/sh: sh [-eux...] [-c COMMANDS [NAME ARGUMENT...] | FILE [ARGUMENT...]]. The library's
// own program, gosh, knows neither options nor arguments. Scripts may have what busybox' shell takes beyond POSIX, such as [[.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"mvdan.cc/sh/v3/interp"
	"mvdan.cc/sh/v3/syntax"
)

func main() {
	err := run(os.Args[1:])
	var status interp.ExitStatus
	if errors.As(err, &status) {
		os.Exit(int(status))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "sh:", err)
		os.Exit(2)
	}
}

func run(words []string) error {
	options, text := []string{}, (*string)(nil)
	for len(words) > 0 && len(words[0]) > 1 && words[0][0] == '-' && words[0] != "--" && text == nil {
		flags := words[0][1:]
		words = words[1:]
		if commands := strings.TrimSuffix(flags, "c"); commands != flags {
			if len(words) == 0 {
				return errors.New("-c needs commands")
			}
			text, flags, words = &words[0], commands, words[1:]
		}
		for _, flag := range flags {
			options = append(options, "-"+string(flag))
		}
	}
	source, name := io.Reader(os.Stdin), "sh"
	if text != nil {
		source = strings.NewReader(*text)
	}
	if len(words) > 0 {
		name, words = words[0], words[1:]
		if text == nil {
			file, err := os.Open(name)
			if err != nil {
				return err
			}
			defer file.Close()
			source = file
		}
	}
	program, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(source, name)
	if err != nil {
		return err
	}
	runner, err := interp.New(interp.StdIO(os.Stdin, os.Stdout, os.Stderr), interp.Params(append(append(options, "--"), words...)...))
	if err != nil {
		return err
	}
	return runner.Run(context.Background(), program)
}
