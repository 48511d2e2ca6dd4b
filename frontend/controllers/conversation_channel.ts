import { Controller } from "@hotwired/stimulus"
import { renderStreamMessage } from "@hotwired/turbo"

const FIRST_PAUSE_MS = 1_000
const LONGEST_PAUSE_MS = 15_000
// A connection that comes back at once is nobody's business.
const QUIET_MS = 1_500
const PIPELINE_EVENTS = [
  "pipeline.run.started",
  "pipeline.run.done",
  "pipeline.run.aborted",
  "pipeline.run.error",
  "pipeline.step.started",
  "pipeline.step.done",
  "artifact.updated",
]

// The one stream of events of this page: changes to the page, and the words of a reply while it is written.
export default class ConversationChannel extends Controller<HTMLElement> {
  static override targets = ["lost"]
  static override values = { url: String, after: Number }

  declare readonly lostTarget: HTMLElement
  declare readonly urlValue: string
  // The last event this page has seen. It stands in the page, because it describes the page.
  declare afterValue: number

  private source: EventSource | undefined
  private pause = FIRST_PAUSE_MS
  private reopening = 0
  private complaining = 0

  override connect(): void {
    this.open()
    addEventListener("pagehide", this.close)
    addEventListener("pageshow", this.openAgain)
    addEventListener("online", this.openAgain)
  }

  override disconnect(): void {
    this.close()
    this.fallSilent()
    removeEventListener("pagehide", this.close)
    removeEventListener("pageshow", this.openAgain)
    removeEventListener("online", this.openAgain)
  }

  private open(): void {
    this.close()
    const source = new EventSource(`${this.urlValue}?after=${this.afterValue}`)
    source.addEventListener("hello", () => this.opened())
    source.addEventListener("streams", (event) => this.changed(event as MessageEvent<string>))
    source.addEventListener("text", (event) => {
      this.dispatch("text", { target: document, prefix: "channel", detail: JSON.parse((event as MessageEvent).data) })
    })
    source.addEventListener("copilot", (event) => {
      this.dispatch("copilot", { target: document, prefix: "channel", detail: JSON.parse((event as MessageEvent).data) })
    })
    for (const type of PIPELINE_EVENTS) {
      source.addEventListener(type, (event) => {
        this.dispatch("pipeline", { target: document, prefix: "channel", detail: JSON.parse((event as MessageEvent).data) })
      })
    }
    source.addEventListener("error", () => this.lost(source))
    this.source = source
  }

  private readonly close = (): void => {
    this.source?.close()
    this.source = undefined
    clearTimeout(this.reopening)
  }

  private readonly openAgain = (): void => {
    if (!this.source || this.source.readyState === EventSource.CLOSED) this.open()
  }

  private opened(): void {
    this.pause = FIRST_PAUSE_MS
    this.fallSilent()
    this.lostTarget.hidden = true
    this.dispatch("open", { target: document, prefix: "channel" })
  }

  private changed(event: MessageEvent<string>): void {
    this.afterValue = Math.max(this.afterValue, Number(event.lastEventId))
    renderStreamMessage(event.data)
  }

  private lost(source: EventSource): void {
    if (source !== this.source) return
    if (!this.complaining) this.complaining = window.setTimeout(() => (this.lostTarget.hidden = false), QUIET_MS)
    // The browser tries again by itself after a broken connection, but not after a refused one.
    if (source.readyState !== EventSource.CLOSED) return
    clearTimeout(this.reopening)
    this.reopening = window.setTimeout(() => this.open(), this.pause)
    this.pause = Math.min(this.pause * 2, LONGEST_PAUSE_MS)
  }

  private fallSilent(): void {
    clearTimeout(this.complaining)
    this.complaining = 0
  }
}
