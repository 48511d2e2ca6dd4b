import { Controller } from "@hotwired/stimulus"
import { renderStreamMessage } from "@hotwired/turbo"
import { announce } from "../announcer"
import { limitedFetch } from "../request_limit"

const PAUSE = 600
const LONGEST_PAUSE = 5000

// Asks how far an import has come, until it is over. Where it is, the server knows: the page can be left at any time.
// A head that is watched may begin anew, by itself or elsewhere: it is asked about now and then.
export default class ImportProgress extends Controller {
  static override targets = ["head", "sentence", "lost"]
  static override values = { url: String }

  declare readonly headTarget: HTMLElement
  declare readonly sentenceTarget: HTMLElement
  declare readonly lostTarget: HTMLElement
  declare readonly urlValue: string

  private timer = 0
  private pause = PAUSE
  private hasAsked = false

  override disconnect(): void {
    clearTimeout(this.timer)
  }

  // Every answer brings a new head.
  headTargetConnected(head: HTMLElement): void {
    clearTimeout(this.timer)
    const isOver = "over" in head.dataset
    if (isOver && this.hasAsked) announce(this.sentenceTarget.textContent ?? "")
    if (!isOver || "watched" in head.dataset) this.askLater()
  }

  private askLater(): void {
    const pause = "over" in this.headTarget.dataset ? LONGEST_PAUSE : this.pause
    this.timer = setTimeout(() => void this.ask(), pause)
  }

  private async ask(): Promise<void> {
    try {
      const answer = await limitedFetch(`${this.urlValue}?after=${this.headTarget.dataset.next}`)
      if (!answer.ok) throw new Error(`The server answered ${answer.status}.`)
      const streams = await answer.text()
      if (!this.element.isConnected) return
      this.hasAsked = true
      this.pause = PAUSE
      this.lostTarget.hidden = true
      // A new head would close the question that somebody is reading.
      if (answer.status === 204 || this.headTarget.querySelector(":popover-open")) this.askLater()
      else renderStreamMessage(streams)
    } catch {
      if (!this.element.isConnected) return
      this.lostTarget.hidden = false
      this.pause = Math.min(this.pause * 2, LONGEST_PAUSE)
      this.askLater()
    }
  }
}
