package main

import (
	"io"
	"log"
	"net"
)

// A test makes its connections to the port ahead, so each that comes to the socket gets the next of them.
func join(sockets, ports net.Listener) {
	for {
		left, err := sockets.Accept()
		if err != nil {
			log.Fatal(err)
		}
		right, err := ports.Accept()
		if err != nil {
			log.Fatal(err)
		}
		go copyTo(left, right)
		go copyTo(right, left)
	}
}

func copyTo(to, from net.Conn) {
	io.Copy(to, from)
	to.Close()
	from.Close()
}
