import { Controller } from "@hotwired/stimulus"
import { renderStreamMessage } from "@hotwired/turbo"
import { _ } from "../language"
import { showProblem } from "../problem"
import { limitedFetch } from "../request_limit"

interface Said {
  text: string
  send: boolean
  uses_input: boolean
}

// Buttons that say something: the server expands their macros, and the composer sends it or shows it. Words that stand
// there stay, unless the button takes them along.
export default class QuickReplies extends Controller<HTMLElement> {
  static override targets = ["button"]
  static override values = { url: String }

  declare readonly buttonTargets: HTMLButtonElement[]
  declare readonly urlValue: string

  private busy = false

  override connect(): void {
    for (const button of this.buttonTargets) {
      const color = button.dataset.color ?? ""
      if (CSS.supports("color", color)) button.style.setProperty("--quick-color", color)
    }
  }

  async use(event: Event): Promise<void> {
    const button = event.currentTarget as HTMLButtonElement
    const box = document.querySelector<HTMLTextAreaElement>("#composer_text")
    if (this.busy || !box?.form) return
    this.busy = true
    button.ariaBusy = "true"
    const typed = box.value
    try {
      const answer = await limitedFetch(`${this.urlValue}/${button.dataset.key}`, {
        method: "POST",
        headers: { Accept: "text/vnd.turbo-stream.html, application/json" },
        body: new URLSearchParams({ input: typed }),
      })
      // What was typed in the meantime is not in the answer.
      if (!answer.ok) renderStreamMessage(await answer.text())
      else this.say((await answer.json()) as Said, box, typed)
    } catch {
      showProblem(_("The server cannot be reached. Try again in a moment."))
    } finally {
      this.busy = false
      button.ariaBusy = null
    }
  }

  private say(said: Said, box: HTMLTextAreaElement, typed: string): void {
    showProblem("")
    const since = box.value.startsWith(typed) ? box.value.slice(typed.length) : ""
    if (!said.send) {
      fill(box, said.text + since)
      box.focus()
      return
    }
    if (said.text === "") return
    const kept = said.uses_input ? since : box.value
    fill(box, said.text)
    box.form?.requestSubmit()
    fill(box, said.uses_input ? said.text + kept : kept)
  }
}

function fill(box: HTMLTextAreaElement, text: string): void {
  box.value = text
  box.dispatchEvent(new Event("input", { bubbles: true }))
}
