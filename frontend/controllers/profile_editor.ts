import { Controller } from "@hotwired/stimulus"
import { renderStreamMessage } from "@hotwired/turbo"
import { placeOfColumn, placeOfPath, type TextPlace } from "../json_place"
import { _ } from "../language"
import { limitedFetch } from "../request_limit"

const PAUSE_MS = 400
const LINES_ABOVE = 3

type Go = Event & { params: { path: string; words: string } }

// Has the text of a profile checked whenever somebody pauses while typing. The server draws what is wrong and what the
// profile does; the text itself is never touched.
export default class ProfileEditor extends Controller<HTMLFormElement> {
  static override targets = ["source", "summary", "button"]
  static override values = { check: String }

  declare readonly sourceTarget: HTMLTextAreaElement
  declare readonly summaryTarget: HTMLElement
  declare readonly buttonTargets: HTMLElement[]
  declare readonly checkValue: string

  private timer = 0
  private asking?: AbortController | undefined

  override connect(): void {
    // The button is for browsers without scripts.
    for (const button of this.buttonTargets) button.hidden = true
    this.element.dataset.scripted = ""
    // A draft may be put into the box at the same moment.
    this.timer = window.setTimeout(() => {
      if (this.sourceTarget.value !== this.sourceTarget.defaultValue) void this.check()
    })
  }

  override disconnect(): void {
    this.sent()
  }

  typed(event: Event): void {
    if (event.target !== this.sourceTarget || (event instanceof InputEvent && event.isComposing)) return
    clearTimeout(this.timer)
    this.timer = window.setTimeout(() => void this.check(), PAUSE_MS)
  }

  // What is saved is checked anyway.
  sent(): void {
    clearTimeout(this.timer)
    this.asking?.abort()
  }

  go({ params }: Go): void {
    const { value } = this.sourceTarget
    const told = /line (\d+), column (\d+)/.exec(params.words)
    this.show(told && !params.path ? placeOfColumn(value, Number(told[1]), Number(told[2])) : placeOfPath(value, params.path))
  }

  private show({ start, end }: TextPlace): void {
    const { value } = this.sourceTarget
    const lineEnd = value.indexOf("\n", start)
    this.sourceTarget.focus()
    this.sourceTarget.setSelectionRange(start, lineEnd < 0 ? end : Math.min(end, lineEnd))
    const line = value.slice(0, start).split("\n").length - 1
    const height = parseFloat(getComputedStyle(this.sourceTarget).lineHeight)
    this.sourceTarget.scrollTop = (line - LINES_ABOVE) * height
    this.sourceTarget.scrollLeft = 0
  }

  private async check(): Promise<void> {
    this.asking?.abort()
    const asking = (this.asking = new AbortController())
    try {
      const response = await limitedFetch(this.checkValue, {
        method: "POST",
        body: new URLSearchParams({ content: this.sourceTarget.value }),
        headers: { Accept: "text/vnd.turbo-stream.html" },
        signal: asking.signal,
      })
      const answer = await response.text()
      if (asking.signal.aborted) return
      if (response.ok) renderStreamMessage(answer)
      else this.summaryTarget.textContent = _("The text cannot be checked (status {status}). It is kept.", { status: String(response.status) })
    } catch {
      // Overtaken by the next letter, or nobody is there.
      if (!asking.signal.aborted) this.summaryTarget.textContent = _("The server did not answer. Your text is kept.")
    }
  }
}
