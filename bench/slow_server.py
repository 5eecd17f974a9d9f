"""A local model that says one token and then nothing.

`python -m bench.slow_server` prints its port; `GET /count` tells how many answers have begun.
It ends when its standard input does.
"""

import asyncio
import json
import resource
import sys

_TOKEN = {
    "id": "slow",
    "object": "chat.completion.chunk",
    "created": 1,
    "model": "slow",
    "choices": [{"index": 0, "delta": {"role": "assistant", "content": "Well"}}],
}
_BEGUN = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"


class SlowServer:
    """Counts the answers that it began."""

    def __init__(self) -> None:
        self.begun = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            if head.startswith(b"GET"):
                body = json.dumps(self.begun if b"/count" in head else {"data": []}).encode()
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))
                await writer.drain()
                return
            event = f"data: {json.dumps(_TOKEN)}\n\n".encode()
            writer.write(_BEGUN + b"%x\r\n%s\r\n" % (len(event), event))
            await writer.drain()
            self.begun += 1
            while await reader.read(65536):  # the rest of the question, then silence
                pass
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()


def allow_connections() -> None:
    """As many open files as the machine lets us have."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


async def main() -> None:
    allow_connections()
    server = await asyncio.start_server(SlowServer().serve, "127.0.0.1", 0, backlog=2048)
    print(server.sockets[0].getsockname()[1], flush=True)
    await asyncio.to_thread(sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(main())
