// hexdump -C [FILE...]: bytes in hexadecimal and as characters, sixteen on a line.
package main

import (
	"encoding/hex"
	"flag"
	"fmt"
	"io"
	"os"
)

func main() {
	flag.Bool("C", true, "the only form")
	flag.Parse()
	readers := []io.Reader{}
	for _, name := range flag.Args() {
		file, err := os.Open(name)
		if err != nil {
			fmt.Fprintln(os.Stderr, "hexdump:", err)
			os.Exit(1)
		}
		readers = append(readers, file)
	}
	if len(readers) == 0 {
		readers = append(readers, os.Stdin)
	}
	dumper := hex.Dumper(os.Stdout)
	size, err := io.Copy(dumper, io.MultiReader(readers...))
	dumper.Close()
	if err != nil {
		fmt.Fprintln(os.Stderr, "hexdump:", err)
		os.Exit(1)
	}
	fmt.Printf("%08x\n", size)
}
