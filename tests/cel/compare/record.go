package main

import (
	"encoding/json"
	"fmt"
	"math/rand"
	"os"
)

// record writes upstream's answers to generated expressions, one a line, for the tests that run without upstream. Expressions whose
// answers differ in a way that README.md lists are left out.
func record(t *tool, count int) bool {
	env := upstreamEnv()
	vars, vs := bindings()
	g := &generator{Rand: rand.New(rand.NewSource(2026))}
	out := json.NewEncoder(os.Stdout)
	out.SetEscapeHTML(false)
	for written := 0; written < count; {
		g.next = 0
		text := g.make(g.pick("bool", "bool", "int", "string", "list(int)", "list(string)", "map(string, int)", "double", "uint"), 1+g.Intn(3))
		if len(text) > 160 {
			continue
		}
		if kind, detail := compareOne(t, env, text, vars, vs); kind != "" {
			fmt.Fprintln(os.Stderr, kind, text, detail)
			continue
		}
		want := upstream(env, text, vars)
		line := map[string]any{"expression": text}
		if want.issues != "" {
			line["issues"] = want.issues
		} else {
			line["cost"], line["least"], line["most"] = want.cost, want.least, want.most
			if want.failure != "" {
				line["error"] = want.failure
			} else {
				line["value"] = want.value
			}
		}
		out.Encode(line)
		written++
	}
	return true
}
