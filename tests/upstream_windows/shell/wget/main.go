// wget [-q] [-S] [-T SECONDS] [-O FILE|-] [--spider] [--post-data TEXT] URL: ends with 1 for an answer that is no success. u-root's has no
// --post-data.
package main

import (
	"crypto/tls"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"path"
	"strings"
	"time"
)

func main() {
	flag.Bool("q", false, "say nothing, as always")
	flag.Bool("no-check-certificate", true, "take every certificate, as always")
	headers := flag.Bool("S", false, "print the answer's headers")
	spider := flag.Bool("spider", false, "write nothing")
	seconds := flag.Int("T", 900, "seconds to wait")
	output := flag.String("O", "", "file to write; - for standard output")
	body := flag.String("post-data", "", "send this")
	flag.CommandLine.Parse(apart(os.Args[1:]))
	if flag.NArg() != 1 {
		giveUp("one URL is needed")
	}
	url := flag.Arg(0)
	if !strings.Contains(url, "://") {
		url = "http://" + url
	}
	answer, err := ask(url, *body, time.Duration(*seconds)*time.Second)
	if err != nil {
		giveUp(err.Error())
	}
	defer answer.Body.Close()
	if *headers {
		fmt.Fprintln(os.Stderr, "  "+answer.Proto, answer.Status)
		answer.Header.Write(os.Stderr)
	}
	if answer.StatusCode >= 300 {
		giveUp("server returned error: " + answer.Proto + " " + answer.Status)
	}
	if *spider {
		return
	}
	if _, err := io.Copy(open(*output, url), answer.Body); err != nil {
		giveUp(err.Error())
	}
}

// With the file of "-OFILE" as a word of its own.
func apart(words []string) []string {
	result := []string{}
	for _, word := range words {
		if strings.HasPrefix(word, "-O") && len(word) > 2 {
			result = append(result, "-O", word[2:])
		} else {
			result = append(result, word)
		}
	}
	return result
}

func giveUp(why string) {
	fmt.Fprintln(os.Stderr, "wget:", why)
	os.Exit(1)
}

func ask(url, body string, limit time.Duration) (*http.Response, error) {
	client := http.Client{Timeout: limit, Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	if body == "" {
		return client.Get(url)
	}
	return client.Post(url, "application/x-www-form-urlencoded", strings.NewReader(body))
}

func open(name, url string) *os.File {
	if name == "-" {
		return os.Stdout
	}
	if name == "" {
		if name = path.Base(strings.TrimRight(url, "/")); strings.Contains(name, ":") {
			name = "index.html"
		}
	}
	file, err := os.Create(name)
	if err != nil {
		giveUp(err.Error())
	}
	return file
}
