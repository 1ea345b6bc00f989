// The peer: a server written with the TypeScript SDK, the way its documentation shows it.
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import { z } from "zod";

const server = new McpServer({ name: "bench", version: "1.0.0" });

server.registerTool(
  "echo",
  { description: "Give a text back.", inputSchema: { text: z.string() } },
  async ({ text }) => ({ content: [{ type: "text", text }] }),
);

server.registerTool(
  "large",
  { description: "Give back a text of some length.", inputSchema: { size: z.number() } },
  async ({ size }) => ({ content: [{ type: "text", text: "x".repeat(size) }] }),
);

await server.connect(new StdioServerTransport());
