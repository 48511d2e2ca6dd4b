import { Controller } from "@hotwired/stimulus"
import { renderStreamMessage } from "@hotwired/turbo"
import { announce } from "../announcer"
import { limitedFetch } from "../request_limit"

const PAUSE = 400
const LONGEST_PAUSE = 5000

// Asks how far a dry run has come, until it is over; the server draws how it stands.
export default class DryRunProgress extends Controller<HTMLElement> {
  static override targets = ["sentence", "lost"]
  static override values = { url: String, over: Boolean }

  declare readonly sentenceTarget: HTMLElement
  declare readonly lostTarget: HTMLElement
  declare readonly urlValue: string
  declare readonly overValue: boolean

  private timer = 0
  private pause = PAUSE

  override connect(): void {
    this.wait()
  }

  override disconnect(): void {
    clearTimeout(this.timer)
  }

  // Drawn once more, what somebody has unfolded by then would be folded again.
  overValueChanged(isOver: boolean, wasOver: boolean | undefined): void {
    if (!isOver) return
    clearTimeout(this.timer)
    if (wasOver === false) announce(this.sentenceTarget.textContent ?? "")
  }

  private wait(): void {
    clearTimeout(this.timer)
    if (!this.overValue) this.timer = window.setTimeout(() => void this.ask(), this.pause)
  }

  private async ask(): Promise<void> {
    try {
      const answer = await limitedFetch(this.urlValue)
      if (!answer.ok) throw new Error(`The server answered ${answer.status}.`)
      const streams = await answer.text()
      if (!this.element.isConnected) return
      this.pause = PAUSE
      this.lostTarget.hidden = true
      renderStreamMessage(streams)
    } catch {
      if (!this.element.isConnected) return
      this.lostTarget.hidden = false
      this.pause = Math.min(this.pause * 2, LONGEST_PAUSE)
    }
    if (this.element.isConnected) this.wait()
  }
}
