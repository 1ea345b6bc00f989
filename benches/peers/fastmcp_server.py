"""The peer: a server written with FastMCP, the way its documentation shows it."""

from fastmcp import FastMCP

mcp = FastMCP("bench")


@mcp.tool
async def echo(text: str) -> str:
    """Give a text back."""
    return text


@mcp.tool
def large(size: int) -> str:
    """Give back a text of some length."""
    return "x" * size


if __name__ == "__main__":
    mcp.run(show_banner=False)
