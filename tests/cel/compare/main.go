// compare runs conformance tests, and expressions that it generates, with cel_tool and with upstream's evaluator; see ../README.md.
package main

import (
	"fmt"
	"os"
	"strconv"
)

func main() {
	if len(os.Args) < 4 {
		fmt.Println("usage: compare CEL_TOOL conformance FOLDER | compare CEL_TOOL generated COUNT [SEED] | compare CEL_TOOL texts FILE | compare CEL_TOOL record COUNT")
		os.Exit(2)
	}
	t := start(os.Args[1])
	defer t.stop()
	ok := false
	switch os.Args[2] {
	case "conformance":
		ok = conformance(t, os.Args[3])
	case "generated":
		count, _ := strconv.Atoi(os.Args[3])
		seed := int64(1)
		if len(os.Args) > 4 {
			seed, _ = strconv.ParseInt(os.Args[4], 10, 64)
		}
		ok = generated(t, count, seed)
	case "record":
		count, _ := strconv.Atoi(os.Args[3])
		ok = record(t, count)
	case "texts":
		ok = texts(t, os.Args[3])
	}
	if !ok {
		os.Exit(1)
	}
}
