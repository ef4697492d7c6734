"""A shelf of books, offered on any of the servers beside this file: `books.offer(server, Context, Completion)`."""

from asyncio import sleep
from weakref import WeakKeyDictionary

from pydantic import BaseModel

TITLES = ["Dune", "Dubliners", "Emma"]
SAID = ["one", "two", "three"]


class Book(BaseModel):
    title: str
    pages: int


class Loan(BaseModel):
    name: str
    days: int = 7


def offer(server, Context, Completion):
    visits = WeakKeyDictionary()

    @server.tool()
    def shelf() -> str:
        """Every title."""
        return ", ".join(TITLES)

    @server.tool()
    def find(title: str) -> Book:
        """One book."""
        return Book(title=title, pages=100 + len(title))

    @server.tool()
    def burn(title: str) -> str:
        """Fails."""
        raise ValueError(f"nobody burns {title}")

    @server.tool()
    async def slow_steps(ctx: Context, steps: int = 3) -> str:
        """Tells how far it is."""
        for step in range(1, steps + 1):
            await ctx.report_progress(step, steps, f"step {step}")
            # A client that gets all at once loses some.
            await sleep(0.05)
        return "done"

    @server.tool()
    async def write_log(ctx: Context) -> str:
        """Logs."""
        for text in SAID:
            await ctx.info(text)
        return "logged"

    @server.tool()
    async def lend(title: str, ctx: Context) -> str:
        """Asks who takes it."""
        answer = await ctx.elicit(f"Who takes {title}?", Loan)
        if answer.action != "accept":
            return answer.action
        return f"{answer.data.name} has {title} for {answer.data.days} days"

    @server.tool()
    async def count_visits(ctx: Context) -> str:
        """How often this session has asked."""
        visits[ctx.session] = visits.get(ctx.session, 0) + 1
        return str(visits[ctx.session])

    @server.resource("books://shelf", mime_type="text/plain")
    def titles() -> str:
        """Every title, a line each."""
        return "\n".join(TITLES)

    @server.resource("books://cover", mime_type="image/png")
    def cover() -> bytes:
        """A picture, or nearly."""
        return b"\x89PNG"

    @server.resource("books://book/{title}", mime_type="application/json")
    def book(title: str) -> dict:
        """One book."""
        return {"title": title}

    @server.prompt()
    def review(title: str, tone: str = "kind") -> str:
        """Asks for a review."""
        return f"Write a {tone} review of {title}."

    @server.completion()
    async def complete(ref, argument, context):
        if argument.name != "title":
            return None
        return Completion(values=[title for title in TITLES if title.lower().startswith(argument.value.lower())])
