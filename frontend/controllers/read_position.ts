import { Controller } from "@hotwired/stimulus"

// Several messages may arrive at once; what was seen is reported once.
const PAUSE = 400

// Reports the last message that somebody has seen: when the page is shown, and when a message of somebody else arrives
// while it is visible. It is never reported twice.
export default class ReadPosition extends Controller<HTMLElement> {
  static override values = { url: String, seq: Number }

  declare readonly urlValue: string
  declare seqValue: number

  private timer = 0

  override connect(): void {
    this.look()
  }

  override disconnect(): void {
    clearTimeout(this.timer)
  }

  look(): void {
    clearTimeout(this.timer)
    // A page that Turbo shows from its cache is about to be replaced.
    if (document.documentElement.hasAttribute("data-turbo-preview")) return
    this.timer = window.setTimeout(() => this.report(), PAUSE)
  }

  private report(): void {
    const seq = lastOfOthers()
    if (document.visibilityState !== "visible" || seq <= this.seqValue) return
    const before = this.seqValue
    this.seqValue = seq
    const body = JSON.stringify({ seq })
    const headers = { "Content-Type": "application/json" }
    // What did not arrive is reported with the next message.
    void fetch(this.urlValue, { method: "PUT", headers, body, keepalive: true })
      .then((answer) => {
        if (!answer.ok) this.seqValue = before
      })
      .catch(() => {
        this.seqValue = before
      })
  }
}

// One's own messages are never new.
function lastOfOthers(): number {
  const messages = document.querySelectorAll<HTMLElement>("#messages > li.message:not(.message-own)")
  return Number(messages[messages.length - 1]?.dataset["seq"] ?? 0)
}
