import { uuid } from "../uuid"
import { type Ask, EventStream, type StreamEvent } from "./event_stream"

type Notice = { kind: "leader"; leader: string } | { kind: "who" } | { kind: "resigned"; leader: string } | Ask | StreamEvent

const BEAT_MS = 2_000
const SILENCE_MS = 5_000
const FIRST_WAIT_MS = 200

// Where there is no shared worker, one of the pages keeps the connection for all, and the others hear of it through it.
// Locks would choose it in one line, but browsers have them only over HTTPS.
export class Leader {
  private readonly id = uuid()
  private readonly channel = new BroadcastChannel("tavernkit-events")
  private readonly asked = new Map<string, Extract<Ask, { kind: "watch" }>>()
  private leader = ""
  private stream: EventStream | undefined
  private timer = 0

  constructor(private readonly receive: (event: StreamEvent) => void) {
    this.channel.addEventListener("message", ({ data }: MessageEvent<Notice>) => this.heard(data))
  }

  ask(ask: Ask): void {
    const isIdle = this.asked.size === 0
    if (ask.kind === "watch") this.asked.set(ask.client, ask)
    else if (ask.kind === "leave") this.asked.delete(ask.client)
    this.send(ask)
    if (this.asked.size === 0) this.resign()
    else if (isIdle) {
      this.channel.postMessage({ kind: "who" })
      this.leadUnlessHeardWithin(FIRST_WAIT_MS)
    }
  }

  private send(ask: Ask): void {
    if (this.stream) this.stream.ask(ask)
    else this.channel.postMessage(ask)
  }

  private heard(notice: Notice): void {
    if ("type" in notice) this.take(notice)
    else if (notice.kind === "leader") this.follow(notice.leader)
    else if (notice.kind === "who") this.beat()
    else if (notice.kind === "resigned") {
      if (notice.leader === this.leader && this.asked.size > 0) this.leadUnlessHeardWithin(Math.random() * FIRST_WAIT_MS)
    } else this.stream?.ask(notice)
  }

  private take(event: StreamEvent): boolean {
    const ask = this.asked.get(event.client)
    if (!ask) return false
    // The next leader begins where this one stopped.
    ask.after = Math.max(ask.after, event.seq ?? 0)
    this.receive(event)
    return true
  }

  // Of two that lead, the one whose id comes first goes on.
  private follow(leader: string): void {
    if (this.stream && this.id < leader) {
      this.beat()
      return
    }
    this.stream?.close()
    this.stream = undefined
    if (this.asked.size > 0) this.leadUnlessHeardWithin(SILENCE_MS + Math.random() * BEAT_MS)
    if (leader === this.leader) return
    this.leader = leader
    for (const ask of this.asked.values()) this.send(ask)
  }

  private leadUnlessHeardWithin(wait: number): void {
    clearTimeout(this.timer)
    this.timer = window.setTimeout(() => this.lead(), wait)
  }

  private lead(): void {
    this.leader = this.id
    this.stream ??= new EventStream((event) => {
      if (!this.take(event)) this.channel.postMessage(event)
    })
    this.beat()
    for (const ask of this.asked.values()) this.stream.ask(ask)
  }

  private beat(): void {
    if (!this.stream) return
    this.channel.postMessage({ kind: "leader", leader: this.id })
    clearTimeout(this.timer)
    this.timer = window.setTimeout(() => this.beat(), BEAT_MS)
  }

  // A page that nobody sees is put to sleep by the browser; it leaves the connection to another.
  private resign(): void {
    clearTimeout(this.timer)
    if (!this.stream) return
    this.stream.close()
    this.stream = undefined
    this.leader = ""
    this.channel.postMessage({ kind: "resigned", leader: this.id })
  }
}
