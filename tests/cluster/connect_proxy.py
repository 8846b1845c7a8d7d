"""An HTTP proxy for tests: connect_proxy.py ADDRESS PORT. Carries what is asked for by CONNECT, and prints each such line."""

import asyncio
import sys


async def copy(reader, writer):
    try:
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
    except OSError:
        pass
    finally:
        writer.close()


async def serve(reader, writer):
    head = (await reader.readuntil(b"\r\n\r\n")).decode()
    line = head.split("\r\n")[0]
    print(line, flush=True)
    method, target, _ = line.split()
    if method != "CONNECT":
        writer.write(b"HTTP/1.1 405 Method Not Allowed\r\nContent-Length: 0\r\n\r\n")
        return writer.close()
    host, _, port = target.rpartition(":")
    try:
        far_reader, far_writer = await asyncio.open_connection(host.strip("[]"), int(port))
    except OSError:
        writer.write(b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n")
        return writer.close()
    writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
    await asyncio.gather(copy(reader, far_writer), copy(far_reader, writer))


async def main():
    server = await asyncio.start_server(serve, sys.argv[1], int(sys.argv[2]))
    print("listening", flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main())
