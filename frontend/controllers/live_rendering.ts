import { Controller } from "@hotwired/stimulus"
import { renderStreamMessage } from "@hotwired/turbo"
import { limitedFetch } from "../request_limit"

const PAUSE_MS = 400

// Shows what becomes of a form while it is filled in: the server is asked whenever somebody pauses, and saves nothing.
export default class LiveRendering extends Controller<HTMLFormElement> {
  static override targets = ["button", "conversation"]
  static override values = { url: String }

  declare readonly buttonTarget: HTMLButtonElement
  declare readonly conversationTarget: HTMLSelectElement
  declare readonly urlValue: string

  private timer = 0
  private asking?: AbortController

  override connect(): void {
    this.buttonTarget.hidden = true
    // Which conversation is shown is no part of what is saved, nor of a draft.
    this.conversationTarget.removeAttribute("name")
    void this.ask()
  }

  override disconnect(): void {
    clearTimeout(this.timer)
    this.asking?.abort()
  }

  changed(event: Event): void {
    if (event instanceof InputEvent && event.isComposing) return
    clearTimeout(this.timer)
    this.timer = setTimeout(() => void this.ask(), PAUSE_MS)
  }

  private async ask(): Promise<void> {
    this.asking?.abort()
    this.asking = new AbortController()
    const body = new FormData(this.element)
    body.set("conversation", this.conversationTarget.value)
    try {
      const response = await limitedFetch(this.urlValue, {
        method: "POST",
        body,
        headers: { Accept: "text/vnd.turbo-stream.html" },
        signal: this.asking.signal,
      })
      if (response.ok) renderStreamMessage(await response.text())
    } catch {
      // Overtaken by the next change, or nobody is there: what is shown stays.
    }
  }
}
