import { type Ask, EventStream, type StreamEvent } from "./event_stream"
import { Leader } from "./leader"

type Receive = (event: StreamEvent) => void

interface Connection {
  ask(ask: Ask): void
}

const receivers = new Map<string, Receive>()
let connection: Connection | undefined

// Asks in the name of a client; what is there for it goes to its receiver until it leaves.
export function askStream(ask: Ask, worker: string, receive?: Receive): void {
  if (ask.kind === "watch" && receive) receivers.set(ask.client, receive)
  else if (ask.kind === "leave") receivers.delete(ask.client)
  connection ??= connect(worker)
  connection.ask(ask)
}

function receive(event: StreamEvent): void {
  receivers.get(event.client)?.(event)
}

function connect(worker: string): Connection {
  try {
    if ("SharedWorker" in window) return new WorkerConnection(worker)
  } catch {
    // A browser that keeps pages apart allows none.
  }
  return "BroadcastChannel" in window ? new Leader(receive) : new EventStream(receive)
}

class WorkerConnection implements Connection {
  private readonly port: MessagePort

  constructor(worker: string) {
    this.port = new SharedWorker(worker, { name: "tavernkit-events" }).port
    this.port.addEventListener("message", ({ data }: MessageEvent<StreamEvent>) => receive(data))
    this.port.start()
  }

  ask(ask: Ask): void {
    this.port.postMessage(ask)
  }
}
