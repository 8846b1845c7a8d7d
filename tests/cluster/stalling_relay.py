"""A connection that comes to a standstill: stalling_relay.py PORT TARGET BYTES passes TCP on to a port of 127.0.0.1, of what clients send no
more than so many bytes. Prints a line when it listens."""

import contextlib
import socket
import sys
import threading


class Budget:
    """Bytes that may still be passed on, by whichever connection."""

    def __init__(self, left):
        self.left, self.lock = left, threading.Lock()

    def take(self, wanted):
        with self.lock:
            taken = min(wanted, self.left)
            self.left -= taken
        return taken


def pass_on(source, target, budget=None):
    with contextlib.suppress(OSError):  # whoever is killed resets its connection
        while data := source.recv(4096):
            allowed = budget.take(len(data)) if budget else len(data)
            target.sendall(data[:allowed])
            if allowed < len(data):
                return  # both ends stay open
        target.shutdown(socket.SHUT_WR)


def main():
    port, target, budget = int(sys.argv[1]), int(sys.argv[2]), Budget(int(sys.argv[3]))
    listener = socket.create_server(("127.0.0.1", port))
    print("listening", flush=True)
    while True:
        client, _ = listener.accept()
        server = socket.create_connection(("127.0.0.1", target))
        threading.Thread(target=pass_on, args=(client, server, budget), daemon=True).start()
        threading.Thread(target=pass_on, args=(server, client), daemon=True).start()


if __name__ == "__main__":
    main()
