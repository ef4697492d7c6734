"""FastMCP 4 for Python, which serves both eras: PORT=9443 python fastmcp_4.py"""

import os

import books
from fastmcp import Context, FastMCP
from mcp_types import Completion

server = FastMCP("books", instructions="Ask for a shelf first.", version="1.0.0")
books.offer(server, Context, Completion)
server.run(
    "http",
    host="127.0.0.1",
    port=int(os.environ["PORT"]),
    log_level="WARNING",
    show_banner=False,
)
