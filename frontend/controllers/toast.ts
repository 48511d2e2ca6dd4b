import { Controller } from "@hotwired/stimulus"
import { announce } from "../announcer"

const PASSING_MS = 6_000

// A sentence about what has just happened. One that offers a way back stays until it is closed or another comes.
export default class Toast extends Controller<HTMLElement> {
  static override targets = ["sentence", "offer"]
  static override values = { passing: Boolean }

  declare readonly sentenceTarget: HTMLElement
  declare readonly offerTarget: HTMLElement
  declare readonly hasOfferTarget: boolean
  declare readonly passingValue: boolean

  private timer = 0

  override connect(): void {
    if (!this.sentenceTarget.matches("[role=alert]")) announce(this.sentenceTarget.textContent ?? "")
    // The button that was pressed is gone with its message.
    if (this.hasOfferTarget) {
      requestAnimationFrame(() => {
        if (document.activeElement === document.body) this.offerTarget.focus({ preventScroll: true })
      })
    }
    if (this.passingValue) this.timer = window.setTimeout(() => this.close(), PASSING_MS)
  }

  override disconnect(): void {
    clearTimeout(this.timer)
  }

  close(): void {
    this.element.replaceChildren()
    this.element.className = ""
  }
}
