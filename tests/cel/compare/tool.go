package main

import (
	"bufio"
	"encoding/json"
	"io"
	"os"
	"os/exec"
)

// tool is a running cel_tool: one request a line, one answer a line.
type tool struct {
	process *exec.Cmd
	in      io.WriteCloser
	out     *bufio.Reader
}

type variable struct {
	Name  string `json:"name"`
	Type  string `json:"type,omitempty"`
	Value any    `json:"value,omitempty"`
}

type request struct {
	Expression string     `json:"expression"`
	Container  string     `json:"container"`
	Variables  []variable `json:"variables,omitempty"`
	Extended   bool       `json:"extended,omitempty"`
	Mixed      bool       `json:"mixed,omitempty"`
	Unchecked  bool       `json:"unchecked,omitempty"`
}

type answer struct {
	Issues string         `json:"issues"`
	Value  map[string]any `json:"value"`
	Cost   string         `json:"cost"`
	Least  string         `json:"least"`
	Most   string         `json:"most"`
	Type   string         `json:"type"`
}

func start(path string) *tool {
	t := &tool{process: exec.Command(path)}
	t.process.Stderr = os.Stderr
	var err error
	if t.in, err = t.process.StdinPipe(); err != nil {
		panic(err)
	}
	out, err := t.process.StdoutPipe()
	if err != nil {
		panic(err)
	}
	t.out = bufio.NewReaderSize(out, 1<<20)
	if err := t.process.Start(); err != nil {
		panic(err)
	}
	return t
}

func (t *tool) stop() {
	t.in.Close()
	t.process.Wait()
}

func (t *tool) ask(r request) answer {
	line, err := json.Marshal(r)
	if err != nil {
		panic(err)
	}
	if _, err := t.in.Write(append(line, '\n')); err != nil {
		panic(err)
	}
	reply, err := t.out.ReadBytes('\n')
	if err != nil {
		panic("cel_tool ended at: " + r.Expression)
	}
	var a answer
	if err := json.Unmarshal(reply, &a); err != nil {
		panic(string(reply))
	}
	return a
}
