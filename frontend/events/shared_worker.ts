import { type Ask, EventStream } from "./event_stream"

// Runs once for all pages of a browser and keeps their connection to the server.
const ports = new Map<string, MessagePort>()
const stream = new EventStream((event) => ports.get(event.client)?.postMessage(event))

addEventListener("connect", (event) => {
  const [port] = (event as MessageEvent).ports
  port?.addEventListener("message", ({ data }: MessageEvent<Ask>) => {
    if (data.kind === "watch") ports.set(data.client, port)
    else if (data.kind === "leave") ports.delete(data.client)
    stream.ask(data)
  })
  port?.start()
})
