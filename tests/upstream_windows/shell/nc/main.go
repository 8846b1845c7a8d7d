// nc HOST PORT: sends standard input and prints what comes back, until the other side ends or -w SECONDS have passed without a byte. It knows what
// the tests say: -u for UDP, -z to send nothing, -v, -t and -n, which change nothing here.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"time"
)

func main() {
	datagrams := flag.Bool("u", false, "UDP")
	probe := flag.Bool("z", false, "connect only")
	wait := flag.Int("w", 0, "seconds")
	for _, name := range []string{"v", "t", "n"} {
		flag.Bool(name, false, "ignored")
	}
	flag.Parse()
	if flag.NArg() != 2 {
		fmt.Fprintln(os.Stderr, "nc: HOST PORT is missing")
		os.Exit(2)
	}
	network := "tcp"
	if *datagrams {
		network = "udp"
	}
	if err := converse(network, net.JoinHostPort(flag.Arg(0), flag.Arg(1)), *probe, time.Duration(*wait)*time.Second); err != nil {
		fmt.Fprintln(os.Stderr, "nc:", err)
		os.Exit(1)
	}
}

func converse(network, address string, probe bool, wait time.Duration) error {
	connection, err := net.DialTimeout(network, address, wait)
	if err != nil || probe {
		return err
	}
	defer connection.Close()
	if _, err := io.Copy(connection, os.Stdin); err != nil {
		return err
	}
	if stream, ok := connection.(*net.TCPConn); ok {
		if err := stream.CloseWrite(); err != nil {
			return err
		}
	}
	buffer := make([]byte, 65536)
	for {
		if wait > 0 {
			if err := connection.SetReadDeadline(time.Now().Add(wait)); err != nil {
				return err
			}
		}
		size, err := connection.Read(buffer)
		if _, failed := os.Stdout.Write(buffer[:size]); failed != nil {
			return failed
		}
		if errors.Is(err, io.EOF) || errors.Is(err, os.ErrDeadlineExceeded) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}
