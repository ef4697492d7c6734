"""`MCPServer` of the official Python SDK 2.x, which serves both eras: PORT=9442 python sdk_2.py"""

import os
from typing import Annotated

import books
from mcp.server.mcpserver import Context, Elicit, MCPServer, Resolve
from mcp_types import Completion

server = MCPServer("books", instructions="Ask for a shelf first.", log_level="WARNING")
books.offer(server, Context, Completion)


def ask_who(title: str) -> Elicit[books.Loan]:
    return Elicit(f"Who takes {title}?", books.Loan)


@server.tool()
def lend_in_any_era(title: str, loan: Annotated[books.Loan, Resolve(ask_who)]) -> str:
    """Asks who takes it, before it begins."""
    return f"{loan.name} has {title} for {loan.days} days"


server.run("streamable-http", port=int(os.environ["PORT"]))
