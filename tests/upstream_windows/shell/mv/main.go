// mv [-f] [-n] [-v] SOURCE TARGET, or mv ... SOURCE... DIRECTORY. u-root's knows neither -f nor -v.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	flag.Bool("f", true, "overwrite, which is done anyway")
	keep := flag.Bool("n", false, "do not overwrite")
	verbose := flag.Bool("v", false, "say what is moved")
	flag.Parse()
	words := flag.Args()
	if len(words) < 2 {
		fmt.Fprintln(os.Stderr, "mv: SOURCE and TARGET are missing")
		os.Exit(2)
	}
	target, sources, status := words[len(words)-1], words[:len(words)-1], 0
	found, err := os.Stat(target)
	isDirectory := err == nil && found.IsDir()
	if len(sources) > 1 && !isDirectory {
		fmt.Fprintf(os.Stderr, "mv: %s is not a directory\n", target)
		os.Exit(1)
	}
	for _, source := range sources {
		place := target
		if isDirectory {
			place = filepath.Join(target, filepath.Base(source))
		}
		if _, err := os.Lstat(place); err == nil && *keep {
			continue
		}
		if err := os.Rename(source, place); err != nil {
			fmt.Fprintln(os.Stderr, "mv:", err)
			status = 1
		} else if *verbose {
			fmt.Printf("'%s' -> '%s'\n", source, place)
		}
	}
	os.Exit(status)
}
