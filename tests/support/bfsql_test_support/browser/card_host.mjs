/** A host of MCP Apps: it calls a tool, and shows its card in a frame without an origin. */

import { AppBridge, PostMessageTransport, getToolUiResourceUri } from "@modelcontextprotocol/ext-apps/app-bridge";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";

const CAPABILITIES = { extensions: { "io.modelcontextprotocol/ui": { mimeTypes: ["text/html;profile=mcp-app"] } } };
const ABLE = { serverTools: {}, openLinks: {}, message: { text: {} } };

Object.assign(window, { messages: [], links: [], sizes: [] });

async function connected() {
  const client = new Client({ name: "host", version: "1" }, { capabilities: CAPABILITIES });
  await client.connect(new StreamableHTTPClientTransport(new URL("/mcp", location.href)));
  return client;
}

window.showCard = async ({ tool: name, arguments: given, context }) => {
  const client = await (window.client ??= connected());
  const tool = (await client.listTools()).tools.find((one) => one.name === name);
  const { contents } = await client.readResource({ uri: getToolUiResourceUri(tool) });
  const result = await client.callTool({ name, arguments: given });
  const frame = document.createElement("iframe");
  frame.setAttribute("sandbox", "allow-scripts");
  frame.setAttribute("title", "Card");
  frame.style.cssText = "border: 0; width: 100%; height: 640px; display: block; color-scheme: light dark";
  document.querySelector("main").replaceChildren(frame);
  await window.bridge?.close();
  const bridge = (window.bridge = new AppBridge(client, { name: "host", version: "1" }, ABLE, { hostContext: { theme: "light", ...context, toolInfo: { tool } } }));
  bridge.onsizechange = ({ height }) => {
    window.sizes.push(height);
    frame.style.height = `${height + 2}px`;
  };
  bridge.onmessage = async ({ content }) => (window.messages.push(content[0].text), {});
  bridge.onopenlink = async ({ url }) => (window.links.push(url), {});
  const ready = new Promise((resolve) => (bridge.oninitialized = resolve));
  await bridge.connect(new PostMessageTransport(frame.contentWindow, frame.contentWindow));
  frame.srcdoc = contents[0].text;
  await ready;
  await bridge.sendToolInput({ arguments: given });
  await bridge.sendToolResult(result);
  return result;
};
