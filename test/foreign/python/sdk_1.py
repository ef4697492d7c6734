"""`FastMCP` of the official Python SDK 1.x: PORT=9441 python sdk_1.py [stateless | sse | falls]"""

import asyncio
import os
import sys

import books
from mcp.server.fastmcp import Context, FastMCP
from mcp.server.streamable_http import EventStore
from mcp.types import Completion


class FallingStore(EventStore):
    """Once it fell, the SDK answers each request of a session with 500."""

    def __init__(self):
        self.fell = False
        self.stored = 0

    async def store_event(self, stream_id, message):
        if self.fell:
            raise OSError("the shelf fell down")
        self.stored += 1
        return str(self.stored)

    async def replay_events_after(self, last_event_id, send_callback):
        return None


way = sys.argv[1] if len(sys.argv) > 1 else "sessions"
store = FallingStore() if way == "falls" else None
server = FastMCP(
    "books",
    instructions="Ask for a shelf first.",
    port=int(os.environ["PORT"]),
    stateless_http=way == "stateless",
    event_store=store,
    log_level="WARNING",
)
books.offer(server, Context, Completion)

if store:

    @server.tool()
    async def push() -> str:
        """The shelf falls, once this is answered."""
        asyncio.get_running_loop().call_later(0.2, setattr, store, "fell", True)
        return "pushed"


server.run("sse" if way == "sse" else "streamable-http")
