// What a page asks of the stream that all pages of a browser share.
export type Ask =
  | { kind: "watch"; client: string; conversation: string; after: number }
  | { kind: "leave"; client: string }
  | { kind: "retry" }

// What the stream has for one page. Besides what the server sends, `lost` says that there is no connection now, and
// `closed` that this page may not be told anything.
export interface StreamEvent {
  client: string
  type: string
  seq: number | undefined
  data: string
}

interface Watcher {
  conversation: string
  after: number
  heardAt: number
  // Nothing is passed on before the connection that replays what this page has missed.
  isOpen: boolean
}

export const PIPELINE_EVENTS = [
  "pipeline.run.started",
  "pipeline.run.done",
  "pipeline.run.aborted",
  "pipeline.run.error",
  "pipeline.step.started",
  "pipeline.step.done",
  "artifact.updated",
]
const EVENTS = ["hello", "streams", "text", "copilot", "presence", "typing", "closed", ...PIPELINE_EVENTS]

// Pages say this often that they are still there; one that crashed says nothing.
export const STILL_HERE_MS = 20_000
// Browsers let a tab that was hidden for minutes say so only once a minute.
const GONE_MS = 5 * STILL_HERE_MS
const FIRST_PAUSE_MS = 1_000
const LONGEST_PAUSE_MS = 15_000
// Several pages often come and go together.
const SETTLE_MS = 50
// The server carries no more conversations in one stream.
const MOST_WATCHED = 32

// One connection to the server for all pages of a browser: browsers open no more than six to one server.
export class EventStream {
  private readonly watchers = new Map<string, Watcher>()
  private source: EventSource | undefined
  // What the open connection carries, and how far each conversation has come in it.
  private readonly carried = new Map<string, number>()
  // Who was last there, for pages that come to an open connection.
  private readonly present = new Map<string, string>()
  private pause = FIRST_PAUSE_MS
  private reopening: ReturnType<typeof setTimeout> | undefined
  private reopensAt = Infinity
  private readonly sweeping = setInterval(() => this.sweep(), STILL_HERE_MS)

  constructor(private readonly deliver: (event: StreamEvent) => void) {}

  ask(ask: Ask): void {
    if (ask.kind === "watch") this.watch(ask.client, ask.conversation, ask.after)
    else if (ask.kind === "leave") this.leave(ask.client)
    else if (!this.source && this.watchers.size > 0) this.reopenIn(SETTLE_MS)
  }

  close(): void {
    this.shut()
    clearInterval(this.sweeping)
    this.watchers.clear()
  }

  private watch(client: string, conversation: string, after: number): void {
    const known = this.watchers.get(client)
    if (known?.conversation === conversation) {
      known.heardAt = Date.now()
      known.after = Math.max(known.after, after)
      return
    }
    const watcher = { conversation, after, heardAt: Date.now(), isOpen: false }
    this.watchers.set(client, watcher)
    const reached = this.carried.get(conversation)
    if (!this.source || reached === undefined || after < reached) {
      this.reopenIn(SETTLE_MS)
    } else if (this.isConnected(conversation)) {
      watcher.isOpen = true
      this.deliver({ client, type: "hello", seq: undefined, data: "{}" })
      const data = this.present.get(conversation)
      if (data !== undefined) this.deliver({ client, type: "presence", seq: undefined, data })
    }
  }

  private leave(client: string): void {
    const watcher = this.watchers.get(client)
    if (!watcher) return
    this.watchers.delete(client)
    if (this.watchers.size === 0) this.shut()
    else if (this.carried.has(watcher.conversation) && this.watching(watcher.conversation).length === 0) {
      this.reopenIn(SETTLE_MS)
    }
  }

  private sweep(): void {
    const oldest = Date.now() - GONE_MS
    for (const [client, { heardAt }] of [...this.watchers]) if (heardAt < oldest) this.leave(client)
  }

  private reopenIn(pause: number): void {
    const at = Date.now() + pause
    if (at >= this.reopensAt) return
    clearTimeout(this.reopening)
    this.reopensAt = at
    this.reopening = setTimeout(() => this.open(), pause)
  }

  private shut(): void {
    clearTimeout(this.reopening)
    this.reopensAt = Infinity
    this.source?.close()
    this.source = undefined
    this.carried.clear()
    this.present.clear()
  }

  private open(): void {
    this.shut()
    for (const watcher of this.watchers.values()) watcher.isOpen = false
    // The last that came are the ones that somebody looks at.
    for (const { conversation, after } of [...this.watchers.values()].reverse()) {
      const reached = this.carried.get(conversation)
      if (reached !== undefined || this.carried.size < MOST_WATCHED) {
        this.carried.set(conversation, Math.min(reached ?? after, after))
      }
    }
    const watch = [...this.carried].map(([conversation, after]) => ["watch", `${conversation}:${after}`])
    if (watch.length === 0) return
    const source = new EventSource(`/events?${new URLSearchParams(watch)}`)
    for (const type of EVENTS) {
      source.addEventListener(type, (event) => this.passOn(type, event as MessageEvent<string>))
    }
    source.addEventListener("error", () => this.lost(source))
    this.source = source
  }

  // The id of an event is its conversation, with a number or without.
  private passOn(type: string, { lastEventId, data }: MessageEvent<string>): void {
    const [conversation = "", number] = lastEventId.split(":")
    const seq = number === undefined ? undefined : Number(number)
    if (type === "hello") this.pause = FIRST_PAUSE_MS
    if (type === "presence") this.present.set(conversation, data)
    if (type === "closed") {
      this.reopenIn(LONGEST_PAUSE_MS)
      this.say("closed", conversation)
      return
    }
    if (seq !== undefined) this.carried.set(conversation, Math.max(this.carried.get(conversation) ?? 0, seq))
    for (const [client, watcher] of this.watching(conversation)) {
      if (type === "hello") watcher.isOpen = true
      if (!watcher.isOpen || (seq !== undefined && seq <= watcher.after)) continue
      if (seq !== undefined) watcher.after = seq
      this.deliver({ client, type, seq, data })
    }
  }

  private lost(source: EventSource): void {
    if (source !== this.source) return
    // The address says what was seen by then, so the browser must not open the same once more by itself.
    this.shut()
    this.reopenIn(this.pause)
    this.pause = Math.min(this.pause * 2, LONGEST_PAUSE_MS)
    this.say("lost")
  }

  private say(type: string, conversation?: string): void {
    for (const [client, watcher] of this.watchers) {
      if (conversation !== undefined && watcher.conversation !== conversation) continue
      watcher.isOpen = false
      this.deliver({ client, type, seq: undefined, data: "" })
    }
  }

  private isConnected(conversation: string): boolean {
    return this.watching(conversation).some(([, { isOpen }]) => isOpen)
  }

  private watching(conversation: string): [string, Watcher][] {
    return [...this.watchers].filter(([, watcher]) => watcher.conversation === conversation)
  }
}
